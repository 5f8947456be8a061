//! Paths for tests of transport alone: `/_test/echo`, `/_test/bytes/{n}`, `/_test/status/{code}`.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, request};
use http_body::Body;
use http_body_util::BodyExt as _;
use serde_json::json;

use super::journal::redacted;
use super::payload::{Payload, Step};

const PIECE: usize = 16 * 1024;

/// Answers a call below `/_test/`. The body is read and counted, not kept; `None`: it broke off.
///
/// `/_test/bytes/{n}` understands `chunked` (no length), `pause={ms}` (between pieces of 16 KiB) and
/// `trailers`.
pub(crate) async fn answer<B: Body + Unpin>(
    parts: &request::Parts,
    mut body: B,
) -> Option<Response<Payload>> {
    let (mut length, mut frames, mut trailers) = (0, 0, HeaderMap::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.ok()?;
        if let Some(data) = frame.data_ref() {
            length += bytes::Buf::remaining(data);
            frames += 1;
        } else if let Ok(map) = frame.into_trailers() {
            trailers = map;
        }
    }
    let mut segments = parts.uri.path().trim_start_matches("/_test/").split('/');
    let query = parts.uri.query().unwrap_or("");
    let response = match (segments.next(), segments.next()) {
        (Some("bytes"), Some(count)) => bytes_of(count.parse().unwrap_or(0), query),
        (Some("status"), Some(code)) => {
            let mut response = Response::new(Payload::empty());
            *response.status_mut() = code.parse().unwrap_or(http::StatusCode::OK);
            response
        }
        _ => {
            let list = |map: &HeaderMap| -> Vec<(String, String)> {
                map.iter()
                    .map(|(name, value)| {
                        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                    })
                    .collect()
            };
            let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
            let seen = json!({"method": parts.method.as_str(), "target": target,
                "authority": parts.uri.authority().map(ToString::to_string), "version": format!("{:?}", parts.version),
                "headers": list(&redacted(&parts.headers)), "length": length, "frames": frames, "trailers": list(&trailers)});
            let mut response = Response::new(Payload::full(seen.to_string()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    };
    Some(response)
}

fn bytes_of(count: usize, query: &str) -> Response<Payload> {
    let option = |name: &str| query.split('&').find(|pair| pair.split('=').next() == Some(name));
    let pause =
        option("pause").and_then(|pair| pair.split_once('=')?.1.parse().ok()).map(Duration::from_millis);
    let piece = Bytes::from_static(&[b'x'; PIECE]);
    let mut steps = Vec::new();
    let mut left = count;
    while left > 0 {
        let size = left.min(PIECE);
        if let Some(pause) = pause.filter(|_| left < count) {
            steps.push(Step::Pause(pause));
        }
        steps.push(Step::Data(piece.slice(..size)));
        left -= size;
    }
    let trailers = option("trailers").is_some();
    if trailers {
        let mut map = HeaderMap::new();
        map.insert("x-test-trailer", HeaderValue::from_static("end"));
        steps.push(Step::Trailers(map));
    }
    let mut response = Response::new(Payload::scripted(steps));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if trailers {
        headers.insert("trailer", HeaderValue::from_static("x-test-trailer"));
    } else if option("chunked").is_none() {
        headers.insert("content-length", HeaderValue::from(count));
    }
    response
}
