//! A cloud-controller-manager as far as services of type LoadBalancer go (kubernetes-sigs/cloud-provider-azure).
//!
//! What matters, and where it is written there: lists are kept for ten minutes (`pkg/consts/consts.go`); the
//! model of a set is written from the list, and the set is read just before only for its state
//! (`azure_vmss_repo.go`); its VMs are written from their list, one after another, each with the whole network
//! configuration (`azure_vmss.go`); since 1.32 bodies carry the ETag of the list and a policy makes `If-Match`
//! of it (`pkg/azclient/policy/etag`); a write drops what is kept, well or badly; a sync that failed is tried
//! again, from 5 s on, doubled (the service controller of `kubernetes/cloud-provider`). Left out: Flexible sets,
//! whose VMs join by their interfaces, and the two minutes for which it keeps what it reads of Network.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::client::CCM;
use crate::support::simulated::COMPUTE;
use crate::support::world;

use super::sdk::{Sdk, Trouble};
use super::stage::Stage;
use super::start::vms_of;
use super::{network, pools};

/// Which CCM it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// 1.32 and later: every write to Compute and Network says what it was built on.
    WithEtags,
    /// Before: none does.
    WithoutEtags,
}

/// A place in a sync at which somebody else gets his turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The sets are listed; the set is not yet read again.
    Listed,
    /// The set was read again, and is about to be written.
    Checked,
    /// The VMs are listed, and about to be written.
    VmsListed,
    /// The first VM is written.
    FirstVmWritten,
}

/// What somebody else does then.
pub type Doing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A list with the moment it was asked for.
type Kept = (Instant, Vec<Value>);

const KEPT_COMPUTE: Duration = Duration::from_secs(600);

/// The cloud-controller-manager.
pub struct Ccm {
    pub sdk: Sdk,
    release: Release,
    compute: String,
    pub(super) network: String,
    sets: Option<Kept>,
    vms: HashMap<String, Kept>,
    /// Somebody else's turn, taken once.
    meanwhile: Option<(Point, Doing)>,
}

impl fmt::Debug for Ccm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ccm").field("release", &self.release).finish_non_exhaustive()
    }
}

impl Ccm {
    /// A CCM that knows nothing yet. The security group of the nodes must be there.
    pub fn new(stage: &Stage, release: Release) -> Self {
        Self {
            sdk: Sdk::new(stage.client("ccm", CCM, 1), 5),
            release,
            compute: stage.compute(),
            network: stage.network(),
            sets: None,
            vms: HashMap::new(),
            meanwhile: None,
        }
    }

    /// The security group that a CCM expects.
    pub fn prepare(stage: &Stage) {
        stage.sim.add_security_group(network::GROUP);
    }

    /// At that point of the next sync that comes there, somebody does this.
    pub fn meanwhile(&mut self, point: Point, doing: impl Future<Output = ()> + Send + 'static) {
        self.meanwhile = Some((point, Box::pin(doing)));
    }

    /// Whether somebody's turn has come.
    pub fn was_interrupted(&self) -> bool {
        self.meanwhile.is_none()
    }

    /// Tries until the service is there; gives back what went wrong on the way.
    pub async fn create(&mut self, service: &str) -> Vec<Trouble> {
        self.sync(service, true).await
    }

    /// Tries until nothing of the service is left; gives back what went wrong on the way.
    pub async fn delete(&mut self, service: &str) -> Vec<Trouble> {
        self.sync(service, false).await
    }

    async fn sync(&mut self, service: &str, wanted: bool) -> Vec<Trouble> {
        let (mut troubles, mut backoff) = (Vec::new(), 5);
        loop {
            let done = if wanted { self.ensure(service).await } else { self.ensure_gone(service).await };
            match done {
                Ok(()) => return troubles,
                Err(trouble) => troubles.push(trouble),
            }
            assert!(troubles.len() < 8, "no end: {troubles:?}");
            world::seconds(backoff).await;
            backoff = (backoff * 2).min(300);
        }
    }

    async fn ensure(&mut self, service: &str) -> Result<(), Trouble> {
        self.ensure_address(service).await?;
        self.ensure_frontend(service).await?;
        self.ensure_pool(Some(&self.pool())).await?;
        self.ensure_rule(service, true).await
    }

