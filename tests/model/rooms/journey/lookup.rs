//! `src/proxy/lookup.rs`: which entry or fetch will do.

use std::sync::Arc;
use std::time::Duration;

use armshield::cache::{Ask, Entry, Judgement, Keyed, Tolerance, Why, judge};
use armshield::coalesce::Phase;
use armshield::scopes::{Sent, Stamp};

use super::{Visit, World};

/// The key of a read. The same request has the same key: it is made once.
pub fn key(world: &World, visit: &Visit) -> Keyed {
    let caller = visit.identity.caller.bits();
    let mut keys = world.keys.lock().unwrap();
    let keyed = keys.entry((caller, visit.question.unwrap())).or_insert_with(|| {
        let path = visit.asked.path.as_ref().unwrap();
        let more = &visit.policy.neutral_headers;
        Keyed::new(&caller.to_le_bytes(), "", path, &visit.query(), &visit.headers, more)
    });
    assert!(!world.variants.too_many(keyed, 8));
    keyed.clone()
}

/// What this asker tolerates.
pub fn ask(world: &World, visit: &Visit) -> Ask {
    let kind = visit.asked.kind.as_ref().map_or("", |(kind, _)| kind);
    let profile = visit.profile();
    Ask {
        client: visit.identity.client.bits(),
        rule_age: visit.policy.rule(kind).map_or(Duration::ZERO, |rule| rule.max_age),
        profile_age: profile.age_of(visit.asked.family()),
        unsettled_age: visit.policy.unsettled_age,
        repeat_age: world.repeat_age,
        repeat: profile.repeat,
        tolerance: Tolerance::of(&visit.headers),
    }
}

/// The entry that answers, or why none does.
pub fn find(world: &World, visit: &Visit, keyed: &Keyed, ask: &Ask) -> Result<Arc<Entry>, Why> {
    if !visit.identity.is_vouched() {
        return Err(Why::Unvouched);
    }
    let entry = world.store.find(&keyed.key).ok_or(Why::Absent)?;
    if is_hidden(world, visit, entry.parts.sent.order()) {
        return Err(Why::Refused);
    }
    match judge(&entry, ask, world.clock.now()) {
        Judgement::Fresh { .. } => Ok(entry),
        Judgement::Stale(why) => Err(why),
    }
}

fn is_hidden(world: &World, visit: &Visit, order: u64) -> bool {
    let path = visit.asked.path.as_ref().map_or("", |path| path.as_str());
    world.refusals.hides(visit.identity.caller.bits(), path, order)
}

/// What is noted of a fetch when it is sent.
#[derive(Debug, Clone)]
pub struct Mark {
    pub sent: Sent,
    pub stamp: Stamp,
}

/// Whether an asker may wait for a fetch under way.
pub fn may_join(world: &World, visit: &Visit, ask: &Ask, phase: &Phase<Mark>) -> bool {
    let Phase::Sent(Mark { sent, stamp }) = phase else { return true };
    if ask.tolerance.no_cache || !stamp.may_join(*sent) || is_hidden(world, visit, sent.order()) {
        return false;
    }
    let now = world.clock.now();
    let (bound, _) = ask.bound(stamp.is_unsettled(now), false);
    now.since(sent.at) <= bound
}
