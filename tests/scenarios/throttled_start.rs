//! Two hundred nodes in four sets, in a subscription that many clusters share: the CCM, two disk drivers and the
//! autoscaler start at once and list everything, and are all restarted twice, a short while after they were up.
//! Compute's limits for lists, published per subscription, are divided by the clusters.
//!
//! Without armshield they are throttled, crash, are started again and list from the beginning: minutes.
//! An autoscaler that took a throttled list for a size of −1 once deleted 197 of 200 nodes (kubernetes/autoscaler
//! issue 3240).
//!
//! **Held to.** No read is answered with a set, a size or a VM that ARM did not give, and none with less; where ARM
//! throttles the answer is a 429 of ARM's shape that says how long to wait; after a 429 no call reaches that
//! budget before it may. With one identity for all, their lists are one list.
//!
//! **Not promised.** Nothing is shared between identities (P2), where each component has its own only its own
//! repetitions are saved, and starting takes minutes with armshield too. Nor is a list of several pages kept: pages
//! asked for at the same time are merged, no more. A start that finds a closed gate waits no longer with armshield
//! than without, and no shorter: there is no queue, and no older answer yet while ARM throttles.

use std::time::Duration;

use armshield::simulator::{Call, Latency, Limits, Options, Rate};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::world;

use super::sdk::{Line, Sdk};
use super::stage::{Stage, Way};
use super::start::{Component, Nodes, nodes};
use super::truth::{Members, member};

/// Who starts, and how many milliseconds later than the first.
const COMPONENTS: [(Component, u64); 4] = [
    (Component::Ccm, 0),
    (Component::DiskDriver, 150),
    (Component::DiskDriver, 400),
    (Component::Autoscaler, 700),
];
const ROUNDS: usize = 3;

/// What is set for a story.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// How many clusters share the subscription's limits.
    clusters: f64,
    one_identity: bool,
    page: Option<usize>,
}

/// How it went.
struct Told {
    truth: Nodes,
    lines: Vec<Line>,
    calls: Vec<Call>,
    /// Until all were up for the last time.
    took: Duration,
    crashes: usize,
}

impl Told {
    /// Calls that ARM refused.
    fn refused(&self) -> usize {
        self.calls.iter().filter(|call| call.throttled.is_some()).count()
    }
}

fn shared_by(clusters: f64) -> Limits {
    let mut limits = Limits::published();
    for policy in &mut limits.compute {
        let Rate { capacity, refill } = policy.subscription;
        policy.subscription = Rate::new((capacity / clusters).max(1.0), refill / clusters);
    }
    limits
}

impl Setting {
    async fn play(self, way: Way) -> Told {
        let latency = Latency { least: Duration::from_millis(80), most: Duration::from_millis(600) };
        let (throttle, page) = (Some(shared_by(self.clusters)), self.page);
        let stage = Stage::new(way, Options { latency, throttle, page, ..Options::default() });
        let uniform = ["one", "two", "three"].map(|name| stage.sim.add_uniform(name, 50));
        let sets = [&uniform[..], &[stage.sim.add_flexible("four", 50)]].concat();
        let (truth, began) = (nodes(&stage.sim, &sets), Instant::now());
        let components = (1..).zip(COMPONENTS).map(|(at, (component, later))| {
            let principal = if self.one_identity { "cluster".to_owned() } else { format!("identity-{at}") };
            let sdk = Sdk::new(stage.client(&principal, component.agent(), at), 5);
            run(component, later, sdk, stage.compute(), truth.clone())
        });
        let components: Vec<_> = components.collect();
        let (mut lines, mut crashes) = (Vec::new(), 0);
        for component in components {
            let (own, crashed) = component.await.unwrap();
            lines.extend(own);
            crashes += crashed;
        }
        Told { truth, lines, calls: stage.sim.journal(), took: began.elapsed(), crashes }
    }
}

/// A component that is started, and started again when it ended for want of an answer, ten seconds later, then
/// twenty, and so on (the kubelet), and that is restarted after it was up. What it knows then must be true.
fn run(
    component: Component,
    later: u64,
    sdk: Sdk,
    compute: String,
    truth: Nodes,
) -> JoinHandle<(Vec<Line>, usize)> {
    tokio::spawn(async move {
        let (mut lines, mut crashes) = (Vec::new(), 0);
        world::pass(Duration::from_millis(later)).await;
        for _ in 0..ROUNDS {
            let mut backoff = 10;
            loop {
                let process = sdk.restarted();
                let started = component.start(&process, &compute).await;
                lines.extend(process.diary());
                if let Ok(nodes) = started {
                    assert_eq!(nodes, truth, "{component:?}");
                    break;
                }
                crashes += 1;
                world::seconds(backoff).await;
                backoff = (backoff * 2).min(300);
            }
            world::seconds(10).await;
        }
        (lines, crashes)
    })
}

