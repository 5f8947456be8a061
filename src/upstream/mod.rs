//! Sends calls to ARM and brings back answers: the only room that dials out.
//!
//! - What leaves is what came, but for the fields of one connection (RFC 9110 §7.6.1) and `Expect`.
//! - A call is sent once. It is sent again only if it provably was not looked at, or if it is a GET without
//!   a body whose connection died before an answer; the latter once.
//! - An answer is whole or ends in an error; bodies pass piece by piece in both directions.
//! - Who leaves aborts only the own call: connections are dialled in tasks of their own, and a dropped call
//!   resets its stream (HTTP/2) or closes its connection (HTTP/1.1).
//! - Downloads that nobody reads hold up nobody else: streamed calls have lanes of their own, each with
//!   room for all its streams.

mod connect;
mod dial;
mod download;
mod error;
mod exchange;
pub mod hop;
mod lane;
mod origin;
mod pool;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod tunnel;
mod upload;
mod wire;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::uri::Authority;
use http::{Method, Request, Response};
use http_body::Body as _;
use rustls_pki_types::CertificateDer;

pub use connect::{Connect, Connecting, Io, Pipe, TcpConnect};
pub use download::Broken;
pub use error::{Kind, SendError, Unresolved};
pub use target::{Address, NotATarget, Scheme, Target};
pub use tls::NotACertificate;
pub use tunnel::Proxy;

use crate::body::Body;
use crate::clock::Clock;
use dial::Dial;
use exchange::{Fate, Patience, exchange};
use origin::Origin;
use upload::Progress;

/// Targets whose connections are kept though nothing is in flight on them.
const TARGETS: usize = 64;
/// How often a call that has not left is tried: connections can end between being chosen and used.
const CHOICES: usize = 4;

/// How upstreams are reached, and how long they may take.
#[derive(Debug, Clone)]
pub struct Settings {
    /// HTTP/2 connections per target, besides those for streamed calls.
    pub lanes: usize,
    /// For name, TCP and TLS together.
    pub connect: Duration,
    /// From the last byte of the request to the head of the answer.
    pub head: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// Between two pings of an HTTP/2 connection, idle ones included; `None`: no pings.
    pub ping: Option<Duration>,
    /// Certificates trusted besides the roots browsers trust.
    pub ca: Vec<CertificateDer<'static>>,
    /// What is dialled instead of the target's host. For [`Settings::connector`].
    pub address: Option<Address>,
    /// An HTTP proxy all connections go through. For [`Settings::connector`].
    pub proxy: Option<Proxy>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lanes: 2,
            connect: Duration::from_secs(10),
            head: Duration::from_secs(70),
            idle: Duration::from_secs(60),
            ping: Some(Duration::from_secs(30)),
            ca: Vec::new(),
            address: None,
            proxy: None,
        }
    }
}

impl Settings {
    /// The connector these settings ask for.
    #[must_use]
    pub fn connector(&self) -> TcpConnect {
        TcpConnect::new(self.address.clone(), self.proxy.clone())
    }
}

/// A call to be sent. Debug output shows neither headers nor path, which can hold tokens and signatures.
pub struct Outbound {
    /// Whom it is for.
    pub target: Target,
    /// What to say as `Host` or `:authority`.
    pub host: String,
    /// Path and query leave as they are; scheme and authority are the target's.
    pub request: Request<Body>,
    /// Whether the answer may be read slowly, or not at all: such calls share no connection with others.
    pub streamed: bool,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("method", self.request.method())
            .field("target", &self.target)
            .field("streamed", &self.streamed)
            .finish_non_exhaustive()
    }
}

/// All connections to upstreams.
pub struct Upstream {
    dial: Arc<Dial>,
    lanes: usize,
    patience: Patience,
    clock: Clock,
    origins: Mutex<HashMap<Target, Arc<Origin>>>,
}

