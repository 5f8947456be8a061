//! The way of a request: who came how, what they want, who answers.

use std::sync::Arc;

use http::{Method, Request, Response, header};

use crate::body::{Body, How};
use crate::classify::Intent;
use crate::identify::Peer;
use crate::listen::Entrance;
use crate::observe::{Cache, Line};
use crate::policy::Mode;
use crate::upstream::hop;

use super::notes::{Answered, Notes};
use super::rooms::Rooms;
use super::visit::Visit;
use super::{discovery, pass, poll, read, refuse, write};

/// Answers a request.
pub(super) async fn answer(
    rooms: &Arc<Rooms>,
    request: Request<Body>,
    entrance: &Entrance,
) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    if head.method == Method::CONNECT {
        return refuse::connect();
    }
    let dialled = match entrance.dialled(&rooms.settings.listen, &head) {
        Ok(dialled) => dialled,
        Err(refusal) => {
            rooms.metrics.refused("misdialled");
            tracing::debug!(%refusal, peer = %entrance.peer, "a request was refused");
            return refuse::misdialled(&refusal);
        }
    };
    // What is of the client's connection only would not reach ARM, so nothing here may rest on it, and
    // `Connection` may name no field of ours.
    hop::strip(&mut head.headers);
    let policy = rooms.policy.load_full();
    let peer = Peer { ip: entrance.peer.ip(), loopback: entrance.loopback };
    let identity = match rooms.identify.identify(&head.headers, peer, &policy) {
        Ok(identity) => identity,
        Err(refused) => {
            rooms.metrics.refused("unidentified");
            return refuse::unidentified(&refused);
        }
    };
    let visit = Arc::new(Visit::new(rooms, head, entrance, dialled, identity, policy));
    let answered = dispatch(rooms, &visit, body).await;
    finish(rooms, &visit, answered)
}

async fn dispatch(rooms: &Arc<Rooms>, visit: &Arc<Visit>, body: Body) -> Answered {
    match visit.asked.intent {
        Intent::Discovery => discovery::answer(rooms, visit),
        // A write drops what it made wrong in every mode: others may be in another one.
        Intent::Write => write::write(rooms, visit, body).await,
        Intent::Poll => poll::poll(rooms, visit, body).await,
        _ if is_known_poll(rooms, visit) => poll::poll(rooms, visit, body).await,
        Intent::Pass => pass::pass(rooms, visit, body, "no-rule").await,
        Intent::Read if visit.mode == Mode::Pass => pass::pass(rooms, visit, body, "pass").await,
        // A part of an answer, or an answer to a body, is nothing to keep.
        Intent::Read if visit.headers.contains_key(header::RANGE) => {
            pass::pass(rooms, visit, body, "range").await
        }
        Intent::Read if !http_body::Body::is_end_stream(&body) => {
            pass::pass(rooms, visit, body, "body").await
        }
        Intent::Read => read::read(rooms, visit).await,
    }
}

/// Whether some write's answer named this very address as the one to poll.
fn is_known_poll(rooms: &Rooms, visit: &Visit) -> bool {
    visit.method == Method::GET && rooms.operations.polled(&visit.target).is_some()
}

/// Sees to it that the request is counted and logged when its answer ends.
fn finish(rooms: &Arc<Rooms>, visit: &Arc<Visit>, answered: Answered) -> Response<Body> {
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
