//! Which changes were lost, judged from the final state and from what the writers themselves know.

use std::fmt;

use serde_json::Value;

/// The place in a resource that a client meant to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// A tag.
    Tag(String),
    /// Membership in a backend pool, of a set's model or of a VM of it.
    Pool(String),
    /// An attached disk, by its id.
    Disk(String),
    /// How many VMs a set has.
    Capacity,
    /// Whether a VM is protected from scale-in.
    Protection,
    /// A named item of an array under `properties`.
    Item(&'static str, String),
}

impl Field {
    /// What stands there; `None`: nothing.
    pub(super) fn of(&self, resource: &Value) -> Option<String> {
        let properties = &resource["properties"];
        let written = |value: &Value| (!value.is_null()).then(|| value.to_string());
        match self {
            Self::Tag(name) => written(&resource["tags"][name]),
            Self::Capacity => written(&resource["sku"]["capacity"]),
            Self::Protection => written(&properties["protectionPolicy"]["protectFromScaleIn"]),
            Self::Pool(id) => {
                let pools = pools(resource)?.as_array()?;
                pools.iter().any(|pool| same(&pool["id"], id)).then(|| "joined".to_owned())
            }
            Self::Disk(id) => {
                let disks = properties["storageProfile"]["dataDisks"].as_array()?;
                disks.iter().find(|disk| same(&disk["managedDisk"]["id"], id)).map(|_| "attached".to_owned())
            }
            Self::Item(array, name) => {
                let items = properties[*array].as_array()?;
                items.iter().any(|item| same(&item["name"], name)).then(|| "there".to_owned())
            }
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |id: &str| id.rsplit('/').next().unwrap_or(id).to_owned();
        match self {
            Self::Tag(tag) => write!(f, "tag {tag}"),
            Self::Pool(id) => write!(f, "backend pool {}", name(id)),
            Self::Disk(id) => write!(f, "disk {}", name(id)),
            Self::Capacity => f.write_str("capacity"),
            Self::Protection => f.write_str("protection from scale-in"),
            Self::Item(array, name) => write!(f, "{array}/{name}"),
        }
    }
}

fn same(value: &Value, text: &str) -> bool {
    value.as_str().is_some_and(|value| value.eq_ignore_ascii_case(text))
}

const IN_MODEL: &str = "/properties/virtualMachineProfile/networkProfile/networkInterfaceConfigurations\
                        /0/properties/ipConfigurations/0/properties/loadBalancerBackendAddressPools";
const IN_VM: &str = "/properties/networkProfileConfiguration/networkInterfaceConfigurations\
                     /0/properties/ipConfigurations/0/properties/loadBalancerBackendAddressPools";

/// The backend pools of a set's model, or of a VM of a set.
pub(super) fn pools(resource: &Value) -> Option<&Value> {
    resource.pointer(IN_MODEL).or_else(|| resource.pointer(IN_VM))
}

/// The same, to be changed.
pub(super) fn pools_mut(resource: &mut Value) -> Option<&mut Value> {
    let at = if resource.pointer(IN_MODEL).is_some() { IN_MODEL } else { IN_VM };
    resource.pointer_mut(at)
}

/// One change of one field, as its writer knows it.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// Who wrote.
    pub(super) writer: &'static str,
    /// The resource's id.
    pub(super) resource: String,
    /// Where.
    pub(super) field: Field,
    /// What stood there in what the write was built from.
    pub(super) saw: Option<String>,
    /// What it wrote.
    pub(super) wrote: Option<String>,
    /// What its writer knows of it.
    pub(super) fate: Fate,
}

/// How far a change got, as its writer knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Sent; perhaps it was applied.
    Sent,
    /// Not applied.
    Refused,
    /// Accepted, and what it began ended well.
    Acknowledged,
}

