//! The origin: as much of ARM as the measurements need, which counts what it is asked.
//!
//! A group's name says how long it takes. `GET /calls` tells how many calls there were, and is none itself.
//! Whoever begins with a TLS handshake is spoken to in HTTP/2, everybody else in HTTP/1.1.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use super::Outcome;
use super::bare::stamp;
use super::content::{self, Set, Sets};
use super::secure::Files;

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;

/// What the stand-in for ARM is known by.
#[derive(Debug, Args)]
pub(crate) struct Identity {
    #[arg(long)]
    certificate: PathBuf,
    #[arg(long)]
    key: PathBuf,
}

#[derive(Debug)]
struct Origin {
    calls: AtomicU64,
    sets: Sets,
    list: Bytes,
    headers: HeaderMap,
}

impl Origin {
    async fn answer(self: Arc<Self>, path: String) -> Result<Response<Full<Bytes>>, Infallible> {
        if path == "/calls" {
            let calls = self.calls.load(Ordering::SeqCst).to_string();
            return Ok(Response::new(Full::new(calls.into())));
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        let Some(set) = Set::of_path(&path) else {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        };
        let is_list = path.ends_with("/virtualMachines");
        let body = if is_list { self.list.clone() } else { self.sets.body(set).into() };
        let mut response = Response::new(Full::new(body));
        self.headers.clone_into(response.headers_mut());
        if is_list {
            // ARM gives lists no ETag.
            response.headers_mut().remove("etag");
        }
        if set.delay > 0 {
            sleep(Duration::from_millis(set.delay.into())).await;
            stamp(response.headers_mut());
        }
        Ok(response)
    }

    async fn talk(self: Arc<Self>, stream: TcpStream, acceptor: TlsAcceptor) -> Outcome<()> {
        stream.set_nodelay(true)?;
        let service = service_fn(move |request: Request<Incoming>| {
            self.clone().answer(request.uri().path().to_owned())
        });
        let mut first = [0];
        stream.peek(&mut first).await?;
        if first[0] == HANDSHAKE {
            let stream = TokioIo::new(acceptor.accept(stream).await?);
            http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await?;
        } else {
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?;
        }
        Ok(())
    }
}

/// Serves until the process ends.
pub(crate) async fn serve(identity: Identity) -> Outcome<()> {
    let Identity { certificate, key } = identity;
    let acceptor = TlsAcceptor::from(Arc::new(Files { certificate, key }.server()?));
    let (calls, sets) = (AtomicU64::new(0), Sets::new());
    let origin = Arc::new(Origin { calls, sets, list: content::list(), headers: content::whole() });
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    say_ready(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(origin.clone().talk(stream, acceptor.clone()));
    }
}

/// The line whoever started this process waits for.
pub(crate) fn say_ready(address: SocketAddr) {
    eprintln!("listening on {address}");
}

/// How many calls an origin has had.
pub(crate) async fn calls(origin: SocketAddr) -> Outcome<u64> {
    let mut stream = TcpStream::connect(origin).await?;
    stream.write_all(b"GET /calls HTTP/1.1\r\nhost: origin\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, count) = answer.rsplit_once("\r\n\r\n").ok_or("the origin does not tell its calls")?;
    Ok(count.parse()?)
}
