//! Twelve minutes of an autoscaler: it scales a Uniform and a Flexible set up and down, an instance is updated by
//! somebody else, one is evicted behind everybody's back, an allocation fails and what failed is taken away. An
//! exporter with the same identity reads along every fifteen seconds.
//!
//! **Held to.** Whatever the autoscaler is shown was true no longer than five seconds before it asked, and not
//! before the last answer to a write: so no size falls below what ARM had, no instance comes back that was
//! deleted, an instance that failed is seen when it would have been seen without armshield, give or take a turn
//! of its loop. The exporter is shown nothing older than thirty seconds. Together they cost a fifth of the calls
//! less, nearly all of them the exporter's; an autoscaler alone costs not one more, and not one fewer.

use std::collections::BTreeMap;
use std::time::Duration;

use armshield::simulator::{Latency, Options};
use serde_json::json;
use tokio::time::Instant;

use crate::support::client::CCM;
use crate::support::simulated::COMPUTE;
use crate::support::world;

use super::autoscaler::Autoscaler;
use super::others::Change;
use super::sdk::{Line, Sdk, Trouble};
use super::stage::{Stage, Way};
use super::truth::{Members, Truth, member};

const TURNS: usize = 72;
const EXPORTER: &str = "azure-metrics-exporter/24.9";

/// What the autoscaler had in mind after each turn: for each set its size, and how many VMs in which state.
type Minds = Vec<Vec<(u64, BTreeMap<String, usize>)>>;

/// How it went.
struct Told {
    truth: Truth,
    autoscaler: Vec<Line>,
    exporter: Vec<Line>,
    updater: Vec<Line>,
    minds: Minds,
    /// When the VMs failed, and after how long the autoscaler knew.
    failed: Duration,
    /// Calls that reached ARM.
    calls: u64,
}

impl Told {
    /// How many questions were asked.
    fn asked(&self) -> u64 {
        [&self.autoscaler, &self.exporter, &self.updater].map(Vec::len).iter().sum::<usize>() as u64
    }

    /// The moments at which a write was answered.
    fn written(&self) -> Vec<Instant> {
        let lines = self.autoscaler.iter().chain(&self.updater);
        lines.filter(|line| line.method != "GET").map(|line| line.answered).collect()
    }
}

fn count(members: &Members) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for state in members.values() {
        *counts.entry(state.clone()).or_default() += 1;
    }
    counts
}

/// Reads what exporters read, every fifteen seconds.
fn exporter(stage: &Stage, sets: &[String; 2]) -> Sdk {
    let sdk = Sdk::new(stage.client("cluster", EXPORTER, 3), 30);
    let (own, lists) = (
        sdk.clone(),
        [
            format!("{}/virtualMachineScaleSets{COMPUTE}", stage.compute()),
            format!("{}/virtualMachines{COMPUTE}", stage.compute()),
            format!("{}/virtualMachines?%24expand=instanceView&{}", sets[0], &COMPUTE[1..]),
        ],
    );
    tokio::spawn(async move {
        loop {
            for list in &lists {
                own.list(list).await.unwrap();
            }
            world::seconds(15).await;
        }
    });
    sdk
}

/// Somebody else updates an instance, to the end.
async fn update(sdk: &Sdk, vm: &str) {
    let body =
        json!({"location": "eastus2", "properties": {"protectionPolicy": {"protectFromScaleIn": true}}});
    sdk.put(&format!("{vm}{COMPUTE}"), &body, None).await.unwrap();
}

