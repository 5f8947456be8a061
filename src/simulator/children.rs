//! Resources that live inside the body of another: backend pools, subnets, rules, routes.
//!
//! A child's ETag is its parent's; writing one moves both.

use http::Method;
use serde_json::{Value, json};

use super::address::Address;
use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::kinds;
use super::models::{self, text};
use super::operations::Effect;
use super::state::State;
use super::text;

const ORDER: &[&str] = &["name", "id", "etag", "properties", "type"];

impl State {
    /// The parent and the array if the address names an embedded child (or their list).
    fn embedding(&self, address: &Address, word: &str) -> Option<(String, &'static str)> {
        let kind = kinds::of(&address.kind());
        let array = kind.embedded.iter().find(|name| name.eq_ignore_ascii_case(word)).copied()?;
        Some((address.key(), array))
    }

    fn child_place(&self, ask: &Ask) -> Option<(String, &'static str, String)> {
        let parent = ask.address.parent()?;
        let (word, name) = ask.address.pairs.last()?;
        let (key, array) = self.embedding(&parent, word)?;
        Some((key, array, name.clone()))
    }

    pub(crate) fn read_child(&self, ask: &Ask) -> Option<Answer> {
        let (key, array, name) = self.child_place(ask)?;
        let Some(parent) = self.store.find(&key) else { return self.missing_parent(ask) };
        let Some(child) = find(&parent.shown.body, array, &name) else {
            return Some(answers::child_not_found(&ask.address.id()));
        };
        let answer = Answer::new(200, Author::Network, text::compact(child, ORDER));
        Some(answer.with("etag", text(&child["etag"])))
    }

    pub(crate) fn list_children(&self, ask: &Ask, tail: &str) -> Option<Answer> {
        let (key, array) = self.embedding(&ask.address, tail)?;
        let parent = self.store.find(&key)?;
        let children = parent.shown.body["properties"][array].as_array().cloned().unwrap_or_default();
        let items: Vec<_> = children.iter().map(|child| text::compact(child, ORDER)).collect();
        Some(Answer::new(200, Author::Network, format!("{{\"value\":[{}]}}", items.join(","))))
    }

    /// PUT or DELETE of an embedded child.
    pub(crate) fn write_child(&mut self, ask: &Ask, body: &Value) -> Option<Answer> {
        let (key, array, name) = self.child_place(ask)?;
        let Some(parent) = self.store.find(&key) else {
            let parent = ask.address.parent()?;
            return Some(answers::parent_not_found(&ask.address.kind(), &parent.id()));
        };
        let (id, kind, mut model) = (parent.id.clone(), parent.kind, parent.shown.body.clone());
        let before = model.clone();
        let there = find(&model, array, &name).is_some();
        let children = model["properties"][array].as_array_mut()?;
        if ask.method == Method::DELETE {
            if !there {
                return Some(Answer::empty(204, Author::Network));
            }
            children.retain(|child| !text(&child["name"]).eq_ignore_ascii_case(&name));
        } else {
            let mut child = json!({"name": name, "properties": body["properties"].clone()});
            models::adopt(kind, &id, array, &mut child);
            if !there {
                child["properties"]["provisioningState"] = json!("Updating");
            }
            match children.iter_mut().find(|own| text(&own["name"]).eq_ignore_ascii_case(&name)) {
                Some(own) => *own = child,
                None => children.push(child),
            }
        }
        self.move_version(&key);
        self.store.show(self.now, &key, model.clone());
        if kind.is(&kinds::LOAD_BALANCER) {
            self.touch_addresses(&before, &model);
        }
        let operation = self.begin("Microsoft.Network", &[], vec![Effect::Settle(key.clone())], 200);
        let (status, text) = match self.store.find(&key) {
            Some(parent) if ask.method != Method::DELETE => {
                let child = find(&parent.shown.body, array, &name).cloned().unwrap_or_default();
                (if there { 200 } else { 201 }, text::compact(&child, ORDER))
            }
            _ => (202, String::new()),
        };
        let answer = Answer::new(status, Author::Network, text).applied();
        Some(self.announce(ask, answer, &operation, status == 202))
    }

    /// A load balancer was written: the public IPs behind the frontends that changed move as well.
    pub(crate) fn touch_addresses(&mut self, before: &Value, after: &Value) {
        let frontends = |body: &Value| {
            let list = body["properties"]["frontendIPConfigurations"].as_array().cloned().unwrap_or_default();
            list.into_iter().map(|mut frontend| {
                if let Some(map) = frontend.as_object_mut() {
                    map.remove("etag");
                }
                frontend
            })
        };
        let (before, after): (Vec<_>, Vec<_>) = (frontends(before).collect(), frontends(after).collect());
        let lost =
            before.iter().filter(|frontend| !after.contains(frontend)).map(|frontend| (frontend, false));
        let won = after.iter().filter(|frontend| !before.contains(frontend)).map(|frontend| (frontend, true));
        for (frontend, held) in lost.chain(won) {
            let key = text(&frontend["properties"]["publicIPAddress"]["id"]).to_ascii_lowercase();
            let Some(address) = self.store.find(&key) else { continue };
            let mut body = address.shown.body.clone();
            if held {
                body["properties"]["ipConfiguration"] = json!({"id": frontend["id"]});
            } else if let Some(map) = body["properties"].as_object_mut() {
                map.remove("ipConfiguration");
            }
            self.move_version(&key);
            self.store.show(self.now, &key, body);
        }
    }
}

fn find<'a>(body: &'a Value, array: &str, name: &str) -> Option<&'a Value> {
    let children = body["properties"][array].as_array()?;
    children.iter().find(|child| text(&child["name"]).eq_ignore_ascii_case(name))
}
