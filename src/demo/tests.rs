//! Both phases on paused time, over pipes in memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{Clock, Wall};
use crate::config::Configuration;
use crate::listen::{Entrance, Shared, serve_io};
use crate::policy::{GuardMode, Mode};
use crate::proxy::Proxy;
use crate::simulator::Simulator;
use crate::upstream::{Connect, Connecting, Io, Target};

use super::figures::Figures;
use super::front;
use super::phase::Phase;
use super::stage::{Plan, Stage};
use super::wire::Road;

struct ToArm(Simulator);

impl Connect for ToArm {
    fn connect(&self, _: &Target) -> Connecting {
        let simulator = self.0.clone();
        Box::pin(async move { Ok(Box::new(simulator.dial()) as Io) })
    }
}

struct ToArmshield(Proxy, Arc<Shared>);

impl Connect for ToArmshield {
    fn connect(&self, _: &Target) -> Connecting {
        let (proxy, shared) = (self.0.clone(), self.1.clone());
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let here = |port| SocketAddr::from(([127, 0, 0, 1], port));
            tokio::spawn(serve_io(theirs, Entrance::new(here(50_000), here(7788)), shared, proxy));
            Ok(Box::new(ours) as Io)
        })
    }
}

const WALL: u64 = 1_780_000_000;

fn plan(nodes: usize, seconds: u64, seed: u64) -> Plan {
    Plan { nodes, length: Duration::from_secs(seconds), seed, wall: WALL }
}

async fn run(plan: &Plan, stage: &Stage, connect: Arc<dyn Connect>) -> Figures {
    let road = Road { connect, target: Target::from_url("http://localhost:7788").unwrap() };
    let mut phase = Phase::begin(plan, stage, &road);
    let mut most_lost = 0;
    while !phase.run_until(Instant::now() + Duration::from_millis(700)).await {
        most_lost = most_lost.max(phase.figures().lost.len());
    }
    let figures = phase.figures();
    assert!(
        most_lost <= figures.lost.len(),
        "what is shown on the way is taken back: {most_lost} {figures:?}"
    );
    figures
}

async fn direct(plan: &Plan) -> Figures {
    let stage = Stage::set(plan);
    run(plan, &stage, Arc::new(ToArm(stage.simulator.clone()))).await
}

async fn through(plan: &Plan) -> Figures {
    through_with(plan, |_| {}).await
}

async fn through_with(plan: &Plan, change: impl FnOnce(&mut Configuration)) -> Figures {
    let stage = Stage::set(plan);
    let mut configuration = front::configuration("http://arm.test").unwrap();
    configuration.upstream.ping = None;
    configuration.listen.ping = None;
    change(&mut configuration);
    let shared = Shared::new(configuration.listen.clone(), None);
    let to_arm = Arc::new(ToArm(stage.simulator.clone()));
    let rooms = front::rooms(configuration, Clock::tokio(Wall::from_unix(WALL)), to_arm).unwrap();
    run(plan, &stage, Arc::new(ToArmshield(Proxy::new(Arc::new(rooms)), shared))).await
}

#[tokio::test(start_paused = true)]
async fn through_armshield_nothing_is_lost_and_no_read_forgets_an_own_write() {
    for (nodes, seconds, seed) in [(4, 25, 1), (10, 40, 2), (25, 9, 3)] {
        let figures = through(&plan(nodes, seconds, seed)).await;
        assert_eq!(figures.lost, Vec::<String>::new(), "{nodes} {seconds} {seed}");
        assert_eq!((figures.stale, figures.failures), (0, 0), "{nodes} {seconds} {seed}");
        assert!(figures.guarded_conflicts > 0 && figures.changes > 10, "or this shows nothing: {figures:?}");
        assert!(figures.memory > 0, "or this shows nothing: {figures:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn directly_some_updates_are_lost_whatever_the_seed() {
    let joined = "cloud-controller-manager: backend pool pool0 of virtualMachineScaleSets/workers1";
    for seed in 1..=4 {
        let figures = direct(&plan(10, 3, seed)).await;
        let is_lost = |text: &str| figures.lost.iter().any(|lost| lost == text);
        assert!(is_lost("Ann: tag ann-0 of virtualMachines/machine0"), "{seed}: {:?}", figures.lost);
        assert!(is_lost(joined), "{seed}: {:?}", figures.lost);
        // What Bob overwrites: a pool, or a disk where the driver came between.
        let of_vm = |lost: &String| lost.ends_with(" of virtualMachineScaleSets/workers1/virtualMachines/0");
        assert!(figures.lost.iter().any(of_vm), "{seed}: {:?}", figures.lost);
        assert_eq!((figures.stale, figures.failures, figures.memory), (0, 0, 0), "{seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn through_armshield_fewer_calls_reach_arm_and_nobody_is_throttled() {
    let plan = plan(40, 25, 1);
    let (direct, through) = (direct(&plan).await, through(&plan).await);
    assert!(through.calls() < direct.calls(), "{direct:?} {through:?}");
    assert!(through.lists < direct.lists, "{direct:?} {through:?}");
    assert!(direct.throttled > 0 && direct.refused == direct.throttled, "{direct:?}");
    assert!(!direct.waited.is_zero(), "{direct:?}");
    assert_eq!((through.throttled, through.refused), (0, 0), "{through:?}");
    assert!(through.done > direct.done, "{direct:?} {through:?}");
    assert!(through.memory_max <= Duration::from_secs(3), "30 s, the longest age there is: {through:?}");
}

#[tokio::test(start_paused = true)]
async fn without_the_guard_the_same_updates_are_lost_through_armshield_too() {
    let plan = plan(10, 5, 1);
    let figures = through_with(&plan, |configuration| {
        configuration.policy.guard = GuardMode::Observe;
    });
    let figures = figures.await;
    assert!(figures.lost.iter().any(|lost| lost.starts_with("Ann: tag ann-0")), "{:?}", figures.lost);
    assert_eq!((figures.guarded, figures.people_conflicts), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn in_pass_mode_nothing_is_answered_from_memory_whatever_is_said() {
    let plan = plan(10, 5, 1);
    let figures = through_with(&plan, |configuration| {
        configuration.policy = configuration.policy.with_mode(Mode::Pass, None).unwrap();
    });
    let figures = figures.await;
    assert_eq!((figures.memory, figures.merged, figures.guarded), (0, 0, 0));
    assert!(!figures.lost.is_empty());
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_give_equal_figures() {
    assert_eq!(direct(&plan(10, 9, 7)).await, direct(&plan(10, 9, 7)).await);
}
