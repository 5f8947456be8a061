//! The ways in which sharing a fetch goes wrong, on paused time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::clock::Moment;

type Fetches = Flights<&'static str, u64, Arc<str>>;
type OneFlight = Flight<u64, Arc<str>>;

const KEY: &str = "question";

fn asker() -> Asker {
    Asker { priority: 1, deadline: Moment::ZERO + Duration::from_secs(45) }
}

fn always(_: &Phase<u64>) -> bool {
    true
}

fn done(text: &str) -> Ending<Arc<str>> {
    Ending::Done(text.into())
}

/// A fetch that waits, is sent, and is answered.
async fn fetch(flight: OneFlight, waits: u64, takes: u64, answer: &str) -> Arc<str> {
    sleep(Duration::from_secs(waits)).await;
    assert!(flight.sent(1), "a fetch that goes on is one that somebody wanted");
    sleep(Duration::from_secs(takes)).await;
    answer.into()
}

/// Lets every task run that can.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

#[track_caller]
fn nothing_is_left(flights: &Fetches) {
    assert!(flights.is_empty(), "a key is still taken");
    let counts = flights.counts();
    assert_eq!(counts.flying, 0, "{counts:?}");
    assert_eq!(counts.led, counts.done + counts.abandoned + counts.panicked, "{counts:?}");
    assert_eq!(Arc::strong_count(&flights.shared), 1, "a task holds on");
}

