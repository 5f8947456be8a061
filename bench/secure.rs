//! HTTP/2 over TLS, as the real ARM is reached: the origin's certificate, and a client of hyper's.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake3::Hasher;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Outcome;
use super::wire::{Answer, Said};

/// A certificate for 127.0.0.1 and its key, in files.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Files {
    pub(crate) fn make(folder: &Path) -> Outcome<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let files = Self { certificate: folder.join("origin.crt"), key: folder.join("origin.key") };
        std::fs::write(&files.certificate, made.cert.pem())?;
        std::fs::write(&files.key, made.signing_key.serialize_pem())?;
        Ok(files)
    }

    /// For the origin: HTTP/2 and nothing else.
    pub(crate) fn server(&self) -> Outcome<ServerConfig> {
        let chain = vec![CertificateDer::from_pem_file(&self.certificate)?];
        let key = PrivateKeyDer::from_pem_file(&self.key)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }

    /// Connects to the origin.
    pub(crate) async fn connect(&self, address: SocketAddr) -> Outcome<SendRequest<Empty<Bytes>>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.certificate)?)?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(address.ip().into());
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// Asks and reads the answer to its end.
pub(crate) async fn exchange(
    sender: &mut SendRequest<Empty<Bytes>>,
    message: http::Request<Empty<Bytes>>,
    digest: bool,
) -> Outcome<Answer> {
    sender.ready().await?;
    let answer = sender.send_request(message).await?;
    let status = answer.status().as_u16();
    let said = answer
        .headers()
        .get("cache-status")
        .map_or(Ok(Said::Nothing), |value| value.to_str().map(Said::of))?;
    let body = answer.into_body().collect().await?.to_bytes();
    let digest = digest.then(|| Hasher::new().update(&body).finalize());
    Ok(Answer { status, length: body.len(), said, answered: None, digest })
}
