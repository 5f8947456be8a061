//! A read: answered from memory, or by a fetch that is joined or begun.

use std::sync::Arc;
use std::time::Duration;

use crate::arm::Shape;
use crate::body::Body;
use crate::cache::{Ask, Entry, Keyed, Why, varies};
use crate::coalesce::{Asker, Ending, Phase};
use crate::guard;
use crate::identify::Token;
use crate::observe::Cache;
use crate::policy::Mode;

use super::fetch::{Fetched, Question, Whole, fetch};
use super::lookup::{Found, Mark, ask, find, key, may_join};
use super::notes::{Answered, Notes};
use super::rooms::Rooms;
use super::visit::Visit;
use super::{answer, pass, refuse, shadow};

/// Who waits for a fetch gives up after this long; a call once sent has its own bounds before that.
const LONGEST: Duration = Duration::from_secs(300);

/// Answers a read.
pub(super) async fn read(rooms: &Arc<Rooms>, visit: &Arc<Visit>) -> Answered {
    let Some(keyed) = key(rooms, visit) else {
        return Box::pin(pass::pass(rooms, visit, Body::empty(), "variants")).await;
    };
    let ask = ask(rooms, visit);
    match (find(rooms, visit, &keyed, &ask), visit.mode) {
        (Ok(found), Mode::Active) => hit(rooms, visit, &keyed, found),
        (Ok(found), _) => {
            let answered = Box::pin(alone(rooms, visit, keyed.clone(), Why::Shadow)).await;
            shadow::compare(rooms, visit, &keyed, &found.entry);
            answered
        }
        (Err(why), Mode::Active) => Box::pin(fetched(rooms, visit, keyed, ask, why)).await,
        (Err(why), _) => Box::pin(alone(rooms, visit, keyed, why)).await,
    }
}

/// An answer from memory.
fn hit(rooms: &Rooms, visit: &Visit, keyed: &Keyed, found: Found) -> Answered {
    let Found { entry, age, ttl } = found;
    show(rooms, visit, keyed, &entry, visit.identity.client.bits());
    let notes = Notes { cache: Cache::Hit(age), ..Notes::default() };
    Answered::new(answer::hit(rooms, visit, &entry, age, ttl), notes)
}

/// Joins a fetch or begins one, and answers with what it brings.
async fn fetched(rooms: &Arc<Rooms>, visit: &Arc<Visit>, keyed: Keyed, ask: Ask, why: Why) -> Answered {
    let joins = |phase: &Phase<Mark>| may_join(rooms, visit, &ask, phase);
    let Some((ended, led)) = share(rooms, visit, keyed.clone(), lane(visit), Some(ask), joins).await else {
        return unfinished(visit);
    };
    match &*ended {
        Fetched::Landed => match find(rooms, visit, &keyed, &ask) {
            Ok(found) => hit(rooms, visit, &keyed, found),
            // It answered the one who began the fetch, and is not fresh enough for this one.
            Err(why) => again(rooms, visit, keyed, &ask, lane(visit), why).await,
        },
        // Another token's refusal says nothing about this one.
        Fetched::Whole(whole) if !led && is_refusal_of_another(whole, visit) => {
            again(rooms, visit, keyed, &ask, Some(visit.identity.token), why).await
        }
        // ARM says it was made for its asker.
        Fetched::Whole(whole) if !led && varies(&whole.own) => alone(rooms, visit, keyed, why).await,
        ended => conclude(rooms, visit, &keyed, ended, led, why).await,
    }
}

/// Asks once more, together with everybody else to whom the first answer was none.
async fn again(
    rooms: &Arc<Rooms>,
    visit: &Arc<Visit>,
    keyed: Keyed,
    ask: &Ask,
    among: Option<Token>,
    why: Why,
) -> Answered {
    let joins = |phase: &Phase<Mark>| may_join(rooms, visit, ask, phase);
    match share(rooms, visit, keyed.clone(), among, None, joins).await {
        Some((ended, led)) => match &*ended {
            Fetched::Landed => alone(rooms, visit, keyed, why).await,
            Fetched::Whole(whole) if !led && (is_refusal_of_another(whole, visit) || varies(&whole.own)) => {
                alone(rooms, visit, keyed, why).await
            }
            ended => conclude(rooms, visit, &keyed, ended, led, why).await,
        },
        None => unfinished(visit),
    }
}

/// Among whom a visit shares its fetches: those ARM has not let in share with the very same token only.
pub(super) fn lane(visit: &Visit) -> Option<Token> {
    (!visit.identity.is_vouched()).then_some(visit.identity.token)
}

/// Begins a fetch that was not under way when this was called.
async fn alone(rooms: &Arc<Rooms>, visit: &Arc<Visit>, keyed: Keyed, why: Why) -> Answered {
    match share(rooms, visit, keyed.clone(), lane(visit), None, |_| false).await {
        Some((ended, led)) => conclude(rooms, visit, &keyed, &ended, led, why).await,
        None => unfinished(visit),
    }
}

