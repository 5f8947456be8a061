//! What chance would seldom bring about: several requests and what happens between them, as one step.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::operations::Refusal;
use super::people::{PEOPLE, Token};
use super::places::{About, Question};
use super::play::Play;
use super::records::{Fault, Fresh, Plan};
use crate::support::world;

const ANY: Fresh = Fresh { no_cache: false, max_age: None };
/// An answer of now, and who asks in the same moment may wait for the same.
const OF_NOW: Fresh = Fresh { no_cache: false, max_age: Some(0) };

const fn after(slow: u64) -> Plan {
    Plan { slow, fault: Fault::None, applied: false, shows: true, long: None }
}

async fn pause() {
    world::pass(Duration::from_millis(5)).await;
}

impl Play {
    /// ARM refuses a client in the middle of its asking.
    pub(super) fn refuse(
        &self,
        step: usize,
        who: usize,
        question: Question,
        what: Refusal,
    ) -> JoinHandle<()> {
        let play = self.clone();
        let (caller, place) = (PEOPLE[who].caller, question.about.path());
        tokio::spawn(async move {
            let read = |fresh| play.start(play.read(step, who, question, fresh, after(5)), None);
            read(ANY).await.unwrap();
            pause().await;
            let former = play.generations.lock().unwrap()[caller];
            if what != Refusal::Rights {
                play.generations.lock().unwrap()[caller] += 1;
            }
            if what == Refusal::OldToken {
                // Let in, on the very question.
                read(ANY).await.unwrap();
                pause().await;
                play.arm().banned.insert((caller, former));
                let mut old = play.read(step, who, question, OF_NOW, after(25));
                old.token = Token { generation: former, ..old.token };
                let (old, new) = (play.start(old, None), read(OF_NOW));
                old.await.unwrap();
                return new.await.unwrap();
            }
            let rights = (caller, place);
            play.arm().closed.insert(rights.clone());
            read(OF_NOW).await.unwrap();
            pause().await;
            read(ANY).await.unwrap();
            play.arm().closed.remove(&rights);
        })
    }

    /// A question is asked, something it is about changes or goes, who reads that is told so, and the question
    /// is asked again, before it was answered or after.
    pub(super) fn overtake(
        &self,
        step: usize,
        who: usize,
        question: Question,
        thing: usize,
        goes: bool,
        slow: bool,
    ) -> JoinHandle<()> {
        let play = self.clone();
        let point = Question { about: About::Point(thing), expand: false, ..question };
        tokio::spawn(async move {
            let read =
                |question, fresh, slow| play.start(play.read(step, who, question, fresh, after(slow)), None);
            let before = read(question, OF_NOW, if slow { 105 } else { 5 });
            pause().await;
            pause().await;
            {
                let (now, mut arm) = (play.world.clock.now(), play.arm());
                arm.truth.settle(now);
                match arm.truth.now(thing) {
                    Some(_) if goes => arm.truth.remove(thing, now),
                    Some(shown) => arm.truth.advance(thing, now, shown.state),
                    None => {}
                }
            }
            read(point, OF_NOW, 5).await.unwrap();
            pause().await;
            let again = read(question, ANY, 5);
            before.await.unwrap();
            again.await.unwrap();
        })
    }
}
