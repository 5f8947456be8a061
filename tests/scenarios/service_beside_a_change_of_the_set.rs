//! A service of type LoadBalancer comes or goes while somebody else changes the scale set of the nodes: adds a
//! second ip configuration, a tag, another upgrade policy.
//!
//! **Held to.** The service is there with every VM in its pool, or gone with all that belonged to it. With a
//! CCM that sends ETags both changes survive, and armshield adds no conflict and takes none away. With one that
//! sends none, which without armshield undoes the other's second address, the guard turns a write built on
//! one version shown into ARM's 412, the CCM lists again, and both survive.
//!
//! **Not promised, until a refused write can be rebased.** A CCM without ETags reads the set once more just
//! before it writes what it made of its list. Where the other's change falls between the two, two versions
//! were shown, and nothing tells yet which of them the body was built on: the guard sends nothing and says so
//! (`source=ambiguous`, `result=observed`). The same holds within half an hour (`base_window`) of the CCM's own
//! last write, and for its retry after a 412. What it then overwrites it overwrites as it would have without
//! armshield, but no longer in silence.

use serde_json::Value;

use crate::support::client::AZ;
use crate::support::simulated::COMPUTE;
use crate::support::world;

use armshield::simulator::Options;

use super::ccm::{Ccm, Point, Release};
use super::others::{Change, Hand};
use super::pools;
use super::sdk::{Sdk, Trouble};
use super::service::{Act, On, Story};
use super::stage::{Stage, Way};

/// The one change that a CCM undoes, and two that it does not touch.
const CASES: [(Hand, Change); 4] = [
    (Hand::Outside, Change::SecondAddress),
    (Hand::Colleague, Change::SecondAddress),
    (Hand::Outside, Change::Tag),
    (Hand::Colleague, Change::UpgradePolicy),
];

/// The story of each case.
fn stories(release: Release, act: Act, point: Point) -> impl Iterator<Item = Story> {
    CASES.into_iter().map(move |(hand, change)| Story { release, act, on: On::Set, point, hand, change })
}

#[tokio::test(start_paused = true)]
async fn a_ccm_with_etags_keeps_the_others_change_as_it_did_without_armshield() {
    let creates = stories(Release::WithEtags, Act::Creates, Point::Listed);
    let others = [
        (Act::Creates, Point::Checked),
        (Act::DeletesSoon, Point::Checked),
        (Act::DeletesLater, Point::Listed),
    ];
    let others = others.map(|(act, point)| stories(Release::WithEtags, act, point).nth(1).unwrap());
    for story in creates.chain(others) {
        let (direct, through) = story.both().await;
        assert!(direct.survived && through.survived, "{story:?}");
        assert_eq!(through.statuses(), [412, 200], "{story:?}: ARM's 412, then its own retry");
        assert_eq!(through.statuses(), direct.statuses(), "{story:?}");
        assert_eq!(through.troubles, direct.troubles, "{story:?}");
        let own = through.guarded().iter().all(|(_, said)| said.contains("source=client"));
        assert!(own, "{story:?} {:?}", through.guarded());
    }
}

#[tokio::test(start_paused = true)]
async fn a_ccm_without_etags_keeps_what_was_changed_after_it_had_read_the_set_again() {
    let later = stories(Release::WithoutEtags, Act::DeletesLater, Point::Checked).take(2);
    for story in stories(Release::WithoutEtags, Act::Creates, Point::Checked).chain(later) {
        let (direct, through) = story.both().await;
        assert_eq!(direct.survived, story.change != Change::SecondAddress, "{story:?}: what ARM alone keeps");
        assert_eq!(direct.statuses(), [200]);
        assert!(through.survived, "{story:?}");
        let guarded = through.guarded();
        assert_eq!(through.statuses(), [412, 200], "{story:?} {guarded:?}");
        assert!(guarded[0].1.contains("source=seen") && guarded[0].1.contains("result=conflict"));
        // Two versions were shown by now: its retry is a plain write again.
        assert!(guarded[1].1.contains("result=observed"), "{story:?} {guarded:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ccm_without_etags_does_not_undo_in_silence_what_nothing_shows_it_built_on() {
    let soon = stories(Release::WithoutEtags, Act::DeletesSoon, Point::Checked).take(1);
    let later = stories(Release::WithoutEtags, Act::DeletesLater, Point::Listed).take(1);
    for story in stories(Release::WithoutEtags, Act::Creates, Point::Listed).chain(soon).chain(later) {
        let (direct, through) = story.both().await;
        assert_eq!(direct.survived, story.change != Change::SecondAddress, "{story:?}: what ARM alone keeps");
        assert_eq!(through.troubles, [], "{story:?}: no conflict that it cannot come out of");
        assert!(through.survived || !direct.survived, "{story:?}: never worse");
        let said = through.guarded();
        assert!(through.survived || said[0].1.contains("result=observed"), "{story:?}: {said:?}");
    }
}

/// The other's own write, built before the service was there, is what breaks the service: without armshield its
/// VMs that are yet to come are in no pool, and nobody notices.
#[tokio::test(start_paused = true)]
async fn the_others_write_that_knows_nothing_of_the_service_does_not_break_it() {
    // With the ETag in the model, as it was read, and without.
    for with_etag in [true, false] {
        for way in Way::BOTH {
            let stage = Stage::new(way, Options::default());
            let set = stage.sim.add_uniform("pool", 2);
            Ccm::prepare(&stage);
            let mut ccm = Ccm::new(&stage, Release::WithEtags);
            let (other, target) = (Sdk::new(stage.client("colleague", AZ, 9), 5), format!("{set}{COMPUTE}"));
            let read = async || -> Value {
                let mut model = other.get(&target).await.unwrap().json();
                if !with_etag {
                    model.as_object_mut().unwrap().remove("etag");
                }
                Change::SecondAddress.make(&mut model);
                model
            };
            let model = read().await;
            world::seconds(5).await;
            assert_eq!(ccm.create("web").await, []);
            let written = other.put(&target, &model, None).await;
            match way {
                Way::Direct => {
                    assert!(written.is_ok());
                    assert_eq!(pools::joined(&stage.sim, &set), [0, 1, 1], "the set has left the pool");
                }
                Way::Through => {
                    assert_eq!(
                        written,
                        Err(Trouble::Refused(412, "PreconditionFailed".into())),
                        "{with_etag}"
                    );
                    assert!(other.put(&target, &read().await, None).await.is_ok());
                    assert_eq!(pools::joined(&stage.sim, &set), [1; 3]);
                    assert!(Change::SecondAddress.is_there(&stage, &set));
                }
            }
        }
    }
}
