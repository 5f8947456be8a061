//! HTTP/1.1 and HTTP/2 over any pipe, and over TCP for the command.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::Simulator;
use super::front::{Cut, Line};
use super::payload::Payload;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD: usize = 1024 * 1024;
/// Small pipes lock up when one task drives both ends and bodies are large.
pub(crate) const PIPE: usize = 64 * 1024;

impl Simulator {
    /// Speaks HTTP on one connection until it ends: HTTP/2 if it begins with its preface, else HTTP/1.1.
    ///
    /// A call is carried out to its end though its client goes away.
    pub async fn serve_io<IO>(&self, io: IO)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let simulator = self.clone();
        let line = Line { number: self.next_connection(), breaker: Some(Arc::new(Notify::new())) };
        connection(io, line, move |request| {
            let simulator = simulator.clone();
            async move { simulator.handle(request).await }
        })
        .await;
    }

    /// Opens a connection in memory; what is returned is the client's end.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn dial(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(PIPE);
        let simulator = self.clone();
        tokio::spawn(async move { simulator.serve_io(server).await });
        client
    }

    /// Serves all connections of a listener, for ever.
    ///
    /// # Errors
    ///
    /// Whatever ends the listener.
    pub async fn serve_tcp(&self, listener: TcpListener) -> io::Result<()> {
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let simulator = self.clone();
            tokio::spawn(async move { simulator.serve_io(socket).await });
        }
    }

    /// Listens, says so on standard error, and serves for ever.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound, or the listener ends.
    #[expect(clippy::print_stderr, reason = "the ready line of the command")]
    pub async fn listen(&self, address: SocketAddr) -> io::Result<()> {
        let listener = TcpListener::bind(address).await?;
        eprintln!("arm-simulator listening on {}", listener.local_addr()?);
        self.serve_tcp(listener).await
    }
}

/// Speaks HTTP on one connection. Each call runs in its own task, so that it ends though its client leaves.
pub(crate) async fn connection<IO, H, F>(mut io: IO, line: Line, handle: H)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Response<Payload>, Cut>> + Send + 'static,
{
    let Ok(first) = sniff(&mut io).await else { return };
    let h2 = first.starts_with(PREFACE);
    let io = TokioIo::new(Rewound { first, io });
    let breaker = line.breaker.clone().unwrap_or_default();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(line.clone());
        let task = tokio::spawn(handle(request));
        async move { task.await.unwrap_or(Err(Cut)) }
    });
    let serving = async {
        if h2 {
            let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new());
            builder.max_header_list_size(u32::try_from(HEAD).unwrap_or(u32::MAX));
            builder.initial_stream_window_size(1 << 20).initial_connection_window_size(1 << 24);
            builder.max_concurrent_streams(1000);
            let _ended = builder.serve_connection(io, service).await;
        } else {
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.half_close(true).max_buf_size(HEAD).max_headers(1000);
            let _ended = builder.serve_connection(io, service).await;
        }
    };
    tokio::select! {
        biased;
        () = breaker.notified() => {}
        () = serving => {}
    }
}

/// Reads just enough to tell the protocols apart.
async fn sniff<IO: AsyncRead + Unpin>(io: &mut IO) -> io::Result<Bytes> {
    let mut first = Vec::with_capacity(PREFACE.len());
    while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
        let mut rest = [0; PREFACE.len()];
        let room = PREFACE.len() - first.len();
        let count = io.read(&mut rest[..room]).await?;
        if count == 0 {
            break;
        }
        first.extend_from_slice(&rest[..count]);
    }
    Ok(first.into())
}

pin_project! {
    /// A connection some bytes of which were already read.
    struct Rewound<IO> {
        first: Bytes,
        #[pin]
        io: IO,
    }
}

impl<IO: AsyncRead> AsyncRead for Rewound<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        if this.first.is_empty() {
            return this.io.poll_read(cx, buffer);
        }
        let count = this.first.len().min(buffer.remaining());
        buffer.put_slice(&this.first[..count]);
        this.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite> AsyncWrite for Rewound<IO> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.project().io.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(ready!(self.project().io.poll_shutdown(cx)))
    }
}
