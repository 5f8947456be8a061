//! GET: single resources, views, lists.

use serde_json::{Value, json};

use super::address::same;
use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::kinds::{self, Kind};
use super::models::{self, text};
use super::paging::Page;
use super::state::State;
use super::store::{Resource, Shown};
use super::text;

/// Whose answer it is if it comes straight from the provider.
pub(crate) fn author(kind: &Kind) -> Author {
    if kind.is_compute() {
        Author::Compute
    } else if kind.is_network() {
        Author::Network
    } else {
        Author::Other
    }
}

impl State {
    pub(crate) fn read(&self, ask: &Ask) -> Answer {
        if let Some(refusal) = self.missing_group(ask) {
            return refusal;
        }
        let address = &ask.address;
        if address.namespace.is_none() {
            return self.read_scope(ask);
        }
        match &address.tail {
            None if address.pairs.is_empty() => self.read_provider(ask),
            None => self.read_point(ask),
            Some(tail) if address.pairs.is_empty() || self.is_collection(ask, tail) => {
                self.read_list(ask, &tail.clone())
            }
            Some(tail) => self.read_view(ask, &tail.clone()),
        }
    }

    pub(crate) fn missing_group(&self, ask: &Ask) -> Option<Answer> {
        if let Some(subscription) = &ask.address.subscription
            && !self.knows_subscription(subscription)
        {
            let message = format!("The subscription '{subscription}' could not be found.");
            return Some(answers::gateway(404, "SubscriptionNotFound", &message));
        }
        let group = ask.address.group.as_deref()?;
        let key = self.group_key(&ask.address)?;
        // A group may be made, and asked for.
        let own = ask.address.namespace.is_none() && ask.address.tail.is_none();
        (!own && !self.store.groups.contains_key(&key)).then(|| answers::group_not_found(group))
    }

    fn knows_subscription(&self, subscription: &str) -> bool {
        let own = &self.options.subscription;
        own.eq_ignore_ascii_case(subscription)
            || self.store.groups.values().any(|group| group.subscription.eq_ignore_ascii_case(subscription))
    }

    fn read_scope(&self, ask: &Ask) -> Answer {
        let subscription = &self.options.subscription;
        let body = json!({"id": format!("/subscriptions/{subscription}"), "subscriptionId": subscription,
            "tenantId": self.options.tenant, "displayName": "Simulated", "state": "Enabled"});
        let address = &ask.address;
        match (&address.subscription, &address.group, address.tail.as_deref()) {
            (None, None, Some(tail)) if tail.eq_ignore_ascii_case("subscriptions") => {
                Answer::json(200, Author::Merged, &json!({"value": [body]}))
            }
            (Some(_), None, None) if address.pairs.is_empty() => Answer::json(200, Author::Other, &body),
            (Some(own), None, Some(tail)) if tail.eq_ignore_ascii_case("resourcegroups") => {
                let groups =
                    self.store.groups.values().filter(|group| group.subscription.eq_ignore_ascii_case(own));
                let value: Vec<_> = groups.map(|group| &group.body).collect();
                Answer::json(200, Author::Merged, &json!({"value": value}))
            }
            (Some(_), Some(name), None) => {
                let group = self.group_key(address).and_then(|key| self.store.groups.get(&key));
                group.map_or_else(
                    || answers::group_not_found(name),
                    |group| Answer::json(200, Author::Other, &group.body),
                )
            }
            _ => answers::gateway(404, "NotFound", "The requested path does not exist."),
        }
    }

    /// What the cloud-controller-manager asks for the zones (`GET …/providers/Microsoft.Compute`).
    fn read_provider(&self, ask: &Ask) -> Answer {
        let location = &self.options.location;
        let namespace = ask.address.namespace.as_deref().unwrap_or("");
        let types = ["virtualMachines", "virtualMachineScaleSets"].map(|name| {
            json!({"resourceType": name, "locations": [location], "apiVersions": ["2025-04-01", "2024-07-01"],
                "zoneMappings": [{"location": location, "zones": ["1", "2", "3"]}]})
        });
        let body = json!({"id": ask.address.id(), "namespace": namespace,
            "registrationState": "Registered", "resourceTypes": types});
        Answer::json(200, Author::Other, &body)
    }

