//! What the guard would do with a write.

use crate::guard::{Choice, Seen};
use crate::policy::GuardMode;
use crate::proxy::rooms::Rooms;
use crate::proxy::visit::Visit;
use crate::proxy::write::{self, Unruled};

use super::said::{Condition, Guard, GuardClient, VersionShown};
use super::{MOST, seconds};

/// The body that is assumed: one that names no version.
pub(super) const ASSUMED: &[u8] = b"{}";

/// What the guard would do with this write, and what clients of its profile were shown.
pub(super) fn guard(rooms: &Rooms, visit: &Visit) -> Guard {
    let mode = visit.policy.guard_of(visit.profile()).as_str().to_owned();
    let ruled = match write::ruled(visit) {
        Ok(ruled) => ruled,
        Err(unruled) => {
            let because = unruled_because(unruled).to_owned();
            return Guard { applies: false, mode, because, clients: Vec::new(), more_clients: 0 };
        }
    };
    let present = rooms.scopes.present(ruled.0);
    let present = present.as_ref().map(|(life, etag)| (life, etag));
    let mut seen = rooms.guard.look(ruled.0, visit.profile(), present);
    let more_clients = seen.len().saturating_sub(MOST);
    seen.truncate(MOST);
    let clients = seen.into_iter().map(|seen| client(rooms, visit, ruled, seen)).collect();
    let because = "a PUT or PATCH of a type whose rule asks for the guard; assumed is a body that names no etag, \
                   and no If-Match or If-None-Match but those given";
    Guard { applies: true, mode, because: because.to_owned(), clients, more_clients }
}

const fn unruled_because(unruled: Unruled) -> &'static str {
    match unruled {
        Unruled::NoRule => "no rule asks for the guard of writes to this very resource",
        Unruled::Off => "the guard is off for this profile, or its mode is pass",
        Unruled::NotGuardable => "only PUT and PATCH are guarded, with an api-version of 2024-03-01 or later",
    }
}

fn client(rooms: &Rooms, visit: &Visit, ruled: (&crate::arm::ArmPath, GuardMode), seen: Seen) -> GuardClient {
    let now = rooms.clock.now();
    let condition = condition(write::choose(rooms, visit, ruled, seen.client, Some(ASSUMED)));
    let forgotten = seen.versions.is_none();
    let versions = seen.versions.unwrap_or_default();
    GuardClient {
        client: rooms.labels.of("client", seen.client),
        caller: rooms.labels.of("caller", seen.caller),
        condition,
        count: versions.len(),
        versions: versions
            .into_iter()
            .take(MOST)
            .map(|version| VersionShown {
                etag: version.etag.to_string(),
                shown_seconds_ago: seconds(now.since(version.last)),
                superseded: version.superseded,
            })
            .collect(),
        forgotten,
    }
}

/// A choice, said.
pub(super) fn condition(choice: Choice) -> Condition {
    Condition {
        source: choice.source.as_str().to_owned(),
        etag: choice.etag.map(|etag| etag.to_string()),
        sends: choice.send,
    }
}
