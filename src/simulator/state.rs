//! Everything behind the simulator's one lock, and the passing of time in it.
//!
//! Nothing here waits or runs by itself: what is due is applied, in order, before the next look.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::faults::Faults;
use super::journal::Journal;
use super::kinds;
use super::operations::{Effect, Failure, Operation, Operations, is_terminal, preempted};
use super::options::Options;
use super::random::Random;
use super::store::Store;
use super::throttle::Throttle;
use super::timeline::Timeline;
use super::tokens::Tokens;

/// Something that happens later.
#[derive(Debug)]
pub(crate) enum Event {
    End(String),
    /// The platform writes the model of a set, after one of its VMs was written.
    Advance(String),
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) options: Options,
    pub(crate) time: Timeline,
    /// The moment that is being acted in; behind the clock only while old events are applied.
    pub(crate) now: Duration,
    pub(crate) random: Random,
    pub(crate) store: Store,
    pub(crate) operations: Operations,
    events: BTreeMap<(Duration, u64), Event>,
    planned: u64,
    pub(crate) journal: Journal,
    pub(crate) faults: Faults,
    pub(crate) tokens: Tokens,
    pub(crate) throttle: Throttle,
}

impl State {
    pub(crate) fn new(options: Options) -> Self {
        let mut random = Random::seeded(options.seed);
        let certificate = random.opaque(900);
        let mut state = Self {
            time: Timeline::starting(options.wall),
            now: Duration::ZERO,
            store: Store::default(),
            operations: Operations::new(options.seed, certificate),
            events: BTreeMap::new(),
            planned: 0,
            journal: Journal::new(options.journal),
            faults: Faults::default(),
            tokens: Tokens::default(),
            throttle: Throttle::default(),
            random,
            options,
        };
        state.keep_history();
        let group = state.options.group.clone();
        state.make_group(&group);
        state
    }

    /// Former states are kept as long as lists may lag.
    pub(crate) fn keep_history(&mut self) {
        self.store.horizon = self.options.list_lag.max(self.options.member_lag);
    }

    /// Lets everything happen that is due.
    pub(crate) fn settle(&mut self) {
        let clock = self.time.elapsed();
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= clock
        {
            let ((due, _), event) = entry.remove_entry();
            self.now = due;
            match event {
                Event::End(operation) => self.end(&operation),
                Event::Advance(set) => self.advance(&set),
            }
        }
        self.now = clock;
    }

    /// Ends all that still runs, now.
    pub(crate) fn finish(&mut self) {
        while let Some((_, event)) = self.events.pop_first() {
            match event {
                Event::End(operation) => self.end(&operation),
                Event::Advance(set) => self.advance(&set),
            }
        }
    }

    pub(crate) fn plan(&mut self, after: Duration, event: Event) {
        self.planned += 1;
        self.events.insert((self.now + after, self.planned), event);
    }

    /// Begins an operation on `keys`, pushing those that run there out of the way. What they would have
    /// done at their end becomes part of the new one.
    pub(crate) fn begin(
        &mut self,
        namespace: &str,
        keys: &[String],
        effects: Vec<Effect>,
        last_status: u16,
    ) -> String {
        let id = self.random.guid();
        let mut inherited = Vec::new();
        for key in keys {
            let Some(resource) = self.store.find_mut(key) else { continue };
            if let Some(former) = resource.operation.replace(id.clone())
                && let Some(former) = self.operations.known.get_mut(&former)
                && former.ended.is_none()
            {
                former.ended = Some(self.now);
                former.failure = Some(preempted(&former.namespace));
                inherited.append(&mut former.effects);
            }
        }
        inherited.retain(|effect| !effects.contains(effect));
        inherited.extend(effects);
        let operation = Operation {
            id: id.clone(),
            namespace: namespace.to_owned(),
            began: self.now,
            ended: None,
            failure: None,
            effects: inherited,
            last_status,
        };
        self.operations.known.insert(id.clone(), operation);
        self.plan(self.options.operation, Event::End(id.clone()));
        id
    }