async fn play(way: Way, alone: bool) -> Told {
    let latency = Latency { least: Duration::from_millis(50), most: Duration::from_millis(400) };
    let operation = Duration::from_secs(40);
    let stage = Stage::new(way, Options { operation, retry_after: None, latency, ..Options::default() });
    let sets = [stage.sim.add_uniform("pool", 3), stage.sim.add_flexible("flex", 3)];
    let [pool, flex] = &sets;
    let truth = Truth::of(&stage.sim, &sets);
    let exporter =
        if alone { Sdk::new(stage.client("nobody", EXPORTER, 3), 30) } else { exporter(&stage, &sets) };
    let updater = Sdk::new(stage.client("updater", CCM, 4), 10);
    let mut autoscaler = Autoscaler::new(&stage, "cluster");
    let (mut minds, mut failed, mut knew) = (Minds::new(), None, None);
    for turn in 0..TURNS {
        let ended = autoscaler.turn().await.unwrap();
        if ended.iter().any(|ended| *ended == Err(Trouble::Failed("AllocationFailed".to_owned()))) {
            failed = truth.since(pool, |set| set.members.values().any(|state| state == "Failed"));
        }
        match turn {
            3 => {
                autoscaler.scale_up(pool, 3).await.unwrap();
                autoscaler.scale_up(flex, 2).await.unwrap();
            }
            13 => {
                let vm = stage.sim.members(pool)[2].clone();
                let updater = updater.clone();
                tokio::spawn(async move { update(&updater, &vm).await });
            }
            20 => {
                autoscaler.delete(pool, &["1"]).await.unwrap();
                let first = autoscaler.group(flex).instances.keys().next().unwrap().clone();
                autoscaler.delete(flex, &[&first]).await.unwrap();
            }
            32 => assert!(stage.sim.remove(&stage.sim.members(pool)[0])),
            45 => {
                stage.sim.fail_next_operation("AllocationFailed", "There is no capacity.");
                autoscaler.scale_up(pool, 2).await.unwrap();
            }
            _ => {}
        }
        let broken = autoscaler.group(pool).instances.iter().filter(|(_, state)| *state == "Failed");
        let broken: Vec<_> = broken.map(|(name, _)| name.clone()).collect();
        if !broken.is_empty() {
            assert_eq!(broken.len(), 2);
            knew = knew.or(Some(Instant::now()));
            let broken: Vec<_> = broken.iter().map(String::as_str).collect();
            autoscaler.delete(pool, &broken).await.unwrap();
        }
        minds.push(
            sets.iter()
                .map(|set| autoscaler.group(set))
                .map(|own| (own.size, count(&own.instances)))
                .collect(),
        );
        world::seconds(10).await;
    }
    assert_eq!((autoscaler.group(pool).size, autoscaler.group(flex).size), (4, 4), "{way:?}");
    assert_eq!((stage.sim.members(pool).len(), stage.sim.members(flex).len()), (4, 4), "{way:?}");
    let failed = knew.unwrap() - failed.unwrap();
    let calls = stage.sim.count();
    let (autoscaler, exporter, updater) = (autoscaler.sdk.diary(), exporter.diary(), updater.diary());
    Told { truth, autoscaler, exporter, updater, minds, failed, calls }
}

/// No list that was asked for after the deletion was accepted shows the instance as anything but on its way out,
/// and once it was gone it stays away.
fn stays_away(told: &Told, set: &str, instance: &str) {
    let deleted = told.autoscaler.iter().find(|line| line.is("POST", &format!("{set}/delete"))).unwrap();
    let lists = told.autoscaler.iter().chain(&told.exporter).filter(|line| line.asked >= deleted.answered);
    let lists = lists.filter(|line| line.is("GET", &format!("{set}/virtualMachines")));
    let (mut gone, mut seen) = (None, 0);
    for line in lists {
        let shown = line.answer.json()["value"].as_array().unwrap().iter().map(member).collect::<Members>();
        match shown.get(instance) {
            Some(state) => {
                assert_eq!(state, "Deleting");
                assert!(gone.is_none_or(|at| line.asked < at), "{instance} came back");
            }
            None => gone = gone.or(Some(line.answered)),
        }
        seen += 1;
    }
    assert!(gone.is_some() && seen > 5, "{seen}: or this shows nothing");
}

/// Whether it had the same in mind after each turn, give or take one turn.
fn thought_alike(direct: &Minds, through: &Minds) {
    for (turn, mind) in through.iter().enumerate() {
        let around = turn.saturating_sub(1)..(turn + 2).min(direct.len());
        assert!(direct[around].contains(mind), "turn {turn}: {mind:?} {:?}", direct[turn]);
    }
}

