//! POST: power, deletion of instances, and the POSTs that only read.

use http::Method;
use serde_json::{Value, json};

use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::kinds;
use super::models::text;
use super::operations::Effect;
use super::reads::author;
use super::state::State;
use super::store::{Power, Resource};
use super::writes::read_body;

impl State {
    pub(crate) fn act(&mut self, ask: &Ask) -> Answer {
        if let Some(refusal) = self.missing_group(ask) {
            return refusal;
        }
        let body = match read_body(ask) {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        let Some(action) = ask.address.tail.as_deref().map(str::to_ascii_lowercase) else {
            return answers::method_not_allowed("POST");
        };
        if ask.path().to_ascii_lowercase().ends_with("/providers/microsoft.resourcegraph/resources") {
            return self.query_graph();
        }
        if ask.address.pairs.is_empty() {
            return match action.as_str() {
                "checknameavailability" => Answer::json(200, Author::Other, &json!({"nameAvailable": true})),
                "batch" => Answer::json(200, Author::Other, &json!({"responses": []})),
                _ => answers::method_not_allowed("POST"),
            };
        }
        let key = ask.address.key();
        let Some(resource) = self.store.find(&key) else {
            return match self.missing_parent(ask) {
                Some(refusal) => refusal,
                None if kinds::of(&ask.address.kind()).is(&kinds::SET_VM) => answers::instance_not_found(),
                None => self.missing_resource(ask),
            };
        };
        let kind = resource.kind;
        if action.starts_with("list") {
            return Answer::json(
                200,
                author(kind),
                &json!({"keys": [{"keyName": "key1", "value": "c2ltdWxhdGVk"}]}),
            );
        }
        let targets = if kind.is(&kinds::SCALE_SET) {
            match self.named_instances(&key, &body, action == "delete") {
                Ok(targets) => targets,
                Err(refusal) => return *refusal,
            }
        } else {
            vec![key.clone()]
        };
        let Some(effects) = self.perform(&action, &key, &targets, &body) else {
            return answers::gateway(
                404,
                "InvalidResourceType",
                "The resource type or action could not be found.",
            );
        };
        let namespace = ask.address.namespace.clone().unwrap_or_default();
        let operation = self.begin(&namespace, &[key], effects, 200);
        let answer = Answer::empty(202, author(kind)).applied();
        let charge = u32::try_from(targets.len()).unwrap_or(u32::MAX);
        let answer = if kind.is(&kinds::SCALE_SET) { answer.charged(charge) } else { answer };
        self.announce(ask, answer, &operation, true)
    }

    fn perform(&mut self, action: &str, key: &str, targets: &[String], body: &Value) -> Option<Vec<Effect>> {
        let effects = match action {
            "delete" => {
                let effects = targets.iter().flat_map(|vm| self.doom(vm)).collect();
                self.shrink(key, targets.len());
                effects
            }
            "deallocate" => self.drive(targets, Power::Deallocating, Power::Deallocated),
            "poweroff" => self.drive(targets, Power::Running, Power::Stopped),
            "start" => self.drive(targets, Power::Starting, Power::Running),
            "restart" | "reimage" | "reimageall" | "redeploy" => {
                self.drive(targets, Power::Starting, Power::Running)
            }
            "manualupgrade" => targets.iter().flat_map(|vm| self.upgrade(key, vm)).collect(),
            "attachdetachdatadisks" => self.change_disks(key, body),
            _ => return None,
        };
        Some(effects)
    }

    /// The instances a body names; without `instanceIds` all of them.
    fn named_instances(&self, set: &str, body: &Value, must: bool) -> Result<Vec<String>, Box<Answer>> {
        let members = self.members_of(set);
        let Some(ids) = body["instanceIds"].as_array().filter(|ids| !ids.contains(&json!("*"))) else {
            if must && body["instanceIds"].is_null() {
                let message = "Required parameter 'instanceIds' is missing (null).";
                return Err(Box::new(answers::invalid_parameter(Author::Compute, message, "instanceIds")));
            }
            return Ok(members);
        };
        let mut named = Vec::new();
        for id in ids.iter().map(text) {
            let end = format!("/{}", id.to_ascii_lowercase());
            let member = members.iter().find(|key| {
                key.ends_with(&end)
                    && self.store.find(key).is_some_and(|vm: &Resource| vm.state() != "Deleting")
            });
            match member {
                Some(key) => named.push(key.clone()),
                None => {
                    let message = format!(
                        "The provided instanceId {id} is not an active Virtual Machine Scale Set VM instanceId."
                    );
                    let refusal = answers::invalid_parameter(Author::Compute, &message, "instanceIds");
                    return Err(Box::new(refusal));
                }
            }
        }
        Ok(named)
    }

    fn upgrade(&mut self, set: &str, vm: &str) -> Vec<Effect> {
        let profile =
            self.store.find(set).map(|set| set.shown.body["properties"]["virtualMachineProfile"].clone());
        let body =
            self.store.find(vm).filter(|vm| vm.kind.is(&kinds::SET_VM)).map(|vm| vm.shown.body.clone());
        if let (Some(profile), Some(mut body)) = (profile, body) {
            let interfaces = profile["networkProfile"]["networkInterfaceConfigurations"].clone();
            body["properties"]["networkProfileConfiguration"] =
                json!({"networkInterfaceConfigurations": interfaces});
            body["properties"]["latestModelApplied"] = json!(true);
            body["properties"]["provisioningState"] = json!("Updating");
            self.move_version(vm);
            self.store.show(self.now, vm, body);
        }
        vec![Effect::Settle(vm.to_owned())]
    }

    /// `attachDetachDataDisks` of an instance or a VM.
    fn change_disks(&mut self, vm: &str, request: &Value) -> Vec<Effect> {
        let Some(mut body) = self.store.find(vm).map(|vm| vm.shown.body.clone()) else { return Vec::new() };
        if let Some(disks) =
            body.pointer_mut("/properties/storageProfile/dataDisks").and_then(Value::as_array_mut)
        {
            for gone in request["dataDisksToDetach"].as_array().into_iter().flatten() {
                let id = text(&gone["diskId"]).to_ascii_lowercase();
                disks.retain(|disk| text(&disk["managedDisk"]["id"]).to_ascii_lowercase() != id);
            }
            for new in request["dataDisksToAttach"].as_array().into_iter().flatten() {
                let lun = new["lun"].as_u64().unwrap_or(disks.len() as u64);
                disks.push(
                    json!({"lun": lun, "createOption": "Attach", "managedDisk": {"id": new["diskId"]}}),
                );
            }
        }
        body["properties"]["provisioningState"] = json!("Updating");
        self.move_version(vm);
        self.store.show(self.now, vm, body);
        self.move_owner_later(vm);
        vec![Effect::Settle(vm.to_owned())]
    }

    /// Resource Graph, for which every query is one for the VMs.
    fn query_graph(&self) -> Answer {
        let mut data = Vec::new();
        for group in self.store.groups.keys() {
            let collection = format!("{group}/providers/microsoft.compute/virtualmachines");
            let moment = self.now.saturating_sub(self.options.list_lag);
            data.extend(
                self.store.list(&collection, moment).into_iter().map(|(_, shown)| shown.body.clone()),
            );
        }
        let body = json!({"totalRecords": data.len(), "count": data.len(), "resultTruncated": "false", "data": data});
        Answer::json(200, Author::Other, &body)
            .with("x-ms-user-quota-remaining", "14")
            .with("x-ms-user-quota-resets-after", "00:00:05")
    }

    /// Sends a call where it belongs.
    pub(crate) fn dispatch(&mut self, ask: &Ask) -> Answer {
        if let Some(answer) = self.poll(ask) {
            return answer;
        }
        if ask.option("api-version").is_none() {
            let message = "The api-version query parameter (?api-version=) is required for all requests.";
            return answers::gateway(400, "MissingApiVersionParameter", message);
        }
        match ask.method {
            Method::GET | Method::HEAD => self.read(ask),
            Method::PUT | Method::PATCH | Method::DELETE => self.write(ask),
            Method::POST => self.act(ask),
            _ => answers::method_not_allowed(ask.method.as_str()),
        }
    }

    fn poll(&self, ask: &Ask) -> Option<Answer> {
        let address = &ask.address;
        let (word, id) = address.pairs.last()?;
        let of_provider =
            address.pairs.first().is_some_and(|(word, _)| word.eq_ignore_ascii_case("locations"));
        let of_group = address.namespace.is_none();
        let known = ["operations", "operationResults", "DiskOperations"];
        if ask.method != Method::GET
            || !(of_provider || of_group)
            || !known.iter().any(|own| own.eq_ignore_ascii_case(word))
        {
            return None;
        }
        let monitor = ask.option("monitor").is_some();
        let result = monitor || word.eq_ignore_ascii_case("operationResults");
        let stamp = |at| self.time.stamp_at(at);
        Some(self.operations.poll(&ask.target, id, result, stamp, self.options.retry_after))
    }
}