/// The changes that were acknowledged to their writer and are not in the final state, though nobody who had
/// seen them replaced them. `resource` shows the final state; what is gone as a whole lost nothing.
pub(super) fn lost<'a>(changes: &'a [Change], resource: &dyn Fn(&str) -> Option<Value>) -> Vec<&'a Change> {
    let knowingly_replaced = |change: &Change| {
        changes.iter().filter(|other| other.fate != Fate::Refused).any(|other| {
            other.resource.eq_ignore_ascii_case(&change.resource)
                && other.field == change.field
                && other.saw == change.wrote
                && other.wrote != change.wrote
        })
    };
    let is_lost = |change: &&Change| {
        change.fate == Fate::Acknowledged
            && resource(&change.resource).is_some_and(|last| change.field.of(&last) != change.wrote)
            && !knowingly_replaced(change)
    };
    changes.iter().filter(is_lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(name: &str, saw: Option<&str>, wrote: Option<&str>) -> Change {
        let text = |text: Option<&str>| text.map(|text| json!(text).to_string());
        Change {
            writer: "somebody",
            resource: "/vm".into(),
            field: Field::Tag(name.into()),
            saw: text(saw),
            wrote: text(wrote),
            fate: Fate::Acknowledged,
        }
    }

    fn lost_tags(changes: &[Change], last: &Value) -> Vec<String> {
        let last = |id: &str| (id == "/vm").then(|| last.clone());
        lost(changes, &last).iter().map(|change| change.field.to_string()).collect()
    }

    #[test]
    fn a_change_is_lost_if_it_is_gone_and_nobody_who_saw_it_replaced_it() {
        let (x, y) = (change("x", None, Some("1")), change("y", None, Some("2")));
        let both = [x.clone(), y];
        assert_eq!(lost_tags(&both, &json!({"tags": {"x": "1", "y": "2"}})), Vec::<String>::new());
        assert_eq!(lost_tags(&both, &json!({"tags": {"y": "2"}})), ["tag x"]);
        assert_eq!(lost_tags(&both, &json!({"tags": {"x": "other", "y": "2"}})), ["tag x"]);
        // Its own writer, or another one who knew, wrote something else.
        let replaced = [x.clone(), change("x", Some("1"), Some("3"))];
        assert_eq!(lost_tags(&replaced, &json!({"tags": {"x": "3"}})), Vec::<String>::new());
        let removed = [x.clone(), change("x", Some("1"), None)];
        assert_eq!(lost_tags(&removed, &json!({"tags": {}})), Vec::<String>::new());
        // It may have been replaced by one whose answer is still to come, and not by one that was refused.
        let removal = |fate| [x.clone(), Change { fate, ..change("x", Some("1"), None) }];
        assert_eq!(lost_tags(&removal(Fate::Sent), &json!({"tags": {}})), Vec::<String>::new());
        assert_eq!(lost_tags(&removal(Fate::Refused), &json!({"tags": {}})), ["tag x"]);
        // Somebody wrote the same field without having seen it.
        let blind = [x, change("x", None, Some("3"))];
        assert_eq!(lost_tags(&blind, &json!({"tags": {"x": "3"}})), ["tag x"]);
    }

    #[test]
    fn a_removal_is_lost_if_what_was_removed_is_there_again() {
        let removal = [change("x", Some("1"), None)];
        assert_eq!(lost_tags(&removal, &json!({"tags": {"x": "1"}})), ["tag x"]);
    }

    #[test]
    fn what_was_not_acknowledged_or_is_gone_as_a_whole_is_not_lost() {
        for fate in [Fate::Sent, Fate::Refused] {
            let change = Change { fate, ..change("x", None, Some("1")) };
            assert!(lost_tags(&[change], &json!({"tags": {}})).is_empty(), "{fate:?}");
        }
        let gone = Change { resource: "/gone".into(), ..change("x", None, Some("1")) };
        assert!(lost_tags(&[gone], &json!({"tags": {}})).is_empty());
    }

    #[test]
    fn every_field_is_found_where_arm_has_it() {
        let configurations = json!([{"properties": {"ipConfigurations": [{"properties":
            {"loadBalancerBackendAddressPools": [{"id": "/LB/pools/A"}]}}]}}]);
        let set = json!({"sku": {"capacity": 3}, "properties": {"virtualMachineProfile": {"networkProfile":
            {"networkInterfaceConfigurations": configurations}}}});
        let vm = json!({"properties": {
            "networkProfileConfiguration": {"networkInterfaceConfigurations": configurations},
            "protectionPolicy": {"protectFromScaleIn": true},
            "storageProfile": {"dataDisks": [{"lun": 1, "managedDisk": {"id": "/disks/D"}}]}}});
        let balancer = json!({"properties": {"frontendIPConfigurations": [{"name": "f"}]}});
        let check = |field: Field, resource: &Value, expected: Option<&str>| {
            assert_eq!(field.of(resource).as_deref(), expected, "{field}");
        };
        check(Field::Pool("/lb/pools/a".into()), &set, Some("joined"));
        check(Field::Pool("/lb/pools/a".into()), &vm, Some("joined"));
        check(Field::Pool("/lb/pools/b".into()), &vm, None);
        check(Field::Capacity, &set, Some("3"));
        check(Field::Protection, &vm, Some("true"));
        check(Field::Protection, &set, None);
        check(Field::Disk("/disks/d".into()), &vm, Some("attached"));
        check(Field::Disk("/disks/e".into()), &vm, None);
        check(Field::Item("frontendIPConfigurations", "F".into()), &balancer, Some("there"));
        check(Field::Item("frontendIPConfigurations", "g".into()), &balancer, None);
    }
}