#[tokio::test(start_paused = true)]
async fn askers_of_one_question_share_one_fetch() {
    let flights = Fetches::new();
    let leader = flights.join(KEY, asker(), always, |flight| fetch(flight, 1, 1, "a"));
    let follower = flights.join(KEY, asker(), always, |_| async { unreachable!() });
    let other = flights.join("other", asker(), always, |flight| fetch(flight, 0, 0, "b"));
    assert!(leader.led && !follower.led && other.led);
    assert_eq!(leader.wait().await, done("a"));
    assert_eq!(follower.wait().await, done("a"));
    assert_eq!(other.wait().await, done("b"));
    settle().await;
    nothing_is_left(&flights);
    let Counts { led, joined, replaced, .. } = flights.counts();
    assert_eq!((led, joined, replaced), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_leaders_leaving_ends_nothing() {
    for leaves_after in [0, 1, 3] {
        let flights = Fetches::new();
        let leader = flights.join(KEY, asker(), always, |flight| fetch(flight, 2, 2, "a"));
        let follower = flights.join(KEY, asker(), always, |_| async { unreachable!() });
        sleep(Duration::from_secs(leaves_after)).await;
        drop(leader);
        assert_eq!(follower.wait().await, done("a"));
        settle().await;
        nothing_is_left(&flights);
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_dropped_at_any_await_harms_nobody() {
    for polls in 0..6 {
        let flights = Fetches::new();
        let leader = flights.join(KEY, asker(), always, |flight| async move {
            yield_now().await;
            assert!(flight.sent(1));
            yield_now().await;
            "a".into()
        });
        let follower = flights.join(KEY, asker(), always, |_| async { unreachable!() });
        let waiting = tokio::spawn(leader.wait());
        for _ in 0..polls {
            yield_now().await;
        }
        waiting.abort();
        assert_eq!(follower.wait().await, done("a"), "aborted after {polls} polls");
        settle().await;
        nothing_is_left(&flights);
    }
}

#[tokio::test(start_paused = true)]
async fn followers_that_leave_are_not_waited_for() {
    let flights = Fetches::new();
    let leader = flights.join(KEY, asker(), always, |flight| fetch(flight, 2, 2, "a"));
    let mut gone = Vec::new();
    for _ in 0..10 {
        gone.push(flights.join(KEY, asker(), always, |_| async { unreachable!() }));
    }
    let late = flights.join(KEY, asker(), always, |_| async { unreachable!() });
    sleep(Duration::from_secs(1)).await;
    drop(gone);
    assert!(timeout(Duration::from_secs(2), late.wait()).await.is_err(), "an asker keeps its own deadline");
    assert_eq!(leader.wait().await, done("a"));
    settle().await;
    nothing_is_left(&flights);
}

/// Stands for a place in a queue: given back when dropped.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>) -> Self {
        taken.fetch_add(1, Ordering::SeqCst);
        Self(taken.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_fetch_that_nobody_wants_gives_up_its_place() {
    let flights = Fetches::new();
    let started = Instant::now();
    let taken = Arc::new(AtomicUsize::new(0));
    let place = taken.clone();
    let leader = flights.join(KEY, asker(), always, move |flight| async move {
        let _place = Place::take(&place);
        sleep(Duration::from_secs(60)).await;
        let _ = flight.sent(1);
        unreachable!("it was given up")
    });
    let follower = flights.join(KEY, asker(), always, |_| async { unreachable!() });
    settle().await;
    drop(leader);
    settle().await;
    assert_eq!(taken.load(Ordering::SeqCst), 1, "one still waits");
    drop(follower);
    settle().await;
    assert_eq!(taken.load(Ordering::SeqCst), 0);
    nothing_is_left(&flights);
    assert_eq!(flights.counts().abandoned, 1);
    assert_eq!(started.elapsed(), Duration::ZERO, "no time has to pass for that");

    let again = flights.join(KEY, asker(), always, |flight| fetch(flight, 0, 0, "b"));
    assert!(again.led);
    assert_eq!(again.wait().await, done("b"));
}

#[tokio::test(start_paused = true)]
async fn who_asks_right_after_all_left_gets_a_fetch_of_its_own() {
    let flights = Fetches::new();
    drop(flights.join(KEY, asker(), always, |_| async { unreachable!("nobody waited") }));
    let next = flights.join(KEY, asker(), always, |flight| fetch(flight, 1, 1, "b"));
    assert!(next.led, "the abandoned flight is not joined although its task has not run yet");
    assert_eq!(flights.counts().replaced, 0, "nor is it replaced: it is over");
    settle().await;
    assert_eq!(flights.len(), 1, "the abandoned flight left its successor alone");
    assert_eq!(next.wait().await, done("b"));
    settle().await;
    nothing_is_left(&flights);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_learns_at_the_last_moment_that_it_must_not_be_sent() {
    let flights = Fetches::new();
    let (tell, told) = oneshot::channel();
    let (ask, asked) = std::sync::mpsc::channel::<Ticket<u64, Arc<str>>>();
    let ticket = flights.join(KEY, asker(), always, move |flight| async move {
        // The last asker leaves while the fetch is between two awaits.
        drop(asked.recv().unwrap());
        let _ = tell.send((flight.wanted(), flight.sent(1)));
        sleep(Duration::from_secs(60)).await;
        unreachable!("it was given up")
    });
    ask.send(ticket).unwrap();
    assert_eq!(told.await.unwrap(), (false, false));
    settle().await;
    nothing_is_left(&flights);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_was_sent_is_finished_though_all_leave() {
    let flights = Fetches::new();
    let (tell, told) = oneshot::channel();
    let leader = flights.join(KEY, asker(), always, |flight| async move {
        let answer = fetch(flight, 0, 5, "a").await;
        let _ = tell.send(Instant::now());
        answer
    });
    let started = Instant::now();
    settle().await;
    drop(leader);
    settle().await;
    let late = flights.join(KEY, asker(), |phase| *phase == Phase::Sent(1), |_| async { unreachable!() });
    assert!(!late.led, "it can be joined although nobody waited for a while");
    drop(late);
    assert_eq!(told.await.unwrap() - started, Duration::from_secs(5));
    settle().await;
    nothing_is_left(&flights);
    assert_eq!(flights.counts().done, 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_frees_the_key_and_wakes_everybody() {
    let flights = Fetches::new();
    // In the closure, before the first await, after it, after it was sent.
    type Boxed = std::pin::Pin<Box<dyn Future<Output = Arc<str>> + Send>>;
    let panics: [fn(OneFlight) -> Boxed; 4] = [
        |_| panic!("on purpose"),
        |_| Box::pin(async { panic!("on purpose") }),
        |_| {
            Box::pin(async {
                sleep(Duration::from_secs(1)).await;
                panic!("on purpose")
            })
        },
        |flight| {
            Box::pin(async move {
                assert!(flight.sent(1));
                sleep(Duration::from_secs(1)).await;
                panic!("on purpose")
            })
        },
    ];
    for panics in panics {
        let mut waiting = JoinSet::new();
        waiting.spawn(flights.join(KEY, asker(), always, panics).wait());
        for _ in 0..5 {
            waiting.spawn(flights.join(KEY, asker(), always, |_| async { unreachable!() }).wait());
        }
        for ending in waiting.join_all().await {
            assert_eq!(ending, Ending::Panicked);
        }
        nothing_is_left(&flights);
        let next = flights.join(KEY, asker(), always, |flight| fetch(flight, 0, 0, "b"));
        assert_eq!(next.wait().await, done("b"));
        settle().await;
    }
    assert_eq!(flights.counts().panicked, 4);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_decision_harms_only_who_brought_it() {
    let flights = Fetches::new();
    let leader = flights.join(KEY, asker(), always, |flight| fetch(flight, 1, 1, "a"));
    let other = flights.clone();
    let decides = tokio::spawn(async move {
        other.join(KEY, asker(), |_| panic!("on purpose"), |_| async { unreachable!() }).wait().await
    });
    assert!(decides.await.unwrap_err().is_panic());
    let follower = flights.join(KEY, asker(), always, |_| async { unreachable!() });
    assert_eq!(leader.wait().await, done("a"));
    assert_eq!(follower.wait().await, done("a"));
    settle().await;
    nothing_is_left(&flights);
}

#[tokio::test(start_paused = true)]
async fn a_stuck_fetch_is_replaced_and_leaves_its_successor_alone() {
    let flights = Fetches::new();
    let stuck = flights.join(KEY, asker(), always, |flight| fetch(flight, 0, 60, "old"));
    settle().await;
    let newer = |phase: &Phase<u64>| !matches!(phase, Phase::Sent(mark) if *mark < 2);
    let fresh = flights.join(KEY, asker(), newer, |flight| async move {
        assert!(flight.sent(2));
        sleep(Duration::from_secs(90)).await;
        "new".into()
    });
    assert!(fresh.led);
    settle().await;
    let joined = flights.join(KEY, asker(), newer, |_| async { unreachable!() });
    assert_eq!(flights.counts().flying, 2);
    assert_eq!(stuck.wait().await, done("old"), "it goes on for those who wait for it");
    settle().await;
    assert_eq!(flights.len(), 1, "the end of the replaced flight does not take its successor's key");
    let joined_later = flights.join(KEY, asker(), newer, |_| async { unreachable!() });
    for ticket in [fresh, joined, joined_later] {
        assert_eq!(ticket.wait().await, done("new"));
    }
    settle().await;
    nothing_is_left(&flights);
    assert_eq!(flights.counts().replaced, 1);
}

#[tokio::test(start_paused = true)]
async fn a_replaced_flight_that_panics_or_is_given_up_leaves_its_successor_alone() {
    let flights = Fetches::new();
    let never = |_: &Phase<u64>| false;
    let panics = flights.join(KEY, asker(), never, |flight| async move {
        assert!(flight.sent(1));
        sleep(Duration::from_secs(1)).await;
        panic!("on purpose")
    });
    let given_up = flights.join(KEY, asker(), never, |flight| fetch(flight, 60, 0, "never"));
    let last = flights.join(KEY, asker(), never, |flight| fetch(flight, 5, 0, "last"));
    settle().await;
    drop(given_up);
    assert_eq!(panics.wait().await, Ending::Panicked);
    assert_eq!(flights.len(), 1);
    let joined = flights.join(KEY, asker(), always, |_| async { unreachable!() });
    assert_eq!(last.wait().await, done("last"));
    assert_eq!(joined.wait().await, done("last"));
    settle().await;
    nothing_is_left(&flights);
}

#[tokio::test(start_paused = true)]
async fn two_thousand_followers_are_woken_in_one_step() {
    let flights = Fetches::new();
    let mut waiting = JoinSet::new();
    let started = Instant::now();
    for _ in 0..2_000 {
        let ticket = flights.join(KEY, asker(), always, |flight| fetch(flight, 1, 1, "a"));
        waiting.spawn(async move { (ticket.wait().await, Instant::now() - started) });
    }
    let Counts { led, joined, .. } = flights.counts();
    assert_eq!((led, joined), (1, 1_999));
    for (ending, after) in waiting.join_all().await {
        assert_eq!((ending, after), (done("a"), Duration::from_secs(2)));
    }
    nothing_is_left(&flights);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_joins_a_fetch_that_was_sent_in_the_same_moment() {
    // Askers accept only a fetch that was not sent; the fetch counts, in its mark, who was aboard when it left.
    let flights = Fetches::new();
    let mut askers = JoinSet::new();
    for _ in 0..2_000 {
        let flights = flights.clone();
        askers.spawn(async move {
            let not_sent = |phase: &Phase<u64>| matches!(phase, Phase::Waiting);
            let ticket = flights.join(KEY, asker(), not_sent, |flight| async move {
                yield_now().await;
                assert!(flight.sent(1));
                let aboard = flight.interest().alive;
                yield_now().await;
                assert!(flight.interest().alive <= aboard, "somebody joined after it was sent");
                "a".into()
            });
            ticket.wait().await
        });
    }
    for ending in askers.join_all().await {
        assert_eq!(ending, done("a"));
    }
    while flights.counts().flying > 0 {
        yield_now().await;
    }
    let counts = flights.counts();
    assert_eq!(counts.led + counts.joined, 2_000, "{counts:?}");
    assert!(flights.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_leaks_when_askers_come_and_go_at_random() {
    let flights = Flights::<u8, u64, Arc<str>>::new();
    let mut askers = JoinSet::new();
    for round in 0_u64..3_000 {
        let flights = flights.clone();
        askers.spawn(async move {
            let may_join = move |phase: &Phase<u64>| matches!(phase, Phase::Waiting) || round % 3 == 0;
            let ticket = flights.join((round % 5) as u8, asker(), may_join, move |flight| async move {
                yield_now().await;
                if flight.sent(round) {
                    yield_now().await;
                    assert!(round % 97 != 0, "on purpose");
                }
                "a".into()
            });
            if round % 2 == 0 {
                let _ = timeout(Duration::from_micros(round % 50), ticket.wait()).await;
            } else {
                assert_ne!(ticket.wait().await, Ending::Abandoned, "who waits is never abandoned");
            }
        });
    }
    while let Some(asked) = askers.join_next().await {
        asked.unwrap();
    }
    while flights.counts().flying > 0 {
        yield_now().await;
    }
    assert!(flights.is_empty());
    let counts = flights.counts();
    assert_eq!(counts.led + counts.joined, 3_000, "{counts:?}");
    while Arc::strong_count(&flights.shared) > 1 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_fetch_sees_who_still_cares() {
    let flights = Fetches::new();
    let at = |seconds| Moment::ZERO + Duration::from_secs(seconds);
    let (tell, told) = oneshot::channel();
    let leader = Asker { priority: 0, deadline: at(45) };
    let leader = flights.join(KEY, leader, always, |flight| async move {
        sleep(Duration::from_secs(1)).await;
        let both = flight.interest();
        sleep(Duration::from_secs(1)).await;
        let _ = tell.send((both, flight.interest()));
        assert!(flight.sent(1));
        "a".into()
    });
    let urgent = Asker { priority: 2, deadline: at(20) };
    let follower = flights.join(KEY, urgent, always, |_| async { unreachable!() });
    sleep(Duration::from_millis(1_500)).await;
    drop(leader);
    let (both, one) = told.await.unwrap();
    assert_eq!(both, Interest { alive: 2, priority: 2, deadline: at(45) });
    assert_eq!(one, Interest { alive: 1, priority: 2, deadline: at(20) });
    assert_eq!(follower.wait().await, done("a"));
}

#[test]
fn the_end_of_the_process_has_a_name_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let flights = Fetches::new();
    let ticket = {
        let _inside = runtime.enter();
        flights.join(KEY, asker(), always, |flight| fetch(flight, 60, 0, "never"))
    };
    drop(runtime);
    nothing_is_left(&flights);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(ticket.wait()), Ending::Abandoned);
}

#[tokio::test(start_paused = true)]
async fn looking_foretells_what_joining_would_do_and_does_nothing() {
    let flights = Fetches::new();
    let never = |_: &Phase<u64>| false;
    assert_eq!(flights.look(&KEY, always), Sight::Nothing);
    let ticket = flights.join(KEY, asker(), always, |flight| fetch(flight, 1, 1, "a"));
    let counts = flights.counts();
    assert_eq!(flights.look(&KEY, always), Sight::Joins);
    assert_eq!(flights.look(&KEY, never), Sight::Refuses);
    assert_eq!(flights.look(&KEY, |phase| *phase == Phase::Waiting), Sight::Joins);
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(flights.look(&KEY, |phase| *phase == Phase::Sent(1)), Sight::Joins);
    assert_eq!(flights.counts(), counts);
    assert_eq!(ticket.wait().await, done("a"));
    assert_eq!(flights.look(&KEY, always), Sight::Nothing);
    settle().await;
    nothing_is_left(&flights);
}