#[tokio::test(start_paused = true)]
async fn beside_an_exporter_it_is_shown_what_is_true_within_its_bounds_for_fewer_calls() {
    let (direct, through) = (play(Way::Direct, false).await, play(Way::Through, false).await);
    for (told, bound, of_exporter) in [(&direct, 0, 0), (&through, 5, 30)] {
        let reads = told.truth.holds(&told.autoscaler, Duration::from_secs(bound), &told.written());
        let more = told.truth.holds(&told.exporter, Duration::from_secs(of_exporter), &told.written());
        assert!(reads > 20 && more > 80, "{reads} {more}: or this shows nothing");
        stays_away(told, "/pool", "1");
    }
    thought_alike(&direct.minds, &through.minds);
    assert!(through.failed <= direct.failed + Duration::from_secs(10), "{:?}", through.failed);
    let saved = |lines: &[Line]| lines.iter().filter(|line| line.cost_no_call()).count() as u64;
    let both = saved(&through.autoscaler) + saved(&through.exporter);
    assert_eq!(
        through.asked(),
        through.calls + both,
        "each question is a call, or was answered by another's"
    );
    assert!(through.calls * 5 < direct.calls * 4, "{} of {}", through.calls, direct.calls);
}

#[tokio::test(start_paused = true)]
async fn alone_it_costs_the_calls_it_cost_before() {
    let (direct, through) = (play(Way::Direct, true).await, play(Way::Through, true).await);
    let seconds = Duration::from_secs;
    assert!(through.truth.holds(&through.autoscaler, seconds(5), &through.written()) > 20);
    thought_alike(&direct.minds, &through.minds);
    assert_eq!(through.calls, direct.calls);
}

/// A set that somebody else has written since it was listed, and an exporter whose answers armshield keeps.
async fn conflict(way: Way, other: impl FnOnce(&Stage, &str)) -> (Stage, String, Sdk) {
    let stage = Stage::new(way, Options::default());
    let set = stage.sim.add_uniform("pool", 3);
    let reader = stage.client("cluster", EXPORTER, 3);
    let mut autoscaler = Autoscaler::new(&stage, "cluster").with_etags();
    autoscaler.turn().await.unwrap();
    for _ in 0..2 {
        reader.get(&format!("{set}{COMPUTE}")).await;
    }
    other(&stage, &set);
    autoscaler.scale_up(&set, 2).await.unwrap();
    world::seconds(60).await;
    assert_eq!(autoscaler.turn().await.unwrap().iter().filter(|ended| ended.is_err()).count(), 0);
    assert_eq!(autoscaler.group(&set).size, 5);
    (stage, set, autoscaler.sdk)
}

#[tokio::test(start_paused = true)]
async fn with_etags_its_one_retry_is_built_on_the_present_version() {
    for way in Way::BOTH {
        let (stage, set, sdk) = conflict(way, |stage, set| {
            assert!(stage.sim.edit(set, |model| Change::SecondAddress.make(model)));
        })
        .await;
        let puts: Vec<_> = sdk.guarded("PUT", "/pool").into_iter().map(|(status, _)| status).collect();
        assert_eq!(puts, [412, 200], "{way:?}");
        assert!(Change::SecondAddress.is_there(&stage, &set));
        assert_eq!(stage.sim.members(&set).len(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn with_etags_it_sees_after_a_conflict_that_its_wish_has_come_true() {
    for way in Way::BOTH {
        let (stage, set, sdk) = conflict(way, |stage, set| {
            assert!(stage.sim.edit(set, |model| model["sku"]["capacity"] = json!(5)));
        })
        .await;
        let puts: Vec<_> = sdk.guarded("PUT", "/pool").into_iter().map(|(status, _)| status).collect();
        assert_eq!(puts, [412], "{way:?}: it read five, and did not ask for five more");
        assert_eq!(stage.sim.members(&set).len(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn without_etags_it_gets_no_conflict_and_undoes_nothing() {
    let stage = Stage::new(Way::Through, Options::default());
    let set = stage.sim.add_uniform("pool", 3);
    let mut autoscaler = Autoscaler::new(&stage, "cluster");
    autoscaler.turn().await.unwrap();
    assert!(stage.sim.edit(&set, |model| Change::SecondAddress.make(model)));
    autoscaler.scale_up(&set, 2).await.unwrap();
    let said = autoscaler.sdk.guarded("PUT", "/pool");
    let expected = r#"source=seen, etag="\"1\"", result=observed"#.to_owned();
    assert_eq!(said, [(200, expected)], "what it writes commutes with what others write");
    assert!(Change::SecondAddress.is_there(&stage, &set));
    assert_eq!(stage.sim.members(&set).len(), 5);
}
