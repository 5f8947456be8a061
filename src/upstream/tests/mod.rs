//! Calls over in-memory pipes to peers that do as each test says.

mod bodies;
mod endings;
mod heads;
mod lanes;
mod peers;
mod sockets;
mod trust;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use super::*;
use crate::body::BodyError;
use crate::clock::Wall;
use peers::{Doing, ca};

/// What becomes of a dial.
enum Dialled {
    /// Somebody is there.
    Peer(Doing<()>),
    Error(io::Error),
    /// Neither answer nor error.
    Silence,
}

type Script = Box<dyn Fn(usize, DuplexStream) -> Dialled + Send + Sync>;

/// A connector without a network. A dial more than expected fails the test.
struct Wires {
    script: Script,
    expected: usize,
    dials: AtomicUsize,
    too_many: AtomicBool,
}

impl Wires {
    fn expect(
        expected: usize,
        script: impl Fn(usize, DuplexStream) -> Dialled + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (dials, too_many) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { script: Box::new(script), expected, dials, too_many })
    }

    fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }
}

impl Connect for Wires {
    fn connect(&self, target: &Target) -> Connecting {
        let nth = self.dials.fetch_add(1, Ordering::SeqCst);
        if nth >= self.expected {
            self.too_many.store(true, Ordering::SeqCst);
            panic!("unexpected dial {nth} to {target}");
        }
        let (near, far) = tokio::io::duplex(64 * 1024);
        match (self.script)(nth, far) {
            Dialled::Peer(peer) => {
                tokio::spawn(peer);
                Box::pin(async move { Ok(Box::new(near) as Io) })
            }
            Dialled::Error(error) => Box::pin(async move { Err(error) }),
            Dialled::Silence => Box::pin(std::future::pending()),
        }
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(!self.too_many.load(Ordering::SeqCst), "there were more dials than {}", self.expected);
        }
    }
}

fn settings() -> Settings {
    Settings { ping: None, ca: vec![ca().certificate.clone()], ..Settings::default() }
}

fn upstream(wires: &Arc<Wires>) -> Arc<Upstream> {
    with(settings(), wires)
}

fn with(settings: Settings, wires: &Arc<Wires>) -> Arc<Upstream> {
    let clock = Clock::tokio(Wall::from_unix(1_800_000_000));
    Arc::new(Upstream::new(&settings, wires.clone(), clock).unwrap())
}

/// The two ways to an upstream: `http://…` is HTTP/1.1, `https://…` HTTP/2 with the peers of these tests.
const ONE: &str = "http://arm.test";
const TWO: &str = "https://arm.test";

fn call(url: &str, method: Method, path: &str, body: Body) -> Outbound {
    let target = Target::from_url(url).unwrap();
    let request = Request::builder().method(method).uri(path).body(body).unwrap();
    Outbound { host: target.to_string(), target, request, streamed: false }
}

fn get(url: &str) -> Outbound {
    call(url, Method::GET, "/", Body::empty())
}

fn put(url: &str) -> Outbound {
    call(url, Method::PUT, "/", Body::full("{}"))
}

fn streamed(outbound: Outbound) -> Outbound {
    Outbound { streamed: true, ..outbound }
}

async fn text(answer: Response<Body>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().into()).unwrap()
}

fn answer(body: &'static str) -> Response<Body> {
    Response::new(Body::full(body))
}

/// Lets tasks that are ready run without moving the clock.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// A body fed by hand.
struct Pieces(mpsc::Receiver<Result<Frame<Bytes>, BodyError>>);

type Feed = mpsc::Sender<Result<Frame<Bytes>, BodyError>>;

fn pieces() -> (Feed, Body) {
    let (feed, pieces) = mpsc::channel(1);
    (feed, Body::stream(Pieces(pieces)))
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.0.poll_recv(cx)
    }
}

async fn feed(to: &Feed, piece: impl Into<Bytes>) {
    to.send(Ok(Frame::data(piece.into()))).await.unwrap();
}

/// Counts, and remembers what was counted.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
