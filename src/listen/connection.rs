//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue};
use http::{Request, Version};
use hyper::body::Incoming;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::activity::{Activity, Counted};
use super::drive::{Graceful, Limits, drive};
use super::rewind::Rewind;
use super::sniff::{Opening, sniff};
use super::timed::Timed;
use super::{Connection, Ending, Entrance, Guard, Handler, Settings, Shared};

/// How long a connection that we close is read on, so that the client gets our last answer and not a reset.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves one connection to its end. It counts as open from this call on, not from the first poll.
pub fn serve_io<I, H>(
    io: I,
    entrance: Entrance,
    shared: Arc<Shared>,
    handler: H,
) -> impl Future<Output = Ending> + Send
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let guard = shared.drain.guard();
    async move {
        let deadline = Instant::now() + shared.settings.head_deadline;
        let opened = timeout_at(deadline, open(io, &shared)).await.unwrap_or(Err(Ending::Silent));
        let session = Session { deadline, entrance, shared, guard, handler, activity: Arc::default() };
        // A task takes as much memory as the largest it may have to hold, as long as it lives: boxed is what
        // would make every plain connection larger.
        let ending = match opened {
            Ok(Opened::Plain(Opening::Http2, io)) => Box::pin(session.http2(io)).await,
            Ok(Opened::Plain(_, io)) => session.http1(io).await,
            Ok(Opened::Secure(io)) => Box::pin(session.secure(io)).await,
            Err(ending) => ending,
        };
        tracing::debug!(ending = ending.as_str(), "connection ended");
        ending
    }
}

enum Opened<I> {
    Plain(Opening, Rewind<I>),
    Secure(Box<TlsStream<Rewind<I>>>),
}

async fn open<I>(io: I, shared: &Shared) -> Result<Opened<I>, Ending>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    match sniff(io).await {
        Ok(None) | Err(_) => Err(Ending::Nothing),
        Ok(Some((Opening::Tls, io))) => {
            let Some(config) = shared.tls.clone() else { return Err(Ending::NoTls) };
            match TlsAcceptor::from(config).accept(io).await {
                Ok(io) => Ok(Opened::Secure(Box::new(io))),
                Err(error) => {
                    tracing::debug!(%error, "TLS handshake failed");
                    Err(Ending::Handshake)
                }
            }
        }
        Ok(Some((opening, io))) => Ok(Opened::Plain(opening, io)),
    }
}

/// A connection whose protocol is known.
struct Session<H> {
    deadline: Instant,
    entrance: Entrance,
    shared: Arc<Shared>,
    guard: Guard,
    handler: H,
    activity: Arc<Activity>,
}

impl<H: Handler> Session<H> {
    async fn secure<I>(mut self, io: Box<TlsStream<I>>) -> Ending
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (_, tls) = io.get_ref();
        let http2 = tls.alpn_protocol() == Some(super::tls::ALPN[0]);
        self.entrance = self.entrance.secured(tls.server_name());
        if http2 { Box::pin(self.http2(io)).await } else { self.http1(io).await }
    }

    async fn http1<I>(mut self, io: I) -> Ending
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Settings { head_deadline, stall, .. } = self.shared.settings;
        let io = Timed::new(io, self.activity.clone(), Some(head_deadline), stall);
        let mut conn = self.shared.http1.serve_connection(TokioIo::new(io), self.service()).with_upgrades();
        let ending = self.drive(&mut conn).await;
        if matches!(ending, Ending::Closed | Ending::Refused)
            && let Some(parts) = conn.into_parts()
        {
            hear_out(parts.io.into_inner()).await;
        }
        ending
    }

    async fn http2<I>(mut self, io: I) -> Ending
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = Timed::new(io, self.activity.clone(), None, self.shared.settings.stall);
        let mut conn = self.shared.http2.serve_connection(TokioIo::new(io), self.service());
        self.drive(&mut conn).await
    }

    async fn drive<C: Graceful>(&mut self, conn: &mut C) -> Ending {
        let Settings { idle, linger, stall, .. } = self.shared.settings;
        let limits = Limits { first: self.deadline, idle, linger, stall };
        drive(conn, &self.activity, &mut self.guard, self.entrance.loopback, limits).await
    }

    fn service(
        &self,
    ) -> impl HttpService<
        Incoming,
        ResBody = Counted,
        Error = Infallible,
        Future: Future<Output = Result<http::Response<Counted>, Infallible>> + Send + 'static,
    >
    + Send
    + 'static
    + use<H> {
        let (handler, activity) = (self.handler.clone(), self.activity.clone());
        let connection = Arc::new(Connection::new(self.entrance.clone()));
        service_fn(move |request: Request<Incoming>| {
            let in_flight = activity.begin();
            let (handler, connection) = (handler.clone(), connection.clone());
            async move {
                let keeps = request.version() >= Version::HTTP_2;
                let mut answer = handler.handle(request, connection).await;
                if !keeps && in_flight.is_last() {
                    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok(answer.map(|body| Counted::new(body, in_flight)))
            }
        })
    }
}

/// Reads and forgets what the client still sends: closing a socket with unread bytes resets it, and the
/// reset can overtake the answer (RFC 9112 §9.6).
async fn hear_out(mut io: impl AsyncRead + Unpin) {
    let mut unread = vec![0; 4096];
    let hear = async { while io.read(&mut unread).await.is_ok_and(|read| read > 0) {} };
    // Whoever still talks after that is no longer listened to.
    let _ = timeout(LAST_WORDS, hear).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::testing::Echo;

    fn size_of_future<A, B, C, D, F>(_: fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_connection_that_waits_takes_little() {
        let size = size_of_future(serve_io::<tokio::net::TcpStream, Echo>);
        println!("SIZE {size}");
        assert!(size < 4096, "{size} bytes");
    }
}
