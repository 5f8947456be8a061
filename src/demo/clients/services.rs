//! The cloud-controller-manager's services: one is created or deleted after another, and all are looked at
//! again whenever a node comes or goes.
//!
//! Calls and their order: `kubernetes-sigs/cloud-provider-azure`, `pkg/provider/azure_loadbalancer.go`: one
//! reconcile lists the load balancers three times past all caches, writes whole objects with the `etag` in
//! the body and in `If-Match`, and reads again what it wrote.

use std::collections::VecDeque;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::caller::Caller;
use super::super::lost::Field;
use super::super::scale::seconds;
use super::super::stage::Places;
use super::super::writing::{Meant, Outcome, Write};
use super::{COMPUTE, NETWORK, at, is_named, text};

/// Services there are at the start.
const AT_START: usize = 10;
/// At most so many services before the oldest is deleted.
const MOST: usize = 13;
/// Once after a 412, and once more: after that the service waits for its next turn.
const TRIES: usize = 3;

pub(super) async fn run(ccm: Caller, places: Arc<Places>, mut nodes: watch::Receiver<u64>) {
    let services = Services { ccm, places };
    // Those of before have a place on the load balancer that nobody looks at here.
    let (mut made, mut named) = (VecDeque::<String>::new(), 0);
    services.start().await;
    while !services.ccm.span().is_over() {
        if nodes.has_changed().unwrap_or(false) {
            nodes.mark_unchanged();
            services.sync(AT_START + made.len()).await;
            continue;
        }
        if AT_START + made.len() >= MOST {
            if let Some(name) = made.pop_front() {
                services.delete(&name).await;
            }
        } else {
            let name = format!("service{named}");
            named += 1;
            services.create(&name).await;
            made.push_back(name);
        }
        tokio::select! {
            biased;
            _ = services.ccm.span().rest(seconds(6)) => {}
            // Without an autoscaler no node changes.
            Ok(()) = nodes.changed() => nodes.mark_changed(),
        }
    }
}

struct Services {
    ccm: Caller,
    places: Arc<Places>,
}

impl Services {
    /// Zones, then the caches: the sets twice, for Uniform and Flexible ones.
    async fn start(&self) {
        let (subscription, _) = self.places.group.rsplit_once("/resourceGroups/").unwrap_or(("", ""));
        self.ccm.get(&format!("{subscription}/providers/Microsoft.Compute?api-version=2021-04-01")).await;
        for _ in 0..2 {
            self.ccm.list(&at(&self.places.of("Microsoft.Compute/virtualMachineScaleSets"), COMPUTE)).await;
        }
    }

    async fn balancers(&self) -> Option<Vec<Value>> {
        self.ccm.list(&at(&self.places.of("Microsoft.Network/loadBalancers"), NETWORK)).await
    }

    /// Nodes came or went: an unknown one makes the CCM list the VMs of its set, and every service is looked
    /// at; where nothing is to be changed, that is three lists each.
    async fn sync(&self, services: usize) {
        let set = &self.places.sets[0];
        self.ccm
            .list(&at(&format!("{set}/virtualMachines"), &format!("%24expand=instanceView&{COMPUTE}")))
            .await;
        for _ in 0..services {
            for _ in 0..3 {
                if self.balancers().await.is_none() || self.ccm.span().is_over() {
                    return;
                }
            }
        }
        self.ccm.done();
    }

    async fn create(&self, name: &str) {
        self.balancers().await;
        let addresses = self.places.of("Microsoft.Network/publicIPAddresses");
        self.ccm.list(&at(&addresses, NETWORK)).await;
        let address = format!("{addresses}/kubernetes-{name}");
        let wanted = json!({"location": self.places.location, "sku": {"name": "Standard", "tier": "Regional"},
            "tags": {"k8s-azure-service": format!("default/{name}")},
            "properties": {"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"}});
        let made = self.write(Method::PUT, &address, Some(wanted), None, None).await;
        if !matches!(made, Outcome::Done(_)) {
            return;
        }
        let balanced = self.change(&self.places.balancer, "frontendIPConfigurations", name, |frontends| {
            frontends.push(json!({"name": name, "properties": {
                "privateIPAllocationMethod": "Dynamic", "publicIPAddress": {"id": address}}}));
        });
        if !balanced.await {
            return;
        }
        self.ccm.list(&at(&addresses, NETWORK)).await;
        self.balancers().await;
        let secured = self.change(&self.places.security, "securityRules", name, |rules| {
            rules.push(json!({"name": name, "properties": {"protocol": "Tcp", "sourcePortRange": "*",
                "destinationPortRange": "443", "sourceAddressPrefix": "Internet", "access": "Allow",
                "destinationAddressPrefix": "*", "priority": 500 + rules.len(), "direction": "Inbound"}}));
        });
        if secured.await {
            self.balancers().await;
            self.ccm.done();
        }
    }

    async fn delete(&self, name: &str) {
        self.balancers().await;
        let without = |items: &mut Vec<Value>| items.retain(|item| text(&item["name"]) != name);
        if !self.change(&self.places.balancer, "frontendIPConfigurations", name, without).await {
            return;
        }
        self.balancers().await;
        if !self.change(&self.places.security, "securityRules", name, without).await {
            return;
        }
        let address = format!("{}/kubernetes-{name}", self.places.of("Microsoft.Network/publicIPAddresses"));
        if matches!(self.write(Method::DELETE, &address, None, None, None).await, Outcome::Done(_)) {
            self.balancers().await;
            self.ccm.done();
        }
    }

    /// Changes an array of a resource: reads it, writes it whole, reads it again; after a 412 from the start.
    async fn change(
        &self,
        id: &str,
        array: &'static str,
        name: &str,
        change: impl Fn(&mut Vec<Value>),
    ) -> bool {
        for _ in 0..TRIES {
            let Some(from) = self.read(id).await else { return false };
            let mut wanted = from.clone();
            let Some(items) = wanted["properties"][array].as_array_mut() else { return false };
            change(items);
            let field = Field::Item(array, name.to_owned());
            let wrote = field.of(&wanted);
            let meant = Meant { resource: id, field, from: &from, wrote };
            let etag = from["etag"].as_str();
            match self.write(Method::PUT, id, Some(wanted), etag, Some(meant)).await {
                Outcome::Done(_) => {
                    self.ccm.get(&at(id, NETWORK)).await;
                    return true;
                }
                Outcome::Refused => return false,
                Outcome::Conflict | Outcome::Failed => {
                    if !self.ccm.span().rest(seconds(5)).await {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// A load balancer comes from a list, a security group from a GET.
    async fn read(&self, id: &str) -> Option<Value> {
        if *id == self.places.balancer {
            return self.balancers().await?.into_iter().find(|item| is_named(item, id));
        }
        self.ccm.get(&at(id, NETWORK)).await
    }

    async fn write(
        &self,
        method: Method,
        id: &str,
        body: Option<Value>,
        condition: Option<&str>,
        meant: Option<Meant<'_>>,
    ) -> Outcome {
        let (target, poll) = (at(id, NETWORK), seconds(5));
        self.ccm.write(Write { method, target: &target, body, condition, meant, poll }).await
    }
}
