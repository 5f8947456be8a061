//! Changes behind everybody's back, and the quick making of resources.

use serde_json::{Value, json};

use super::Simulator;
use super::address::Address;
use super::kinds::{self, Kind, Moves};
use super::merge::Manner;
use super::models::{self, text};
use super::state::{Event, State};
use super::store::Power;
use super::writes::bare;

/// Changes behind everybody's back. They are complete at once, without an operation.
impl Simulator {
    /// Makes another resource group; returns its id.
    pub fn add_group(&self, name: &str) -> String {
        self.with(|state| state.make_group(name))
    }

    /// Makes a Uniform set with so many VMs in the first group; returns its id.
    pub fn add_uniform(&self, name: &str, vms: usize) -> String {
        self.with(|state| state.add_set(name, vms, false))
    }

    /// Makes a Flexible set with so many VMs in the first group; returns its id.
    pub fn add_flexible(&self, name: &str, vms: usize) -> String {
        self.with(|state| state.add_set(name, vms, true))
    }

    /// Makes a VM of its own; returns its id.
    pub fn add_vm(&self, name: &str) -> String {
        self.with(|state| {
            state.add(
                &kinds::VM,
                name,
                &json!({"properties": {
            "hardwareProfile": {"vmSize": "Standard_D4s_v5"},
            "storageProfile": {"osDisk": {"osType": "Linux", "createOption": "FromImage", "diskSizeGB": 30}},
            "osProfile": {"computerName": name, "adminUsername": "azureuser"}}}),
            )
        })
    }

    /// Makes a public address; returns its id.
    pub fn add_public_ip(&self, name: &str) -> String {
        let body = json!({"properties": {"publicIPAllocationMethod": "Static"}, "sku": {"name": "Standard", "tier": "Regional"}});
        self.with(|state| state.add(&kinds::PUBLIC_IP, name, &body))
    }

    /// Makes a load balancer with these public addresses and one backend pool; returns its id.
    pub fn add_load_balancer(&self, name: &str, addresses: &[&str]) -> String {
        let frontends = addresses.iter().enumerate().map(|(at, id)| {
            json!({"name": format!("frontend{at}"), "properties": {"privateIPAllocationMethod": "Dynamic", "publicIPAddress": {"id": id}}})
        });
        let body = json!({"sku": {"name": "Standard", "tier": "Regional"}, "properties": {
            "frontendIPConfigurations": frontends.collect::<Vec<_>>(),
            "backendAddressPools": [{"name": "kubernetes", "properties": {"loadBalancerBackendAddresses": []}}]}});
        self.with(|state| state.add(&kinds::LOAD_BALANCER, name, &body))
    }

    /// Makes a security group; returns its id.
    pub fn add_security_group(&self, name: &str) -> String {
        self.with(|state| state.add(&kinds::SECURITY_GROUP, name, &json!({})))
    }

    /// Makes a route table; returns its id.
    pub fn add_route_table(&self, name: &str) -> String {
        self.with(|state| state.add(&kinds::ROUTE_TABLE, name, &json!({})))
    }

    /// Makes an interface; returns its id.
    pub fn add_interface(&self, name: &str) -> String {
        let body = json!({"properties": {"ipConfigurations": [{"name": "ipconfig1", "properties": {"privateIPAddress": "10.0.0.4", "primary": true}}]}});
        self.with(|state| state.add(&kinds::INTERFACE, name, &body))
    }

    /// Makes any resource, as a PUT with this body would; returns whether the id could be read.
    pub fn create(&self, id: &str, body: &Value) -> bool {
        self.with(|state| state.create(id, body))
    }

    /// Changes a resource; its version moves as its type does. Returns whether it exists.
    pub fn edit(&self, id: &str, change: impl FnOnce(&mut Value)) -> bool {
        self.with(|state| state.edit(&id.to_ascii_lowercase(), change))
    }

