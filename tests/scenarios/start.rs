//! What is read when a component starts, before it knows anything (the same sources as the models beside).

use std::collections::BTreeMap;

use armshield::simulator::Simulator;
use serde_json::Value;

use crate::support::simulated::COMPUTE;

use super::sdk::{Sdk, Trouble};
use super::truth::{Members, member};

/// The scale sets of the cluster: how large, and with which VMs in which state.
pub type Nodes = BTreeMap<String, (u64, Members)>;

/// Who starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// Lists the sets twice, for its caches of Uniform and of Flexible ones, each set's VMs, and the group's.
    Ccm,
    /// The same caches: it is built with the CCM's provider.
    DiskDriver,
    /// Lists the sets and the group's VMs once, then each set's VMs.
    Autoscaler,
}

impl Component {
    /// Its User-Agent.
    pub const fn agent(self) -> &'static str {
        match self {
            Self::Ccm => crate::support::client::CCM,
            Self::DiskDriver => "disk.csi.azure.com/v1.33.5",
            Self::Autoscaler => crate::support::client::AUTOSCALER,
        }
    }

    /// Reads all that it wants to know; the first read that fails ends it, as the process ends.
    pub async fn start(self, sdk: &Sdk, compute: &str) -> Result<Nodes, Trouble> {
        let sets = format!("{compute}/virtualMachineScaleSets{COMPUTE}");
        let group = format!("{compute}/virtualMachines{COMPUTE}");
        let mut all = sdk.list(&sets).await?;
        match self {
            Self::Ccm => {
                all = sdk.list(&sets).await?;
                sdk.list(&group).await?;
            }
            Self::DiskDriver => all = sdk.list(&sets).await?,
            Self::Autoscaler => drop(sdk.list(&group).await?),
        }
        let mut nodes = Nodes::new();
        for set in all {
            let id = set["id"].as_str().unwrap();
            let vms = match set["properties"]["orchestrationMode"] == "Flexible" {
                false => sdk.list(&vms_of(id)).await?,
                true => {
                    let plain =
                        format!("{compute}/virtualMachines?%24filter={}&{}", filter(id), &COMPUTE[1..]);
                    let vms = sdk.list(&plain).await?;
                    if self != Self::Autoscaler {
                        sdk.list(&plain.replace("?", "?%24expand=instanceView&")).await?;
                    }
                    vms
                }
            };
            let size = set["sku"]["capacity"].as_u64().unwrap();
            nodes.insert(id.to_ascii_lowercase(), (size, vms.iter().map(member).collect()));
        }
        Ok(nodes)
    }
}

/// The VMs of a Uniform set with their views, as the SDK asks.
pub fn vms_of(set: &str) -> String {
    format!("{set}/virtualMachines?%24expand=instanceView&{}", &COMPUTE[1..])
}

/// The filter for the VMs of a Flexible set.
pub fn filter(set: &str) -> String {
    format!("%27virtualMachineScaleSet%2Fid%27+eq+%27{}%27", set.replace('/', "%2F"))
}

/// What is true.
pub fn nodes(sim: &Simulator, sets: &[String]) -> Nodes {
    let all = sets.iter().map(|set| {
        let vms: Vec<Value> = sim.members(set).iter().map(|vm| sim.read(vm).unwrap()).collect();
        let size = sim.read(set).unwrap()["sku"]["capacity"].as_u64().unwrap();
        (set.to_ascii_lowercase(), (size, vms.iter().map(member).collect()))
    });
    all.collect()
}
