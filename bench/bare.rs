//! The bare hyper server: any question, the same answer from memory. What every ratio is to.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use armshield::clock::Clock;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep_until};

use super::Outcome;
use super::content::{self, ANSWERED, Set, Sets};
use super::origin::say_ready;

/// What it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// A scale set of 3 KiB.
    Point,
    /// A list of 3 MiB.
    List,
}

impl What {
    pub(crate) fn body(self) -> Bytes {
        match self {
            Self::Point => Sets::new().body(Set::WARM).into(),
            Self::List => content::list(),
        }
    }

    pub(crate) fn target(self) -> String {
        match self {
            Self::Point => Set::WARM.target(),
            Self::List => Set::WARM.list_target(),
        }
    }
}

/// A server of any question.
#[derive(Debug, Args)]
pub(crate) struct Bare {
    #[arg(long, value_enum)]
    what: What,
    /// Wait as long as the group's name says; whoever asks the same meanwhile waits for the same end.
    #[arg(long)]
    waits: bool,
}

/// When the answers to questions that were asked are there, by path.
#[derive(Debug, Default)]
struct Ends(Mutex<HashMap<String, Instant>>);

impl Ends {
    fn of(&self, path: &str) -> Option<Instant> {
        let delay = Set::of_path(path)?.delay;
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = ends
            .entry(path.to_owned())
            .or_insert_with(|| Instant::now() + Duration::from_millis(delay.into()));
        (delay > 0).then_some(*end)
    }
}

/// Serves until the process ends.
pub(crate) async fn serve(bare: Bare) -> Outcome<()> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    say_ready(listener.local_addr()?);
    let (body, mut headers) = (bare.what.body(), content::lasting());
    if bare.what == What::List {
        headers.remove("etag");
    }
    let ends = bare.waits.then(|| Arc::new(Ends::default()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (body, headers, ends) = (body.clone(), headers.clone(), ends.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let end = ends.as_ref().and_then(|ends| ends.of(request.uri().path()));
            answer(body.clone(), headers.clone(), end)
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    body: Bytes,
    headers: HeaderMap,
    end: Option<Instant>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(body));
    *response.headers_mut() = headers;
    if let Some(end) = end {
        sleep_until(end).await;
        stamp(response.headers_mut());
    }
    Ok(response)
}

/// Says when the answer was there.
pub(crate) fn stamp(headers: &mut HeaderMap) {
    headers.insert(HeaderName::from_static(ANSWERED), HeaderValue::from(Clock::boot().now().nanos()));
}
