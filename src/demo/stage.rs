//! What there is at the beginning: the same for both phases, each on a simulator of its own.

use std::time::Duration;

use serde_json::json;

use crate::simulator::{Latency, Options, Simulator};

use super::scale::{self, millis, seconds};

/// What the demo was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// VMs in the cluster's sets.
    pub(super) nodes: usize,
    /// The length of a phase.
    pub(super) length: Duration,
    /// Equal seeds do the same things at the same times.
    pub(super) seed: u64,
    /// Seconds since the Unix epoch, for tokens that programs outside of the demo use.
    pub(super) wall: u64,
}

/// Where things are: ids.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The cluster's resource group.
    pub(super) group: String,
    /// The cluster's sets. The autoscaler scales the first one; services and people are on the others.
    pub(super) sets: Vec<String>,
    /// A set of another team in a group of its own, which people and Prometheus look at.
    pub(super) runners: String,
    /// Machines with a group of their own, which people put tags on: one for each round.
    pub(super) machines: Vec<String>,
    pub(super) balancer: String,
    pub(super) security: String,
    pub(super) disks: Vec<String>,
    pub(super) location: String,
}

/// A simulator and what is in it.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) simulator: Simulator,
    pub(super) places: Places,
}

/// How often people work on the same things at the same time.
pub(super) const ROUND: Duration = seconds(40);
/// More machines than that are not made: people have then seen them all.
const MACHINES: u128 = 60;
const DISKS: usize = 40;

impl Stage {
    /// The same stage for the same plan.
    pub(super) fn set(plan: &Plan) -> Self {
        let defaults = Options::default();
        let simulator = Simulator::new(Options {
            seed: plan.seed,
            wall: plan.wall,
            operation: seconds(8),
            // Whole seconds cannot go faster: clients poll at their own pace.
            retry_after: None,
            parent_delay: seconds(5),
            latency: Latency { least: millis(60), most: millis(300) },
            throttle: Some(scale::limits()),
            journal: 1_000_000,
            ..defaults.clone()
        });
        let group = simulator.group();
        let (subscription, _) = group.rsplit_once("/resourceGroups/").unwrap_or((&group, ""));
        let count = (plan.nodes / 25).clamp(2, 6);
        let sets = (0..count).map(|number| {
            let share = plan.nodes / count + usize::from(number < plan.nodes % count);
            simulator.add_uniform(&format!("workers{number}"), share)
        });
        let sets: Vec<_> = sets.collect();
        let location = defaults.location;
        let compute =
            |group: &str| format!("{subscription}/resourceGroups/{group}/providers/Microsoft.Compute");
        let runners = format!("{}/virtualMachineScaleSets/runners", compute("runners"));
        let mut model = simulator.read(&sets[0]).unwrap_or_default();
        model["sku"]["capacity"] = json!((plan.nodes / 4).clamp(2, 50));
        simulator.create(&runners, &model);
        let rounds = plan.length.as_nanos().div_ceil(ROUND.as_nanos()).clamp(2, MACHINES);
        let machines = (0..rounds).map(|number| {
            let name = format!("machine{number}");
            let id = format!("{}/virtualMachines/{name}", compute("machines"));
            let body = json!({"location": location, "tags": {"team": "platform"}, "properties": {
                "hardwareProfile": {"vmSize": "Standard_D4s_v5"},
                "storageProfile": {"osDisk": {"osType": "Linux", "createOption": "FromImage"}},
                "osProfile": {"computerName": name, "adminUsername": "azureuser"}}});
            simulator.create(&id, &body);
            id
        });
        let machines = machines.collect();
        let disks = (0..DISKS).map(|number| {
            let id = format!("{group}/providers/Microsoft.Compute/disks/pvc-{number}");
            let body = json!({"location": location, "sku": {"name": "Premium_LRS"},
                "properties": {"diskSizeGB": 64, "diskState": "Unattached"}});
            simulator.create(&id, &body);
            id
        });
        let disks = disks.collect();
        let address = simulator.add_public_ip("kubernetes-ip");
        let balancer = simulator.add_load_balancer("kubernetes", &[&address]);
        let security = simulator.add_security_group("workers-nsg");
        let places = Places { group, sets, runners, machines, balancer, security, disks, location };
        Self { simulator, places }
    }
}

impl Places {
    /// The path of a type in the cluster's group, `Microsoft.Network/loadBalancers`.
    pub(super) fn of(&self, kind: &str) -> String {
        format!("{}/providers/{kind}", self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn every_number_of_nodes_makes_a_whole_cluster() {
        for (nodes, sets) in [(4, 2), (10, 2), (100, 4), (1000, 6)] {
            let plan = Plan { nodes, length: Duration::from_secs(9), seed: 1, wall: 1_780_000_000 };
            let Stage { simulator, places } = Stage::set(&plan);
            assert_eq!(places.sets.len(), sets);
            let members: usize = places.sets.iter().map(|set| simulator.members(set).len()).sum();
            assert_eq!(members, nodes);
            assert!(simulator.members(&places.runners).len() >= 2);
            assert_eq!(places.machines.len(), 3);
            let all = [&places.sets, &places.machines, &places.disks].into_iter().flatten();
            for id in all.chain([&places.balancer, &places.security]) {
                assert!(simulator.read(id).is_some(), "{id}");
            }
        }
    }
}
