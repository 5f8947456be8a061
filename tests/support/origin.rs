//! An upstream of raw bytes, for what no well-behaved server writes, and TLS around any upstream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use armshield::upstream::{Connect, Connecting, Io, Target};
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::TlsAcceptor;

type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;
type Serve = dyn Fn(DuplexStream) -> Serving + Send + Sync;

/// An upstream that serves its connections by a closure. Clones share everything.
#[derive(Clone)]
pub struct Origin {
    serve: Arc<Serve>,
    heard: Arc<Mutex<Vec<String>>>,
    dialled: Arc<Mutex<Vec<String>>>,
}

/// What is said to one request.
#[derive(Debug, Clone)]
pub struct Said {
    pub bytes: Vec<u8>,
    pub then: Then,
}

/// What happens to the connection after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It waits for the next request.
    Stays,
    /// It is closed at once, without a word.
    Closes,
    /// It is kept, and nothing comes any more.
    Hangs,
}

impl Said {
    pub fn new(bytes: impl Into<Vec<u8>>, then: Then) -> Self {
        Self { bytes: bytes.into(), then }
    }

    /// A JSON body with its length.
    pub fn json(status: u16, fields: &str, body: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\n{fields}content-length: {}\r\n\r\n",
            body.len()
        );
        Self::new(head + body, Then::Stays)
    }
}

impl Origin {
    /// Serves each connection by `serve`.
    pub fn serving<F>(serve: impl Fn(DuplexStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let serve: Arc<Serve> = Arc::new(move |io| Box::pin(serve(io)));
        Self { serve, heard: Arc::default(), dialled: Arc::default() }
    }

    /// Answers each whole request, given as text, by `script`.
    pub fn answering(script: impl FnMut(&str) -> Said + Send + 'static) -> Self {
        let script = Arc::new(Mutex::new(script));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let journal = heard.clone();
        let served = Self::serving(move |mut io| {
            let (script, journal) = (script.clone(), journal.clone());
            async move {
                while let Some(request) = request(&mut io).await {
                    journal.lock().unwrap().push(request.clone());
                    let said = (script.lock().unwrap())(&request);
                    if io.write_all(&said.bytes).await.is_err() {
                        return;
                    }
                    match said.then {
                        Then::Stays => {}
                        Then::Closes => return,
                        Then::Hangs => std::future::pending().await,
                    }
                }
            }
        });
        Self { heard, ..served }
    }

    /// The requests so far, as they stood on the wire.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// What was dialled so far.
    pub fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().clone()
    }
}

impl Connect for Origin {
    fn connect(&self, target: &Target) -> Connecting {
        self.dialled.lock().unwrap().push(target.to_string());
        let (ours, theirs) = duplex(64 << 10);
        tokio::spawn((self.serve)(theirs));
        Box::pin(async move { Ok(Box::new(ours) as Io) })
    }
}

/// Reads up to the end of a head; `None` if the peer leaves before.
pub async fn head(io: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(io.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Reads a request with its body.
async fn request(io: &mut DuplexStream) -> Option<String> {
    let mut text = head(io).await?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
    let mut body = Vec::new();
    if field("transfer-encoding:").is_some() {
        // With trailers the last chunk is followed by lines, else by an empty one.
        while !(body.ends_with(b"\r\n\r\n") && body.windows(3).any(|end| end == b"0\r\n")) {
            body.push(io.read_u8().await.ok()?);
        }
    } else if let Some(length) = field("content-length:") {
        body.resize(length.parse().ok()?, 0);
        io.read_exact(&mut body).await.ok()?;
    }
    text.push_str(&String::from_utf8_lossy(&body));
    Some(text)
}

/// TLS in front of an upstream, with a certificate of its own making.
#[derive(Clone)]
pub struct Secured {
    inner: Arc<dyn Connect>,
    server: Arc<ServerConfig>,
    dialled: Arc<Mutex<Vec<String>>>,
    pub certificate: CertificateDer<'static>,
}

impl Secured {
    pub fn new(inner: Arc<dyn Connect>, names: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
        Self { inner, server: Arc::new(server), dialled: Arc::default(), certificate }
    }

    /// What was dialled so far.
    pub fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().clone()
    }
}

impl Connect for Secured {
    fn connect(&self, target: &Target) -> Connecting {
        self.dialled.lock().unwrap().push(target.to_string());
        let (plain, server) = (self.inner.connect(target), self.server.clone());
        Box::pin(async move {
            let mut plain = plain.await?;
            let (ours, theirs) = duplex(64 << 10);
            tokio::spawn(async move {
                let mut secure = TlsAcceptor::from(server).accept(theirs).await?;
                tokio::io::copy_bidirectional(&mut secure, &mut plain).await?;
                io::Result::Ok(())
            });
            Ok(Box::new(ours) as Io)
        })
    }
}
