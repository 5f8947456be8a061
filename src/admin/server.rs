//! The server of the door: small, HTTP/1.1, apart from the port clients use.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderValue, Request, Response};
use http_body_util::Limited;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::{ServiceBuilder, service_fn};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::body::Body;
use crate::proxy::Rooms;

use super::gate::Gate;
use super::routes;

/// The most connections at a time.
const CONNECTIONS: usize = 64;
/// The largest request body, in bytes.
const BODY: usize = 64 << 10;

/// Whether the configuration is in force and the port listens. Falls first when a stop begins.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Says so.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::SeqCst);
    }

    /// Whether it is.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What a door opens to.
#[derive(Debug, Clone)]
pub(super) struct Room {
    pub(super) rooms: Arc<Rooms>,
    pub(super) gate: Gate,
    pub(super) ready: Readiness,
    pub(super) local: SocketAddr,
    /// Whether only health and metrics are here.
    pub(super) only_health: bool,
}

/// A door that is bound and not yet open.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    local: SocketAddr,
}

impl Door {
    /// Binds the door.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        Ok(Self { listener, local })
    }

    /// Where it is.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Opens it, until dropped. `only_health`: for probes and scrapers alone.
    pub async fn open(self, rooms: Arc<Rooms>, gate: Gate, ready: Readiness, only_health: bool) {
        let room = Room { rooms, gate, ready, local: self.local, only_health };
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            // Never closed, so there is always a place at some time.
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the admin port cannot accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let room = room.clone();
            tokio::spawn(async move {
                let _place = place;
                let service = ServiceBuilder::new()
                    .layer(header("x-content-type-options", "nosniff"))
                    .layer(header("cache-control", "no-store"))
                    .layer(header("content-security-policy", "default-src 'self'; frame-ancestors 'none'"))
                    .layer(CatchPanicLayer::new())
                    .service(service_fn(move |request: Request<Incoming>| {
                        let room = room.clone();
                        async move {
                            let request = request.map(|body| Limited::new(body, BODY));
                            Ok::<Response<Body>, std::convert::Infallible>(
                                routes::answer(&room, request).await,
                            )
                        }
                    }));
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(10))
                    .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
                    .await;
            });
        }
    }
}

fn header(name: &'static str, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(http::HeaderName::from_static(name), HeaderValue::from_static(value))
}