/// Holds every answer to what ARM gives: whole where it is one page, true in any case.
fn is_true(told: &Told) {
    let everybody: Members = told.truth.values().flat_map(|(_, vms)| vms.clone()).collect();
    for line in told.lines.iter().filter(|line| line.answer.status == 200) {
        let list = line.answer.json();
        let items = list["value"].as_array().unwrap();
        let whole = list["nextLink"].is_null() && !line.query.contains("skiptoken");
        if line.path.ends_with("/virtualMachineScaleSets") {
            let size = |set: &Value| {
                (set["id"].as_str().unwrap().to_lowercase(), set["sku"]["capacity"].as_u64().unwrap())
            };
            let sizes: Vec<_> = items.iter().map(size).collect();
            let expected = told.truth.iter().map(|(id, (size, _))| (id.clone(), *size));
            assert!(
                expected.clone().all(|set| sizes.contains(&set)) && sizes.len() == expected.len(),
                "{sizes:?}"
            );
            continue;
        }
        // The VMs of the Uniform sets have numbers; those of the Flexible one are the group's.
        let set = line.path.strip_suffix("/virtualMachines").unwrap().to_lowercase();
        let vms: Members = items.iter().map(member).collect();
        let known = told.truth.get(&set).map_or(&everybody, |(_, vms)| vms);
        assert!(vms.iter().all(|(name, state)| known.get(name) == Some(state)), "{} shows others", line.path);
        assert_eq!(vms.len(), items.len());
        assert!(!whole || vms.len() == 50, "{} shows {} of 50", line.path, vms.len());
    }
}

/// Holds every 429 to ARM's shape, and everything else to 200.
fn is_shaped(told: &Told) {
    for Line { path, answer, .. } in &told.lines {
        if answer.status == 200 {
            continue;
        }
        assert_eq!(answer.status, 429, "{path}");
        let error = answer.json()["error"].clone();
        assert!(error["code"].is_string() && error["message"].is_string(), "{path} {}", answer.text());
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=120).contains(&seconds), "{path} {seconds}");
        assert!(answer.header("content-type").unwrap().starts_with("application/json"), "{path}");
    }
}

/// Compute's class of a list.
fn class(call: &Call) -> &'static str {
    let path = call.path().to_lowercase();
    if path.contains("/virtualmachinescalesets") { "HighCostGetVMScaleSet" } else { "HighCostGetVM" }
}

/// Holds what reached ARM to what it had said: between a 429's answer and the end of its time nothing more of that
/// class was sent.
fn stopped_when_told(told: &Told) {
    for refused in told.calls.iter().filter(|call| call.throttled.is_some()) {
        assert!(refused.throttled.as_deref().unwrap().ends_with(&class(refused).to_owned()));
        let from = refused.answered.unwrap();
        let until = from + Duration::from_secs(refused.retry_after.unwrap());
        let sent = told.calls.iter().filter(|call| class(call) == class(refused));
        let early: Vec<_> = sent.filter(|call| call.at > from && call.at < until).collect();
        assert!(early.is_empty(), "told at {from:?} to wait until {until:?}: {early:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_one_identity_a_start_of_minutes_takes_seconds() {
    let setting = Setting { clusters: 60.0, one_identity: true, page: None };
    let (direct, through) = (setting.play(Way::Direct).await, setting.play(Way::Through).await);
    assert!(direct.refused() > 100 && direct.crashes > 0 && direct.took > Duration::from_secs(300));
    assert_eq!((through.refused(), through.crashes), (0, 0));
    assert!(through.took < Duration::from_secs(60), "{:?}", through.took);
    // What has to be read in three rounds without anything refused is 84 lists: 28 in each.
    let calls = through.calls.len();
    let saved = through.lines.iter().filter(|line| line.cost_no_call()).count();
    assert_eq!((through.lines.len(), calls + saved), (84, 84));
    assert!(calls <= 84 / 3, "{calls}");
    is_true(&through);
    is_shaped(&through);
}

#[tokio::test(start_paused = true)]
async fn with_identities_of_their_own_less_is_asked_and_refused_and_nothing_shared() {
    let setting = Setting { clusters: 60.0, one_identity: false, page: None };
    let (direct, through) = (setting.play(Way::Direct).await, setting.play(Way::Through).await);
    is_true(&through);
    is_shaped(&through);
    stopped_when_told(&through);
    assert!(through.calls.len() < direct.calls.len(), "{} of {}", through.calls.len(), direct.calls.len());
    assert!(through.refused() < direct.refused(), "{} of {}", through.refused(), direct.refused());
    assert!(through.took <= direct.took, "{:?} instead of {:?}", through.took, direct.took);
    // A process lists the sets twice; that is all that can be saved.
    let saved = through.lines.iter().filter(|line| line.cost_no_call());
    assert!(saved.clone().all(|line| line.path.ends_with("/virtualMachineScaleSets")));
}

#[tokio::test(start_paused = true)]
async fn where_arm_throttles_every_answer_is_whole_or_says_how_long_to_wait() {
    for page in [None, Some(30)] {
        let setting = Setting { clusters: 150.0, one_identity: true, page };
        let through = setting.play(Way::Through).await;
        let refusals = through.lines.iter().filter(|line| line.answer.status == 429);
        let own =
            refusals.filter(|line| line.answer.header("x-ms-failure-cause") == Some("armshield")).count();
        assert!(through.refused() > 0 && own > 0, "{page:?} {own}: or this shows nothing");
        is_true(&through);
        is_shaped(&through);
        stopped_when_told(&through);
    }
}
