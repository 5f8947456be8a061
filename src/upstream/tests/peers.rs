//! The other ends of the pipes.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::*;

pub(super) type Doing<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(super) struct Ca {
    pub(super) certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

pub(super) fn ca() -> &'static Ca {
    static CA: OnceLock<Ca> = OnceLock::new();
    CA.get_or_init(|| {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Ca { certificate, issuer: Issuer::new(params, key) }
    })
}

pub(super) async fn accept(
    name: &str,
    alpn: &[&str],
    io: DuplexStream,
) -> io::Result<TlsStream<DuplexStream>> {
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &ca().issuer).unwrap();
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
    config.alpn_protocols = alpn.iter().map(|word| word.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config)).accept(io).await
}

/// What a peer answers, or what it does to a connection it accepted. Cheap to copy.
pub(super) type Service = Arc<dyn Fn(Request<Incoming>) -> Doing<Response<Body>> + Send + Sync>;

pub(super) fn service<F>(answer: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Service
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    Arc::new(move |request| Box::pin(answer(request)))
}

/// A peer that speaks HTTP/1.1 in the clear.
pub(super) fn one(service: &Service, io: DuplexStream) -> Dialled {
    let service = service.clone();
    Dialled::Peer(Box::pin(async move { serve_one(service, io).await }))
}

pub(super) async fn serve_one(service: Service, io: impl Pipe + 'static) {
    let answering = service_fn(move |request| {
        let answer = service(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), answering).await;
}

/// A peer that speaks HTTP/2 over TLS.
pub(super) fn two(service: &Service, io: DuplexStream) -> Dialled {
    let service = service.clone();
    Dialled::Peer(Box::pin(async move {
        let io = accept("arm.test", &["h2"], io).await.unwrap();
        let answering = service_fn(move |request| {
            let answer = service(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .max_concurrent_streams(1000)
            .serve_connection(TokioIo::new(io), answering)
            .await;
    }))
}

pub(super) fn over(url: &str, service: &Service, io: DuplexStream) -> Dialled {
    if url == ONE { one(service, io) } else { two(service, io) }
}

/// A peer that speaks HTTP/2 over TLS frame by frame.
pub(super) fn frames<F>(
    io: DuplexStream,
    act: impl FnOnce(h2::server::Connection<TlsStream<DuplexStream>, Bytes>) -> F + Send + 'static,
) -> Dialled
where
    F: Future<Output = ()> + Send + 'static,
{
    Dialled::Peer(Box::pin(async move {
        let io = accept("arm.test", &["h2"], io).await.unwrap();
        act(h2::server::handshake(io).await.unwrap()).await;
    }))
}

/// A peer that writes bytes.
pub(super) fn bytes<F>(io: DuplexStream, act: impl FnOnce(DuplexStream) -> F + Send + 'static) -> Dialled
where
    F: Future<Output = ()> + Send + 'static,
{
    Dialled::Peer(Box::pin(act(io)))
}

/// Reads until the blank line behind a head.
pub(super) async fn read_head(io: &mut DuplexStream) -> String {
    use tokio::io::AsyncReadExt;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match io.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}
