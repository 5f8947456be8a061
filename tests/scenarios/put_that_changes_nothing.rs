//! Somebody PUTs what is there already. ARM moves the version of a VM all the same, and not that of a scale set
//! or of its VMs (recorded: `kubernetes-sigs/cloud-provider-azure`, VM client #12, VMSS client #8, VMSS VM client
//! #10), and shows `Updating` until that has settled.
//!
//! **Held to.** After a PUT that changed nothing the next read shows what ARM has: the version, and `Updating`
//! until it is `Succeeded`. A version that did not move is no conflict for anybody. Where it did move, who wrote
//! it, and who reads again, meet no conflict; who writes what he had read before meets ARM's own, as with a
//! condition of his own, and is shown the present version when he reads again.

use std::time::Duration;

use armshield::simulator::Options;
use serde_json::{Value, json};

use crate::support::client::{AZ, CCM};
use crate::support::simulated::COMPUTE;
use crate::support::world;

use super::sdk::{Sdk, Trouble};
use super::stage::{Stage, Way};

/// A scale set, one of its VMs, a VM of its own, and whether its version moves.
fn resources(stage: &Stage) -> [(String, bool); 3] {
    let set = stage.sim.add_uniform("pool", 2);
    let member = stage.sim.members(&set).remove(0);
    [(set, false), (member, false), (stage.sim.add_vm("alone"), true)]
}

fn at(id: &str) -> String {
    format!("{id}{COMPUTE}")
}

/// A model as a client writes it that knows nothing of ETags.
async fn model(sdk: &Sdk, id: &str) -> Value {
    let mut model = sdk.get(&at(id)).await.unwrap().json();
    model.as_object_mut().unwrap().remove("etag");
    model
}

fn changed(mut model: Value) -> Value {
    model["properties"]["protectionPolicy"] = json!({"protectFromScaleIn": true});
    model
}

#[tokio::test(start_paused = true)]
async fn nobody_is_shown_what_was_before_it() {
    for which in 0..3 {
        let stage = Stage::new(Way::Through, Options::default());
        let (id, moves) = resources(&stage)[which].clone();
        let writer = Sdk::new(stage.client("writer", CCM, 1), 5);
        // Readers who forgive two seconds, and fifteen; both with the writer's rights, and with an answer in store.
        let readers = [stage.client("writer", CCM, 2), stage.client("writer", AZ, 2)];
        let same = model(&writer, &id).await;
        for reader in &readers {
            assert_eq!(reader.get(&at(&id)).await.status, 200);
        }
        let begun = writer.begin("PUT", &at(&id), Some(&same), None).await.unwrap();
        let tag = if moves { "\"3\"" } else { "\"1\"" };
        assert_eq!(stage.sim.etag(&id).as_deref(), Some(tag), "a new VM has 2, after its disk");
        let mut states = Vec::new();
        for _ in 0..60 {
            for reader in &readers {
                let (answer, truth) = (reader.get(&at(&id)).await, stage.sim.read(&id).unwrap());
                assert_eq!(answer.json()["etag"], tag);
                let (shown, now) = (
                    &answer.json()["properties"]["provisioningState"],
                    &truth["properties"]["provisioningState"],
                );
                states.push(shown.as_str().unwrap().to_owned());
                let age: u64 = answer.header("age").map_or(0, |age| age.parse().unwrap());
                assert!(shown == now || age <= 2, "{id} is {now}, shown is {shown}, {age} s old");
            }
            world::pass(Duration::from_millis(300)).await;
        }
        states.dedup();
        assert_eq!(states, ["Updating", "Succeeded"], "{id}: neither earlier nor twice");
        assert_eq!(writer.finish(begun).await.unwrap().json()["etag"], tag);
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_no_conflict_for_who_wrote_it() {
    for which in 0..3 {
        let stage = Stage::new(Way::Through, Options::default());
        let (id, _) = resources(&stage)[which].clone();
        let writer = Sdk::new(stage.client("writer", CCM, 1), 5);
        let same = model(&writer, &id).await;
        for _ in 0..3 {
            assert!(writer.put(&at(&id), &same, None).await.is_ok(), "{id}");
        }
        assert!(writer.put(&at(&id), &changed(same), None).await.is_ok(), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_a_conflict_for_others_where_arm_moved_the_version_and_only_there() {
    for which in 0..3 {
        let stage = Stage::new(Way::Through, Options::default());
        let (id, moves) = resources(&stage)[which].clone();
        let (writer, other) =
            (Sdk::new(stage.client("writer", CCM, 1), 5), Sdk::new(stage.client("other", CCM, 2), 5));
        let base = model(&other, &id).await;
        let tag = stage.sim.etag(&id).unwrap();
        let same = model(&writer, &id).await;
        writer.put(&at(&id), &same, None).await.unwrap();
        let refused = Err(Trouble::Refused(412, "PreconditionFailed".into()));
        // With a condition of his own: what ARM says, armshield or not.
        let own = other.begin("PUT", &at(&id), Some(&base), Some(&tag)).await.map(drop);
        assert_eq!(own, if moves { refused.clone() } else { Ok(()) }, "{id}");
        world::seconds(60).await;
        // With the guard's: the same.
        let guarded = other.put(&at(&id), &changed(base), None).await.map(drop);
        assert_eq!(guarded, if moves { refused } else { Ok(()) }, "{id}");
        // And when he has read again, it goes through.
        let present = model(&other, &id).await;
        let shown = other.diary().pop().unwrap().answer.json()["etag"].clone();
        assert_eq!(shown, stage.sim.etag(&id).unwrap());
        assert!(other.put(&at(&id), &changed(present), None).await.is_ok(), "{id}");
    }
}
