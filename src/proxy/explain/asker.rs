//! What would be done for one asker.

use std::cell::Cell;

use crate::admit::Look;
use crate::clock::Moment;
use crate::coalesce::{Phase, Sight};
use crate::policy::Mode;
use crate::proxy::lookup::{Mark, ask, keyed, may_join, weigh};
use crate::proxy::read::lane;
use crate::proxy::rooms::Rooms;
use crate::proxy::route::{Route, route};
use crate::proxy::visit::Visit;
use crate::proxy::write;

use super::said::{Asker, Condition, Fetch, Gate, Kept};
use super::{guard, kept, seconds, words};

/// What would be done, in the words of logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Answered from memory.
    Hit,
    /// Fetched, for this reason.
    Miss,
    /// A fetch under way is waited for.
    Collapsed,
    /// Passed.
    Bypass,
    /// A write is sent.
    Sent,
    /// Answered 429.
    Refused,
}

impl Outcome {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Collapsed => "collapsed",
            Self::Bypass => "bypass",
            Self::Sent => "sent",
            Self::Refused => "refused",
        }
    }

    /// Whether a call of its own is made for it.
    const fn calls(self) -> bool {
        matches!(self, Self::Miss | Self::Bypass | Self::Sent)
    }
}

/// What would be done for whoever sends this. `named` is what to call them.
pub(super) fn asker(rooms: &Rooms, visit: &Visit, named: impl FnOnce() -> String) -> Asker {
    let way = route(rooms, visit, false);
    let (mut outcome, mut why, kept, fetch) = match way {
        Route::Discovery => (Outcome::Hit, "discovery", None, None),
        Route::Write => (Outcome::Sent, "write", None, None),
        Route::Poll => (Outcome::Bypass, "poll", None, None),
        Route::Pass(reason) => (Outcome::Bypass, reason, None, None),
        Route::Read => read(rooms, visit),
    };
    let (gate, refused) = gate(rooms, visit);
    if let (true, Some(cause)) = (outcome.calls(), refused) {
        (outcome, why) = (Outcome::Refused, cause);
    }
    let because = words::because(outcome, why, way, kept.as_ref(), &gate, visit.identity.is_vouched());
    Asker {
        caller: named(),
        standing: visit.identity.standing.as_str().to_owned(),
        vouched_seconds: None,
        outcome: outcome.as_str().to_owned(),
        why: why.to_owned(),
        because,
        kept,
        fetch,
        gate,
        condition: condition(rooms, visit, way),
    }
}

type Read = (Outcome, &'static str, Option<Kept>, Option<Fetch>);

fn read(rooms: &Rooms, visit: &Visit) -> Read {
    let keyed = keyed(rooms, visit)
        .filter(|keyed| !rooms.variants.would_be_too_many(keyed, rooms.settings.cache.variants));
    let Some(keyed) = keyed else { return (Outcome::Bypass, "variants", None, None) };
    let ask = ask(rooms, visit);
    let entry = rooms.store.peek(&keyed.key);
    let kept = entry.as_ref().map(|entry| kept::kept(rooms, visit, &ask, entry));

    let sent = Cell::new(None::<Moment>);
    let sight = rooms.flights.look(&(keyed.key, lane(visit)), |phase: &Phase<Mark>| {
        if let Phase::Sent(mark) = phase {
            sent.set(Some(mark.sent.at));
        }
        visit.mode == Mode::Active && may_join(rooms, visit, &ask, phase)
    });
    let ago = |sent: Moment| seconds(rooms.clock.now().since(sent));
    let fetch = (sight != Sight::Nothing)
        .then(|| Fetch { joins: sight == Sight::Joins, sent_seconds_ago: sent.get().map(ago) });

    let (outcome, why) = match (weigh(rooms, visit, &ask, || entry), visit.mode) {
        (Ok(_), Mode::Active) => (Outcome::Hit, "fresh"),
        (Ok(_), Mode::Shadow | Mode::Pass) => (Outcome::Miss, "shadow"),
        (Err(why), _) if sight == Sight::Joins => (Outcome::Collapsed, why.as_str()),
        (Err(why), _) => (Outcome::Miss, why.as_str()),
    };
    (outcome, why, kept, fetch)
}

/// What a call would be told before it is sent, and the word for it if it is refused.
fn gate(rooms: &Rooms, visit: &Visit) -> (Gate, Option<&'static str>) {
    let open = Gate { open: true, budget: None, opens: None, waits_seconds: None };
    if !visit.identity.is_vouched()
        && let Err(rated) = rooms.lane.look(visit.identity.peer)
    {
        let budget = Some("the pace of a peer whose tokens ARM refused".to_owned());
        let opens = Some(rooms.until(rooms.clock.now() + rated.retry_after));
        return (Gate { open: false, budget, opens, waits_seconds: None }, Some("unvouched"));
    }
    match rooms.admit.look(&visit.call(), visit.payer()) {
        Look::Enter => (open, None),
        Look::Wait(longest) => (Gate { waits_seconds: Some(seconds(longest)), ..open }, None),
        Look::Closed(closed) => {
            let budget = Some(closed.budget.to_string());
            let opens = Some(rooms.until(closed.until));
            (Gate { open: false, budget, opens, waits_seconds: None }, Some("gate"))
        }
    }
}

fn condition(rooms: &Rooms, visit: &Visit, way: Route) -> Option<Condition> {
    let ruled = write::ruled(visit).ok().filter(|_| way == Route::Write)?;
    let client = visit.identity.claimed_client().bits();
    Some(guard::condition(write::choose(rooms, visit, ruled, client, Some(guard::ASSUMED))))
}
