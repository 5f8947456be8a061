//! The way of a request: who came how, what they want, who answers.

use std::sync::Arc;

use http::request::Parts;
use http::{Method, Request, Response};

use crate::body::Body;
use crate::identify::Peer;
use crate::listen::Entrance;
use crate::upstream::hop;

use super::account::{Away, finish, turned_away};
use super::notes::Answered;
use super::rooms::Rooms;
use super::route::{Route, route};
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
    match route(rooms, visit, !http_body::Body::is_end_stream(&body)) {
        Route::Discovery => discovery::answer(rooms, visit),
        Route::Write => write::write(rooms, visit, body).await,
        Route::Poll => poll::poll(rooms, visit, body).await,
        Route::Pass(reason) => pass::pass(rooms, visit, body, reason).await,
        Route::Read => read::read(rooms, visit).await,
    }
}
