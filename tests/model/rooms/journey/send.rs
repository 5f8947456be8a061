//! `src/proxy/send.rs`: one call to ARM, and what its answer says about token and caller.

use armshield::classify::Scope;
use armshield::identify::vouches;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::{Visit, World};
use crate::rooms::arm::Answered;
use crate::rooms::reference::in_progress;
use crate::rooms::stage::Fate;
use crate::rooms::table::SUBSCRIPTION;

/// A call that was answered.
#[derive(Debug)]
pub struct Received {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether ARM has let this token in, now or a short while ago.
    pub vouched: bool,
}

/// Sends a read; `None`: it was lost.
pub async fn send(world: &World, visit: &Visit, number: usize) -> Option<Received> {
    let fate = world.pause("is sent", visit).await;
    let lag = if let Fate::Late(lag) = fate { lag } else { 0 };
    let mut answered = {
        let arm = world.arm();
        let answered = arm.read(&visit.who(world), visit.question.unwrap(), lag);
        let going_on = in_progress(&answered.seen, &arm);
        let personal = fate == Fate::Personal;
        world.reference().looked(number, &answered.seen, going_on, personal);
        answered
    };
    if fate == Fate::Personal {
        answered.headers.push(("vary", "origin".to_owned()));
    }
    answered.headers.push(("x-call", number.to_string()));
    if world.pause("was looked at", visit).await == Fate::Lost {
        return None;
    }
    world.reference().heard_answer(number);
    Some(receive(world, visit, answered, false).await)
}

/// An answer has come.
pub async fn receive(world: &World, visit: &Visit, answered: Answered, is_poll: bool) -> Received {
    let status = StatusCode::from_u16(answered.status).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    for (name, value) in answered.headers {
        headers.insert(HeaderName::from_static(name), value.parse().unwrap());
    }
    let vouched = believe(world, visit, status, is_poll).await;
    world.pause("is believed", visit).await;
    Received { status, headers, body: answered.body.into(), vouched }
}

/// What an answer says about the token that was sent; whether ARM has let it in, now or a short while ago.
async fn believe(world: &World, visit: &Visit, status: StatusCode, is_poll: bool) -> bool {
    let identity = &visit.identity;
    let path = visit.asked.path.as_ref();
    hear(world, visit, status, is_poll);
    match status {
        StatusCode::UNAUTHORIZED => world.identify.revoke(identity.token).await,
        StatusCode::FORBIDDEN if identity.is_vouched() => {
            if let Some(path) = path {
                let order = world.scopes.now().order();
                let crowded = world.refusals.note(identity.caller.bits(), &path.shared(), order);
                if crowded {
                    world.scopes.drop_all(&[Scope::All]);
                }
            }
        }
        _ => {
            if vouches(&visit.method, path, is_poll, status) && world.identify.vouch(identity).await.is_some()
            {
                return true;
            }
        }
    }
    identity.is_vouched() && status != StatusCode::UNAUTHORIZED
}

/// The reference hears the same.
fn hear(world: &World, visit: &Visit, status: StatusCode, is_poll: bool) {
    let mut reference = world.reference();
    let below = visit.target.starts_with(&format!("{SUBSCRIPTION}/"));
    match status.as_u16() {
        401 => reference.turned_away(visit.token),
        403 if visit.identity.is_vouched() => reference.forbidden(visit.person().principal, visit.path()),
        200..=299 if below && !is_poll && visit.method != Method::OPTIONS => {
            reference.let_in(visit.token, visit.came_in, world.is_expired(visit.token), world.clock.now());
        }
        _ => {}
    }
}
