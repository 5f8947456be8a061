//! A service of type LoadBalancer comes and goes while the platform moves versions behind everybody's back: the
//! set's, seconds after one of its VMs was written (kubernetes-sigs/cloud-provider-azure issue 9728), or at
//! any time.
//!
//! **Held to.** A CCM with ETags meets the conflicts it would have met without armshield, and comes out of them
//! with one more sync; while a write settles nobody is shown a version that moved more than two seconds ago.
//!
//! **Not promised.** A list may be two seconds old for a CCM (P5): a version that moved less than two seconds
//! before it lists can cost it one sync more than without armshield. A CCM without ETags can get ARM's 412 for a
//! version that only the platform moved, between its read of the set and its write: one sync more, until a
//! refused write can be rebased.

use std::time::Duration;

use armshield::simulator::Options;
use tokio::task::JoinHandle;

use crate::support::client::{AUTOSCALER, AZ};
use crate::support::simulated::{COMPUTE, NETWORK};
use crate::support::world;

use super::ccm::{Ccm, Point, Release};
use super::pools;
use super::sdk::Trouble;
use super::stage::{Stage, Way};

const fn milliseconds(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn stage(way: Way, parent_delay: Duration) -> (Stage, String) {
    let stage = Stage::new(way, Options { parent_delay, ..Options::default() });
    let set = stage.sim.add_uniform("pool", 2);
    Ccm::prepare(&stage);
    (stage, set)
}

/// Somebody with the CCM's own rights lists the sets all the time, so that armshield always has a list in store
/// that is young enough for a CCM.
fn crowd(stage: &Stage) -> JoinHandle<()> {
    let other = stage.client("ccm", AUTOSCALER, 2);
    let target = format!("{}/virtualMachineScaleSets{COMPUTE}", stage.compute());
    tokio::spawn(async move {
        loop {
            assert_eq!(other.get(&target).await.status, 200);
            world::pass(milliseconds(1100)).await;
        }
    })
}

/// A service is made and deleted, after a while; between, the CCM lists the sets for another reason and keeps
/// the list, or does not. What went wrong on the way.
async fn make_and_delete(
    way: Way,
    release: Release,
    delay: u64,
    (while_, keeps): (u64, bool),
) -> Vec<Trouble> {
    let (stage, set) = stage(way, Duration::from_secs(delay));
    let crowd = crowd(&stage);
    world::seconds(5).await;
    let mut ccm = Ccm::new(&stage, release);
    let mut troubles = ccm.create("web").await;
    if keeps {
        ccm.sets().await.unwrap();
    }
    world::seconds(while_).await;
    troubles.extend(ccm.delete("web").await);
    assert_eq!(pools::joined(&stage.sim, &set), [0; 3]);
    crowd.abort();
    troubles
}

const WHILES: [(u64, bool); 3] = [(0, true), (3, false), (120, true)];

#[tokio::test(start_paused = true)]
async fn the_late_move_of_a_sets_version_costs_no_sync_more_than_without_armshield() {
    let mut conflicts = 0;
    for delay in [12, 45] {
        for between in WHILES {
            let direct = make_and_delete(Way::Direct, Release::WithEtags, delay, between).await;
            let through = make_and_delete(Way::Through, Release::WithEtags, delay, between).await;
            assert_eq!(through, direct, "{delay} {between:?}");
            assert!(through.iter().all(Trouble::is_conflict));
            conflicts += through.len();
        }
    }
    assert!(conflicts >= 2, "{conflicts}: or this shows nothing");
}

#[tokio::test(start_paused = true)]
async fn the_late_move_of_a_sets_version_is_no_conflict_for_a_ccm_without_etags() {
    for delay in [5, 12] {
        for between in WHILES {
            assert_eq!(make_and_delete(Way::Through, Release::WithoutEtags, delay, between).await, []);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_write_settles_nobody_is_shown_the_former_version_for_longer_than_two_seconds() {
    for delay in [12, 20] {
        let (stage, set) = stage(Way::Through, Duration::from_secs(delay));
        let az = stage.client("ccm", AZ, 1);
        let mut ccm = Ccm::new(&stage, Release::WithEtags);
        assert_eq!(ccm.create("web").await, []);
        // The last VM was written to its end ten seconds ago, and the set's version is yet to move.
        let reads =
            [format!("{set}{COMPUTE}"), format!("{}/virtualMachineScaleSets{COMPUTE}", stage.compute())];
        let (mut known, mut moved) = (stage.sim.etag(&set), stage.sim.elapsed());
        let (mut hits, mut moves) = (0, 0);
        for _ in 0..300 {
            if known != stage.sim.etag(&set) {
                (known, moved) = (stage.sim.etag(&set), stage.sim.elapsed());
                moves += 1;
            }
            for read in &reads {
                let answer = az.get(read).await;
                hits += u32::from(answer.is_hit());
                let item = answer.json();
                let item = if item["value"].is_array() { &item["value"][0] } else { &item };
                let stale = item["etag"].as_str() != known.as_deref();
                let since = stage.sim.elapsed() - moved;
                assert!(!stale || since <= Duration::from_secs(2), "{read} {since:?} after it moved");
            }
            world::pass(milliseconds(100)).await;
        }
        assert!(hits > 200, "{hits}: or this shows nothing");
        assert!(moves > 0, "{delay}: the set's version did not move while it was looked at");
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_moved_two_seconds_before_the_ccm_lists_costs_nothing_and_one_sync_at_most_before() {
    let mut retries = 0;
    for before in [100, 500, 1000, 1500, 2000, 2100, 2600, 3100] {
        let (stage, set) = stage(Way::Through, Duration::from_secs(5));
        let crowd = crowd(&stage);
        let mut ccm = Ccm::new(&stage, Release::WithEtags);
        // ARM lets it in: from now on armshield may answer it from memory.
        ccm.sdk.list(&format!("{}/publicIPAddresses{NETWORK}", stage.network())).await.unwrap();
        world::seconds(10).await;
        stage.sim.touch(&set);
        world::pass(milliseconds(before)).await;
        ccm.sets().await.unwrap();
        let troubles = ccm.create("web").await;
        assert_eq!(pools::joined(&stage.sim, &set), [1; 3]);
        assert!(troubles.iter().all(Trouble::is_conflict) && troubles.len() <= 1, "{before} {troubles:?}");
        assert!(before <= 2000 || troubles.is_empty(), "{before} {troubles:?}");
        retries += troubles.len();
        crowd.abort();
    }
    assert!(retries > 0, "or the limit above has gone");
}

#[tokio::test(start_paused = true)]
async fn a_version_moved_between_read_and_write_costs_a_ccm_one_sync() {
    let check = async |way, release, expected| {
        let (stage, set) = stage(way, Duration::from_secs(5));
        let mut ccm = Ccm::new(&stage, release);
        let (platform, moved) = (stage.sim.clone(), set.clone());
        ccm.meanwhile(Point::Checked, async move { platform.touch(&moved) });
        let troubles = ccm.create("web").await;
        assert!(ccm.was_interrupted() && troubles.iter().all(Trouble::is_conflict));
        assert_eq!(pools::joined(&stage.sim, &set), [1; 3]);
        assert_eq!(troubles.len(), expected, "{way:?} {release:?}");
    };
    check(Way::Direct, Release::WithEtags, 1).await;
    check(Way::Through, Release::WithEtags, 1).await;
    check(Way::Direct, Release::WithoutEtags, 0).await;
    // The price of the guard without rebasing.
    check(Way::Through, Release::WithoutEtags, 1).await;
}
