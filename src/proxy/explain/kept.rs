//! What is kept for a question, and what makes it usable or not.

use crate::cache::{Ask, Entry, Judgement, is_unsettled, judge_if};
use crate::proxy::fetch::scopes_of;
use crate::proxy::lookup::{is_hidden, weigh};
use crate::proxy::rooms::Rooms;
use crate::proxy::visit::Visit;

use super::said::{Bounded, IfShown, Kept, MovedScope};
use super::seconds;

/// What this entry is to an asker.
pub(super) fn kept(rooms: &Rooms, visit: &Visit, ask: &Ask, entry: &std::sync::Arc<Entry>) -> Kept {
    let (parts, now) = (&entry.parts, rooms.clock.now());
    let weighed = weigh(rooms, visit, ask, || Some(entry.clone()));
    let shown = entry.was_shown(ask.client);
    let unsettled = is_unsettled(entry, now);
    let bounds = ask.bounds(unsettled, shown);
    let scopes = rooms.scopes.look(&parts.stamp, &scopes_of(visit), parts.sent);
    let moved = scopes.iter().filter_map(|one| {
        Some(MovedScope { scope: one.scope.to_string(), how: one.moved?.as_str().to_owned() })
    });
    let newer = scopes.iter().filter(|one| one.newer).map(|one| one.scope.to_string());
    Kept {
        usable: weighed.is_ok(),
        why: weighed.as_ref().err().map(|why| why.as_str().to_owned()),
        age_seconds: seconds(now.since(parts.sent.at)),
        ttl_seconds: weighed.as_ref().ok().map(|found| seconds(found.ttl)),
        bounds: bounds
            .map(|(bound, age)| Bounded { bound: bound.as_str().to_owned(), seconds: seconds(age) })
            .collect(),
        smallest_bound: ask.bound(unsettled, shown).1.as_str().to_owned(),
        status: parts.status.as_u16(),
        bytes: parts.body.len(),
        in_progress: entry.in_progress(),
        moved: moved.collect(),
        newer_known_in: newer.collect(),
        refused_since: is_hidden(rooms, visit, parts.sent.order()),
        shown_to: entry.viewers(),
        shown_to_this_client: shown,
        if_shown: if_shown(ask, entry, shown, now),
    }
}

/// What it is to a client that was shown it, where this one was not and that matters.
fn if_shown(ask: &Ask, entry: &Entry, shown: bool, now: crate::clock::Moment) -> Option<IfShown> {
    let (first, again) = (judge_if(entry, ask, now, || false), judge_if(entry, ask, now, || true));
    if shown || first == again {
        return None;
    }
    Some(match again {
        Judgement::Fresh { ttl, .. } => IfShown { usable: true, why: None, ttl_seconds: Some(seconds(ttl)) },
        Judgement::Stale(why) => {
            IfShown { usable: false, why: Some(why.as_str().to_owned()), ttl_seconds: None }
        }
    })
}