    fn read_point(&self, ask: &Ask) -> Answer {
        let kind = kinds::of(&ask.address.kind());
        if let Some(answer) = self.read_child(ask) {
            return answer;
        }
        if let Some(answer) = self.read_set_interface(ask) {
            return answer;
        }
        let key = ask.address.key();
        if kind.is(&kinds::SET_VM) {
            if let Some(refusal) = self.missing_parent(ask) {
                return refusal;
            }
            if self.is_flexible(ask) {
                return self.flexible_member(ask);
            }
            if ask.address.name().parse::<u64>().is_err() {
                let message = "Virtual Machine Scale Set VM instanceId must be a number.";
                return answers::invalid_parameter(Author::Compute, message, "instanceId").charged(1);
            }
        }
        match self.store.find(&key) {
            Some(resource) => self.show(ask, resource, 200),
            None if kind.is(&kinds::SET_VM) => answers::instance_not_found().charged(1),
            None => self.missing_resource(ask),
        }
    }

    pub(crate) fn missing_resource(&self, ask: &Ask) -> Answer {
        let names: Vec<_> = ask.address.pairs.iter().map(|(_, name)| name.as_str()).collect();
        let known = kinds::of(&ask.address.kind()).name;
        let kind = if known.is_empty() { ask.address.kind() } else { known.to_owned() };
        answers::resource_not_found(&kind, &names.join("/"), ask.address.group.as_deref().unwrap_or(""))
    }

    /// The 404 of ARM if the resource above does not exist.
    pub(crate) fn missing_parent(&self, ask: &Ask) -> Option<Answer> {
        let parent = ask.address.parent()?;
        let gone = self.store.find(&parent.key()).is_none();
        gone.then(|| self.missing_resource(&Ask { address: parent, ..ask.clone() }))
    }

    pub(crate) fn is_flexible(&self, ask: &Ask) -> bool {
        let set = ask.address.pairs.first().map(|(word, name)| {
            let mut address = ask.address.clone();
            address.pairs = vec![(word.clone(), name.clone())];
            address.key()
        });
        let set = set.and_then(|key| self.store.find(&key));
        set.is_some_and(|set| set.shown.body["properties"]["orchestrationMode"] == "Flexible")
    }

    /// A single resource as its provider writes it.
    pub(crate) fn show(&self, ask: &Ask, resource: &Resource, status: u16) -> Answer {
        let kind = resource.kind;
        let body = self.dress(ask, resource, &resource.shown);
        let body = body.as_ref().unwrap_or(&resource.shown.body);
        let text =
            if kind.indented { text::indented(body, kind.order, 0) } else { text::compact(body, kind.order) };
        let mut answer = Answer::new(status, author(kind), text);
        let tag = resource.version.tag().filter(|_| !kind.is_compute() || ask.knows_tags());
        if let Some(tag) = tag.filter(|_| ask.method == http::Method::GET || kind.tag_on_write) {
            answer = answer.with("etag", &tag);
        }
        if kind.is(&kinds::SET_VM) && ask.method == http::Method::GET {
            answer = answer.charged(1);
        }
        self.graph(ask, answer)
    }

    /// The body if it differs from what is stored: with an instance view, without ETag, from the graph.
    fn dress(&self, ask: &Ask, resource: &Resource, shown: &Shown) -> Option<Value> {
        let is_vm = resource.kind.is(&kinds::SET_VM) || resource.kind.is(&kinds::VM);
        let expand = ask.expands_view() && is_vm;
        let bare = resource.kind.is_compute() && !ask.knows_tags();
        if !expand && !bare && !ask.uses_graph() {
            return None;
        }
        let mut body = shown.body.clone();
        if expand {
            body["properties"]["instanceView"] = models::instance_view(
                &shown.body,
                resource.power.code(),
                &self.time.stamp_at(std::time::Duration::ZERO),
            );
        }
        if bare && let Some(map) = body.as_object_mut() {
            map.remove("etag");
        }
        if ask.uses_graph() {
            body["apiVersion"] = json!("2024-11-01");
        }
        Some(body)
    }

    /// Answers of Resource Graph carry its quota (`MicrosoftDocs/azure-docs`, `arg-get-list-api.md`).
    fn graph(&self, ask: &Ask, answer: Answer) -> Answer {
        if !ask.uses_graph() {
            return answer;
        }
        answer
            .with("x-ms-user-quota-remaining", "3999")
            .with("x-ms-user-quota-resets-after", "00:01:00")
            .with("x-ms-arg-snapshot-timestamp", &self.time.stamp())
    }

    /// Whether the tail names a list of resources below a resource.
    fn is_collection(&self, ask: &Ask, tail: &str) -> bool {
        if ask.address.pairs[0].0.eq_ignore_ascii_case("locations") {
            return true;
        }
        let kind = kinds::of(&ask.address.kind());
        let child = kinds::of(&format!("{}/{tail}", kind.name));
        let embedded = kind.embedded.iter().any(|name| name.eq_ignore_ascii_case(tail));
        !child.name.is_empty() || embedded || !self.store.members(&ask.address.collection(tail)).is_empty()
    }

