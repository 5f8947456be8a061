//! What is behind the door.

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use serde::Serialize;
use serde_json::{Value, json};

use crate::body::Body;
use crate::proxy::explain::Inquiry;

use super::gate::{Gate, Refused};
use super::server::Room;
use super::{act, status};

const INDEX: &str = "armshield

GET  /healthz       alive
GET  /readyz        configured and listening
GET  /metrics       numbers for Prometheus
GET  /api/status    what is going on
GET  /api/explain   ?url=…&user_agent=… what would be done with a request now, and why; also method, header, peer
POST /api/mode      {\"mode\": \"active\" | \"shadow\" | \"pass\", \"profile\": optional}
POST /api/purge     {\"id\": \"/subscriptions/…\"}
";

/// Answers a request at the door.
pub(super) async fn answer<B>(room: &Room, request: Request<B>) -> Response<Body>
where
    B: HttpBody,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    if let Err(refused) = Gate::host(&head.headers, authority, room.local) {
        return refuse(refused);
    }
    match (&head.method, head.uri.path()) {
        (&Method::GET, "/healthz") => return text(StatusCode::OK, "ok\n"),
        (&Method::GET, "/readyz") if room.ready.is_ready() => return text(StatusCode::OK, "ready\n"),
        (&Method::GET, "/readyz") => return text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        (&Method::GET, "/metrics") => return metrics(room),
        _ if room.only_health => return text(StatusCode::NOT_FOUND, "health and metrics only\n"),
        _ => {}
    }
    if let Err(refused) = room.gate.pass(&head.method, &head.headers) {
        return refuse(refused);
    }
    match (&head.method, head.uri.path()) {
        (&Method::GET, "/") => text(StatusCode::OK, INDEX),
        (&Method::GET, "/api/status") => object(StatusCode::OK, &status::status(&room.rooms)),
        (&Method::GET, "/api/explain") => explain(room, head.uri.query().unwrap_or_default()),
        (&Method::POST, path @ ("/api/mode" | "/api/purge")) => {
            let Ok(body) = body.collect().await else {
                return object(StatusCode::PAYLOAD_TOO_LARGE, &error("the body is too large or broke off"));
            };
            let done = match serde_json::from_slice::<Value>(&body.to_bytes()) {
                Ok(body) if path == "/api/mode" => act::mode(&room.rooms, &body),
                Ok(body) => act::purge(&room.rooms, &body),
                Err(broken) => Err(format!("the body is no JSON: {broken}")),
            };
            match done {
                Ok(done) => object(StatusCode::OK, &done),
                Err(why) => object(StatusCode::BAD_REQUEST, &error(&why)),
            }
        }
        _ => object(StatusCode::NOT_FOUND, &error("there is no such thing here; GET / lists what is")),
    }
}

fn metrics(room: &Room) -> Response<Body> {
    let mut response = text(StatusCode::OK, &room.rooms.metrics.text(&status::gauges(&room.rooms)));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

fn explain(room: &Room, query: &str) -> Response<Body> {
    match Inquiry::read(query).and_then(|inquiry| room.rooms.explain(&inquiry)) {
        Ok(explanation) => object(StatusCode::OK, &explanation),
        Err(why) => object(StatusCode::BAD_REQUEST, &error(&why.to_string())),
    }
}

fn refuse(refused: Refused) -> Response<Body> {
    object(refused.status(), &error(refused.message()))
}

fn error(message: &str) -> Value {
    json!({"error": {"message": message}})
}

fn text(status: StatusCode, text: &str) -> Response<Body> {
    answer_of(status, "text/plain; charset=utf-8", text.to_owned())
}

fn object(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    // What has no text is null: nothing of ours is.
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    answer_of(status, "application/json; charset=utf-8", text + "\n")
}

fn answer_of(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}
