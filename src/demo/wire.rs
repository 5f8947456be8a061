//! Connections of one client: HTTP/1.1, kept open between requests.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;

use crate::upstream::{Connect, Target};

type Sender = SendRequest<Full<Bytes>>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("no connection: {0}")]
    Connect(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

/// Where a client's calls go.
#[derive(Clone)]
pub(super) struct Road {
    pub(super) connect: Arc<dyn Connect>,
    pub(super) target: Target,
}

impl fmt::Debug for Road {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Road").field("target", &self.target).finish_non_exhaustive()
    }
}

/// The connections of one client.
#[derive(Debug)]
pub(super) struct Wire {
    road: Road,
    idle: Mutex<Vec<Sender>>,
}

impl Wire {
    pub(super) const fn new(road: Road) -> Self {
        Self { road, idle: Mutex::new(Vec::new()) }
    }

    /// Sends one request and reads its answer to the end.
    pub(super) async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<(Parts, Bytes), Broken> {
        if let Ok(host) = HeaderValue::from_str(&self.road.target.to_string()) {
            request.headers_mut().insert(header::HOST, host);
        }
        let mut sender = self.connection().await?;
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.idle().push(sender);
        Ok((head, body))
    }

    async fn connection(&self) -> Result<Sender, Broken> {
        while let Some(mut sender) = self.taken() {
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        let io = self.road.connect.connect(&self.road.target).await?;
        let (sender, connection) = handshake(TokioIo::new(io)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn taken(&self) -> Option<Sender> {
        self.idle().pop()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Sender>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
