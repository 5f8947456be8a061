//! TLS towards upstreams: who is trusted, and which protocols are offered.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::connect::Io;
use crate::body::BodyError;

/// A certificate of `upstream.ca` that is none.
#[derive(Debug, Clone, thiserror::Error)]
#[error("certificate {number} of the upstream CA certificates is not valid: {reason}")]
pub struct NotACertificate {
    /// Which one, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// The protocols offered, by preference (RFC 7301).
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Trusts the roots browsers trust and `extra` ones, named provider and all, so that nothing else in the
/// process can change what is trusted.
pub(super) fn connector(extra: &[CertificateDer<'static>]) -> Result<TlsConnector, NotACertificate> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for (index, certificate) in extra.iter().enumerate() {
        let invalid = |error: rustls::Error| NotACertificate { number: index + 1, reason: error.to_string() };
        roots.add(certificate.clone()).map_err(invalid)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).into();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Shakes hands with whoever must be `host`.
pub(super) async fn handshake(tls: &TlsConnector, host: &str, io: Io) -> Result<TlsStream<Io>, BodyError> {
    let name = ServerName::try_from(host.to_owned())?;
    Ok(tls.connect(name, io).await?)
}

/// Whether the peer chose HTTP/2.
pub(super) fn chose_http2(stream: &TlsStream<Io>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(ALPN[0])
}
