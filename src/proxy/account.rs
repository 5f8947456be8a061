//! Every request is counted and logged when its answer has ended, those turned away at the door included.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Response};

use crate::body::{Body, How};
use crate::observe::{Cache, Line};

use super::notes::{Answered, Notes};
use super::refuse;
use super::rooms::Rooms;
use super::visit::Visit;

/// A request that nobody could be asked for.
pub(super) struct Away {
    pub(super) cause: &'static str,
    pub(super) response: Response<Body>,
}

/// Sees to it that the request is counted and logged when its answer ends.
pub(super) fn finish(rooms: &Arc<Rooms>, visit: &Arc<Visit>, answered: Answered) -> Response<Body> {
    let Answered { response, notes } = answered;
    let (rooms, visit) = (rooms.clone(), visit.clone());
    let status = response.status().as_u16();
    response.map(|body| {
        body.then(move |end| {
            let line = line(&rooms, &visit, status, notes, end.bytes, end.how == How::Complete);
            rooms.metrics.count(&line);
            rooms.log.add(&line);
        })
    })
}

/// Counts and logs a request that was turned away at the door.
pub(super) fn turned_away(rooms: &Rooms, method: Method, path: String, away: Box<Away>) -> Response<Body> {
    let Away { cause, mut response } = *away;
    let cache = if method == Method::GET { Cache::Bypass(cause) } else { Cache::None };
    if method == Method::GET {
        refuse::mark(response.headers_mut(), cause);
    }
    let line = Line {
        time: rooms.clock.wall(),
        profile: "none".into(),
        method,
        path,
        intent: "none",
        kind: String::new(),
        standing: "none",
        status: response.status().as_u16(),
        bytes: http_body::Body::size_hint(response.body()).lower(),
        complete: true,
        cache,
        guard: None,
        queue: Duration::ZERO,
        upstream: Duration::ZERO,
        total: Duration::ZERO,
        refused: cause,
        correlation: String::new(),
    };
    rooms.metrics.count(&line);
    rooms.log.add(&line);
    response
}

fn line(rooms: &Rooms, visit: &Visit, status: u16, notes: Notes, bytes: u64, complete: bool) -> Line {
    let cache = match (visit.method == Method::GET, notes.cache) {
        (true, Cache::None) => Cache::Bypass(visit.asked.intent.as_str()),
        (_, cache) => cache,
    };
    Line {
        time: rooms.clock.wall(),
        profile: visit.profile().name.clone(),
        method: visit.method.clone(),
        path: visit.path().to_owned(),
        intent: visit.asked.intent.as_str(),
        kind: visit.asked.kind.as_ref().map_or_else(String::new, |(kind, _)| kind.clone()),
        standing: visit.identity.standing.as_str(),
        status,
        bytes,
        complete,
        cache,
        guard: notes.guard,
        queue: notes.queue,
        upstream: notes.upstream,
        total: rooms.clock.now().since(visit.started),
        refused: notes.refused,
        correlation: visit.correlation(),
    }
}
