//! The way of a request: who came how, what they want, who answers.

use std::sync::Arc;

use http::request::Parts;
use http::{Method, Request, Response, header};

use crate::body::Body;
use crate::classify::Intent;
use crate::identify::Peer;
use crate::listen::Entrance;
use crate::policy::Mode;
use crate::upstream::hop;

use super::account::{Away, finish, turned_away};
use super::notes::Answered;
use super::rooms::Rooms;
use super::visit::Visit;
use super::{discovery, pass, poll, read, refuse, write};

/// Answers a request.
pub(super) async fn answer(
    rooms: &Arc<Rooms>,
    request: Request<Body>,
    entrance: &Entrance,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.clone(), head.uri.path().to_owned());
    match welcome(rooms, head, entrance) {
        Ok(visit) => {
            let visit = Arc::new(visit);
            let answered = dispatch(rooms, &visit, body).await;
            finish(rooms, &visit, answered)
        }
        Err(away) => turned_away(rooms, method, path, away),
    }
}

/// Finds out who came how, and what they want.
fn welcome(rooms: &Rooms, mut head: Parts, entrance: &Entrance) -> Result<Visit, Box<Away>> {
    let away = |cause, response| Box::new(Away { cause, response });
    if head.method == Method::CONNECT {
        return Err(away("connect", refuse::connect()));
    }
    let dialled = entrance
        .dialled(&rooms.settings.listen, &head)
        .map_err(|refusal| away("misdialled", refuse::misdialled(&refusal)))?;
    // What is of the client's connection only would not reach ARM, so nothing here may rest on it, and
    // `Connection` may name no field of ours.
    hop::strip(&mut head.headers);
    let policy = rooms.policy.load_full();
    let peer = Peer { ip: entrance.peer.ip(), loopback: entrance.loopback };
    let identity = rooms
        .identify
        .identify(&head.headers, peer, &policy)
        .map_err(|refused| away("unidentified", refuse::unidentified(&refused)))?;
    Ok(Visit::new(rooms, head, entrance, dialled, identity, policy))
}

async fn dispatch(rooms: &Arc<Rooms>, visit: &Arc<Visit>, body: Body) -> Answered {
    match visit.asked.intent {
        Intent::Discovery => discovery::answer(rooms, visit),
        // A write drops what it made wrong in every mode: others may be in another one.
        Intent::Write => write::write(rooms, visit, body).await,
        Intent::Poll => poll::poll(rooms, visit, body).await,
        _ if visit.method == Method::GET && visit.is_poll(rooms) => poll::poll(rooms, visit, body).await,
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