    /// Changes what is shown of a resource, and not its version: states, views, health.
    pub fn edit_unversioned(&self, id: &str, change: impl FnOnce(&mut Value)) -> bool {
        self.with(|state| {
            let key = id.to_ascii_lowercase();
            let Some(mut body) = state.store.find(&key).map(|resource| resource.shown.body.clone()) else {
                return false;
            };
            change(&mut body);
            let now = state.now;
            state.store.show(now, &key, body);
            true
        })
    }

    /// Sets `properties.provisioningState`; the version stays.
    pub fn set_state(&self, id: &str, provisioning: &str) {
        self.with(|state| state.set_state(&id.to_ascii_lowercase(), provisioning));
    }

    /// Sets the power state of a VM; only its instance view shows it.
    pub fn set_power(&self, id: &str, power: Power) {
        self.with(|state| {
            if let Some(vm) = state.store.find_mut(&id.to_ascii_lowercase()) {
                vm.power = power;
            }
        });
    }

    /// Removes a resource with all below it (a spot eviction, somebody in the portal). Returns whether it
    /// existed. The capacity of its set follows.
    pub fn remove(&self, id: &str) -> bool {
        self.with(|state| {
            let key = id.to_ascii_lowercase();
            if state.store.find(&key).is_none() {
                return false;
            }
            let kind = state.store.find(&key).map_or("", |resource| resource.kind.name);
            let members = if kind == kinds::SCALE_SET.name { state.members_of(&key) } else { Vec::new() };
            if let Some(owner) = state.owner(&key) {
                state.shrink(&owner, 1);
            }
            for key in members.into_iter().chain([key]) {
                state.erase(&key);
            }
            true
        })
    }

    /// Moves the ETag of a resource and nothing else, as internal operations of the platform do.
    pub fn touch(&self, id: &str) {
        self.with(|state| state.advance(&id.to_ascii_lowercase()));
    }
}

impl State {
    pub(crate) fn group_id(&self) -> String {
        format!("/subscriptions/{}/resourceGroups/{}", self.options.subscription, self.options.group)
    }

    fn add_set(&mut self, name: &str, vms: usize, flexible: bool) -> String {
        let group = self.group_id();
        let subnet = format!("{group}/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes");
        let body = models::set_body(&self.options.location.clone(), name, vms, flexible, &subnet);
        self.add(&kinds::SCALE_SET, name, &body)
    }

    fn add(&mut self, kind: &Kind, name: &str, body: &Value) -> String {
        let id = format!("{}/providers/{}/{name}", self.group_id(), kind.name);
        let mut body = body.clone();
        if body["location"].is_null() {
            body["location"] = json!(self.options.location);
        }
        self.create(&id, &body);
        id
    }

    fn create(&mut self, id: &str, body: &Value) -> bool {
        let Some(address) = Address::parse(id).filter(|address| address.namespace.is_some()) else {
            return false;
        };
        if let Some(group) = &address.group {
            self.make_group(&group.clone());
        }
        let kind = kinds::of(&address.kind());
        let written = self.lay_down(&address, kind, body, Manner::Put);
        let namespace = address.namespace.clone().unwrap_or_default();
        let operation = self.begin(&namespace, &[address.key()], written.effects, 200);
        self.end(&operation);
        true
    }

    fn edit(&mut self, key: &str, change: impl FnOnce(&mut Value)) -> bool {
        let Some(resource) = self.store.find(key) else { return false };
        let (kind, id, before) = (resource.kind, resource.id.clone(), resource.shown.body.clone());
        let mut after = before.clone();
        change(&mut after);
        models::complete(kind, &id, &mut after);
        let changed = bare(&before) != bare(&after);
        if changed || kind.moves == Moves::Always {
            self.move_version(key);
        }
        self.store.show(self.now, key, after.clone());
        let effects = self.follow(kind, key, Some(&before), &after);
        if !effects.is_empty() {
            let namespace = text(&after["type"]).split('/').next().unwrap_or("").to_owned();
            let operation = self.begin(&namespace, &[], effects, 200);
            self.end(&operation);
        }
        if changed && let Some(set) = self.owner(key).filter(|_| kind.is(&kinds::SET_VM)) {
            self.plan(self.options.parent_delay, Event::Advance(set));
        }
        true
    }
}