impl Upstream {
    /// Dials nothing yet.
    ///
    /// # Errors
    /// A certificate in `settings.ca` that is none.
    pub fn new(
        settings: &Settings,
        connect: Arc<dyn Connect>,
        clock: Clock,
    ) -> Result<Self, NotACertificate> {
        let tls = tls::connector(&settings.ca)?;
        let dial = Dial { connect, tls, within: settings.connect, ping: settings.ping };
        Ok(Self {
            dial: Arc::new(dial),
            lanes: settings.lanes,
            patience: Patience { head: settings.head, idle: settings.idle },
            clock,
            origins: Mutex::default(),
        })
    }

    /// Sends a call and waits for the head of its answer; the body follows as it is read, and breaks off
    /// with [`Broken`] or hyper's error if it does not come whole. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// See [`Kind`]; [`SendError::may_have_reached`] tells whether ARM may have carried the call out.
    pub async fn send(&self, outbound: Outbound) -> Result<Response<Body>, SendError> {
        self.send_while(outbound, || {}, || true).await
    }

    /// The same, for a call that is sent once more only while `may_repeat` says so. `leaves` is called when a
    /// connection has been found and the call is about to leave through it, once more where it leaves again.
    ///
    /// # Errors
    /// See [`Upstream::send`].
    pub async fn send_while(
        &self,
        outbound: Outbound,
        leaves: impl Fn() + Send + Sync,
        may_repeat: impl Fn() -> bool + Send + Sync,
    ) -> Result<Response<Body>, SendError> {
        let Outbound { target, host, mut request, streamed } = outbound;
        let authority: Authority = host
            .parse()
            .map_err(|invalid: http::uri::InvalidUri| SendError::new(Kind::NeverSent, &target, invalid))?;
        let origin = self.origin(&target);
        wire::prepare(&mut request);
        let mut again = Again::of(&request);
        let progress = Progress::begin();
        let mut request = request.map(|body| progress.watch(body));
        let mut choices = 1;
        let mut fresh = false;
        loop {
            let line = origin.line(streamed, fresh).await?;
            leaves();
            let failure = match exchange(line, request, &authority, &progress, self.patience, &origin).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match failure.fate {
                Fate::Unsent(unsent) if choices < CHOICES => {
                    choices += 1;
                    request = *unsent;
                }
                _ => match again.after(&failure.fate) {
                    Some(copy) if may_repeat() => {
                        fresh = true;
                        request = copy;
                    }
                    _ => return Err(failure.into_error(&origin)),
                },
            }
        }
    }

    fn origin(&self, target: &Target) -> Arc<Origin> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(origin) = origins.get(target) {
            return origin.clone();
        }
        if origins.len() >= TARGETS {
            // Clients choose regional names; their number must not be theirs to choose.
            origins.retain(|_, origin| origin.is_in_use());
        }
        let origin = Arc::new(Origin::new(target.clone(), self.dial.clone(), self.lanes, self.clock));
        origins.insert(target.clone(), origin.clone());
        origin
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("lanes", &self.lanes)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// The copy of a call that has no body, to be sent once more where that is safe.
struct Again(Option<Request<()>>);

impl Again {
    fn of(request: &Request<Body>) -> Self {
        Self(request.body().is_end_stream().then(|| {
            let mut copy = Request::new(());
            copy.method_mut().clone_from(request.method());
            copy.uri_mut().clone_from(request.uri());
            copy.headers_mut().clone_from(request.headers());
            copy
        }))
    }

    fn after(&mut self, fate: &Fate) -> Option<Request<Body>> {
        let safe = match fate {
            Fate::Refused => true,
            Fate::Died => self.0.as_ref().is_some_and(|copy| copy.method() == Method::GET),
            Fate::Unsent(_) | Fate::Broken | Fate::Late | Fate::Unread => false,
        };
        self.0.take_if(|_| safe).map(|copy| copy.map(|()| Body::empty()))
    }
}
