//! Subscriptions and resource groups.

use http::Method;
use serde_json::{Value, json};

use super::address::Address;
use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::merge::{self, Manner};
use super::operations::Effect;
use super::state::State;
use super::store::Group;

impl State {
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

    pub(crate) fn read_scope(&self, ask: &Ask) -> Answer {
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

    pub(crate) fn write_group(&mut self, ask: &Ask, body: &Value) -> Answer {
        let (Some(key), Some(name)) = (self.group_key(&ask.address), ask.address.group.clone()) else {
            return answers::method_not_allowed(ask.method.as_str());
        };
        let there = self.store.groups.get(&key).cloned();
        if ask.method == Method::DELETE {
            if there.is_none() {
                return answers::group_not_found(&name);
            }
            if let Some(group) = self.store.groups.get_mut(&key) {
                group.body["properties"]["provisioningState"] = json!("Deleting");
            }
            let operation = self.begin("Microsoft.Resources", &[], vec![Effect::RemoveGroup(key)], 200);
            let answer = Answer::empty(202, Author::Other).applied();
            return self.announce(ask, answer, &operation, true);
        }
        let subscription = ask.address.subscription.clone().unwrap_or_default();
        let mut model = there.as_ref().map_or_else(
            || {
                json!({"id": format!("/subscriptions/{subscription}/resourceGroups/{name}"), "name": name,
                    "type": "Microsoft.Resources/resourceGroups", "properties": {}})
            },
            |group| group.body.clone(),
        );
        merge::merge(&mut model, body, Manner::Put);
        model["properties"]["provisioningState"] = json!("Succeeded");
        let status = if there.is_some() { 200 } else { 201 };
        let answer = Answer::json(status, Author::Other, &model).applied();
        self.store.groups.insert(key, Group { body: model, subscription });
        answer
    }

    pub(crate) fn group_key(&self, address: &Address) -> Option<String> {
        let (subscription, group) = (address.subscription.as_ref()?, address.group.as_ref()?);
        Some(format!("/subscriptions/{subscription}/resourcegroups/{group}").to_ascii_lowercase())
    }

    pub(crate) fn make_group(&mut self, name: &str) -> String {
        let subscription = self.options.subscription.clone();
        let id = format!("/subscriptions/{subscription}/resourceGroups/{name}");
        let body = json!({"id": id, "name": name, "type": "Microsoft.Resources/resourceGroups",
            "location": self.options.location, "properties": {"provisioningState": "Succeeded"}});
        let group = Group { body, subscription };
        self.store.groups.entry(id.to_ascii_lowercase()).or_insert(group);
        id
    }
}
