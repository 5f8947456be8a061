//! Every request is counted and logged when its answer has ended, those turned away at the door included.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Method, Response};

use crate::body::{Body, End, How};
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
            let line = line(&rooms, &visit, status, &notes, end);
            rooms.metrics.count(&line);
            rooms.log.add(&line);
        })
    })
}

/// Counts and logs a request that was turned away at the door.
pub(super) fn turned_away(rooms: &Rooms, head: &Parts, away: Box<Away>) -> Response<Body> {
    let Away { cause, mut response } = *away;
    let gets = head.method == Method::GET;
    let cache = if gets { Cache::Bypass(cause) } else { Cache::None };
    if gets {
        refuse::mark(response.headers_mut(), cause);
    }
    let line = Line {
        time: rooms.clock.wall(),
        profile: "none",
        method: &head.method,
        path: head.uri.path(),
        intent: "none",
        kind: "",
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
        correlation: "",
    };
    rooms.metrics.count(&line);
    rooms.log.add(&line);
    response
}

fn line<'a>(rooms: &Rooms, visit: &'a Visit, status: u16, notes: &Notes, end: End) -> Line<'a> {
    let cache = match (visit.method == Method::GET, notes.cache) {
        (true, Cache::None) => Cache::Bypass(visit.asked.intent.as_str()),
        (_, cache) => cache,
    };
    Line {
        time: rooms.clock.wall(),
        profile: &visit.profile().name,
        method: &visit.method,
        path: visit.path(),
        intent: visit.asked.intent.as_str(),
        kind: visit.asked.kind.as_ref().map_or("", |(kind, _)| kind),
        standing: visit.identity.standing.as_str(),
        status,
        bytes: end.bytes,
        complete: end.how == How::Complete,
        cache,
        guard: notes.guard,
        queue: notes.queue,
        upstream: notes.upstream,
        total: rooms.clock.now().since(visit.started),
        refused: notes.refused,
        correlation: visit.correlation(),
    }
}
