//! A service of type LoadBalancer comes or goes while somebody else changes one of the VMs that the CCM is about
//! to write.
//!
//! **Held to.** The service is whole in the end, or gone. With a CCM that sends ETags both changes survive, with
//! armshield as without. One that sends none never reads a VM before it writes it: its list is all it was shown,
//! so its writes are guarded (`source=seen`), the other's second address survives, and the CCM's retry completes
//! the service.
//!
//! **Not promised, until a refused write can be rebased.** Within half an hour of the CCM's own last write of that
//! VM (a service deleted soon after it was created) its list and its own write showed two versions: the guard
//! only says what it saw (`source=ambiguous`, `result=observed`), as it does for the CCM's retry after a 412.

use super::ccm::{Point, Release};
use super::others::{Change, Hand};
use super::service::{Act, On, Story};

const CASES: [(Hand, Change); 3] = [
    (Hand::Outside, Change::SecondAddress),
    (Hand::Colleague, Change::SecondAddress),
    (Hand::Outside, Change::Protection),
];

/// The stories of each case: before the first VM is written, and after.
fn stories(release: Release, act: Act) -> impl Iterator<Item = Story> {
    let points = [Point::VmsListed, Point::FirstVmWritten];
    CASES.into_iter().zip(points.into_iter().cycle()).map(move |((hand, change), point)| Story {
        release,
        act,
        on: On::LastVm,
        point,
        hand,
        change,
    })
}

#[tokio::test(start_paused = true)]
async fn a_ccm_with_etags_keeps_the_others_change_as_it_did_without_armshield() {
    for act in [Act::Creates, Act::DeletesSoon] {
        for story in stories(Release::WithEtags, act) {
            let (direct, through) = story.both().await;
            assert!(direct.survived && through.survived, "{story:?}");
            assert_eq!(through.statuses(), [412, 200], "{story:?}: ARM's 412, then its own retry");
            assert_eq!(through.statuses(), direct.statuses(), "{story:?}");
            assert_eq!(through.troubles, direct.troubles, "{story:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_ccm_without_etags_keeps_the_others_change_only_with_armshield() {
    for act in [Act::Creates, Act::DeletesLater] {
        for story in stories(Release::WithoutEtags, act) {
            let (direct, through) = story.both().await;
            assert_eq!(
                direct.survived,
                story.change != Change::SecondAddress,
                "{story:?}: what ARM alone keeps"
            );
            assert!(through.survived, "{story:?}");
            let guarded = through.guarded();
            assert_eq!(through.statuses(), [412, 200], "{story:?} {guarded:?}");
            assert!(guarded[0].1.contains("source=seen") && guarded[0].1.contains("result=conflict"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn soon_after_its_own_write_a_ccm_without_etags_undoes_nothing_in_silence() {
    for story in stories(Release::WithoutEtags, Act::DeletesSoon) {
        let (direct, through) = story.both().await;
        assert_eq!(through.troubles, [], "{story:?}: no conflict that it cannot come out of");
        assert!(through.survived || !direct.survived, "{story:?}: never worse");
        let said = through.guarded();
        assert!(through.survived || said[0].1.contains("result=observed"), "{story:?}: {said:?}");
    }
}