/// Waits for the end of a fetch, and tells whether this asker began it.
async fn share(
    rooms: &Arc<Rooms>,
    visit: &Arc<Visit>,
    keyed: Keyed,
    among: Option<Token>,
    may_have_landed: Option<Ask>,
    may_join: impl FnOnce(&Phase<Mark>) -> bool,
) -> Option<(Arc<Fetched>, bool)> {
    let question: Question = (keyed.key, among);
    let asker = Asker { priority: visit.identity.priority as u8, deadline: visit.started + LONGEST };
    let (own_rooms, own_visit) = (rooms.clone(), visit.clone());
    let ticket = rooms.flights.join(question, asker, may_join, move |flight| {
        fetch(own_rooms, own_visit, keyed, may_have_landed, flight)
    });
    let led = ticket.led;
    match tokio::time::timeout(LONGEST, ticket.wait()).await {
        Ok(Ending::Done(fetched)) => Some((fetched, led)),
        Ok(Ending::Abandoned | Ending::Panicked) | Err(_) => None,
    }
}

fn is_refusal_of_another(whole: &Whole, visit: &Visit) -> bool {
    matches!(whole.entry.parts.status.as_u16(), 401 | 403) && whole.token != visit.identity.token
}

/// Answers with what a fetch brought.
async fn conclude(
    rooms: &Arc<Rooms>,
    visit: &Arc<Visit>,
    keyed: &Keyed,
    fetched: &Fetched,
    led: bool,
    why: Why,
) -> Answered {
    match fetched {
        Fetched::Landed => unfinished(visit),
        Fetched::Failed(failed) => failed.answered(visit, Notes::default()),
        Fetched::Large(large) => match Fetched::take_large(large).filter(|_| led) {
            Some(response) => pass::streamed(rooms, visit, response, "large", Notes::default()).await,
            None => pass::pass(rooms, visit, Body::empty(), "large").await,
        },
        Fetched::Whole(whole) => {
            // The answer may have proven the token; a client has its own name from then on. Clients with
            // the same token are several all the same.
            let proven = whole.vouched && whole.token == visit.identity.token;
            show(rooms, visit, keyed, &whole.entry, visit.client(proven));
            if led { first(rooms, visit, whole, why) } else { follower(rooms, visit, whole) }
        }
    }
}

/// The answer to the one who began the fetch.
fn first(rooms: &Rooms, visit: &Visit, whole: &Whole, why: Why) -> Answered {
    let mut notes = whole.notes;
    let said = match whole.kept {
        Ok(()) => {
            notes.cache = Cache::Miss(why.as_str());
            "armshield; fwd=miss; stored".to_owned()
        }
        Err(_) if !whole.vouched => {
            notes.cache = Cache::Bypass("unvouched");
            "armshield; fwd=bypass; detail=unvouched".to_owned()
        }
        Err(not) => {
            notes.cache = Cache::Miss(why.as_str());
            format!("armshield; fwd=miss; detail={}", not.as_str())
        }
    };
    Answered::new(answer::fetched(rooms, visit, &whole.entry, &whole.own, &said), notes)
}

/// The answer to one who joined.
fn follower(rooms: &Rooms, visit: &Visit, whole: &Whole) -> Answered {
    let notes = Notes { cache: Cache::Collapsed, ..whole.notes };
    Answered::new(answer::collapsed(rooms, visit, &whole.entry, &whole.own), notes)
}

/// Notes what a client is being shown: for the repeat rule, and as a base of writes to come.
fn show(rooms: &Rooms, visit: &Visit, keyed: &Keyed, entry: &Entry, client: u128) {
    entry.show(client);
    let Some((kind, shape)) = &visit.asked.kind else { return };
    if !visit.policy.rule(kind).is_some_and(|rule| rule.guard) || visit.asked.partial {
        return;
    }
    let parts = &entry.parts;
    match (&parts.document, parts.status.as_u16()) {
        (Some(document), 200) => {
            let question = guard::Question { key: keyed.question.short(), path: &parts.path };
            rooms.guard.show(&visit.viewer(client), &question, document);
        }
        // Tokens that are not what they say are answered 401.
        (_, 404) if *shape == Shape::Point => {
            rooms.guard.end(visit.identity.claimed_client().bits(), &parts.path);
        }
        _ => {}
    }
}

/// The fetch came to no end.
fn unfinished(visit: &Visit) -> Answered {
    tracing::error!(path = visit.path(), "a fetch did not come to its end");
    let mut response = refuse::refusal(
        http::StatusCode::BAD_GATEWAY,
        "BadGateway",
        "armshield lost the call to ARM that would have answered this; please try again",
    );
    refuse::mark(response.headers_mut(), "unfinished");
    Answered::new(response, Notes { refused: "unfinished", ..Notes::default() })
}
