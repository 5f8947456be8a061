//! Profiles: what a kind of client tolerates. A User-Agent chooses one and grants no rights by it.

use std::time::Duration;

use super::{Family, GuardMode, Mode};

/// What a repeated question means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// The client keeps a cache of its own, so asking again asks for news.
    Refresh,
    /// A repeated question is what the cache is for.
    Cached,
}

impl Repeat {
    /// The word used in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refresh => "refresh",
            Self::Cached => "cached",
        }
    }
}

/// Who goes first when calls must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Exporters and discovery.
    Low,
    /// People and pipelines.
    Normal,
    /// Controllers that keep the cluster running.
    High,
}

/// What happens to links in answers to clients that dialled armshield by its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Links {
    /// They lead back through armshield.
    Rewrite,
    /// They stay as ARM wrote them, for clients that keep poll URLs across restarts.
    Leave,
}

/// A principal that may have more than normal priority.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// Tenant id, lower case.
    pub tid: Box<str>,
    /// Object id, lower case.
    pub oid: Box<str>,
}

/// What a kind of client tolerates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The name in configuration, logs and metrics.
    pub name: Box<str>,
    /// Words one of which the User-Agent contains.
    pub words: Vec<Box<str>>,
    /// The oldest an answer about Compute (and anything that is not Network) may be.
    pub age: Duration,
    /// The oldest an answer about Network may be.
    pub network_age: Duration,
    /// What a repeated question means.
    pub repeat: Repeat,
    /// How old an answer may be while ARM throttles or fails; `None`: no older answer.
    pub older: Option<Duration>,
    /// The same for Network.
    pub network_older: Option<Duration>,
    /// Who goes first.
    pub priority: Priority,
    /// Principals that may have a priority above normal on listeners that are not loopback.
    pub principals: Vec<Principal>,
    /// What happens to links.
    pub links: Links,
    /// How long a version shown may be the base of a write.
    pub base_window: Duration,
    /// A mode other than everybody's.
    pub mode: Option<Mode>,
    /// A guard mode weaker than everybody's.
    pub guard: Option<GuardMode>,
}

impl Profile {
    /// Whether a word of this profile is contained in the User-Agent.
    #[must_use]
    pub fn matches(&self, user_agent: &str) -> bool {
        self.words.iter().any(|word| user_agent.contains(&**word))
    }

    /// The oldest an answer of this family may be.
    #[must_use]
    pub const fn age_of(&self, family: Family) -> Duration {
        if matches!(family, Family::Network) { self.network_age } else { self.age }
    }

    /// How old an answer of this family may be while ARM throttles or fails.
    #[must_use]
    pub const fn older_of(&self, family: Family) -> Option<Duration> {
        if matches!(family, Family::Network) { self.network_older } else { self.older }
    }
}

/// The profile of everybody who matches none: no older than a controller's own cache forgives.
#[must_use]
pub fn other() -> Profile {
    Profile {
        name: "other".into(),
        words: Vec::new(),
        age: Duration::from_secs(2),
        network_age: Duration::from_secs(5),
        repeat: Repeat::Refresh,
        older: None,
        network_older: None,
        priority: Priority::Normal,
        principals: Vec::new(),
        links: Links::Rewrite,
        base_window: Duration::from_secs(30 * 60),
        mode: None,
        guard: None,
    }
}

/// The profiles that hold when the configuration says nothing, in the order in which they are tried.
#[must_use]
pub fn built_in() -> Vec<Profile> {
    let seconds = Duration::from_secs;
    let controller = |name: &str, word: &str| Profile {
        name: name.into(),
        words: vec![word.into()],
        network_older: Some(seconds(60)),
        priority: Priority::High,
        ..other()
    };
    // Without rebasing the autoscaler would see a 412 it does not understand, and the disk driver one
    // for every attach beside another (cluster-autoscaler README, AZURE_ENABLE_VMSS_ETAG).
    let observed = |profile| Profile { guard: Some(GuardMode::Observe), ..profile };
    let cached = |name: &str, words: &[&str], age, priority| Profile {
        name: name.into(),
        words: words.iter().map(|word| (*word).into()).collect(),
        age: seconds(age),
        network_age: seconds(age),
        repeat: Repeat::Cached,
        older: Some(seconds(300)),
        network_older: Some(seconds(300)),
        priority,
        ..other()
    };
    let autoscaler = Profile {
        age: seconds(5),
        network_age: seconds(30),
        older: Some(seconds(120)),
        network_older: Some(seconds(120)),
        ..controller("autoscaler", "cluster-autoscaler")
    };
    vec![
        controller("ccm", "kubernetes-cloudprovider"),
        observed(autoscaler),
        observed(controller("disk", "disk.csi.azure.com")),
        controller("file", "file.csi.azure.com"),
        controller("karpenter", "karpenter-aks"),
        controller("capz", "cluster-api-provider-azure"),
        cached("az", &["AZURECLI"], 15, Priority::Normal),
        cached("terraform", &["Terraform"], 15, Priority::Normal),
        cached("prometheus", &["Prometheus"], 30, Priority::Low),
        cached("exporter", &["azure-metrics-exporter", "azure-resourcemanager-exporter"], 30, Priority::Low),
        cached("scripts", &["azsdk-python", "azsdk-js"], 15, Priority::Normal),
    ]
}
