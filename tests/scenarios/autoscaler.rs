//! A cluster-autoscaler (kubernetes/autoscaler, `cluster-autoscaler/cloudprovider/azure`).
//!
//! What matters, and where it is written there: every minute it lists the sets and the VMs of the group, every
//! five minutes the VMs of each set, and again whenever their number is not the set's size and after each of its
//! own writes (`azure_manager.go`, `azure_cache.go`, `azure_scale_set.go`); it scales up by a PUT of name, location
//! and size alone, and down by a POST that names instances; it goes on while it polls, every 30 s; with
//! `AZURE_ENABLE_VMSS_ETAG` its PUT says which list it was built on, and after a 412 it reads the set once and
//! tries once more.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::client::AUTOSCALER;
use crate::support::simulated::COMPUTE;

use super::sdk::{Begun, Sdk, Trouble};
use super::stage::Stage;
use super::start::{filter, vms_of};
use super::truth::{Members, member};

const SETS: Duration = Duration::from_secs(60);
const INSTANCES: Duration = Duration::from_secs(300);

/// The autoscaler.
#[derive(Debug)]
pub struct Autoscaler {
    pub sdk: Sdk,
    compute: String,
    etags: bool,
    refreshed: Option<Instant>,
    groups: BTreeMap<String, Group>,
    pending: Vec<(String, JoinHandle<Result<(), Trouble>>)>,
}

/// A set as the autoscaler has it in mind.
#[derive(Debug, Clone)]
pub struct Group {
    model: Value,
    /// How large it takes the set to be; never below its own last wish before that was listed.
    pub size: u64,
    /// The VMs it knows.
    pub instances: Members,
    listed: Option<Instant>,
}

impl Autoscaler {
    pub fn new(stage: &Stage, principal: &str) -> Self {
        Self {
            sdk: Sdk::new(stage.client(principal, AUTOSCALER, 2), 30),
            compute: stage.compute(),
            etags: false,
            refreshed: None,
            groups: BTreeMap::new(),
            pending: Vec::new(),
        }
    }

    /// With `AZURE_ENABLE_VMSS_ETAG`.
    pub fn with_etags(self) -> Self {
        Self { etags: true, ..self }
    }

    /// A set as it has it in mind.
    pub fn group(&self, set: &str) -> &Group {
        &self.groups[&set.to_ascii_lowercase()]
    }

    /// One turn of its loop, of which there is one every ten seconds. What ended meanwhile is told.
    pub async fn turn(&mut self) -> Result<Vec<Result<(), Trouble>>, Trouble> {
        let mut ended = Vec::new();
        for (set, pending) in std::mem::take(&mut self.pending) {
            if pending.is_finished() {
                ended.push(pending.await.unwrap());
                self.refreshed = None;
                self.groups.get_mut(&set).unwrap().listed = None;
            } else {
                self.pending.push((set, pending));
            }
        }
        if self.refreshed.is_none_or(|at| at.elapsed() >= SETS) {
            self.refresh().await?;
        }
        for set in self.groups.keys().cloned().collect::<Vec<_>>() {
            let group = &self.groups[&set];
            let counts = group.instances.len() as u64 == group.size;
            if !counts || group.listed.is_none_or(|at| at.elapsed() >= INSTANCES) {
                self.list_instances(&set).await?;
            }
        }
        Ok(ended)
    }

    async fn refresh(&mut self) -> Result<(), Trouble> {
        let asked = Instant::now();
        let sets = self.sdk.list(&format!("{}/virtualMachineScaleSets{COMPUTE}", self.compute)).await?;
        self.sdk.list(&format!("{}/virtualMachines{COMPUTE}", self.compute)).await?;
        for model in sets {
            let (id, size) =
                (model["id"].as_str().unwrap().to_ascii_lowercase(), model["sku"]["capacity"].as_u64());
            let known = self.groups.remove(&id);
            let group = Group {
                model,
                size: size.unwrap(),
                listed: known.as_ref().and_then(|known| known.listed),
                instances: known.map(|known| known.instances).unwrap_or_default(),
            };
            self.groups.insert(id, group);
        }
        self.refreshed = Some(asked);
        Ok(())
    }

    async fn list_instances(&mut self, set: &str) -> Result<(), Trouble> {
        let (asked, group) = (Instant::now(), &self.groups[set]);
        let id = group.model["id"].as_str().unwrap();
        let target = match group.model["properties"]["orchestrationMode"] == "Flexible" {
            true => {
                format!("{}/virtualMachines?%24filter={}&{}", self.compute, filter(id), &COMPUTE[1..])
            }
            false => vms_of(id),
        };
        let instances = self.sdk.list(&target).await?.iter().map(member).collect();
        let group = self.groups.get_mut(set).unwrap();
        (group.instances, group.listed) = (instances, Some(asked));
        Ok(())
    }

    /// Wants the set to have that many VMs more.
    pub async fn scale_up(&mut self, set: &str, by: u64) -> Result<(), Trouble> {
        let group = &self.groups[&set.to_ascii_lowercase()];
        let wanted = group.size + by;
        let own = group.model["etag"].as_str().filter(|_| self.etags).map(str::to_owned);
        let begun = match self.begin_scaling(set, wanted, own.as_deref()).await {
            Err(trouble) if trouble.is_conflict() && self.etags => {
                let present = self.sdk.get(&format!("{set}{COMPUTE}")).await?.json();
                if present["sku"]["capacity"].as_u64().unwrap() >= wanted {
                    return Ok(());
                }
                self.begin_scaling(set, wanted, present["etag"].as_str()).await?
            }
            begun => begun?,
        };
        self.groups.get_mut(&set.to_ascii_lowercase()).unwrap().size = wanted;
        self.follow(set, begun);
        Ok(())
    }

    async fn begin_scaling(&self, set: &str, wanted: u64, etag: Option<&str>) -> Result<Begun, Trouble> {
        let model = &self.groups[&set.to_ascii_lowercase()].model;
        let sku = json!({"name": model["sku"]["name"], "tier": model["sku"]["tier"], "capacity": wanted});
        let body = json!({"name": model["name"], "location": model["location"], "sku": sku});
        self.sdk.begin("PUT", &format!("{set}{COMPUTE}"), Some(&body), etag).await
    }

    /// Takes these VMs away.
    pub async fn delete(&mut self, set: &str, instances: &[&str]) -> Result<(), Trouble> {
        let target = format!("{set}/delete{COMPUTE}&forceDeletion=true");
        let body = json!({"instanceIds": instances});
        let begun = self.sdk.begin("POST", &target, Some(&body), None).await?;
        let group = self.groups.get_mut(&set.to_ascii_lowercase()).unwrap();
        group.size -= instances.len() as u64;
        for instance in instances {
            group.instances.insert((*instance).to_owned(), "Deleting".to_owned());
        }
        self.follow(set, begun);
        Ok(())
    }

    fn follow(&mut self, set: &str, begun: Begun) {
        let sdk = self.sdk.clone();
        let task = tokio::spawn(async move { sdk.finish(begun).await.map(drop) });
        self.pending.push((set.to_ascii_lowercase(), task));
    }
}
