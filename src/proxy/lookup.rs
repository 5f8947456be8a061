//! Looking for an answer: what is asked, what its asker tolerates, which entry or fetch will do.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::{Ask, Entry, Judgement, Keyed, Tolerance, Why, judge};
use crate::coalesce::Phase;
use crate::scopes::{Sent, Stamp};

use super::rooms::Rooms;
use super::visit::Visit;

/// An entry that answers.
pub(super) struct Found {
    pub(super) entry: Arc<Entry>,
    pub(super) age: Duration,
    pub(super) ttl: Duration,
}

/// A read, keyed.
pub(super) fn keyed(rooms: &Rooms, visit: &Visit) -> Option<Keyed> {
    let path = visit.asked.path.as_ref()?;
    let asker = visit.identity.caller.bits().to_le_bytes();
    let authority = visit.authority(rooms);
    Some(Keyed::new(&asker, authority, path, &visit.query(), &visit.headers, &visit.policy.neutral_headers))
}

/// The key of a read; `None` if its question has too many variants.
pub(super) fn key(rooms: &Rooms, visit: &Visit) -> Option<Keyed> {
    let keyed = keyed(rooms, visit)?;
    for name in &keyed.split_by {
        rooms.metrics.split(name.as_str());
    }
    (!rooms.variants.too_many(&keyed, rooms.settings.cache.variants)).then_some(keyed)
}

/// What this asker tolerates.
pub(super) fn ask(rooms: &Rooms, visit: &Visit) -> Ask {
    let kind = visit.asked.kind.as_ref().map_or("", |(kind, _)| kind);
    let profile = visit.profile();
    Ask {
        client: visit.identity.client.bits(),
        rule_age: visit.policy.rule(kind).map_or(Duration::ZERO, |rule| rule.max_age),
        profile_age: profile.age_of(visit.asked.family()),
        unsettled_age: visit.policy.unsettled_age,
        repeat_age: rooms.settings.cache.repeat_age,
        repeat: profile.repeat,
        tolerance: Tolerance::of(&visit.headers),
    }
}

/// The entry that answers, or why none does.
pub(super) fn find(rooms: &Rooms, visit: &Visit, keyed: &Keyed, ask: &Ask) -> Result<Found, Why> {
    weigh(rooms, visit, ask, || rooms.store.find(&keyed.key))
}

/// Whether the entry that is `kept` answers. No effects of its own.
pub(super) fn weigh(
    rooms: &Rooms,
    visit: &Visit,
    ask: &Ask,
    kept: impl FnOnce() -> Option<Arc<Entry>>,
) -> Result<Found, Why> {
    if !visit.identity.is_vouched() {
        return Err(Why::Unvouched);
    }
    let entry = kept().ok_or(Why::Absent)?;
    if is_hidden(rooms, visit, entry.parts.sent.order()) {
        return Err(Why::Refused);
    }
    match judge(&entry, ask, rooms.clock.now()) {
        Judgement::Fresh { age, ttl } => Ok(Found { entry, age, ttl }),
        Judgement::Stale(why) => Err(why),
    }
}

/// Whether what was sent then was taken away from the caller by a refusal.
pub(super) fn is_hidden(rooms: &Rooms, visit: &Visit, order: u64) -> bool {
    let path = visit.asked.path.as_ref().map_or("", |path| path.as_str());
    rooms.refusals.hides(visit.identity.caller.bits(), path, order)
}

/// What is noted of a fetch when it is sent.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) sent: Sent,
    pub(super) stamp: Stamp,
}

/// Whether an asker may wait for a fetch under way: one that is yet to be sent, or was sent so short a
/// while ago that its answer will do, with nothing written or learned since.
pub(super) fn may_join(rooms: &Rooms, visit: &Visit, ask: &Ask, phase: &Phase<Mark>) -> bool {
    let Phase::Sent(Mark { sent, stamp }) = phase else { return true };
    if ask.tolerance.no_cache || !stamp.may_join(*sent) || is_hidden(rooms, visit, sent.order()) {
        return false;
    }
    let now = rooms.clock.now();
    let (bound, _) = ask.bound(stamp.is_unsettled(now), false);
    now.since(sent.at) <= bound
}
