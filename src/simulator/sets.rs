//! Scale sets and their instances.

use serde_json::{Value, json};

use super::etags::Version;
use super::kinds;
use super::lists::set_of;
use super::models::{self, text};
use super::operations::Effect;
use super::state::{Event, State};
use super::store::Power;

impl State {
    /// Brings the instances of a set to `capacity`; what is left to do comes at the operation's end.
    pub(crate) fn scale(&mut self, key: &str, capacity: usize) -> Vec<Effect> {
        let Some(set) = self.store.find(key).map(|set| set.shown.body.clone()) else { return Vec::new() };
        let members = self.members_of(key);
        let living: Vec<_> = members
            .into_iter()
            .filter(|key| self.store.find(key).is_some_and(|vm| vm.state() != "Deleting"))
            .collect();
        let mut effects = Vec::new();
        for _ in living.len()..capacity {
            let vm = self.add_member(key, &set);
            effects.push(Effect::Settle(vm));
        }
        for vm in living.iter().skip(capacity) {
            effects.extend(self.doom(vm));
        }
        effects
    }

    fn add_member(&mut self, key: &str, set: &Value) -> String {
        let stamp = self.time.stamp_at(self.now);
        let flexible = set["properties"]["orchestrationMode"] == "Flexible";
        let (kind, mut body) = if flexible {
            let suffix = self.random.guid();
            let name = format!("{}_{}", text(&set["name"]), &suffix[..8]);
            (&kinds::VM, models::flexible_vm(set, &name, &stamp, &mut self.random))
        } else {
            let number = self.store.next_number(key);
            (&kinds::SET_VM, models::set_vm(set, number, &stamp, &mut self.random))
        };
        body["properties"]["provisioningState"] = json!("Creating");
        let id = text(&body["id"]).to_owned();
        self.store.insert(self.now, kind, &id, Version::Counter(1), body);
        id.to_ascii_lowercase()
    }

    /// Marks a resource as being deleted.
    pub(crate) fn doom(&mut self, key: &str) -> Vec<Effect> {
        self.set_state(key, "Deleting");
        vec![Effect::Remove(key.to_owned())]
    }

    pub(crate) fn set_state(&mut self, key: &str, state: &str) {
        if let Some(mut body) = self.store.find(key).map(|resource| resource.shown.body.clone()) {
            body["properties"]["provisioningState"] = json!(state);
            self.store.show(self.now, key, body);
        }
    }

    /// Instances of a set went: its capacity follows, which is a write of its model.
    pub(crate) fn shrink(&mut self, set: &str, by: usize) {
        let Some(mut body) = self.store.find(set).map(|set| set.shown.body.clone()) else { return };
        let capacity = body["sku"]["capacity"].as_u64().unwrap_or(0);
        if by == 0 || !body["sku"].is_object() {
            return;
        }
        body["sku"]["capacity"] = json!(capacity.saturating_sub(by as u64));
        self.move_version(set);
        self.store.show(self.now, set, body);
    }

    /// The set an instance belongs to.
    pub(crate) fn owner(&self, key: &str) -> Option<String> {
        let vm = self.store.find(key)?;
        if vm.kind.is(&kinds::SET_VM) {
            return key.rsplit_once("/virtualmachines/").map(|(set, _)| set.to_owned());
        }
        let set = set_of(&vm.shown.body).to_ascii_lowercase();
        self.store.find(&set).map(|_| set)
    }

    /// An instance of a Uniform set was written: the set's ETag moves later
    /// (kubernetes-sigs/cloud-provider-azure, `.agents/references/etag-cache.md`; issue 9728).
    pub(crate) fn move_owner_later(&mut self, key: &str) {
        let uniform = self.store.find(key).is_some_and(|vm| vm.kind.is(&kinds::SET_VM));
        if let Some(set) = self.owner(key).filter(|_| uniform) {
            let after = self.options.operation + self.options.parent_delay;
            self.plan(after, Event::Advance(set));
        }
    }

    /// The model of a set changed; instances are brought up to it by hand.
    pub(crate) fn outdate_members(&mut self, set: &str) {
        for key in self.members_of(set) {
            let Some(vm) = self.store.find(&key).filter(|vm| vm.kind.is(&kinds::SET_VM)) else { continue };
            let mut body = vm.shown.body.clone();
            body["properties"]["latestModelApplied"] = json!(false);
            self.store.show(self.now, &key, body);
        }
    }

    /// Begins to change the power of instances; they are there when the effects are carried out.
    pub(crate) fn drive(&mut self, keys: &[String], through: Power, to: Power) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys {
            if let Some(vm) = self.store.find_mut(key) {
                vm.power = through;
            }
            self.set_state(key, "Updating");
            effects.push(Effect::Power(key.clone(), to));
        }
        effects
    }
}
