//! One call to ARM: let in, sent, and what its answer says about token, caller and budget taken note of.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{Response, StatusCode};

use crate::admit::{Answer, Closed, Place, Settled};
use crate::body::{Body, BodyError};
use crate::classify::Scope;
use crate::identify::{Admitted, Rated, vouches};
use crate::scopes::Sent;
use crate::upstream::{Kind, Outbound, SendError};

use super::collect::peek;
use super::notes::{Answered, Notes};
use super::refuse;
use super::rooms::Rooms;
use super::visit::Visit;

/// Nobody waits longer for a place: clients give up at 60 s.
const LONGEST_WAIT: Duration = Duration::from_secs(45);
/// How much of a 429's body is read to learn which budget it names.
const THROTTLE_BODY: usize = 64 << 10;

/// A call that may be sent.
pub(super) struct Entered {
    place: Place,
    lane: Option<Admitted>,
    pub(super) queued: Duration,
}

/// A call that was answered.
pub(super) struct Received {
    pub(super) response: Response<Body>,
    /// How long ARM took to begin its answer.
    pub(super) head: Duration,
    /// Whether ARM has let this token in, now or a short while ago.
    pub(super) vouched: bool,
    /// When it left, for the last time where it had to be sent again.
    pub(super) left: Sent,
    place: Place,
    lane: Option<Admitted>,
}

impl Received {
    /// The answer with its place, kept until the body has ended.
    pub(super) fn into_streamed(self) -> Response<Body> {
        let held = (self.place, self.lane);
        self.response.map(|body| body.holding(held))
    }

    /// The answer, and the place it had.
    pub(super) fn take(self) -> (Response<Body>, impl Send + 'static) {
        (self.response, (self.place, self.lane))
    }
}

/// Why there is no answer of ARM.
#[derive(Debug)]
pub(super) enum Failed {
    /// A gate is closed.
    Closed(Closed),
    /// Too many of the peer's calls were refused.
    Rated(Rated),
    /// It was sent, or could not be.
    Unanswered(SendError),
    /// It broke off.
    Broken(BodyError),
    /// The client's own body broke off before anything was sent.
    Unread(BodyError),
}

impl Failed {
    /// The answer to the client.
    pub(super) fn answered(&self, visit: &Visit, mut notes: Notes) -> Answered {
        let writes = visit.asked.intent == crate::classify::Intent::Write;
        let (mut response, cause) = match self {
            Self::Closed(closed) => (refuse::closed(closed), "gate"),
            Self::Rated(rated) => (refuse::rated(rated), "unvouched"),
            Self::Unanswered(error) if error.kind == Kind::Unread => {
                (refuse::unread(&error.reason()), "body")
            }
            Self::Unanswered(error) => (refuse::unanswered(error, writes), "upstream"),
            Self::Broken(error) => (refuse::broken(&error.to_string()), "upstream"),
            Self::Unread(error) => (refuse::unread(&error.to_string()), "body"),
        };
        if visit.method == http::Method::GET {
            refuse::mark(response.headers_mut(), cause);
        }
        notes.refused = cause;
        Answered::new(response, notes)
    }
}

/// Waits for a place.
///
/// # Errors
/// When a gate is closed, or the peer's calls are slowed down.
pub(super) async fn enter(rooms: &Rooms, visit: &Visit) -> Result<Entered, Failed> {
    let began = rooms.clock.now();
    let lane = if visit.identity.is_vouched() {
        None
    } else {
        let crowded = || Rated { retry_after: Duration::from_secs(1) };
        let lane = tokio::time::timeout(LONGEST_WAIT, rooms.lane.enter(visit.identity.peer));
        Some(lane.await.unwrap_or_else(|_| Err(crowded())).map_err(Failed::Rated)?)
    };
    let place = match rooms.admit.enter(&visit.call(), visit.payer()).await {
        Ok(place) => place,
        Err(closed) => {
            rooms.identify.hold(&visit.identity, closed.until).await;
            return Err(Failed::Closed(closed));
        }
    };
    Ok(Entered { place, lane, queued: rooms.clock.now().since(began) })
}

/// Sends a call that was let in.
///
/// # Errors
/// When ARM does not answer.
pub(super) async fn send(
    rooms: &Rooms,
    visit: &Visit,
    entered: Entered,
    outbound: Outbound,
) -> Result<Received, Failed> {
    let Entered { mut place, lane, .. } = entered;
    let began = rooms.clock.now();
    let left = Mutex::new(rooms.scopes.now());
    let leaves = || *left.lock().unwrap_or_else(PoisonError::into_inner) = rooms.scopes.now();
    let answer =
        rooms.upstream.send_while(outbound, leaves, || place.may_repeat()).await.inspect_err(|error| {
            rooms.metrics.failed(error.kind.as_str());
            if error.kind != Kind::Unread {
                tracing::warn!(reason = %error, "ARM did not answer");
            }
        });
    let mut response = answer.map_err(Failed::Unanswered)?;
    let left = left.into_inner().unwrap_or_else(PoisonError::into_inner);
    let head = rooms.clock.now().since(began);
    let status = response.status();
    rooms.metrics.called(visit.asked.intent.as_str(), status.as_u16(), head);
    if let Some(lane) = &lane {
        lane.settle(status);
    }
    let body = match status {
        StatusCode::TOO_MANY_REQUESTS => peek(&mut response, THROTTLE_BODY, &rooms.fills).await,
        _ => Ok(None),
    };
    // A throttle stands though its body broke off.
    let known = body.as_ref().ok().and_then(Option::as_deref);
    let answer = Answer { status, headers: response.headers(), body: known };
    if let Settled::Throttled(closed) = place.settle(&answer) {
        tracing::warn!(budget = %closed.budget, seconds = closed.seconds(), "ARM throttles");
        rooms.identify.hold(&visit.identity, closed.until).await;
    }
    body.map_err(Failed::Broken)?;
    let vouched = believe(rooms, visit, status).await;
    Ok(Received { response, head, vouched, left, place, lane })
}

/// What an answer says about the token that was sent; whether ARM has let it in, now or a short while ago.
async fn believe(rooms: &Rooms, visit: &Visit, status: StatusCode) -> bool {
    let identity = &visit.identity;
    let path = visit.asked.path.as_ref();
    match status {
        StatusCode::UNAUTHORIZED => rooms.identify.revoke(identity.token).await,
        StatusCode::FORBIDDEN if identity.is_vouched() => {
            if let Some(path) = path {
                let order = rooms.scopes.now().order();
                let crowded = rooms.refusals.note(identity.caller.bits(), &path.shared(), order);
                if crowded {
                    // What was refused to whom is forgotten, so nothing from before may be used.
                    rooms.scopes.drop_all(&[Scope::All]);
                }
            }
        }
        _ => {
            if vouches(&visit.method, path, visit.is_poll(rooms), status)
                && rooms.identify.vouch(identity).await.is_some()
            {
                return true;
            }
        }
    }
    identity.is_vouched() && status != StatusCode::UNAUTHORIZED
}
