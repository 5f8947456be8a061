//! The way of a request: who came how, what they want, who answers.

use std::sync::Arc;

use http::request::Parts;
use http::{Method, Request, Response};

use crate::body::Body;
use crate::identify::{Identity, Memory, Peer};
use crate::listen::{Connection, Dialled};
use crate::policy::Policy;
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
    connection: &Connection<Memory>,
) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    match welcome(rooms, &mut head, connection) {
        Ok((dialled, identity, policy)) => {
            let visit = Arc::new(Visit::new(rooms, head, &connection.entrance, dialled, identity, policy));
            let answered = dispatch(rooms, &visit, body).await;
            finish(rooms, &visit, answered)
        }
        Err(away) => turned_away(rooms, &head, away),
    }
}

/// Finds out who came how, and what is decided for them.
fn welcome(
    rooms: &Rooms,
    head: &mut Parts,
    connection: &Connection<Memory>,
) -> Result<(Arc<Dialled>, Identity, Arc<Policy>), Box<Away>> {
    let Connection { entrance, memory, .. } = connection;
    let away = |cause, response| Box::new(Away { cause, response });
    if head.method == Method::CONNECT {
        return Err(away("connect", refuse::connect()));
    }
    let dialled = connection
        .dialled(&rooms.settings.listen, head)
        .map_err(|refusal| away("misdialled", refuse::misdialled(&refusal)))?;
    // What is of the client's connection only would not reach ARM, so nothing here may rest on it, and
    // `Connection` may name no field of ours.
    hop::strip(&mut head.headers);
    let policy = rooms.policy.load_full();
    let peer = Peer { ip: entrance.peer.ip(), loopback: entrance.loopback };
    let identity = rooms
        .identify
        .identify(&head.headers, peer, &policy, memory)
        .map_err(|refused| away("unidentified", refuse::unidentified(&refused)))?;
    Ok((dialled, identity, policy))
}

/// Everything that may have to wait is boxed: hyper keeps room for the future of a request on every connection,
/// and moves it for every request, while a hit has nothing to wait for.
async fn dispatch(rooms: &Arc<Rooms>, visit: &Arc<Visit>, body: Body) -> Answered {
    match route(rooms, visit, !http_body::Body::is_end_stream(&body)) {
        Route::Discovery => discovery::answer(rooms, visit),
        Route::Write => Box::pin(write::write(rooms, visit, body)).await,
        Route::Poll => Box::pin(poll::poll(rooms, visit, body)).await,
        Route::Pass(reason) => Box::pin(pass::pass(rooms, visit, body, reason)).await,
        Route::Read => read::read(rooms, visit).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<'a, F>(_: fn(&'a Arc<Rooms>, Request<Body>, &'a Connection<Memory>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn what_is_kept_and_moved_for_every_request_is_small() {
        let size = size_of_future(answer);
        assert!(size < 2048, "{size} bytes");
    }
}
