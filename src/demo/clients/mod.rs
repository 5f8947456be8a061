//! The busy clients, each as its source code or its recorded calls show it.
//!
//! They meet nowhere but in ARM, save that a node that came or went is known to Kubernetes at once, which
//! stands here as a counter.

mod autoscaler;
mod discovery;
mod disks;
mod people;
mod pools;
mod services;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::caller::Caller;
use super::random::Random;
use super::stage::{Places, Plan, ROUND};
use super::who::Who;

/// Compute's api-version in the SDKs of the controllers, and Network's.
const COMPUTE: &str = "api-version=2025-04-01";
const NETWORK: &str = "api-version=2025-05-01";

/// Starts all clients; they end with their spans.
pub(super) fn start(plan: &Plan, places: &Arc<Places>, caller: impl Fn(Who) -> Caller) -> JoinSet<()> {
    let mut all = JoinSet::new();
    let (nodes, news) = watch::channel(0_u64);
    let random = |stream| Random::of(plan.seed, stream);
    let ccm = caller(Who::Ccm);
    all.spawn(services::run(ccm.clone(), places.clone(), news));
    all.spawn(pools::run(ccm, places.clone()));
    all.spawn(autoscaler::run(caller(Who::Autoscaler), places.clone(), nodes));
    let disks = caller(Who::Disks);
    for worker in 0..disks::WORKERS {
        all.spawn(disks::run(disks.clone(), places.clone(), worker, random(100 + worker as u64)));
    }
    // A pair for availability, started together; one identity.
    let prometheus = caller(Who::Prometheus);
    for _ in 0..2 {
        all.spawn(discovery::run(prometheus.clone(), places.clone()));
    }
    for who in [Who::Ann, Who::Bob] {
        let person = caller(who);
        all.spawn(people::watch(person.clone(), places.clone()));
        all.spawn(people::tag_machines(person.clone(), who, places.clone(), random(who as u64)));
        all.spawn(people::change_workers(person, who, places.clone()));
    }
    all
}

/// Path and query.
fn at(id: &str, query: &str) -> String {
    format!("{id}?{query}")
}

/// A text of a document.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn is_named(item: &Value, id: &str) -> bool {
    text(&item["id"]).eq_ignore_ascii_case(id)
}

/// The services of a set begin to use another pool every second round.
const fn joins_in(round: u32) -> bool {
    round.is_multiple_of(2)
}

/// The set that is joined in a round, beginning with the second; the first one is the autoscaler's. How often
/// that set was joined before.
fn joined(places: &Places, round: u32) -> (&str, usize) {
    let others = &places.sets[1..];
    let turn = round as usize / 2;
    (&others[turn % others.len()], turn / others.len())
}

/// When a round begins.
fn beginning(round: u32) -> std::time::Duration {
    ROUND * round
}
