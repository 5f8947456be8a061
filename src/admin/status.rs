//! What is going on, as JSON for people and numbers for scrapers. No ids of callers, tokens or bodies.

use serde_json::{Value, json};

use crate::policy::Profile;
use crate::proxy::Rooms;

/// What is going on.
pub(super) fn status(rooms: &Rooms) -> Value {
    let policy = rooms.policy.load();
    let fetches = rooms.fetches();
    let (guard_bytes, guard_clients) = rooms.guard.size();
    let profiles: Vec<_> =
        policy.profiles.iter().chain([&policy.other]).map(|profile| client(profile, &policy)).collect();
    let splits: Vec<_> = rooms
        .identify
        .splits()
        .iter()
        .map(|split| json!({"callers": split.callers, "differ_in": split.claims}))
        .collect();
    let unmatched: Vec<_> = rooms
        .identify
        .unmatched_agents()
        .into_iter()
        .map(|(agent, calls)| json!({"user_agent": agent, "calls": calls}))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": policy.mode.as_str(),
        "upstream": {"endpoint": rooms.settings.endpoint.to_string(), "cloud": rooms.settings.cloud.as_str()},
        "cache": {
            "entries": rooms.store.len(),
            "bytes": rooms.store.bytes(),
            "bytes_max": rooms.settings.cache.bytes,
            "scopes": rooms.scopes.len(),
            "fetches": {
                "begun": fetches.led, "joined": fetches.joined, "under_way": fetches.flying,
                "abandoned": fetches.abandoned, "panicked": fetches.panicked,
            },
        },
        "clients": {"profiles": profiles, "callers_split": splits, "unmatched_user_agents": unmatched},
        "budgets": budgets(rooms),
        "operations": {"remembered": rooms.operations.len()},
        "guard": {
            "mode": policy.guard.as_str(),
            "bytes": guard_bytes,
            "bytes_max": rooms.settings.guard.bytes,
            "clients": guard_clients,
        },
        "log": {"dropped": rooms.log.dropped()},
    })
}

fn client(profile: &Profile, policy: &crate::policy::Policy) -> Value {
    json!({
        "name": profile.name,
        "words": profile.words,
        "mode": policy.mode_of(profile).as_str(),
        "guard": policy.guard_of(profile).as_str(),
        "age_seconds": profile.age.as_secs_f64(),
        "network_age_seconds": profile.network_age.as_secs_f64(),
    })
}

fn budgets(rooms: &Rooms) -> Value {
    let status = rooms.admit.status();
    let gates: Vec<_> = status
        .gates
        .iter()
        .map(|gate| {
            json!({
                "budget": gate.budget.to_string(),
                "kind": gate.budget.kind(),
                "remaining_seconds": gate.remaining.as_secs_f64(),
                "cause": &*gate.code,
                "told_by_arm": gate.told,
            })
        })
        .collect();
    json!({
        "gates_closed": gates,
        "in_flight": status.in_flight,
        "entered": status.counts.entered,
        "refused": by_kind(status.counts.refused.iter()),
        "throttled": by_kind(status.counts.throttled.iter()),
        "locks": status.counts.locks,
        "lost": status.counts.lost,
        "policies_learned": status.learned,
    })
}

fn by_kind(counts: impl Iterator<Item = (&'static str, u64)>) -> Value {
    counts.map(|(kind, count)| (kind.to_owned(), json!(count))).collect::<serde_json::Map<_, _>>().into()
}

/// The values that are read when a scraper asks.
pub(super) fn gauges(rooms: &Rooms) -> Vec<(&'static str, &'static str, f64)> {
    let status = rooms.admit.status();
    let fetches = rooms.fetches();
    // Beyond 2^53 a byte more or less does not matter.
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    let number = |value: u64| value as f64;
    let size = |value: usize| number(value as u64);
    let mode = rooms.policy.load().mode;
    vec![
        ("cache_bytes", "Bytes kept", number(rooms.store.bytes())),
        ("cache_entries", "Answers kept", size(rooms.store.len())),
        ("scopes", "Scopes remembered", size(rooms.scopes.len())),
        ("guard_bytes", "Bytes of versions shown", size(rooms.guard.size().0)),
        ("guard_clients", "Clients whose views are remembered", size(rooms.guard.size().1)),
        ("operations_remembered", "Operations remembered", size(rooms.operations.len())),
        ("gates_closed", "Budgets ARM said are used up", size(status.gates.len())),
        ("throttled_calls", "Calls ARM answered with 429", number(status.counts.throttled.total())),
        ("refused_calls", "Calls not sent because of a closed gate", number(status.counts.refused.total())),
        ("calls_in_flight", "Calls under way", size(status.in_flight)),
        ("fetches_begun", "Fetches begun", number(fetches.led)),
        ("fetches_joined", "Reads that joined a fetch", number(fetches.joined)),
        ("log_lines_dropped", "Log lines dropped", number(rooms.log.dropped())),
        ("mode_pass", "1 in pass mode", f64::from(u8::from(mode == crate::policy::Mode::Pass))),
        ("mode_shadow", "1 in shadow mode", f64::from(u8::from(mode == crate::policy::Mode::Shadow))),
    ]
}
