//! What a client asks, as bytes, and what it has to be answered.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hash;
use bytes::Bytes;
use http_body_util::Empty;

use super::Outcome;
use super::content::{POINT, Set, Sets};

/// The fields `az` sends. armshield shows it answers up to 15 s old, and repeats them.
const FIELDS: [(&str, &str); 4] = [
    ("user-agent", "AZURECLI/2.80.0 azsdk-python-core/1.35.0 Python/3.12.10 (Linux-6.8.0-azure-x86_64)"),
    ("accept", "*/*"),
    ("accept-encoding", "gzip, deflate"),
    ("x-ms-client-request-id", "9f1d0a4e-2f53-11f0-9c2d-0242ac120002"),
];

/// A request for a path, as bytes; `more` are further lines.
pub(crate) fn request(address: SocketAddr, target: &str, token: &str, more: &str) -> Vec<u8> {
    let fields: String = FIELDS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("GET {target} HTTP/1.1\r\nhost: {address}\r\n{fields}authorization: Bearer {token}\r\n{more}\r\n")
        .into_bytes()
}

/// Where questions come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Always the same one.
    Same { request: Vec<u8>, length: usize, digest: Hash },
    /// A set nobody has asked for before.
    New { address: SocketAddr, token: String, sets: Sets, next: AtomicU64 },
}

impl Source {
    /// The same question again and again.
    pub(crate) fn same(request: Vec<u8>, body: &[u8]) -> Self {
        Self::Same { request, length: body.len(), digest: blake3::hash(body) }
    }

    /// Sets from `first` on.
    pub(crate) fn new_sets(address: SocketAddr, token: &str, first: u64) -> Self {
        Self::New { address, token: token.to_owned(), sets: Sets::new(), next: AtomicU64::new(first) }
    }

    /// The number of the next question.
    pub(crate) fn take(&self) -> u64 {
        match self {
            Self::Same { .. } => 0,
            Self::New { next, .. } => next.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Writes the question over the one before it.
    pub(crate) fn write(&self, number: u64, into: &mut Vec<u8>) {
        match self {
            Self::Same { request, .. } if into.len() == request.len() => {}
            Self::Same { request, .. } => request.clone_into(into),
            Self::New { address, token, .. } => {
                *into = request(*address, &Set { delay: 0, number }.target(), token, "");
            }
        }
    }

    /// The same question for a client that is hyper's.
    pub(crate) fn message(&self, number: u64) -> Outcome<http::Request<Empty<Bytes>>> {
        let Self::New { address, token, .. } = self else {
            return Err("only questions for new sets are asked over TLS".into());
        };
        let target = Set { delay: 0, number }.target();
        let fields = FIELDS.iter().copied();
        let begun = http::Request::get(format!("https://{address}{target}"));
        let filled = fields.fold(begun, |request, (name, value)| request.header(name, value));
        Ok(filled.header("authorization", format!("Bearer {token}")).body(Empty::new())?)
    }

    pub(crate) const fn length(&self) -> usize {
        match self {
            Self::Same { length, .. } => *length,
            Self::New { .. } => POINT,
        }
    }

    pub(crate) fn digest(&self, number: u64) -> Hash {
        match self {
            Self::Same { digest, .. } => *digest,
            Self::New { sets, .. } => sets.digest(Set { delay: 0, number }),
        }
    }
}
