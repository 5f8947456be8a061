//! Recorded exchanges, answered again as they were.
//!
//! The text has one JSON object a line:
//! `{"n", "request": {"method", "url", "headers", "body"}, "response": {"status", "headers", "body"}}`; a
//! repeated header is a list.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;

use super::front::{Cut, Line};
use super::payload::Payload;
use super::serve;

/// One recorded exchange.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The method of the request.
    pub method: Method,
    /// The URL of the request.
    pub url: String,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The body of the request.
    pub body: Bytes,
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer.
    pub answer_headers: HeaderMap,
    /// The body of the answer.
    pub answer_body: Bytes,
}

impl Exchange {
    /// Path and query of the request.
    #[must_use]
    pub fn target(&self) -> String {
        let uri: Option<Uri> = self.url.parse().ok();
        uri.and_then(|uri| uri.path_and_query().map(ToString::to_string)).unwrap_or_default()
    }

    fn response(&self) -> Response<Payload> {
        let mut response = Response::new(Payload::full(self.answer_body.clone()));
        *response.status_mut() = self.status;
        response.headers_mut().clone_from(&self.answer_headers);
        response
    }
}

/// The text is not a recording.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is not a recorded exchange: {reason}")]
pub struct NotARecording {
    line: usize,
    reason: String,
}

/// An upstream that knows nothing but a recording. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Replay {
    exchanges: Arc<[Exchange]>,
    place: Arc<Mutex<Place>>,
}

#[derive(Debug)]
struct Place {
    /// No exchange before this one is given, if a later one fits.
    from: usize,
    /// Which were given.
    given: Vec<bool>,
    strangers: Vec<String>,
}

impl Replay {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// Names the first line that is no exchange.
    pub fn load(text: &str) -> Result<Self, NotARecording> {
        let mut exchanges = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let exchange = parse(line).map_err(|reason| NotARecording { line: at + 1, reason })?;
            exchanges.push(exchange);
        }
        let place = Place { from: 0, given: vec![false; exchanges.len()], strangers: Vec::new() };
        Ok(Self { exchanges: exchanges.into(), place: Arc::new(Mutex::new(place)) })
    }

    /// The exchanges, in the order they happened.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The driver of a test is at exchange `index`: what was recorded before is the past, whether it was
    /// asked for or not.
    pub fn seek(&self, index: usize) {
        self.with(|place| place.from = index);
    }

    /// Calls that are not in the recording, as `METHOD target`.
    #[must_use]
    pub fn strangers(&self) -> Vec<String> {
        self.with(|place| place.strangers.clone())
    }

    /// How many exchanges were given at least once.
    #[must_use]
    pub fn given(&self) -> usize {
        self.with(|place| place.given.iter().filter(|given| **given).count())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Place) -> T) -> T {
        look(&mut self.place.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next answer that was recorded for this method and target: the first not given yet, else the last
    /// given. What was never recorded is answered 501.
    pub async fn handle<B: Body + Unpin>(&self, request: Request<B>) -> Result<Response<Payload>, Cut> {
        let (parts, body) = request.into_parts();
        body.collect().await.map_err(|_| Cut)?;
        let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
        let fits = |exchange: &Exchange| exchange.method == parts.method && exchange.target() == target;
        let found = self.with(|place| {
            let all: Vec<_> = (0..self.exchanges.len()).filter(|at| fits(&self.exchanges[*at])).collect();
            let fresh = all.iter().find(|at| **at >= place.from && !place.given[**at]);
            let found =
                fresh.or_else(|| all.iter().rfind(|at| place.given[**at] || **at < place.from)).copied();
            match found {
                Some(at) => place.given[at] = true,
                None => place.strangers.push(format!("{} {target}", parts.method)),
            }
            found
        });
        let unknown = || {
            let mut response = Response::new(Payload::full("not in the recording"));
            *response.status_mut() = StatusCode::NOT_IMPLEMENTED;
            response
        };
        Ok(found.map_or_else(unknown, |at| self.exchanges[at].response()))
    }

    /// Speaks HTTP on one connection until it ends.
    pub async fn serve_io<IO>(&self, io: IO)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let replay = self.clone();
        serve::connection(io, Line::default(), move |request| {
            let replay = replay.clone();
            async move { replay.handle(request).await }
        })
        .await;
    }

    /// Opens a connection in memory; what is returned is the client's end.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn dial(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(serve::PIPE);
        let replay = self.clone();
        tokio::spawn(async move { replay.serve_io(server).await });
        client
    }

    /// Serves all connections of a listener, for ever.
    ///
    /// # Errors
    ///
    /// Whatever ends the listener.
    pub async fn serve_tcp(&self, listener: TcpListener) -> io::Result<()> {
        loop {
            let (socket, _) = listener.accept().await?;
            let replay = self.clone();
            tokio::spawn(async move { replay.serve_io(socket).await });
        }
    }
}

fn parse(line: &str) -> Result<Exchange, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let (request, response) = (&value["request"], &value["response"]);
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
    Ok(Exchange {
        method: text(&request["method"]).parse().map_err(|_| "no method".to_owned())?,
        url: text(&request["url"]),
        headers: headers(&request["headers"]),
        body: text(&request["body"]).into(),
        status: StatusCode::from_u16(status).map_err(|_| "no status".to_owned())?,
        answer_headers: headers(&response["headers"]),
        answer_body: text(&response["body"]).into(),
    })
}

/// Lengths are left out: the recorder changed bodies after they were counted.
fn headers(fields: &Value) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields.as_object().into_iter().flatten() {
        if matches!(name.as_str(), "content-length" | "transfer-encoding" | "connection") {
            continue;
        }
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value.as_str().unwrap_or(""))) {
                map.append(name, value);
            }
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, target: &str, status: u16, body: &str) -> String {
        serde_json::json!({
            "request": {"method": method, "url": format!("https://management.azure.com{target}"), "headers": {}, "body": null},
            "response": {"status": status, "headers": {"etag": "\"1\"", "x": ["a", "b"], "content-length": "9"}, "body": body},
        })
        .to_string()
    }

    async fn ask(replay: &Replay, method: &str, target: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(target).body(String::new()).unwrap();
        let response = replay.handle(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn answers_in_the_order_of_the_recording() {
        let lines = [
            line("GET", "/a?x=1", 404, "none"),
            line("PUT", "/a?x=1", 201, ""),
            line("GET", "/a?x=1", 200, "one"),
            line("GET", "/a?x=1", 200, "two"),
        ];
        let replay = Replay::load(&lines.join("\n")).unwrap();
        assert_eq!(replay.exchanges()[0].answer_headers.get_all("x").iter().count(), 2);
        assert_eq!(ask(&replay, "GET", "/a?x=1").await, (404, "none".into()));
        assert_eq!(ask(&replay, "GET", "/a?x=1").await, (200, "one".into()));
        replay.seek(3);
        assert_eq!(ask(&replay, "GET", "/a?x=1").await, (200, "two".into()));
        assert_eq!(ask(&replay, "GET", "/a?x=1").await, (200, "two".into()));
        assert_eq!(ask(&replay, "GET", "/b").await.0, 501);
        assert_eq!((replay.strangers(), replay.given()), (vec!["GET /b".to_owned()], 3));
    }

    #[test]
    fn names_the_line_that_is_wrong() {
        let error = Replay::load(&format!("{}\nnonsense", line("GET", "/", 200, ""))).unwrap_err();
        assert!(error.to_string().starts_with("line 2 is not a recorded exchange"), "{error}");
    }
}
