//! The socket: accepts connections until it is told to stop, then sees the last client off.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Drain, Entrance, Handler, Phase, Settings, Shared, serve_io};

/// How long to wait when the system has no file or memory left for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// How long those who are cut off may take to notice.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    room: Arc<Semaphore>,
    shared: Arc<Shared>,
}

/// How a stop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections, and others who held a [`super::Guard`], that were cut off at the deadline.
    pub cut: usize,
}

impl Listener {
    /// Binds the address of `settings`.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(settings: Settings, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let socket = TcpListener::bind(settings.address).await?;
        let address = socket.local_addr()?;
        let room = Arc::new(Semaphore::new(settings.connections.clamp(1, Semaphore::MAX_PERMITS)));
        Ok(Self { socket, address, room, shared: Shared::new(settings, tls) })
    }

    /// The address bound, with the port the system chose if none was asked for.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// What all connections have in common.
    #[must_use]
    pub const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The drain that a stop waits for.
    #[must_use]
    pub fn drain(&self) -> Drain {
        self.shared.drain().clone()
    }

    /// Serves until `stop`, then until the last client is gone or the deadlines of the settings have passed.
    pub async fn run<H: Handler>(self, handler: H, stop: impl Future<Output = ()>) -> Drained {
        let drain = self.drain();
        let Settings { drain: patience, grace, .. } = *self.shared.settings();
        tokio::select! {
            biased;
            () = stop => {}
            never = self.accept_for_ever(&handler) => match never {},
        }
        drain.advance(Phase::Draining);
        let deadline = Instant::now() + patience;
        let own = self.address.ip().to_canonical();
        if own.is_loopback() || own.is_unspecified() {
            tokio::select! {
                biased;
                () = sleep_until(deadline) => {}
                () = self.accept_while_any(&handler) => {}
            }
        }
        self.accept_waiting(&handler).await;
        drop(self);
        // On other addresses this is where the time until the deadline is spent.
        tokio::select! {
            biased;
            () = drain.empty() => {}
            () = sleep_until(deadline) => {}
        }
        drain.advance(Phase::Closing);
        let _ = timeout(grace, drain.empty()).await;
        let cut = drain.guards();
        drain.advance(Phase::Cut);
        let _ = timeout(LAST_MOMENT, drain.empty()).await;
        Drained { cut }
    }

    async fn accept_for_ever<H: Handler>(&self, handler: &H) -> Infallible {
        loop {
            self.accept(handler).await;
        }
    }

    /// Accepts as long as anybody is connected. Whoever waits to be accepted counts.
    async fn accept_while_any<H: Handler>(&self, handler: &H) {
        loop {
            tokio::select! {
                biased;
                () = self.accept(handler) => {}
                () = self.shared.drain().empty() => return,
            }
        }
    }

    /// Accepts those the system has already let in: to them we are connected, and closing would reset them.
    async fn accept_waiting<H: Handler>(&self, handler: &H) {
        while let Some(accepted) = poll_fn(|cx| match self.socket.poll_accept(cx) {
            Poll::Ready(Ok(accepted)) => Poll::Ready(Some(accepted)),
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
        })
        .await
        {
            self.serve(accepted, handler, None);
        }
    }

    async fn accept<H: Handler>(&self, handler: &H) {
        let permit = self.room.clone().acquire_owned().await.ok();
        match self.socket.accept().await {
            Ok(accepted) => self.serve(accepted, handler, permit),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                sleep(EXHAUSTED).await;
            }
        }
    }

    fn serve<H: Handler>(
        &self,
        (io, peer): (TcpStream, SocketAddr),
        handler: &H,
        permit: Option<tokio::sync::OwnedSemaphorePermit>,
    ) {
        // Fails only if the client is already gone.
        let Ok(local) = io.local_addr() else { return };
        let _ = io.set_nodelay(true);
        let serving = serve_io(io, Entrance::new(peer, local), self.shared.clone(), handler.clone());
        tokio::spawn(async move {
            let _room = permit;
            serving.await
        });
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
