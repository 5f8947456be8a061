//! armshield on a real socket, in real time.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use armshield::listen::{self, Drained, Listener};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::World;
use super::client::{Answer, Broken};

/// armshield, listening on loopback.
pub struct Running {
    pub world: World,
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    drained: JoinHandle<Drained>,
}

impl Running {
    /// Listens for this world, whose settings of the entrance `change` may change.
    pub async fn new(
        world: World,
        tls: Option<ServerConfig>,
        change: impl FnOnce(&mut listen::Settings),
    ) -> Self {
        let mut settings = world.proxy.rooms().settings.listen.clone();
        settings.address = SocketAddr::from(([127, 0, 0, 1], 0));
        change(&mut settings);
        let listener = Listener::bind(settings, tls.map(Arc::new)).await.unwrap();
        let (address, proxy) = (listener.local_addr(), world.proxy.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            // A test that fails drops the sender.
            let _ = stopped.await;
        };
        let drained = tokio::spawn(listener.run(proxy, stopped));
        Self { world, address, stop: Some(stop), drained }
    }

    /// What SIGTERM does.
    pub fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Whether nobody listens any more.
    pub fn has_ended(&self) -> bool {
        self.drained.is_finished()
    }

    /// Waits for that.
    pub async fn ended(self) -> Drained {
        within(10, self.drained).await.unwrap()
    }

    pub async fn dial(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection that is kept.
    pub async fn connect(&self) -> Line {
        Line::http1(self.dial().await).await
    }
}

/// Something that has to come to its end in so many seconds of real time.
pub async fn within<T>(seconds: u64, work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(seconds), work).await.expect("in time")
}

/// A client's connection.
pub enum Line {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Line {
    pub async fn http1(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        Self::One(sender)
    }

    pub async fn http2(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        Self::Two(sender)
    }

    /// Sends a request and reads its answer to the end.
    pub async fn ask(&mut self, request: http::request::Builder, body: &str) -> Result<Answer, Broken> {
        let broken = |error: hyper::Error| Broken(error.to_string());
        let request: Request<_> = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
        let response = match self {
            Self::One(sender) => {
                sender.ready().await.map_err(broken)?;
                sender.send_request(request).await
            }
            Self::Two(sender) => {
                sender.ready().await.map_err(broken)?;
                sender.send_request(request).await
            }
        };
        let (head, body) = response.map_err(broken)?.into_parts();
        let body = body.collect().await.map_err(broken)?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body, at: Default::default() })
    }
}
