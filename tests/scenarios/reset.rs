//! A scale set or a VM is reset: reimaged, brought back to a former model, deleted and made anew.
//!
//! **Held to.** Reads follow each step at once, for everybody; a version from before is the condition of no write
//! that was built after; a model that looks as it did two versions ago is not taken for that version. Compute
//! counts each life from one: what was built on a former life is refused where the number differs, and where it
//! came again the guard does not claim to have seen it.
//!
//! **Not promised.** A number that came again cannot be told from the former one by any condition of ARM's, so such
//! a write is applied, as without armshield, and reported as unguarded. Where armshield was shown nothing of the
//! new life, or the body itself names the number, it is sent as the condition it seems to be.

use armshield::simulator::Options;
use serde_json::{Value, json};

use crate::support::client::{AZ, CCM};
use crate::support::simulated::COMPUTE;
use crate::support::{Client, world};

use super::sdk::{Sdk, Trouble};
use super::stage::{Stage, Way};

fn at(id: &str) -> String {
    format!("{id}{COMPUTE}")
}

/// A stage with a set, and those who look: with the writer's rights, forgiving two and fifteen seconds.
fn begin() -> (Stage, String, Sdk, [Client; 2]) {
    let stage = Stage::new(Way::Through, Options::default());
    let set = stage.sim.add_uniform("pool", 2);
    let writer = Sdk::new(stage.client("writer", CCM, 1), 5);
    let readers = [stage.client("writer", CCM, 2), stage.client("writer", AZ, 2)];
    (stage, set, writer, readers)
}

