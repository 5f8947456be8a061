//! GET of lists: of a group, a subscription, a set; merged, paged, late.

use std::sync::Arc;

use serde_json::{Value, json};

use super::address::same;
use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::kinds::{self, Kind};
use super::models::text;
use super::paging::Page;
use super::reads::author;
use super::state::State;
use super::store::Shown;
use super::text;

impl State {
    /// The VMs of a set: its own, or for a Flexible one the group's that name it.
    pub(crate) fn members_of(&self, set: &str) -> Vec<String> {
        let own = self.store.members(&format!("{set}/virtualmachines"));
        let flexible = self
            .store
            .find(set)
            .is_some_and(|set| set.shown.body["properties"]["orchestrationMode"] == "Flexible");
        if !flexible {
            return own;
        }
        let group = set.split_once("/providers/").map_or(set, |(group, _)| group);
        let mut members = self.store.members(&format!("{group}/providers/microsoft.compute/virtualmachines"));
        members.retain(|key| self.store.find(key).is_some_and(|vm| same(set_of(&vm.shown.body), set)));
        members
    }

    pub(crate) fn read_list(&self, ask: &Ask, tail: &str) -> Answer {
        let page = match Page::asked(ask, self.options.page) {
            Ok(page) => page,
            Err(_) => {
                return answers::invalid_parameter(
                    Author::Other,
                    "The value of parameter $skiptoken is invalid.",
                    "$skiptoken",
                );
            }
        };
        let address = &ask.address;
        let located = address.pairs.first().is_some_and(|(word, _)| word.eq_ignore_ascii_case("locations"));
        let nested = !address.pairs.is_empty() && !located;
        if nested {
            if self.store.find(&address.key()).is_none() {
                return self.missing_parent(ask).unwrap_or_else(|| self.missing_resource(ask));
            }
            if let Some(answer) = self.list_children(ask, tail) {
                return answer;
            }
        }
        let (items, skeleton) = if nested && self.is_flexible(ask) {
            (self.flexible_members(ask), true)
        } else if nested {
            let moment = self.now.saturating_sub(self.options.member_lag);
            (self.store.list(&address.collection(tail), moment), false)
        } else {
            (self.merged_list(ask, tail), false)
        };
        let kind = match nested {
            true => kinds::of(&format!("{}/{tail}", address.kind())),
            false => kinds::of(&format!("{}/{tail}", address.namespace.as_deref().unwrap_or(""))),
        };
        let filter = ask.option("$filter").unwrap_or_default();
        let wanted =
            items.into_iter().filter(|(born, shown)| *born > page.after && passes(&shown.body, &filter));
        let mut wanted: Vec<_> = wanted.take(page.size.saturating_add(1)).collect();
        let more = wanted.len() > page.size || (self.options.empty_page && !wanted.is_empty());
        wanted.truncate(page.size);
        let next = more.then(|| Page::next(ask, wanted.last().map_or(0, |(born, _)| *born)));
        let merged = !nested;
        let indented = nested && kind.indented;
        let texts: Vec<String> =
            wanted.iter().map(|(_, shown)| self.item(ask, shown, skeleton, indented, kind)).collect();
        let text = envelope(&texts, next.as_deref(), indented);
        // Recorded (VM client, #6): where nothing is, no provider is asked.
        let author = match () {
            () if merged && texts.is_empty() => Author::Other,
            () if merged && !kind.is_network() => Author::Merged,
            () => author(kind),
        };
        let answer = Answer::new(200, author, text);
        let answer = if kind.is(&kinds::SET_VM) { answer.charged(1) } else { answer };
        self.graph(ask, answer)
    }

    fn item(&self, ask: &Ask, shown: &Shown, skeleton: bool, indented: bool, kind: &Kind) -> String {
        if skeleton {
            // GH:Azure/azure-cli#28052: a Flexible set's own list has neither properties nor ETags.
            let body = skeleton_of(&shown.body);
            return if indented {
                text::indented(&body, kind.order, 2)
            } else {
                text::compact(&body, kind.order)
            };
        }
        let resource = self.store.find(&text(&shown.body["id"]).to_ascii_lowercase());
        match resource.and_then(|resource| self.dress(ask, resource, shown)) {
            Some(body) if indented => text::indented(&body, kind.order, 2),
            Some(body) => text::compact(&body, kind.order),
            None if indented => shown.item().to_owned(),
            None => shown.compact().to_owned(),
        }
    }

