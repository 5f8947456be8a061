//! PUT, PATCH and DELETE.

use http::Method;
use serde_json::{Value, json};

use super::address::Address;
use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::etags::Version;
use super::kinds::{self, Kind, Moves, Pace};
use super::merge::{self, Manner};
use super::models;
use super::operations::Effect;
use super::reads::author;
use super::state::State;

/// What a write did.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) created: bool,
    pub(crate) changed: bool,
    pub(crate) effects: Vec<Effect>,
}

impl State {
    pub(crate) fn write(&mut self, ask: &Ask) -> Answer {
        if let Some(refusal) = self.missing_group(ask) {
            return refusal;
        }
        let delete = ask.method == Method::DELETE;
        let body = match read_body(ask) {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        if ask.address.namespace.is_none() {
            return self.write_group(ask, &body);
        }
        if ask.address.tail.is_some() || ask.address.pairs.is_empty() {
            return answers::method_not_allowed(ask.method.as_str());
        }
        if ask.method != Method::PATCH
            && let Some(answer) = self.write_child(ask, &body)
        {
            return answer;
        }
        if delete { self.delete(ask) } else { self.put(ask, &body) }
    }

    fn put(&mut self, ask: &Ask, body: &Value) -> Answer {
        let (address, kind) = (&ask.address, kinds::of(&ask.address.kind()));
        let key = address.key();
        let manner = if ask.method == Method::PATCH { Manner::Patch } else { Manner::Put };
        if let Some(parent) = address.parent()
            && self.store.find(&parent.key()).is_none()
        {
            return answers::parent_not_found(&address.kind(), &parent.id());
        }
        let present = self.store.find(&key);
        if present.is_none() {
            if manner == Manner::Patch {
                return self.missing_resource(ask);
            }
            if kind.is(&kinds::SET_VM) {
                return if address.name().parse::<u64>().is_err() {
                    let message = "Virtual Machine Scale Set VM instanceId must be a number.";
                    answers::invalid_parameter(Author::Compute, message, "instanceId")
                } else {
                    answers::instance_not_found()
                };
            }
        } else if kind.is(&kinds::SET_VM) && manner == Manner::Patch {
            return answers::method_not_allowed("PATCH");
        }
        if !kind.is_compute() || ask.knows_tags() {
            let version = present.map(|resource| &resource.version);
            if let Some(refusal) = ask.conditions.refuse(kind, &address.id(), version, true) {
                return refusal;
            }
        }
        if present.is_none() && address.pairs.len() == 1 && !body["location"].is_string() {
            return answers::gateway(
                400,
                "LocationRequired",
                "The location property is required for this definition.",
            );
        }
        let written = self.lay_down(address, kind, body, manner);
        self.answer_write(ask, kind, &key, written)
    }

    fn answer_write(&mut self, ask: &Ask, kind: &Kind, key: &str, written: Written) -> Answer {
        let operation = (kind.write == Pace::Operation).then(|| {
            let namespace = ask.address.namespace.clone().unwrap_or_default();
            self.begin(&namespace, &[key.to_owned()], written.effects, 200)
        });
        // Recorded (VM client, #12): "Updating" after a PUT that changed nothing, and no URL to poll.
        let silent = kind.is(&kinds::VM) && !written.created && !written.changed;
        if kind.is(&kinds::SET_VM) && written.changed {
            self.move_owner_later(key);
        }
        let status = if written.created || kind.is(&kinds::VIRTUAL_NETWORK) { 201 } else { 200 };
        let Some(resource) = self.store.find(key) else { return Answer::empty(500, author(kind)) };
        let mut answer = self.show(ask, resource, status).applied();
        if kind.is(&kinds::SCALE_SET) || kind.is(&kinds::SET_VM) {
            answer = answer.charged(u32::from(written.created || written.changed));
        }
        match operation {
            Some(operation) if !silent => self.announce(ask, answer, &operation, false),
            _ => answer,
        }
    }

    /// Lays a body over what is there (or over nothing) and moves the version as the type does.
    pub(crate) fn lay_down(
        &mut self,
        address: &Address,
        kind: &'static Kind,
        body: &Value,
        manner: Manner,
    ) -> Written {
        let (key, id) = (address.key(), address.id());
        let before = self.store.find(&key).map(|resource| resource.shown.body.clone());
        let stamp = self.time.stamp_at(self.now);
        let mut model = match &before {
            Some(before) => before.clone(),
            None => models::blank(kind, &id, address.name(), &stamp, &mut self.random),
        };
        if kind.name.is_empty() {
            model["type"] = json!(address.kind());
        }
        if kind.is(&kinds::SET_VM) {
            // Recorded: a PUT with nothing but tags changed nothing.
            let mut body = body.clone();
            if let Some(map) = body.as_object_mut() {
                map.remove("tags");
            }
            merge::merge(&mut model, &body, manner);
        } else {
            if kind.sparse || manner == Manner::Patch {
                merge::merge(&mut model, body, manner);
            } else {
                merge::replace(&mut model, body);
            }
            model["id"] = json!(id);
            model["name"] = json!(address.name());
        }
        if model["identity"]["type"] == "None"
            && let Some(map) = model.as_object_mut()
        {
            map.remove("identity");
        }
        models::complete(kind, &id, &mut model);
        let changed = before.as_ref().is_none_or(|before| bare(before) != bare(&model));
        let state = if before.is_some() { kind.states.1 } else { kind.states.0 };
        model["properties"]["provisioningState"] = json!(state);
        if before.is_none() {
            models::set_child_states(kind, &mut model, state);
            let version = Version::first(kind, &mut self.random);
            self.store.insert(self.now, kind, &id, version, model.clone());
        } else {
            if changed || kind.moves == Moves::Always {
                self.move_version(&key);
            }
            if let Some(resource) = self.store.find_mut(&key) {
                resource.id = id;
            }
            self.store.show(self.now, &key, model.clone());
        }
        let mut effects = vec![Effect::Settle(key.clone())];
        effects.extend(self.follow(kind, &key, before.as_ref(), &model));
        Written { created: before.is_none(), changed, effects }
    }

    /// What a write of one resource means for others.
    pub(crate) fn follow(
        &mut self,
        kind: &Kind,
        key: &str,
        before: Option<&Value>,
        after: &Value,
    ) -> Vec<Effect> {
        if kind.is(&kinds::LOAD_BALANCER) {
            let nothing = json!({});
            self.touch_addresses(before.unwrap_or(&nothing), after);
        }
        if !kind.is(&kinds::SCALE_SET) {
            return Vec::new();
        }
        if before.is_some_and(|before| profile(before) != profile(after)) {
            self.outdate_members(key);
        }
        let capacity = after["sku"]["capacity"].as_u64().and_then(|count| usize::try_from(count).ok());
        self.scale(key, capacity.unwrap_or(0).min(10_000))
    }

    fn delete(&mut self, ask: &Ask) -> Answer {
        let (key, kind) = (ask.address.key(), kinds::of(&ask.address.kind()));
        let Some(resource) = self.store.find(&key) else { return Answer::empty(204, author(kind)) };
        let namespace = ask.address.namespace.clone().unwrap_or_default();
        let dying = resource.state() == "Deleting";
        if let Some(owner) = self.owner(&key).filter(|_| !dying) {
            self.shrink(&owner, 1);
        }
        if kind.delete == Pace::AtOnce {
            self.erase(&key);
            let answer = Answer::empty(200, author(kind)).applied();
            if !kind.is_network() {
                return answer;
            }
            let operation = self.begin(&namespace, &[], Vec::new(), 200);
            return self.announce(ask, answer, &operation, true);
        }
        let mut effects = Vec::new();
        let members = if kind.is(&kinds::SCALE_SET) { self.members_of(&key) } else { Vec::new() };
        for member in &members {
            effects.extend(self.doom(member));
        }
        effects.extend(self.doom(&key));
        let operation = self.begin(&namespace, &[key], effects, 204);
        let mut answer = Answer::empty(202, author(kind)).applied();
        if kind.is(&kinds::SCALE_SET) {
            answer = answer.charged(u32::try_from(members.len()).unwrap_or(u32::MAX));
        } else if kind.is(&kinds::SET_VM) {
            answer = answer.charged(1);
        }
        self.announce(ask, answer, &operation, true)
    }
}

/// A model without what is not part of it.
pub(crate) fn bare(model: &Value) -> Value {
    let mut model = model.clone();
    if let Some(map) = model.as_object_mut() {
        map.retain(|name, _| !matches!(name.as_str(), "etag" | "id" | "name"));
    }
    if let Some(map) = model["properties"].as_object_mut() {
        map.remove("provisioningState");
    }
    model
}

fn profile(set: &Value) -> &Value {
    &set["properties"]["virtualMachineProfile"]
}

/// The JSON object of a write; nothing counts as `{}`.
pub(crate) fn read_body(ask: &Ask) -> Result<Value, Box<Answer>> {
    if ask.body.iter().all(u8::is_ascii_whitespace) {
        return Ok(json!({}));
    }
    let body: Value = serde_json::from_slice(&ask.body)
        .map_err(|error| Box::new(answers::invalid_content(&error.to_string())))?;
    let shapely = ["properties", "sku", "identity", "tags"]
        .iter()
        .all(|name| body[*name].is_object() || body[*name].is_null());
    if body.is_object() && shapely {
        Ok(body)
    } else {
        Err(Box::new(answers::invalid_content("Expected an object.")))
    }
}
