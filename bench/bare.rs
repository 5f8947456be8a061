//! The bare hyper server: any question, the same answer from memory. What every ratio is to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use armshield::clock::Clock;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::sleep;

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
    /// Milliseconds to wait before every answer.
    #[arg(long, default_value_t = 0)]
    after: u64,
}

/// Serves until the process ends.
pub(crate) async fn serve(bare: Bare) -> Outcome<()> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    say_ready(listener.local_addr()?);
    let (body, mut headers) = (bare.what.body(), content::lasting());
    if bare.what == What::List {
        headers.remove("etag");
    }
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (body, headers) = (body.clone(), headers.clone());
        let after = Duration::from_millis(bare.after);
        let service = service_fn(move |_| answer(body.clone(), headers.clone(), after));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    body: Bytes,
    headers: HeaderMap,
    after: Duration,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(body));
    *response.headers_mut() = headers;
    if !after.is_zero() {
        sleep(after).await;
        stamp(response.headers_mut());
    }
    Ok(response)
}

/// Says when the answer was there.
pub(crate) fn stamp(headers: &mut HeaderMap) {
    headers.insert(HeaderName::from_static(ANSWERED), HeaderValue::from(Clock::boot().now().nanos()));
}
