//! How a body changes a model.
//!
//! Compute keeps what a PUT leaves out (the autoscaler scales with location and sku alone); dictionaries and
//! arrays are replaced whole; null in a PUT is absent, in a PATCH it removes.

use serde_json::{Map, Value, json};

/// Replaced whole wherever they stand.
const DICTIONARIES: [&str; 2] = ["tags", "userAssignedIdentities"];
/// Never taken from a client.
const READ_ONLY: [&str; 12] = [
    "id",
    "name",
    "type",
    "etag",
    "instanceId",
    "provisioningState",
    "vmId",
    "uniqueId",
    "resourceGuid",
    "timeCreated",
    "instanceView",
    "latestModelApplied",
];
/// Accepted and never shown.
const WRITE_ONLY: [&str; 4] = ["adminPassword", "customData", "userData", "protectedSettings"];

/// How far a body may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Put,
    Patch,
}

/// Lays `body` over `model`, the top level of a resource.
pub(crate) fn merge(model: &mut Value, body: &Value, manner: Manner) {
    let Some(fields) = body.as_object() else { return };
    for (name, value) in fields {
        if READ_ONLY.contains(&name.as_str()) {
            continue;
        }
        if name == "properties" {
            let properties = slot(model, "properties");
            for (name, value) in value.as_object().into_iter().flatten() {
                if !READ_ONLY.contains(&name.as_str()) {
                    lay(properties, name, value, manner);
                }
            }
        } else {
            lay(model, name, value, manner);
        }
    }
}

/// Replaces what a client may say by `body` (Network: a PUT is the whole resource).
pub(crate) fn replace(model: &mut Value, body: &Value) {
    let keep = |map: &mut Map<String, Value>| {
        map.retain(|name, _| {
            READ_ONLY.contains(&name.as_str()) || matches!(name.as_str(), "properties" | "location")
        });
    };
    if let Some(map) = model.as_object_mut() {
        keep(map);
    }
    if let Some(map) = model["properties"].as_object_mut() {
        keep(map);
    }
    merge(model, body, Manner::Put);
}

fn lay(into: &mut Value, name: &str, value: &Value, manner: Manner) {
    match value {
        _ if WRITE_ONLY.contains(&name) => {}
        Value::Null if manner == Manner::Put => {}
        Value::Null => {
            if let Some(map) = into.as_object_mut() {
                map.remove(name);
            }
        }
        Value::Object(fields) if !DICTIONARIES.contains(&name) => {
            let inner = slot(into, name);
            for (name, value) in fields {
                lay(inner, name, value, manner);
            }
        }
        other => {
            let mut other = other.clone();
            hide(&mut other);
            into[name] = other;
        }
    }
}

fn slot<'a>(into: &'a mut Value, name: &str) -> &'a mut Value {
    if !into[name].is_object() {
        into[name] = json!({});
    }
    &mut into[name]
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|name, value| !WRITE_ONLY.contains(&name.as_str()) && !value.is_null());
            map.values_mut().for_each(hide);
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_keeps_what_it_leaves_out() {
        let base = json!({"tags": {"a": "1"}, "sku": {"name": "s", "capacity": 1}, "properties": {"x": {"p": 1, "q": [1]}}});
        let cases = [
            (json!({"sku": {"capacity": 2}}), Manner::Put, "/sku", json!({"name": "s", "capacity": 2})),
            (json!({"tags": {"b": "2"}}), Manner::Put, "/tags", json!({"b": "2"})),
            (json!({"properties": {"x": {"q": []}}}), Manner::Put, "/properties/x", json!({"p": 1, "q": []})),
            (json!({"properties": {"x": {"p": null}}}), Manner::Put, "/properties/x/p", json!(1)),
            (json!({"properties": {"x": {"p": null}}}), Manner::Patch, "/properties/x", json!({"q": [1]})),
            (
                json!({"properties": {"x": {"adminPassword": "z"}}}),
                Manner::Put,
                "/properties/x",
                json!({"p": 1, "q": [1]}),
            ),
            (
                json!({"etag": "9", "properties": {"provisioningState": "Failed"}}),
                Manner::Put,
                "",
                base.clone(),
            ),
        ];
        for (body, manner, at, expected) in cases {
            let mut model = base.clone();
            merge(&mut model, &body, manner);
            assert_eq!(model.pointer(at), Some(&expected), "{body}");
        }
    }

    #[test]
    fn a_replacing_put_drops_what_it_leaves_out() {
        let mut model =
            json!({"id": "i", "tags": {"a": "1"}, "properties": {"resourceGuid": "g", "routes": [1]}});
        replace(&mut model, &json!({"location": "l"}));
        assert_eq!(model, json!({"id": "i", "location": "l", "properties": {"resourceGuid": "g"}}));
    }
}
