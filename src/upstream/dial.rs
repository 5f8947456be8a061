//! Making a connection from nothing: bytes, TLS, then HTTP, all under one deadline.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::connect::{Connect, Io};
use super::error::{Kind, SendError, TooLate, Unresolved};
use super::target::{Scheme, Target};
use super::tls;
use crate::body::Body;

/// What one stream may hold unread. 64 stalled streams fill a connection's window and no fewer do, and
/// [`origin`](super::origin) puts no more on one that carries streams which may stall.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 64;
/// ARM's poll URLs are signed and long, and arrive in headers.
const HEAD_BYTES: u32 = 128 * 1024;
const HEADERS: usize = 512;
/// How long a ping may stay unanswered.
const PONG: Duration = Duration::from_secs(15);
/// Streams given up by clients that left are remembered, or their late frames would be errors.
const GIVEN_UP: usize = 1024;

pub(super) type One = http1::SendRequest<Body>;
pub(super) type Two = http2::SendRequest<Body>;

/// A connection just made, with the protocol its peer chose.
#[derive(Debug)]
pub(super) enum Dialled {
    One(One),
    Two(Two),
}

pub(super) struct Dial {
    pub(super) connect: Arc<dyn Connect>,
    pub(super) tls: TlsConnector,
    pub(super) within: Duration,
    pub(super) ping: Option<Duration>,
}

impl Dial {
    pub(super) async fn dial(&self, target: &Target) -> Result<Dialled, SendError> {
        let deadline = Instant::now() + self.within;
        let late = |kind, what| SendError::new(kind, target, TooLate { what, within: self.within });
        let io = timeout_at(deadline, self.connect.connect(target))
            .await
            .map_err(|_| late(Kind::Connect, "connection"))?
            .map_err(|error| unconnected(target, error))?;
        if target.scheme == Scheme::Http {
            return one(io).await.map_err(|error| SendError::new(Kind::Connect, target, error));
        }
        let secure = timeout_at(deadline, tls::handshake(&self.tls, &target.host, io))
            .await
            .map_err(|_| late(Kind::Tls, "end of the handshake"))?
            .map_err(|error| SendError::new(Kind::Tls, target, error))?;
        let made = async {
            if tls::chose_http2(&secure) {
                self.two(Box::new(secure)).await
            } else {
                one(Box::new(secure)).await
            }
        };
        timeout_at(deadline, made)
            .await
            .map_err(|_| late(Kind::Connect, "HTTP/2 preface"))?
            .map_err(|error| SendError::new(Kind::Connect, target, error))
    }

    async fn two(&self, io: Io) -> hyper::Result<Dialled> {
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEAD_BYTES)
            .max_concurrent_reset_streams(GIVEN_UP)
            // Counted over a connection's life: a lane that lives for weeks would reach any number.
            .max_local_error_reset_streams(None)
            .keep_alive_interval(self.ping)
            .keep_alive_timeout(PONG)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(io))
            .await?;
        // The calls on it learn of its end; nobody else needs to.
        tokio::spawn(connection);
        Ok(Dialled::Two(sender))
    }
}

async fn one(io: Io) -> hyper::Result<Dialled> {
    let (mut sender, connection) =
        http1::Builder::new().max_headers(HEADERS).handshake(TokioIo::new(io)).await?;
    tokio::spawn(connection);
    // Until its task has run once, a connection would not look fit to the pool.
    sender.ready().await?;
    Ok(Dialled::One(sender))
}

fn unconnected(target: &Target, error: io::Error) -> SendError {
    let unresolved = error.get_ref().and_then(|inner| inner.downcast_ref::<Unresolved>()).cloned();
    match unresolved {
        Some(unresolved) => SendError::new(Kind::Dns, target, unresolved),
        None => SendError::new(Kind::Connect, target, error),
    }
}
