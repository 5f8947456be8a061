//! A scripted ARM: answers by a closure, keeps a journal of what it was asked.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::clock::{Clock, Moment};
use armshield::upstream::{Connect, Connecting, Io, Target};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// What ARM was asked.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    /// Path and query, byte for byte.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// When it arrived.
    pub at: Moment,
    /// Its number, from 0.
    pub number: usize,
}

impl Call {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        self.header("authorization").unwrap_or("").trim_start_matches("Bearer ")
    }

    pub fn is(&self, method: &str, path_end: &str) -> bool {
        self.method == method && self.path().ends_with(path_end)
    }
}

/// What ARM answers.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// How long it takes to begin.
    pub after: Duration,
    pub ending: Ending,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Whole,
    /// The connection dies before the head.
    Never,
    /// The connection dies after so many bytes of body.
    Cut(usize),
    /// Nothing comes after so many bytes of body.
    Stalled(usize),
}

impl Reply {
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![
                ("content-type".into(), "application/json; charset=utf-8".into()),
                ("cache-control".into(), "no-cache".into()),
                ("expires".into(), "-1".into()),
                ("x-ms-ratelimit-remaining-subscription-global-reads".into(), "3749".into()),
                ("x-ms-request-id".into(), "of-one-exchange".into()),
            ],
            body: body.into(),
            after: Duration::ZERO,
            ending: Ending::Whole,
        }
    }

    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::json(200, body)
    }

    /// An error of ARM.
    pub fn error(status: u16, code: &str) -> Self {
        Self::json(status, format!(r#"{{"error":{{"code":"{code}","message":"{code} it is"}}}}"#))
    }

    pub fn not_found() -> Self {
        Self::error(404, "ResourceNotFound").with("x-ms-failure-cause", "gateway")
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    pub fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }
}

type Script = Box<dyn FnMut(&Call) -> Reply + Send>;

/// The scripted ARM. Cloned handles share one script and one journal.
#[derive(Clone)]
pub struct Arm {
    clock: Clock,
    script: Arc<Mutex<Script>>,
    journal: Arc<Mutex<Vec<Call>>>,
    dials: Arc<Mutex<HashMap<String, usize>>>,
    refuse: Arc<Mutex<Option<io::ErrorKind>>>,
    plain_http2: bool,
}

impl std::fmt::Debug for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arm").finish_non_exhaustive()
    }
}

impl Arm {
    pub fn new(clock: Clock, script: impl FnMut(&Call) -> Reply + Send + 'static) -> Self {
        Self {
            clock,
            script: Arc::new(Mutex::new(Box::new(script))),
            journal: Arc::default(),
            dials: Arc::default(),
            refuse: Arc::default(),
            plain_http2: false,
        }
    }

    /// Replaces the script.
    pub fn answers(&self, script: impl FnMut(&Call) -> Reply + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    /// Refuses to be dialled, or not any more.
    pub fn refuses(&self, error: Option<io::ErrorKind>) {
        *self.refuse.lock().unwrap() = error;
    }

    /// What was asked so far.
    pub fn calls(&self) -> Vec<Call> {
        self.journal.lock().unwrap().clone()
    }

    /// How often something like this was asked.
    pub fn count(&self, method: &str, path_end: &str) -> usize {
        self.calls().iter().filter(|call| call.is(method, path_end)).count()
    }

    /// How often it was dialled.
    pub fn dials(&self) -> usize {
        self.dials.lock().unwrap().values().sum()
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<hyper_body::Boxed>, io::Error> {
        let (head, body) = request.into_parts();
        // A body that breaks off is no call: ARM does nothing.
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let call = {
            let mut journal = self.journal.lock().unwrap();
            let call = Call {
                method: head.method,
                target: head.uri.path_and_query().unwrap().to_string(),
                headers: head.headers,
                body,
                at: self.clock.now(),
                number: journal.len(),
            };
            journal.push(call.clone());
            call
        };
        let reply = (self.script.lock().unwrap())(&call);
        if !reply.after.is_zero() {
            tokio::time::sleep(reply.after).await;
        }
        hyper_body::response(reply)
    }
}

mod hyper_body {
    use super::*;

    pub(super) type Boxed = http_body_util::combinators::BoxBody<Bytes, io::Error>;

    pub(super) fn response(reply: Reply) -> Result<Response<Boxed>, io::Error> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
        for (name, value) in &reply.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            response.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
        }
        let whole = reply.body.len();
        let body = match reply.ending {
            Ending::Never => return Err(io::ErrorKind::ConnectionReset.into()),
            Ending::Whole => http_body_util::Full::new(reply.body).map_err(|never| match never {}).boxed(),
            Ending::Cut(at) | Ending::Stalled(at) => {
                // The length says what should have come.
                response.headers_mut().insert("content-length", HeaderValue::from(whole));
                let stalls = matches!(reply.ending, Ending::Stalled(_));
                let first = reply.body.slice(..at);
                let (frames, receiver) = tokio::sync::mpsc::channel::<Result<Frame<Bytes>, io::Error>>(2);
                tokio::spawn(async move {
                    let _ = frames.send(Ok(Frame::data(first))).await;
                    if stalls {
                        frames.closed().await;
                    } else {
                        let _ = frames.send(Err(io::ErrorKind::ConnectionReset.into())).await;
                    }
                });
                let stream = futures::stream(receiver);
                BodyExt::boxed(StreamBody::new(stream))
            }
        };
        Ok(response.map(|()| body))
    }

    mod futures {
        use super::*;
        use std::pin::Pin;
        use std::task::{Context, Poll};

        pub(crate) struct Frames(tokio::sync::mpsc::Receiver<Result<Frame<Bytes>, io::Error>>);

        pub(crate) fn stream(
            receiver: tokio::sync::mpsc::Receiver<Result<Frame<Bytes>, io::Error>>,
        ) -> Frames {
            Frames(receiver)
        }

        impl futures_core::Stream for Frames {
            type Item = Result<Frame<Bytes>, io::Error>;

            fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
                self.0.poll_recv(cx)
            }
        }
    }
}

impl Connect for Arm {
    fn connect(&self, target: &Target) -> Connecting {
        *self.dials.lock().unwrap().entry(target.to_string()).or_default() += 1;
        let refused = *self.refuse.lock().unwrap();
        let arm = self.clone();
        Box::pin(async move {
            if let Some(kind) = refused {
                return Err(kind.into());
            }
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let http2 = arm.plain_http2;
            tokio::spawn(async move {
                let io = TokioIo::new(theirs);
                let service = service_fn(move |request| arm.clone().answer(request));
                if http2 {
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(io, service)
                        .await;
                } else {
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
                }
            });
            Ok(Box::new(ours) as Io)
        })
    }
}
