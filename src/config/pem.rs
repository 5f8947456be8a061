//! Certificates and keys in files.

use std::fs;
use std::path::PathBuf;

use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use toml::Spanned;

use super::BadConfiguration;
use super::configuration::Tls;
use super::document::Document;

/// Reads a certificate chain, the leaf first, and its key (PKCS #8, PKCS #1 or SEC 1).
pub(super) fn identity(
    certificate: &Spanned<PathBuf>,
    key: &Spanned<PathBuf>,
    document: &Document<'_>,
) -> Result<Tls, BadConfiguration> {
    let chain = certificates(certificate, document)?;
    let pem = read(key, document)?;
    let secret = PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| document.bad_value(key, format!("no private key in {}", shown(key, document))))?;
    CertifiedKey::from_der(chain.clone(), secret.clone_key(), &aws_lc_rs::default_provider())
        .map_err(|error| document.bad_value(key, format!("of no use with the certificate: {error}")))?;
    Ok(Tls { chain, key: secret })
}

/// Reads certificates to be trusted.
pub(super) fn roots(
    file: &Spanned<PathBuf>,
    document: &Document<'_>,
) -> Result<Vec<CertificateDer<'static>>, BadConfiguration> {
    let certificates = certificates(file, document)?;
    let mut roots = RootCertStore::empty();
    for (index, certificate) in certificates.iter().enumerate() {
        roots.add(certificate.clone()).map_err(|error| {
            let shown = shown(file, document);
            document.bad_value(file, format!("certificate {} in {shown} cannot be used: {error}", index + 1))
        })?;
    }
    Ok(certificates)
}

/// At least one.
fn certificates(
    file: &Spanned<PathBuf>,
    document: &Document<'_>,
) -> Result<Vec<CertificateDer<'static>>, BadConfiguration> {
    let pem = read(file, document)?;
    let bad = |what: &str| document.bad_value(file, format!("{what} in {}", shown(file, document)));
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match read {
        Ok(certificates) if certificates.is_empty() => Err(bad("no certificate")),
        Ok(certificates) => Ok(certificates),
        Err(_) => Err(bad("broken PEM")),
    }
}

fn read(file: &Spanned<PathBuf>, document: &Document<'_>) -> Result<Vec<u8>, BadConfiguration> {
    let failed = |error| document.bad_value(file, format!("{}: {error}", shown(file, document)));
    fs::read(document.path(file.get_ref())).map_err(failed)
}

fn shown(file: &Spanned<PathBuf>, document: &Document<'_>) -> String {
    document.path(file.get_ref()).display().to_string()
}