    fn read_view(&self, ask: &Ask, tail: &str) -> Answer {
        let key = ask.address.key();
        let Some(resource) = self.store.find(&key) else {
            return match self.missing_parent(ask) {
                Some(refusal) => refusal,
                None if kinds::of(&ask.address.kind()).is(&kinds::SET_VM) => answers::instance_not_found(),
                None => self.missing_resource(ask),
            };
        };
        let stamp = self.time.stamp_at(std::time::Duration::ZERO);
        if tail.eq_ignore_ascii_case("instanceView") && resource.kind.is(&kinds::SCALE_SET) {
            let members = self.members_of(&key);
            let states: Vec<_> =
                members.iter().filter_map(|key| self.store.find(key)).map(Resource::state).collect();
            let mut summary = Vec::new();
            for state in ["Creating", "Updating", "Deleting", "Failed", "Succeeded"] {
                let count = states.iter().filter(|own| **own == state).count();
                if count > 0 {
                    let code = format!("ProvisioningState/{}", state.to_ascii_lowercase());
                    summary.push(json!({"code": code, "count": count}));
                }
            }
            let state = resource.state().to_ascii_lowercase();
            let body = json!({"virtualMachine": {"statusesSummary": summary}, "statuses": [
                {"code": format!("ProvisioningState/{state}"), "level": "Info",
                 "displayStatus": format!("Provisioning {state}"), "time": stamp}]});
            return Answer::json(200, Author::Compute, &body);
        }
        if tail.eq_ignore_ascii_case("instanceView") {
            let body = models::instance_view(&resource.shown.body, resource.power.code(), &stamp);
            let answer = Answer::json(200, Author::Compute, &body);
            return if resource.kind.is(&kinds::SET_VM) { answer.charged(1) } else { answer };
        }
        // A collection nobody put anything into, or a view nobody models.
        Answer::json(200, author(resource.kind), &json!({"value": []}))
    }

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

    fn read_list(&self, ask: &Ask, tail: &str) -> Answer {
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
        let next = (wanted.len() > page.size).then(|| {
            wanted.truncate(page.size);
            Page::next(ask, wanted.last().map_or(0, |(born, _)| *born))
        });
        let merged = !nested;
        let indented = nested && kind.indented;
        let texts: Vec<String> =
            wanted.iter().map(|(_, shown)| self.item(ask, shown, skeleton, indented, kind)).collect();
        let text = envelope(&texts, next.as_deref(), indented);
        let author = if merged && !kind.is_network() { Author::Merged } else { author(kind) };
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
    fn merged_list(&self, ask: &Ask, tail: &str) -> Vec<(u64, std::sync::Arc<Shown>)> {
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

    fn flexible_members(&self, ask: &Ask) -> Vec<(u64, std::sync::Arc<Shown>)> {
        let members = self.members_of(&ask.address.key());
        let found = members.iter().filter_map(|key| self.store.find(key));
        found.map(|vm| (vm.born, std::sync::Arc::clone(&vm.shown))).collect()
    }

    fn flexible_member(&self, ask: &Ask) -> Answer {
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

    /// `…/virtualMachines/{n}/networkInterfaces/{name}` below a set.
    fn read_set_interface(&self, ask: &Ask) -> Option<Answer> {
        let parent = ask.address.parent().filter(|parent| kinds::of(&parent.kind()).is(&kinds::SET_VM))?;
        if !ask.address.pairs.last()?.0.eq_ignore_ascii_case("networkInterfaces") {
            return None;
        }
        let Some(vm) = self.store.find(&parent.key()) else {
            return Some(answers::child_not_found(&ask.address.id()));
        };
        let tag = format!("W/\"{}\"", super::random::guid_of(&format!("{} {:?}", vm.id, vm.version)));
        let body = models::set_interface(&vm.shown.body, &ask.address.id(), ask.address.name(), &tag);
        Some(Answer::json(200, Author::Network, &body).with("etag", &tag))
    }
}

fn skeleton_of(vm: &Value) -> Value {
    let set = set_of(vm);
    json!({"name": vm["name"], "id": format!("{set}/virtualMachines/{}", text(&vm["name"])),
        "type": kinds::SET_VM.name, "location": vm["location"], "instanceId": vm["name"]})
}

/// The id of the Flexible set a VM belongs to.
pub(crate) fn set_of(vm: &Value) -> &str {
    text(&vm["properties"]["virtualMachineScaleSet"]["id"])
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