    pub(crate) fn end(&mut self, id: &str) {
        let Some(operation) = self.operations.known.get_mut(id) else { return };
        if operation.ended.is_some() {
            return;
        }
        operation.ended = Some(self.now);
        let failure = self.operations.planned.pop_front();
        operation.failure.clone_from(&failure);
        let effects = std::mem::take(&mut operation.effects);
        for effect in effects {
            self.carry_out(&effect, failure.as_ref(), id);
        }
    }

    fn carry_out(&mut self, effect: &Effect, failure: Option<&Failure>, operation: &str) {
        match effect {
            Effect::Settle(key) => self.leave(key, operation, failure.is_some()),
            Effect::Remove(key) | Effect::RemoveGroup(key) if failure.is_some() => {
                self.leave(key, operation, true)
            }
            Effect::Remove(key) => self.erase(key),
            Effect::Power(key, power) => {
                if let Some(resource) = self.store.find_mut(key) {
                    resource.power = *power;
                }
                self.leave(key, operation, failure.is_some());
            }
            Effect::RemoveGroup(key) => {
                for key in self.store.below(key) {
                    self.store.remove(self.now, &key);
                }
                self.store.groups.remove(key);
            }
        }
    }

    /// The resource is no longer in progress.
    fn leave(&mut self, key: &str, operation: &str, failed: bool) {
        let Some(resource) = self.store.find_mut(key) else { return };
        if resource.operation.as_deref().is_some_and(|own| own != operation) {
            return;
        }
        resource.operation = None;
        let (kind, mut body) = (resource.kind, resource.shown.body.clone());
        let creating = resource.state() == "Creating";
        if !is_terminal(&body) || failed {
            body["properties"]["provisioningState"] = json!(if failed { "Failed" } else { "Succeeded" });
        }
        if !failed {
            super::models::set_child_states(kind, &mut body, "Succeeded");
        }
        if kind.is(&kinds::VM) && creating && !failed {
            self.attach_disk(&mut body);
            self.move_version(key);
        } else if kind.is(&kinds::PUBLIC_IP) && body["properties"]["publicIPAllocationMethod"] == "Static" {
            let number = self.random.below(1 << 16);
            if body["properties"]["ipAddress"].is_null() {
                body["properties"]["ipAddress"] = json!(format!("20.81.{}.{}", number >> 8, number & 255));
                self.move_version(key);
            }
        }
        self.store.show(self.now, key, body);
    }

    /// The platform writes the id of the system disk, which moves a new VM's ETag from 1 to 2.
    fn attach_disk(&self, body: &mut serde_json::Value) {
        let id = body["id"].as_str().unwrap_or("");
        let group = id.split_once("/providers/").map_or("", |(group, _)| group);
        let name = body["name"].as_str().unwrap_or("");
        let disk = body.pointer("/properties/storageProfile/osDisk/name").and_then(|name| name.as_str());
        let disk = disk.map_or_else(|| format!("{name}_OsDisk_1"), str::to_owned);
        let id = format!("{group}/providers/Microsoft.Compute/disks/{disk}");
        if let Some(os_disk) =
            body.pointer_mut("/properties/storageProfile/osDisk").filter(|disk| disk.is_object())
        {
            os_disk["name"] = json!(disk);
            if !os_disk["managedDisk"].is_object() {
                os_disk["managedDisk"] = json!({});
            }
            os_disk["managedDisk"]["id"] = json!(id);
        }
    }

    pub(crate) fn move_version(&mut self, key: &str) {
        if let Some(resource) = self.store.find_mut(key) {
            resource.version.advance(&mut self.random);
        }
    }

    /// Moves the ETag and nothing else.
    pub(crate) fn advance(&mut self, key: &str) {
        self.move_version(key);
        if let Some(body) = self.store.find(key).map(|resource| resource.shown.body.clone()) {
            self.store.show(self.now, key, body);
        }
    }

    /// Removes a resource with all below it, and what the removal means for others.
    pub(crate) fn erase(&mut self, key: &str) {
        for key in self.store.below(key) {
            self.store.remove(self.now, &key);
        }
        if let Some(resource) = self.store.remove(self.now, key)
            && resource.kind.is(&kinds::LOAD_BALANCER)
        {
            self.touch_addresses(&resource.shown.body, &json!({}));
        }
    }
}
