//! `GET /metadata/endpoints`: answered from memory, before ARM is reachable, naming the name dialled.

use http::{HeaderValue, Response, header};

use crate::body::Body;
use crate::rewrite::discovery;

use super::answer;
use super::notes::{Answered, Notes};
use super::rooms::Rooms;
use super::visit::Visit;

/// Answers endpoint discovery.
pub(super) fn answer(rooms: &Rooms, visit: &Visit) -> Answered {
    let document = discovery::answer(visit.query().api_version(), visit.front(), rooms.settings.cloud);
    let mut response = Response::new(Body::full(document));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer::status(headers, "armshield; hit; detail=discovery");
    Answered::new(response, Notes::default())
}
