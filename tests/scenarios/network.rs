//! What the CCM reads and writes of Network: the balancer, the address, the rule of a service. Whole resources,
//! read again after each write (kubernetes-sigs/cloud-provider-azure `azure_loadbalancer_repo.go`,
//! `azure_publicip_repo.go`, `securitygroup/azure_securitygroup_repo.go`).

use serde_json::{Value, json};

use crate::support::simulated::NETWORK;

use super::ccm::Ccm;
use super::sdk::Trouble;

/// The balancer and its one pool.
const BALANCER: &str = "kubernetes";
/// The security group of the nodes, which must be there.
pub const GROUP: &str = "nodes-nsg";

impl Ccm {
    /// The balancer, from a list that no cache of the CCM's own answers.
    async fn balancer(&self) -> Result<Option<Value>, Trouble> {
        let all = self.sdk.list(&format!("{}/loadBalancers{NETWORK}", self.network)).await?;
        Ok(all.into_iter().find(|own| own["name"] == BALANCER))
    }

    pub(super) async fn ensure_frontend(&self, service: &str) -> Result<(), Trouble> {
        let mut balancer = self.balancer().await?.unwrap_or_else(|| {
            json!({"location": "eastus2", "sku": {"name": "Standard"}, "properties": {
                "frontendIPConfigurations": [], "backendAddressPools": [{"name": BALANCER}]}})
        });
        let address = self.address(service);
        let frontends = frontends(&mut balancer);
        if frontends.iter().any(|own| own["name"] == service) {
            return Ok(());
        }
        frontends.push(json!({"name": service, "properties": {"publicIPAddress": {"id": address}}}));
        self.write_network(&self.at("loadBalancers", BALANCER), &balancer).await
    }

    /// Whether the balancer has no frontend but this service's.
    pub(super) async fn is_last_frontend(&self, service: &str) -> Result<bool, Trouble> {
        let balancer = self.balancer().await?;
        Ok(balancer.is_some_and(|mut own| frontends(&mut own).iter().all(|own| own["name"] == service)))
    }

    /// Takes the frontend away, and the balancer with the last one.
    pub(super) async fn drop_frontend(&self, service: &str) -> Result<(), Trouble> {
        let target = self.at("loadBalancers", BALANCER);
        let Some(mut balancer) = self.balancer().await? else { return Ok(()) };
        let frontends = frontends(&mut balancer);
        frontends.retain(|own| own["name"] != service);
        match frontends.is_empty() {
            true => self.sdk.act("DELETE", &target, None).await,
            false => self.write_network(&target, &balancer).await,
        }
    }

    pub(super) async fn drop_address(&self, service: &str) -> Result<(), Trouble> {
        self.sdk.act("DELETE", &format!("{}{NETWORK}", self.address(service)), None).await
    }

    pub(super) async fn ensure_address(&self, service: &str) -> Result<(), Trouble> {
        let all = self.sdk.list(&format!("{}/publicIPAddresses{NETWORK}", self.network)).await?;
        if all.iter().any(|own| own["name"] == service) {
            return Ok(());
        }
        let body = json!({"location": "eastus2", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}});
        self.write_network(&format!("{}{NETWORK}", self.address(service)), &body).await
    }

    pub(super) async fn ensure_rule(&self, service: &str, wanted: bool) -> Result<(), Trouble> {
        let target = self.at("networkSecurityGroups", GROUP);
        let mut group = self.sdk.get(&target).await?.json();
        let rules = group["properties"]["securityRules"].as_array_mut().unwrap();
        let there = rules.iter().any(|own| own["name"] == service);
        if there == wanted {
            return Ok(());
        }
        rules.retain(|own| own["name"] != service);
        if wanted {
            rules.push(
                json!({"name": service, "properties": {"access": "Allow", "direction": "Inbound", "priority": 500}}),
            );
        }
        self.write_network(&target, &group).await
    }

    /// Writes a whole resource of Network, and reads it again, as the CCM does.
    async fn write_network(&self, target: &str, body: &Value) -> Result<(), Trouble> {
        let condition = self.condition(body);
        self.sdk.put(target, body, condition).await?;
        self.sdk.get(target).await.map(drop)
    }

    fn at(&self, kind: &str, name: &str) -> String {
        format!("{}/{kind}/{name}{NETWORK}", self.network)
    }

    fn address(&self, service: &str) -> String {
        format!("{}/publicIPAddresses/{service}", self.network)
    }

    pub(super) fn pool(&self) -> String {
        format!("{}/loadBalancers/{BALANCER}/backendAddressPools/{BALANCER}", self.network)
    }
}

fn frontends(balancer: &mut Value) -> &mut Vec<Value> {
    balancer["properties"]["frontendIPConfigurations"].as_array_mut().unwrap()
}
