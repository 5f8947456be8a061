//! What an operator can do.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::arm::ArmPath;
use crate::classify::Scope;
use crate::policy::{Family, Mode};
use crate::proxy::Rooms;

/// Changes the mode of everybody or of one profile.
pub(super) fn mode(rooms: &Rooms, body: &Value) -> Result<Value, String> {
    let word = body["mode"].as_str().ok_or("say which: {\"mode\": \"active\" | \"shadow\" | \"pass\"}")?;
    let mode =
        Mode::from_word(word).ok_or_else(|| format!("there is no mode '{word}': active, shadow or pass"))?;
    let profile = match &body["profile"] {
        Value::Null => None,
        name => Some(name.as_str().ok_or("the profile's name is a string")?),
    };
    let changed = rooms
        .policy
        .load()
        .with_mode(mode, profile)
        .map_err(|name| format!("there is no profile '{name}'; /api/status lists them under clients"))?;
    rooms.policy.store(Arc::new(changed));
    tracing::info!(mode = mode.as_str(), profile = profile.unwrap_or("all"), "the mode was changed");
    Ok(json!({"mode": mode.as_str(), "profile": profile}))
}

/// Makes what is remembered of a resource, a group, a subscription or everything (`/`) unusable.
pub(super) fn purge(rooms: &Rooms, body: &Value) -> Result<Value, String> {
    let id =
        body["id"].as_str().ok_or("say what: {\"id\": \"/subscriptions/…\"}, or \"/\" for everything")?;
    if id == "/" {
        rooms.scopes.drop_all(&[Scope::All]);
        rooms.store.clear();
    } else {
        let path = ArmPath::parse(id).map_err(|why| format!("this is no resource id: {why}"))?;
        rooms
            .scopes
            .drop_all(&scopes(&path).ok_or("this is no resource id: it begins with /subscriptions/…")?);
    }
    tracing::info!("remembered answers were purged");
    Ok(json!({"purged": id}))
}

/// The scopes of what lies at and below a path, and of the lists that show it.
fn scopes(path: &ArmPath) -> Option<Vec<Scope>> {
    path.subscription()?;
    if path.root().is_some() {
        let family = path.resource().map_or(Family::Other, |(kind, _)| Family::of(&kind));
        return Some(Scope::of_item(path, family));
    }
    let at = |count: usize| -> Arc<str> { path.parent(path.len() - count).into() };
    let mut scopes = vec![Scope::Below(at(if path.group().is_some() { 4 } else { 2 }))];
    if path.group().is_some() {
        let families = [Family::Compute, Family::Disks, Family::Network, Family::Other];
        scopes.extend(families.map(|family| Scope::Collections(family, at(2))));
    }
    Some(scopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_reaches_what_lies_below_and_the_lists_that_show_it() {
        let check = |id: &str, expected: Option<Scope>, count| {
            let scopes = scopes(&ArmPath::parse(id).unwrap()).unwrap_or_default();
            assert_eq!((scopes.first().cloned(), scopes.len()), (expected, count), "{id}");
        };
        let vm = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines/a";
        check(vm, Some(Scope::Unit(vm.into())), 3);
        check(&format!("{vm}/extensions/e"), Some(Scope::Unit(vm.into())), 3);
        check(
            "/subscriptions/S/resourceGroups/G",
            Some(Scope::Below("/subscriptions/s/resourcegroups/g".into())),
            5,
        );
        check("/subscriptions/S", Some(Scope::Below("/subscriptions/s".into())), 1);
        check("/providers/x", None, 0);
    }
}
