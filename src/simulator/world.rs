//! The handle that tests keep: what happened, what changes behind everybody's back, what goes wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::Simulator;
use super::address::Address;
use super::faults::{Fault, Match};
use super::journal::Call;
use super::kinds::{self, Kind, Moves};
use super::merge::Manner;
use super::models::{self, text};
use super::operations::Failure;
use super::options::{Latency, Options};
use super::state::{Event, State};
use super::store::Power;
use super::throttle::Limits;
use super::tokens::{Grant, Principal};
use super::writes::bare;

/// Reading.
impl Simulator {
    /// All calls so far, the oldest first.
    #[must_use]
    pub fn journal(&self) -> Vec<Call> {
        self.with(|state| state.journal.all())
    }

    /// The calls that `calls` means.
    #[must_use]
    pub fn calls(&self, calls: &Match) -> Vec<Call> {
        let mut all = self.journal();
        all.retain(|call| calls.holds(&call.method, &call.target));
        all
    }

    /// How many calls arrived, forgotten ones included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.with(|state| state.journal.count())
    }

    /// Forgets the calls so far; their numbers go on.
    pub fn clear_journal(&self) {
        self.with(|state| state.journal.clear());
    }

    /// A resource as a GET would show it now.
    #[must_use]
    pub fn read(&self, id: &str) -> Option<Value> {
        self.with(|state| {
            state.store.find(&id.to_ascii_lowercase()).map(|resource| resource.shown.body.clone())
        })
    }

    /// The ETag of a resource, quotes included.
    #[must_use]
    pub fn etag(&self, id: &str) -> Option<String> {
        self.with(|state| state.store.find(&id.to_ascii_lowercase())?.version.tag())
    }

    /// The ids of a set's VMs, in the order they were made.
    #[must_use]
    pub fn members(&self, set: &str) -> Vec<String> {
        self.with(|state| {
            let members = state.members_of(&set.to_ascii_lowercase());
            members.iter().filter_map(|key| state.store.find(key)).map(|vm| vm.id.clone()).collect()
        })
    }

    /// How many resources there are.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.with(|state| state.store.len())
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.inner.connections.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Seconds since the Unix epoch, as the simulator sees it.
    #[must_use]
    pub fn unix(&self) -> u64 {
        self.with(|state| state.time.unix())
    }

    /// Time since the simulator started, as the journal counts it.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.with(|state| state.now)
    }

    /// The id of the group that exists from the start.
    #[must_use]
    pub fn group(&self) -> String {
        self.with(|state| state.group_id())
    }
}

/// Tokens and rights.
impl Simulator {
    /// A new token of this principal. No two are equal.
    #[must_use]
    pub fn token(&self, principal: &Principal) -> String {
        self.with(|state| {
            let (tenant, now) = (state.options.tenant.clone(), state.time.unix());
            state.tokens.issue(principal, &tenant, now, &mut state.random)
        })
    }

    /// This token is no longer accepted.
    pub fn revoke(&self, token: &str) {
        self.with(|state| state.tokens.revoke(token));
    }

    /// From now on the principal may do this and nothing else; at first everybody may do everything.
    pub fn restrict(&self, principal: &Principal, grants: impl IntoIterator<Item = Grant>) {
        let grants = grants.into_iter().collect();
        self.with(|state| state.tokens.restrict(&principal.object, Some(grants)));
    }

    /// The principal may do everything again.
    pub fn permit_all(&self, principal: &Principal) {
        self.with(|state| state.tokens.restrict(&principal.object, None));
    }
}

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

/// Things that go wrong, and settings that change.
impl Simulator {
    /// Injects a fault into the next so many of these calls; returns what [`Simulator::disarm`] takes.
    pub fn fault(&self, calls: Match, fault: Fault, times: usize) -> u64 {
        self.with(|state| state.faults.times(calls, fault, times))
    }

    /// Injects a fault into all of these calls for a while. A throttle tells the seconds that are left.
    pub fn fault_for(&self, calls: Match, fault: Fault, time: Duration) -> u64 {
        self.with(|state| {
            let until = state.now + time;
            state.faults.until(calls, fault, until)
        })
    }

    /// Takes a fault back.
    pub fn disarm(&self, fault: u64) {
        self.with(|state| state.faults.disarm(fault));
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.with(|state| state.faults.clear());
    }

    /// The next operation to end fails.
    pub fn fail_next_operation(&self, code: &str, message: &str) {
        let failure = Failure { code: code.to_owned(), message: message.to_owned() };
        self.with(|state| state.operations.planned.push_back(failure));
    }

    /// Everything that runs, and the late moves of ETags, end now.
    pub fn finish_operations(&self) {
        self.with(State::finish);
    }

    /// Changes the settings; those that matter only at the start have no effect any more. Lists lag only
    /// over changes made after their lag was set.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        self.with(|state| {
            change(&mut state.options);
            state.keep_history();
        });
    }

    /// How far lists of a group or a subscription lag.
    pub fn set_list_lag(&self, lag: Duration) {
        self.configure(|options| options.list_lag = lag);
    }

    /// How far the VM lists of sets lag.
    pub fn set_member_lag(&self, lag: Duration) {
        self.configure(|options| options.member_lag = lag);
    }

    /// Items on a page of a list.
    pub fn set_page_size(&self, size: Option<usize>) {
        self.configure(|options| options.page = size);
    }

    /// Time a call takes.
    pub fn set_latency(&self, latency: Latency) {
        self.configure(|options| options.latency = latency);
    }

    /// The throttling schemes, or none.
    pub fn set_limits(&self, limits: Option<Limits>) {
        self.configure(|options| options.throttle = limits);
    }
}

impl State {
    fn group_id(&self) -> String {
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
