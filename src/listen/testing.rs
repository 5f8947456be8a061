//! What the room's tests share: a handler that tells what it was asked, and clients.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Connection, Ending, Entrance, Handler, Settings, Shared, serve_io, tls};
use crate::body::Body;

/// Answers with a line about the request. `/slow/N` takes N seconds, `/big/N` answers N bytes, `/trickle/N`
/// N bytes, one a second, `/early` does not read the body.
#[derive(Debug, Clone, Default)]
pub(super) struct Echo {
    pub(super) asked: Arc<AtomicUsize>,
    pub(super) answered: Arc<AtomicUsize>,
}

impl Handler for Echo {
    type Memory = ();

    async fn handle(&self, request: Request<Incoming>, connection: Arc<Connection<()>>) -> Response<Body> {
        self.asked.fetch_add(1, Relaxed);
        let path = request.uri().path().to_owned();
        let number = |prefix: &str| path.strip_prefix(prefix).map(|number| number.parse::<usize>().unwrap());
        if let Some(seconds) = number("/slow/") {
            sleep(Duration::from_secs(seconds as u64)).await;
        }
        let body = if let Some(bytes) = number("/big/") {
            Body::full(vec![b'x'; bytes])
        } else if let Some(pieces) = number("/trickle/") {
            Body::stream(Trickle::new(pieces))
        } else if path == "/early" {
            Body::full("early")
        } else {
            Body::full(describe(request, &connection.entrance).await)
        };
        self.answered.fetch_add(1, Relaxed);
        Response::new(body)
    }
}

async fn describe(request: Request<Incoming>, entrance: &Entrance) -> String {
    let (head, body) = request.into_parts();
    let fields = |name: &str| head.headers.get_all(name).iter().count();
    let counts =
        format!("host={} cl={} te={}", fields("host"), fields("content-length"), fields("transfer-encoding"));
    let body = body.collect().await.map(|body| String::from_utf8(body.to_bytes().to_vec()).unwrap());
    let body = body.unwrap_or_else(|_| "broken".to_owned());
    let way = match &entrance.sni {
        Some(sni) => format!("secure {sni}"),
        None if entrance.secure => "secure".to_owned(),
        None => "plain".to_owned(),
    };
    let longest = head.headers.values().map(http::HeaderValue::len).max().unwrap_or_default();
    format!(
        "[{} {} {:?} {counts} body={body} {way} longest={longest}]",
        head.method,
        if head.uri.path().len() > 200 { "long".to_owned() } else { head.uri.to_string() },
        head.version,
    )
}

struct Trickle(mpsc::Receiver<Bytes>);

impl Trickle {
    fn new(pieces: usize) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            for _ in 0..pieces {
                sleep(Duration::from_secs(1)).await;
                if sender.send(Bytes::from_static(b"x")).await.is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }
}

impl http_body::Body for Trickle {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Settings for paused time: pings would advance it in hops.
pub(super) fn settings() -> Settings {
    Settings { ping: None, ..Settings::default() }
}

/// A connection served in memory.
pub(super) struct Served {
    pub(super) io: DuplexStream,
    pub(super) ending: JoinHandle<Ending>,
    pub(super) echo: Echo,
}

pub(super) fn served(entrance: Entrance, shared: &Arc<Shared>) -> Served {
    let (io, far) = duplex(64 * 1024);
    let echo = Echo::default();
    let ending = tokio::spawn(serve_io(far, entrance, shared.clone(), echo.clone()));
    Served { io, ending, echo }
}

/// What was answered to raw bytes until the connection was closed, and how long that took.
pub(super) struct Heard {
    pub(super) text: String,
    pub(super) after: Duration,
    pub(super) ending: Ending,
}

impl Heard {
    /// The status of each answer. Bodies begin with a bracket, so that they cannot look like one.
    pub(super) fn statuses(&self) -> Vec<u16> {
        let lines = self.text.lines().flat_map(|line| line.split("HTTP/1.").skip(1));
        lines.filter_map(|line| line.get(2..5)?.parse().ok()).collect()
    }
}

pub(super) async fn talk(raw: &[u8], shared: &Arc<Shared>) -> Heard {
    let start = Instant::now();
    let served = served(Entrance::in_memory(), shared);
    let (mut read, mut write) = tokio::io::split(served.io);
    let raw = raw.to_vec();
    let writer = tokio::spawn(async move {
        // Fails when the server has heard enough.
        let _ = write.write_all(&raw).await;
        write
    });
    let mut text = Vec::new();
    let _ = read.read_to_end(&mut text).await;
    let after = start.elapsed();
    drop((read, writer.await.unwrap()));
    Heard { text: String::from_utf8_lossy(&text).into_owned(), after, ending: served.ending.await.unwrap() }
}

/// Reads one answer with a `content-length` and returns it whole.
pub(super) async fn answer(io: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    loop {
        let read = io.read_u8().await.unwrap_or_else(|error| panic!("{error} after {text:?}"));
        text.push(read);
        if text.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    let head = String::from_utf8(text).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().unwrap()];
    io.read_exact(&mut body).await.unwrap();
    head + &String::from_utf8(body).unwrap()
}

pub(super) type Sender = http2::SendRequest<Empty<Bytes>>;

/// An HTTP/2 client that knows its server speaks it.
pub(super) async fn http2_client<I>(io: I) -> Sender
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .max_header_list_size(1 << 20)
        .handshake(TokioIo::new(io))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

/// A GET's status and body, or what went wrong.
pub(super) async fn get(sender: &mut Sender, url: &str) -> Result<(u16, String), hyper::Error> {
    let request = Request::get(url).body(Empty::new()).unwrap();
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(body.to_vec()).unwrap()))
}

/// A certificate for `localhost` and `127.0.0.1`, for the server and for the client that trusts it.
pub(super) struct Made {
    pub(super) certificate: String,
    pub(super) key: String,
    der: CertificateDer<'static>,
    key_der: PrivatePkcs8KeyDer<'static>,
}

impl Made {
    pub(super) fn new() -> Self {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Self {
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
            der: made.cert.der().clone(),
            key_der: PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()),
        }
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::new(tls::server(vec![self.der.clone()], self.key_der.clone_key().into()).unwrap())
    }

    pub(super) async fn connect<I>(&self, io: I, name: &str, alpn: &[&str]) -> TlsStream<I>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, io).await.unwrap()
    }
}