    /// Lists of a group or a subscription: merged by ARM, and late.
    fn merged_list(&self, ask: &Ask, tail: &str) -> Vec<(u64, Arc<Shown>)> {
        let moment = self.now.saturating_sub(self.options.list_lag);
        let namespace = ask.address.namespace.as_deref().unwrap_or("");
        let groups: Vec<String> = match self.group_key(&ask.address) {
            Some(key) => vec![key],
            None => {
                let prefix = format!("/subscriptions/{}/", ask.address.subscription.as_deref().unwrap_or(""));
                let prefix = prefix.to_ascii_lowercase();
                self.store.groups.keys().filter(|key| key.starts_with(&prefix)).cloned().collect()
            }
        };
        let mut items = Vec::new();
        for group in groups {
            let collection = format!("{group}/providers/{namespace}/{tail}").to_ascii_lowercase();
            items.extend(self.store.list(&collection, moment));
        }
        if let Some((_, location)) = ask.address.pairs.first() {
            items.retain(|(_, shown)| text(&shown.body["location"]).eq_ignore_ascii_case(location));
        }
        items.sort_by_key(|(born, _)| *born);
        items
    }

    fn flexible_members(&self, ask: &Ask) -> Vec<(u64, Arc<Shown>)> {
        let members = self.members_of(&ask.address.key());
        let found = members.iter().filter_map(|key| self.store.find(key));
        found.map(|vm| (vm.born, Arc::clone(&vm.shown))).collect()
    }

    pub(crate) fn flexible_member(&self, ask: &Ask) -> Answer {
        let set = ask.address.parent().map(|set| set.key()).unwrap_or_default();
        let members = self.members_of(&set);
        let member = members.iter().filter_map(|key| self.store.find(key));
        let member = member
            .into_iter()
            .find(|vm| text(&vm.shown.body["name"]).eq_ignore_ascii_case(ask.address.name()));
        match member {
            Some(vm) => Answer::json(200, Author::Compute, &skeleton_of(&vm.shown.body)).charged(1),
            None => answers::instance_not_found().charged(1),
        }
    }
}

/// The id of the Flexible set a VM belongs to.
pub(crate) fn set_of(vm: &Value) -> &str {
    text(&vm["properties"]["virtualMachineScaleSet"]["id"])
}

fn skeleton_of(vm: &Value) -> Value {
    let set = set_of(vm);
    json!({"name": vm["name"], "id": format!("{set}/virtualMachines/{}", text(&vm["name"])),
        "type": kinds::SET_VM.name, "location": vm["location"], "instanceId": vm["name"]})
}

/// `'virtualMachineScaleSet/id' eq '{id}'`, the one filter that clients are known to send.
fn passes(vm: &Value, filter: &str) -> bool {
    let lower = filter.to_ascii_lowercase();
    if !lower.contains("virtualmachinescaleset/id") {
        return true;
    }
    let value = lower.trim_end().trim_end_matches('\'').rsplit('\'').next().unwrap_or("").to_owned();
    same(set_of(vm), &value)
}

fn envelope(items: &[String], next: Option<&str>, indented: bool) -> String {
    let next = next.map(|link| Value::String(link.to_owned()).to_string());
    if !indented {
        let next = next.map_or_else(String::new, |link| format!(",\"nextLink\":{link}"));
        return format!("{{\"value\":[{}]{next}}}", items.join(","));
    }
    let next = next.map_or_else(String::new, |link| format!(",\r\n  \"nextLink\": {link}"));
    if items.is_empty() {
        return format!("{{\r\n  \"value\": []{next}\r\n}}");
    }
    let items = items.iter().map(|item| format!("\r\n    {item}")).collect::<Vec<_>>().join(",");
    format!("{{\r\n  \"value\": [{items}\r\n  ]{next}\r\n}}")
}
