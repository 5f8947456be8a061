//! GET: single resources, views, lists.

use serde_json::{Value, json};

use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::kinds::{self, Kind};
use super::models::{self};
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
    pub(crate) fn dress(&self, ask: &Ask, resource: &Resource, shown: &Shown) -> Option<Value> {
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
    pub(crate) fn graph(&self, ask: &Ask, answer: Answer) -> Answer {
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