/// Everybody is shown, right now, what ARM has.
async fn all_see(stage: &Stage, readers: &[Client], id: &str) {
    for reader in readers {
        let truth = stage.sim.read(id);
        let answer = reader.get(&at(id)).await;
        match truth {
            None => assert_eq!(answer.status, 404, "{id}"),
            Some(truth) => assert_eq!(answer.json(), truth, "{id} {}", answer.cache()),
        }
        let (list, name) = id.rsplit_once('/').unwrap();
        let listed = reader.get(&at(list)).await.json();
        let listed = listed["value"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"].as_str().unwrap().rsplit('/').next().unwrap() == name);
        assert_eq!(listed, stage.sim.read(id).as_ref(), "{id} in its list");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reimaged_set_and_a_reimaged_vm_are_shown_as_they_are() {
    let (stage, set, writer, readers) = begin();
    let vms = stage.sim.members(&set);
    for (target, body) in [
        (format!("{set}/reimage"), json!({"instanceIds": ["0"]})),
        (format!("{set}/reimage"), json!({})),
        (format!("{}/reimage", vms[1]), json!({})),
    ] {
        for id in [&set, &vms[0], &vms[1]] {
            all_see(&stage, &readers, id).await;
        }
        let begun = writer.begin("POST", &format!("{target}{COMPUTE}"), Some(&body), None).await.unwrap();
        let updating =
            |id: &String| stage.sim.read(id).unwrap()["properties"]["provisioningState"] == "Updating";
        assert!(vms.iter().any(updating), "{target}");
        for id in [&set, &vms[0], &vms[1]] {
            all_see(&stage, &readers, id).await;
        }
        writer.finish(begun).await.unwrap();
        assert!(!vms.iter().any(updating));
        for id in [&set, &vms[0], &vms[1]] {
            all_see(&stage, &readers, id).await;
        }
        // A reimage is no write of the model: what was built before it is not refused.
        world::seconds(60).await;
    }
    let conditional = writer.diary().into_iter().any(|line| !line.answer.guard().is_empty());
    assert!(!conditional, "an action has no condition");
}

#[tokio::test(start_paused = true)]
async fn a_model_put_back_is_another_version_of_it() {
    let (stage, set, writer, readers) = begin();
    let vm = stage.sim.members(&set).remove(0);
    for id in [&set, &vm] {
        let other = Sdk::new(stage.client("other", CCM, 3), 5);
        let mut first = writer.get(&at(id)).await.unwrap().json();
        let old = other.get(&at(id)).await.unwrap().json();
        for field in ["etag", "properties"] {
            assert_eq!(first[field], old[field]);
        }
        first.as_object_mut().unwrap().remove("etag");
        let mut second = first.clone();
        second["properties"]["protectionPolicy"] = json!({"protectFromScaleIn": true});
        let mut back = first.clone();
        back["properties"]["protectionPolicy"] = json!({"protectFromScaleIn": false});
        let steps: [&Value; 4] = [&second, &back, &second, &back];
        for step in steps {
            all_see(&stage, &readers, id).await;
            writer.put(&at(id), step, None).await.unwrap();
            all_see(&stage, &readers, id).await;
        }
        assert_eq!(stage.sim.etag(id).as_deref(), Some("\"5\""), "{id}");
        // He who read the first version only: what he writes was not built on the present one.
        let mut stale = old.clone();
        stale.as_object_mut().unwrap().remove("etag");
        stale["properties"]["protectionPolicy"] = json!({"protectFromScaleOut": true});
        let refused = other.put(&at(id), &stale, None).await;
        assert_eq!(refused, Err(Trouble::Refused(412, "PreconditionFailed".into())), "{id}");
        world::seconds(60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_set_made_anew_under_its_name_is_another_one() {
    let (stage, set, writer, readers) = begin();
    let mut model = writer.get(&at(&set)).await.unwrap().json();
    model.as_object_mut().unwrap().remove("etag");
    let former = model["properties"]["uniqueId"].clone();
    all_see(&stage, &readers, &set).await;
    writer.act("DELETE", &at(&set), None).await.unwrap();
    all_see(&stage, &readers[..1], &set).await;
    // It may be a create: nothing of the former life is a condition.
    let made = writer.put(&at(&set), &model, None).await.unwrap();
    assert_ne!(made["properties"]["uniqueId"], former);
    assert_eq!(made["etag"], "\"1\"", "the number begins anew");
    let puts = writer.guarded("PUT", "/pool");
    assert_eq!(puts, [(201, "source=none, result=unguarded".to_owned())]);
    all_see(&stage, &readers, &set).await;
    assert_eq!(stage.sim.members(&set).len(), 2);
    for vm in stage.sim.members(&set) {
        all_see(&stage, &readers, &vm).await;
    }
}

/// Somebody who read the set in its former life, and was told of nothing since, writes what he made of it.
async fn write_from_a_former_life(versions: u32) -> (Stage, String, Result<Value, Trouble>, String) {
    let (stage, set, writer, _) = begin();
    let other = Sdk::new(stage.client("other", CCM, 3), 5);
    for _ in 1..versions {
        stage.sim.touch(&set);
    }
    let mut model = writer.get(&at(&set)).await.unwrap().json();
    model.as_object_mut().unwrap().remove("etag");
    let mut stale = other.get(&at(&set)).await.unwrap().json();
    stale.as_object_mut().unwrap().remove("etag");
    writer.act("DELETE", &at(&set), None).await.unwrap();
    model["tags"]["life"] = json!("second");
    writer.put(&at(&set), &model, None).await.unwrap();
    stale["tags"]["life"] = json!("first");
    let written = other.put(&at(&set), &stale, None).await;
    let said = other.diary().into_iter().find(|line| line.method == "PUT").unwrap().answer.guard().to_owned();
    (stage, set, written, said)
}

#[tokio::test(start_paused = true)]
async fn what_was_built_on_a_former_life_is_refused_where_the_number_tells() {
    let (stage, set, written, _) = write_from_a_former_life(3).await;
    assert_eq!(written, Err(Trouble::Refused(412, "PreconditionFailed".into())));
    assert_eq!(stage.sim.read(&set).unwrap()["tags"]["life"], "second");
}

#[tokio::test(start_paused = true)]
async fn a_number_that_came_again_in_another_life_is_not_said_to_be_the_version_shown() {
    let (_, _, _, said) = write_from_a_former_life(1).await;
    assert_eq!(said, "source=none, result=unguarded");
}
