//! Makes an answer from an entry: ARM's bytes and headers, and what armshield says about them.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Response, header};

use crate::arm::headers::{CACHE_STATUS, CLIENT_REQUEST_ID, RETURN_CLIENT_REQUEST_ID, is_retry_after};
use crate::body::Body;
use crate::cache::Entry;

use super::rooms::Rooms;
use super::splice;
use super::visit::Visit;

/// An answer from memory.
pub(super) fn hit(
    rooms: &Rooms,
    visit: &Visit,
    entry: &Entry,
    age: Duration,
    ttl: Duration,
) -> Response<Body> {
    let said = HeaderValue::try_from("armshield; hit; ttl=".to_owned() + &ttl.as_secs().to_string());
    let said = said.unwrap_or(HeaderValue::from_static("armshield; hit"));
    repeated(rooms, visit, entry, Some(age), said)
}

/// The answer of a fetch that somebody else began; `own` are the headers of that exchange.
pub(super) fn collapsed(rooms: &Rooms, visit: &Visit, entry: &Entry, own: &HeaderMap) -> Response<Body> {
    let said = HeaderValue::from_static("armshield; fwd=miss; collapsed");
    let mut response = repeated(rooms, visit, entry, None, said);
    if !entry.parts.status.is_success() {
        // How long to wait is part of an error, and holds for everybody who waited for this one.
        for name in own.keys().filter(|name| is_retry_after(name)) {
            response.headers_mut().insert(name, own[name].clone());
        }
    }
    response
}

/// The answer of one's own fetch: with the headers of its exchange.
pub(super) fn fetched(
    rooms: &Rooms,
    visit: &Visit,
    entry: &Entry,
    own: &HeaderMap,
    said: &str,
) -> Response<Body> {
    let mut response = with_body(rooms, visit, entry);
    let headers = response.headers_mut();
    own.clone_into(headers);
    // Decoded, and possibly with other links: the length is not ARM's any more.
    headers.remove(header::CONTENT_LENGTH);
    splice::headers(rooms, visit, headers);
    status(headers, said);
    response
}

/// What may be given to more than one.
fn repeated(
    rooms: &Rooms,
    visit: &Visit,
    entry: &Entry,
    age: Option<Duration>,
    said: HeaderValue,
) -> Response<Body> {
    let mut response = with_body(rooms, visit, entry);
    let headers = response.headers_mut();
    entry.parts.headers.clone_into(headers);
    match age {
        Some(age) => headers.insert(header::AGE, age.as_secs().into()),
        None => headers.remove(header::AGE),
    };
    // What others before us said is not kept.
    headers.insert(CACHE_STATUS, said);
    if visit.is_reverse() {
        headers.remove(header::STRICT_TRANSPORT_SECURITY);
    }
    echo(visit, headers);
    splice::headers(rooms, visit, headers);
    response
}

fn with_body(rooms: &Rooms, visit: &Visit, entry: &Entry) -> Response<Body> {
    let parts = &entry.parts;
    let mut response =
        Response::new(splice::body(rooms, visit, parts.body.clone(), parts.document.as_deref()));
    *response.status_mut() = parts.status;
    response
}

/// Echoes the client's own request id when it asks for that (ARM RPC, common API details).
fn echo(visit: &Visit, headers: &mut HeaderMap) {
    let wanted = visit
        .headers
        .get(RETURN_CLIENT_REQUEST_ID)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"));
    if let Some(id) = visit.headers.get(CLIENT_REQUEST_ID).filter(|_| wanted) {
        headers.insert(CLIENT_REQUEST_ID, id.clone());
    }
}

/// Adds what armshield says to `Cache-Status` (RFC 9211), behind what others before it said.
pub(super) fn status(headers: &mut HeaderMap, said: &str) {
    if let Ok(value) = HeaderValue::from_str(said) {
        headers.append(CACHE_STATUS, value);
    }
}
