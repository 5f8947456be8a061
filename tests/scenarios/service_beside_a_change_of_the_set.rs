//! A service comes or goes while somebody else changes the set.

use super::ccm::{Point, Release};
use super::others::{Change, Hand};
use super::service::{Act, On, Story};
use super::stage::Way;

#[tokio::test(start_paused = true)]
async fn look() {
    for release in Release::BOTH {
    for act in [Act::Creates, Act::DeletesSoon, Act::DeletesLater] {
    for on in [On::Set, On::LastVm] {
    for point in [Point::Listed, Point::Checked, Point::VmsListed, Point::FirstVmWritten] {
    for hand in Hand::BOTH {
    for change in [Change::SecondAddress, if on == On::Set {Change::UpgradePolicy} else {Change::Protection}] {
        let story = Story { release, act, on, point, hand, change };
        println!("{story:?}");
        for way in Way::BOTH {
            let e = story.play(way).await;
            println!("    {way:?} survived {} {:?} {:?}", e.survived, e.troubles, e.guarded());
        }
    }}}}}}
}
