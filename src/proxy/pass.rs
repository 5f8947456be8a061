//! What armshield does not handle: streamed both ways, links led back, its budget kept to.

use bytes::Bytes;
use http::{Method, Response, StatusCode, header};

use crate::arm::Document;
use crate::body::Body;
use crate::observe::Cache;
use crate::rewrite::{NextLinkBody, Way};

use super::collect::{Collected, collect, says_json};
use super::notes::{Answered, Notes};
use super::rooms::Rooms;
use super::send;
use super::visit::Visit;
use super::{answer, splice};

/// Up to this size a list is read before it is passed on, so that it keeps its `Content-Length`.
const SMALL: u64 = 1 << 20;

/// Passes a request, for this reason.
pub(super) async fn pass(rooms: &Rooms, visit: &Visit, body: Body, reason: &'static str) -> Answered {
    let mut notes = Notes::default();
    let entered = match send::enter(rooms, visit).await {
        Ok(entered) => entered,
        Err(failed) => return failed.answered(visit, notes),
    };
    notes.queue = entered.queued;
    let mut headers = visit.headers.clone();
    if way_back(rooms, visit).is_some() {
        // Links cannot be read in a coded body.
        headers.remove(header::ACCEPT_ENCODING);
    }
    let outbound = visit.outbound(rooms, headers, body, true);
    match send::send(rooms, visit, entered, outbound).await {
        Ok(received) => {
            notes.upstream = received.head;
            streamed(rooms, visit, received.into_streamed(), reason, notes).await
        }
        Err(failed) => failed.answered(visit, notes),
    }
}

/// An answer that is streamed to its client, its links leading back.
pub(super) async fn streamed(
    rooms: &Rooms,
    visit: &Visit,
    response: Response<Body>,
    reason: &'static str,
    mut notes: Notes,
) -> Answered {
    let mut response = led_back(rooms, visit, response).await;
    splice::headers(rooms, visit, response.headers_mut());
    if visit.method == Method::GET {
        notes.cache = Cache::Bypass(reason);
        answer::status(response.headers_mut(), &format!("armshield; fwd=bypass; detail={reason}"));
    }
    Answered::new(response, notes)
}

/// Where the link of a list has to lead back to, if the answer may be a list with one.
fn way_back<'a>(rooms: &Rooms, visit: &'a Visit) -> Option<Way<'a>> {
    visit.way().filter(|way| visit.method == Method::GET && rooms.links.lead_anywhere(*way))
}

/// The answer with the link of a list leading back: small ones at once, others as they flow by.
async fn led_back(rooms: &Rooms, visit: &Visit, response: Response<Body>) -> Response<Body> {
    let Some(way) = way_back(rooms, visit) else { return response };
    let coded = response.headers().contains_key(header::CONTENT_ENCODING);
    if response.status() != StatusCode::OK || coded || !says_json(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // Another link has another length. What is known of it is said by the body.
    head.headers.remove(header::CONTENT_LENGTH);
    let small = http_body::Body::size_hint(&body).exact().is_some_and(|size| size <= SMALL);
    let body = match small {
        false => body,
        true => match collect(body, SMALL as usize, &rooms.fills).await {
            Ok(Collected::Whole(bytes)) => return Response::from_parts(head, whole(rooms, visit, bytes)),
            Ok(Collected::Large(body)) => body,
            Err(error) => return super::refuse::broken(&error.to_string()),
        },
    };
    Response::from_parts(head, Body::stream(NextLinkBody::new(body, rooms.links.clone(), way)))
}

fn whole(rooms: &Rooms, visit: &Visit, bytes: Bytes) -> Body {
    let document = Document::parse(&bytes).ok();
    splice::body(rooms, visit, bytes, document.as_ref())
}
