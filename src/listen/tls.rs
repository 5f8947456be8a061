//! TLS from a certificate and a key in files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The protocols offered in the handshake, the preferred one first (RFC 7301).
pub(super) const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file is missing, unreadable or not PEM.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: pem::Error,
    },
    /// The file has no certificate.
    #[error("{}: no certificate in it", .0.display())]
    NoCertificate(PathBuf),
    /// Certificate and key do not fit together, or are of a kind that is not supported.
    #[error("certificate and key are of no use: {0}")]
    Unusable(#[from] rustls::Error),
}

/// Reads a certificate chain, the leaf first, and its private key (PKCS #8, PKCS #1 or SEC 1), both PEM.
/// Blocks.
///
/// # Errors
/// When a file cannot be read, or certificate and key cannot be used.
pub fn from_files(certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Unreadable { path, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(unreadable(certificate))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(certificate.to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    Ok(server(chain, key)?)
}

/// TLS 1.2 and 1.3 with this certificate, HTTP/2 preferred, and tickets so that clients can resume.
///
/// # Errors
/// When certificate and key cannot be used.
pub fn server(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).into();
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_read_and_faults_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let made = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let (one, other) = (made("one"), made("other"));
        let certificate = write("one.pem", &one.cert.pem());
        let key = write("one.key", &one.signing_key.serialize_pem());
        let other_key = write("other.key", &other.signing_key.serialize_pem());
        let empty = write("empty.pem", "");
        let missing = folder.path().join("missing.pem");

        assert_eq!(from_files(&certificate, &key).unwrap().alpn_protocols, ALPN);
        for (certificate, key, part) in [
            (&missing, &key, "missing.pem"),
            (&certificate, &missing, "missing.pem"),
            (&empty, &key, "empty.pem: no certificate"),
            (&key, &key, "one.key: no certificate"),
            (&certificate, &empty, "empty.pem"),
            (&certificate, &certificate, "one.pem"),
            (&certificate, &other_key, "of no use"),
        ] {
            let error = from_files(certificate, key).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
