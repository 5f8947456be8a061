//! A few smoke tests on real sockets, in real time: everything else runs in memory.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::clock::{Clock, Wall};
use armshield::listen::tls;
use armshield::policy::Policy;
use armshield::upstream::Target;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::arm::Arm;
use crate::support::sockets::{Line, Running, within};
use crate::support::tokens::EPOCH;
use crate::support::{Call, Reply, World};

const VM: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01";
const VMS: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01";
const LINK: &str = "https://management.azure.com/next?$skiptoken=a";

/// A certificate authority of one's own.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for localhost and its key.
    fn leaf(&self) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        (CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap(), key)
    }

    fn certificate(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A client that trusts it.
    async fn connect(&self, io: TcpStream, alpn: &str) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let io = TlsConnector::from(Arc::new(config)).connect(name, io).await.unwrap();
        assert_eq!(io.get_ref().1.alpn_protocol(), Some(alpn.as_bytes()));
        io
    }
}

fn answers(call: &Call) -> Reply {
    match call.path().ends_with("virtualMachines") {
        true => Reply::ok(format!(r#"{{"value":[],"nextLink":"{LINK}"}}"#)),
        false => Reply::ok(format!(r#"{{"id":"{}","etag":"\"1\""}}"#, call.path())),
    }
}

/// What every client gets, whatever it speaks.
async fn check(running: &Running, mut line: Line, scheme: &str) {
    let authority = format!("localhost:{}", running.address.port());
    let client = running.world.client("a").dialling(&authority);
    let base = match &line {
        Line::One(_) => String::new(),
        Line::Two(_) => format!("{scheme}://{authority}"),
    };
    let request = |method: &str, target: &str| {
        let mut request = client.request(method, &format!("{base}{target}"));
        if !base.is_empty() {
            request.headers_mut().unwrap().remove("host");
        }
        request
    };
    let mut ask =
        async |method: &str, target: &str| within(5, line.ask(request(method, target), "")).await.unwrap();
    // Another client may have read it before; after a write it has to be asked for.
    assert_eq!(ask("PUT", VM).await.status, 200);
    let first = ask("GET", VM).await;
    assert_eq!((first.status, first.is_hit()), (200, false), "{}", first.cache());
    let second = ask("GET", VM).await;
    assert!(second.is_hit(), "{}", second.cache());
    assert_eq!(second.body, first.body);
    let next = ask("GET", VMS).await.json()["nextLink"].as_str().unwrap().to_owned();
    assert_eq!(next, format!("{scheme}://{authority}/next?$skiptoken=a"));
}

#[tokio::test]
async fn plain_http_of_both_versions() {
    let running = Running::new(World::new(answers), None, |_| {}).await;
    check(&running, running.connect().await, "http").await;
    check(&running, Line::http2(running.dial().await).await, "http").await;
}

#[tokio::test]
async fn tls_from_files_with_both_versions() {
    let authority = Authority::new();
    let (certificate, key) = authority.leaf();
    let folder = tempfile::tempdir().unwrap();
    let (chain, private) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    fs::write(&chain, certificate.pem()).unwrap();
    fs::write(&private, key.serialize_pem()).unwrap();
    let config = tls::from_files(&chain, &private).unwrap();
    let running = Running::new(World::new(answers), Some(config), |_| {}).await;
    let secure = async |alpn| authority.connect(running.dial().await, alpn).await;
    check(&running, Line::http1(secure("http/1.1").await).await, "https").await;
    check(&running, Line::http2(secure("h2").await).await, "https").await;
    // The same port.
    check(&running, running.connect().await, "http").await;
}

/// A TLS server on a socket that says how it was asked.
async fn secure_arm(authority: &Authority, alpn: &[&str]) -> (u16, Arc<Mutex<Vec<String>>>) {
    let (certificate, key) = authority.leaf();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
    config.alpn_protocols = alpn.iter().map(|word| word.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let journal = asked.clone();
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            let (acceptor, journal) = (acceptor.clone(), journal.clone());
            tokio::spawn(async move {
                // A client that does not trust it hangs up.
                let Ok(io) = acceptor.accept(io).await else { return };
                let http2 = io.get_ref().1.alpn_protocol() == Some(b"h2");
                let service = service_fn(move |request: Request<Incoming>| {
                    let journal = journal.clone();
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await?.to_bytes();
                        let authority = head.uri.authority().map(ToString::to_string);
                        let host = head.headers.get("host").map(|host| host.to_str().unwrap().to_owned());
                        let authority = authority.or(host).unwrap_or_default();
                        let said = format!("{:?} {} {authority} {}", head.version, head.method, body.len());
                        journal.lock().unwrap().push(said);
                        let answer = Response::builder().header("content-type", "application/json");
                        Ok::<_, hyper::Error>(
                            answer.body(Full::new(bytes::Bytes::from_static(b"{}"))).unwrap(),
                        )
                    }
                });
                let io = TokioIo::new(io);
                let _ = match http2 {
                    true => {
                        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(io, service)
                            .await
                    }
                    false => hyper::server::conn::http1::Builder::new().serve_connection(io, service).await,
                };
            });
        }
    });
    (port, asked)
}

/// armshield before ARM at this port of localhost, over TLS.
async fn before(port: u16, ca: Vec<CertificateDer<'static>>) -> Running {
    let clock = Clock::tokio(Wall::from_unix(EPOCH));
    let connect = Arc::new(armshield::upstream::Settings::default().connector());
    let endpoint = Target::from_url(&format!("https://localhost:{port}")).unwrap();
    let proxy = World::proxy(
        clock,
        Policy::default(),
        |settings| {
            settings.endpoint = endpoint;
            settings.upstream.ca = ca;
            settings.upstream.connect = Duration::from_secs(5);
        },
        connect,
    );
    let nobody = Arm::new(clock, |call| panic!("the scripted ARM was asked: {call:?}"));
    Running::new(World::around(clock, nobody, proxy), None, |_| {}).await
}

#[tokio::test]
async fn arm_behind_a_private_authority() {
    for (alpn, version) in [(&["h2", "http/1.1"][..], Version::HTTP_2), (&["http/1.1"], Version::HTTP_11)] {
        let authority = Authority::new();
        let (port, asked) = secure_arm(&authority, alpn).await;
        let running = before(port, vec![authority.certificate()]).await;
        let client = running.world.client("a");
        let mut line = running.connect().await;
        for (method, body) in [("GET", ""), ("PUT", r#"{"location":"eastus"}"#)] {
            let answer = within(10, line.ask(client.request(method, VM), body)).await.unwrap();
            assert_eq!((answer.status, answer.text()), (200, "{}"), "{method}");
            let said = asked.lock().unwrap().pop().unwrap();
            assert_eq!(said, format!("{version:?} {method} localhost:{port} {}", body.len()));
        }
    }
}

#[tokio::test]
async fn an_arm_that_nobody_vouches_for_is_told_nothing() {
    let (port, asked) = secure_arm(&Authority::new(), &["h2"]).await;
    for ca in [Vec::new(), vec![Authority::new().certificate()]] {
        let running = before(port, ca).await;
        let request = running.world.client("a").request("GET", VM);
        let answer = within(10, running.connect().await.ask(request, "")).await.unwrap();
        assert_eq!((answer.status, answer.header("x-ms-failure-cause")), (502, Some("armshield")));
        assert!(answer.json()["error"]["message"].is_string(), "{}", answer.text());
    }
    assert!(asked.lock().unwrap().is_empty());
}