    async fn ensure_gone(&mut self, service: &str) -> Result<(), Trouble> {
        self.ensure_rule(service, false).await?;
        if self.is_last_frontend(service).await? {
            // Nobody may be in the pool of a balancer that is deleted.
            self.ensure_pool(None).await?;
        }
        self.drop_frontend(service).await?;
        self.drop_address(service).await
    }

    /// Brings the model of every set, then every VM, into the pool, or out of all pools.
    async fn ensure_pool(&mut self, pool: Option<&str>) -> Result<(), Trouble> {
        for set in self.sets().await? {
            self.reached(Point::Listed).await;
            self.ensure_model(&set, pool).await?;
            self.ensure_vms(&set, pool).await?;
        }
        Ok(())
    }

    async fn ensure_model(&mut self, set: &Value, pool: Option<&str>) -> Result<(), Trouble> {
        let mut configuration = set["properties"]["virtualMachineProfile"]["networkProfile"].clone();
        if !pools::change(&mut configuration, pool) {
            return Ok(());
        }
        let target = format!("{}{COMPUTE}", set["id"].as_str().unwrap());
        let read = self.sdk.get(&target).await?.json();
        if read["properties"]["provisioningState"] == "Deleting" {
            return Ok(());
        }
        self.reached(Point::Checked).await;
        let interfaces = &configuration["networkInterfaceConfigurations"];
        let mut body = json!({"location": set["location"], "properties": {"virtualMachineProfile": {
            "networkProfile": {"networkInterfaceConfigurations": interfaces}}}});
        self.tag(&mut body, set);
        let written = self.sdk.put(&target, &body, self.condition(&body)).await;
        self.sets = None;
        written.map(drop)
    }

    async fn ensure_vms(&mut self, set: &Value, pool: Option<&str>) -> Result<(), Trouble> {
        let id = set["id"].as_str().unwrap();
        let vms = self.vms(id).await?;
        self.reached(Point::VmsListed).await;
        let mut written = Ok(());
        for vm in vms {
            let mut configuration = vm["properties"]["networkProfileConfiguration"].clone();
            if !pools::change(&mut configuration, pool) {
                continue;
            }
            let mut body = json!({"location": vm["location"], "properties": {
                "hardwareProfile": vm["properties"]["hardwareProfile"],
                "networkProfileConfiguration": configuration}});
            self.tag(&mut body, &vm);
            let target = format!("{}{COMPUTE}", vm["id"].as_str().unwrap());
            written = self.sdk.put(&target, &body, self.condition(&body)).await.map(drop);
            self.vms.remove(id);
            if written.is_err() {
                break;
            }
            self.reached(Point::FirstVmWritten).await;
        }
        self.sets = None;
        written
    }

    /// The sets: read for anything that needs them, and kept.
    pub async fn sets(&mut self) -> Result<Vec<Value>, Trouble> {
        if let Some((at, sets)) = &self.sets
            && at.elapsed() < KEPT_COMPUTE
        {
            return Ok(sets.clone());
        }
        let asked = Instant::now();
        let sets = self.sdk.list(&format!("{}/virtualMachineScaleSets{COMPUTE}", self.compute)).await?;
        self.sets = Some((asked, sets.clone()));
        Ok(sets)
    }

    /// The VMs of a set: the same.
    pub async fn vms(&mut self, set: &str) -> Result<Vec<Value>, Trouble> {
        if let Some((at, vms)) = self.vms.get(set)
            && at.elapsed() < KEPT_COMPUTE
        {
            return Ok(vms.clone());
        }
        let asked = Instant::now();
        let vms = self.sdk.list(&vms_of(set)).await?;
        self.vms.insert(set.to_owned(), (asked, vms.clone()));
        Ok(vms)
    }

    /// Puts into a body what it was built on.
    fn tag(&self, body: &mut Value, shown: &Value) {
        if self.release == Release::WithEtags {
            body["etag"] = shown["etag"].clone();
        }
    }

    /// What the policy makes of the `etag` of a body.
    pub(super) fn condition<'a>(&self, body: &'a Value) -> Option<&'a str> {
        body["etag"].as_str().filter(|_| self.release == Release::WithEtags)
    }

    async fn reached(&mut self, point: Point) {
        if self.meanwhile.as_ref().is_some_and(|(at, _)| *at == point)
            && let Some((_, doing)) = self.meanwhile.take()
        {
            doing.await;
        }
    }
}
