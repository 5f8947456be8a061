//! Two people with `az`, at the same time and on the same things.
//!
//! `az … update` reads a resource and writes back the whole model with the change, without a condition; the
//! model has no `etag`, because that is not the client's to set. Somebody who sees an error leaves it at that.
//!
//! A person reads what they are going to change once, changes it once, and goes on to something else: as long
//! as a client was shown one version of a resource, armshield knows on which one a write was built.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::super::caller::Caller;
use super::super::lost::Field;
use super::super::random::Random;
use super::super::scale::{millis, seconds};
use super::super::stage::Places;
use super::super::who::Who;
use super::super::writing::{Meant, Outcome, Write};
use super::{at, beginning, joined, joins_in};

/// The api-version of the CLI's Compute module.
const COMPUTE: &str = "api-version=2024-11-01";
/// Read by everybody, written by nobody.
const READ_ONLY: [&str; 5] = ["etag", "id", "name", "type", "instanceId"];
const READ_ONLY_PROPERTIES: [&str; 6] =
    ["provisioningState", "timeCreated", "uniqueId", "vmId", "instanceView", "latestModelApplied"];

/// Follows another team's set in a second window: `watch -n 2`, and `az` itself takes a second.
pub(super) async fn watch(person: Caller, places: Arc<Places>) {
    loop {
        person.get(&at(&places.runners, COMPUTE)).await;
        person.list(&at(&format!("{}/virtualMachines", places.runners), COMPUTE)).await;
        person.done();
        if !person.span().rest(seconds(3)).await {
            return;
        }
    }
}

/// Both put a tag of their own on the same machine: Bob has read it before Ann writes, and writes after.
pub(super) async fn tag_machines(person: Caller, who: Who, places: Arc<Places>, mut random: Random) {
    for (round, machine) in (0..).zip(&places.machines) {
        let (reads, writes) = match who {
            Who::Ann => (0, random.between(5000, 7000)),
            _ => (1000, random.between(17_000, 18_000)),
        };
        let (reads, writes) = (beginning(round) + millis(reads), beginning(round) + millis(writes));
        let tag = format!("{}-{round}", who.as_str().to_lowercase());
        let field = Field::Tag(tag.clone());
        if !update(&person, machine, field, reads, writes, |model| model["tags"][&tag] = json!("yes")).await {
            return;
        }
    }
}

/// One changes a tag of a set, the other the protection of one of its VMs, while the CCM joins them to a pool:
/// they have read before, and write after. Every set and every VM once.
pub(super) async fn change_workers(person: Caller, who: Who, places: Arc<Places>) {
    for round in (0..).filter(|round| joins_in(*round)) {
        let (set, before) = joined(&places, round);
        let model_turn = match before {
            0 => Who::Ann,
            1 => Who::Bob,
            _ => return,
        };
        let start = beginning(round);
        let goes_on = if who == model_turn {
            let tag = format!("{}-{round}", who.as_str().to_lowercase());
            let field = Field::Tag(tag.clone());
            let change = |model: &mut Value| model["tags"][&tag] = json!("yes");
            update(&person, set, field, start, start + seconds(24), change).await
        } else {
            let vm = format!("{set}/virtualMachines/{before}");
            let protect = |model: &mut Value| {
                model["properties"]["protectionPolicy"] = json!({"protectFromScaleIn": true});
            };
            let (reads, writes) = (start + seconds(1), start + seconds(29));
            update(&person, &vm, Field::Protection, reads, writes, protect).await
        };
        if !goes_on {
            return;
        }
    }
}

/// `az … update`, with time to think between reading and writing; whether there is time left.
async fn update(
    person: &Caller,
    id: &str,
    field: Field,
    reads: Duration,
    writes: Duration,
    change: impl FnOnce(&mut Value),
) -> bool {
    if !person.span().reach(reads).await {
        return false;
    }
    let target = at(id, COMPUTE);
    let Some(from) = person.get(&target).await else { return true };
    if !person.span().reach(writes).await {
        return false;
    }
    let mut model = model_of(&from);
    change(&mut model);
    let wrote = field.of(&model);
    let meant = Some(Meant { resource: id, field, from: &from, wrote });
    let write = Write {
        method: Method::PUT,
        target: &target,
        body: Some(model),
        condition: None,
        meant,
        poll: seconds(10),
    };
    if let Ok(accepted) = person.begin(&write).await {
        // Has it been taken? People look at once.
        person.get(&target).await;
        if let Outcome::Done(_) = person.finish(write, accepted).await {
            person.done();
        }
    }
    true
}

/// The model as the CLI sends it back.
fn model_of(shown: &Value) -> Value {
    let mut model = shown.clone();
    let without = |value: &mut Value, names: &[&str]| {
        if let Some(map) = value.as_object_mut() {
            map.retain(|name, _| !names.contains(&name.as_str()));
        }
    };
    without(&mut model, &READ_ONLY);
    without(&mut model["properties"], &READ_ONLY_PROPERTIES);
    model
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_goes_back_whole_but_for_what_is_not_the_clients() {
        let shown = json!({"id": "/a", "name": "a", "type": "t", "etag": "\"3\"", "location": "l", "tags": {"x": "1"},
            "properties": {"vmId": "v", "provisioningState": "Succeeded", "hardwareProfile": {"vmSize": "s"}}});
        let model =
            json!({"location": "l", "tags": {"x": "1"}, "properties": {"hardwareProfile": {"vmSize": "s"}}});
        assert_eq!(model_of(&shown), model);
    }
}
