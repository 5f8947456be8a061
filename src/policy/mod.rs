//! What an operator may decide, as data: rules for types, profiles for kinds of clients, modes.
//!
//! One `Arc<Policy>` accompanies a request from beginning to end; a reload swaps the next request's.

pub mod profile;
pub mod rule;

use std::sync::Arc;
use std::time::Duration;

pub use profile::{Links, Principal, Priority, Profile, Repeat};
pub use rule::{Family, Rule};

/// How much armshield does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Reads are cached and merged, writes guarded.
    Active,
    /// Every read goes to ARM; what would have been a hit is compared. The guard observes.
    Shadow,
    /// Streams and rewrites links, nothing else.
    Pass,
}

impl Mode {
    /// The word used in configuration, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Shadow => "shadow",
            Self::Pass => "pass",
        }
    }

    /// The mode a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Active, Self::Shadow, Self::Pass].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// What the guard does with a version it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardMode {
    /// Nothing, not even looking.
    Off,
    /// Reports what it would have sent.
    Observe,
    /// Sends it.
    Enforce,
}

impl GuardMode {
    /// The word used in configuration, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Enforce => "enforce",
        }
    }

    /// The mode a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Off, Self::Observe, Self::Enforce].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// Everything decided before a request comes.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The mode of everybody whose profile does not say otherwise.
    pub mode: Mode,
    /// What the guard does for everybody whose profile does not say otherwise.
    pub guard: GuardMode,
    /// The oldest an answer may be while a change is under way.
    pub unsettled_age: Duration,
    /// The rules, one a type.
    pub rules: Vec<Rule>,
    /// The profiles, in the order in which they are tried.
    pub profiles: Vec<Arc<Profile>>,
    /// The profile of clients that match none.
    pub other: Arc<Profile>,
    /// Claims to ignore besides the built-in ones, when tokens of one principal are recognised.
    pub ignorable_claims: Vec<String>,
    /// Request headers to call neutral besides the built-in ones; `*` stands for any characters.
    pub neutral_headers: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::Active,
            guard: GuardMode::Enforce,
            unsettled_age: Duration::from_secs(2),
            rules: rule::built_in(),
            profiles: profile::built_in().into_iter().map(Arc::new).collect(),
            other: Arc::new(profile::other()),
            ignorable_claims: Vec::new(),
            neutral_headers: Vec::new(),
        }
    }
}

impl Policy {
    /// The rule of a type in lower case, for example `microsoft.compute/virtualmachines`.
    #[must_use]
    pub fn rule(&self, kind: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| &*rule.kind == kind)
    }

    /// The profile of a User-Agent: the first one a word of which it contains.
    #[must_use]
    pub fn profile(&self, user_agent: &str) -> &Arc<Profile> {
        self.profiles.iter().find(|profile| profile.matches(user_agent)).unwrap_or(&self.other)
    }

    /// A profile by its name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles.iter().chain([&self.other]).find(|profile| &*profile.name == name)
    }

    /// The mode that holds for a profile.
    #[must_use]
    pub fn mode_of(&self, profile: &Profile) -> Mode {
        profile.mode.unwrap_or(self.mode)
    }

    /// What the guard does for a profile: in shadow mode it only observes, in pass mode nothing.
    #[must_use]
    pub fn guard_of(&self, profile: &Profile) -> GuardMode {
        let stated = profile.guard.unwrap_or(self.guard).min_with(self.guard);
        match self.mode_of(profile) {
            Mode::Active => stated,
            Mode::Shadow => stated.min_with(GuardMode::Observe),
            Mode::Pass => GuardMode::Off,
        }
    }

    /// This policy with another mode, for everybody or for one profile.
    ///
    /// # Errors
    /// Gives back the profile's name if no profile has it.
    pub fn with_mode(&self, mode: Mode, profile: Option<&str>) -> Result<Self, String> {
        let mut policy = self.clone();
        match profile {
            None => {
                policy.mode = mode;
                for profile in policy.profiles.iter_mut().chain([&mut policy.other]) {
                    Arc::make_mut(profile).mode = None;
                }
            }
            Some(name) => {
                let found = policy.profiles.iter_mut().chain([&mut policy.other]).find(|p| &*p.name == name);
                Arc::make_mut(found.ok_or_else(|| name.to_owned())?).mode = Some(mode);
            }
        }
        Ok(policy)
    }
}

impl GuardMode {
    /// The weaker of two.
    const fn min_with(self, other: Self) -> Self {
        if (self as u8) < (other as u8) { self } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_the_first_whose_word_the_user_agent_contains() {
        let policy = Policy::default();
        let check = |agent, name| assert_eq!(&*policy.profile(agent).name, name, "{agent}");
        check("kubernetes-cloudprovider/v1.34.0", "ccm");
        check("cluster-autoscaler-aks/v1.33", "autoscaler");
        check("karpenter-aks/v1.0 azsdk-go-armcompute/v7 (go1.24; linux)", "karpenter");
        check("AZURECLI/2.70 (DEB) azsdk-python-core/1.31 Python/3.12", "az");
        check("azsdk-go-armcompute/v7.3.0 (go1.25.5; linux)", "other");
        check("", "other");
    }

    #[test]
    fn shadow_weakens_the_guard_and_pass_ends_it() {
        let policy = Policy::default();
        let ccm = policy.named("ccm").unwrap().clone();
        assert_eq!(policy.guard_of(&ccm), GuardMode::Enforce);
        assert_eq!(policy.with_mode(Mode::Shadow, None).unwrap().guard_of(&ccm), GuardMode::Observe);
        assert_eq!(policy.with_mode(Mode::Pass, None).unwrap().guard_of(&ccm), GuardMode::Off);
        assert_eq!(policy.guard_of(policy.named("autoscaler").unwrap()), GuardMode::Observe);
    }

    #[test]
    fn a_mode_can_be_set_for_one_profile_and_for_all() {
        let policy = Policy::default().with_mode(Mode::Pass, Some("az")).unwrap();
        assert_eq!(policy.mode_of(policy.named("az").unwrap()), Mode::Pass);
        assert_eq!(policy.mode_of(policy.named("ccm").unwrap()), Mode::Active);
        let policy = policy.with_mode(Mode::Shadow, None).unwrap();
        assert_eq!(policy.mode_of(policy.named("az").unwrap()), Mode::Shadow);
        assert_eq!(policy.with_mode(Mode::Pass, Some("nobody")).unwrap_err(), "nobody");
    }
}
