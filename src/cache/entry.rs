//! An answer kept: ARM's bytes, what they depend on, and to whom they were shown.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::arm::Document;
use crate::arm::headers::{CACHE_STATUS, is_of_one_exchange};
use crate::policy::Family;
use crate::scopes::{Sent, Stamp};

/// How many clients an entry remembers having been shown to; every further one counts as having seen it.
const SHOWN: usize = 64;

/// What an answer consists of. Debug output shows neither headers nor body.
#[derive(Clone)]
pub struct Parts {
    /// Its status.
    pub status: StatusCode,
    /// ARM's headers that [`lasting`] keeps.
    pub headers: HeaderMap,
    /// ARM's bytes, decoded.
    pub body: Bytes,
    /// The body, understood, where it is a document.
    pub document: Option<Arc<Document>>,
    /// The path asked for, canonical.
    pub path: Arc<str>,
    /// The family asked for.
    pub family: Family,
    /// When its fetch was sent.
    pub sent: Sent,
    /// What it depends on.
    pub stamp: Stamp,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("status", &self.status)
            .field("path", &self.path)
            .field("bytes", &self.body.len())
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

/// An answer that may be given again.
#[derive(Debug)]
pub struct Entry {
    /// What it consists of.
    pub parts: Parts,
    serial: u64,
    shown: Mutex<Vec<u128>>,
}

impl Entry {
    /// An answer nobody was shown yet.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        Self { parts, serial: SERIAL.fetch_add(1, Ordering::Relaxed), shown: Mutex::default() }
    }

    /// Tells entries apart that have the same key.
    pub(super) const fn serial(&self) -> u64 {
        self.serial
    }

    /// Notes that a client is being shown this entry.
    pub fn show(&self, client: u128) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() < SHOWN && !shown.contains(&client) {
            shown.push(client);
        }
    }

    /// Whether a client was shown this entry, or may have been.
    #[must_use]
    pub fn was_shown(&self, client: u128) -> bool {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.len() >= SHOWN || shown.contains(&client)
    }

    /// How many clients are remembered as having been shown it; no more are told apart than so many.
    #[must_use]
    pub fn viewers(&self) -> usize {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether a change to something it shows is under way.
    #[must_use]
    pub fn in_progress(&self) -> bool {
        self.parts.document.as_ref().is_some_and(|document| document.in_progress())
    }

    /// The memory it takes, in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let headers: usize =
            self.parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 64).sum();
        let document = self.parts.document.as_ref().map_or(0, |document| document.weight());
        1024 + headers + self.parts.body.len() + document
    }
}

/// The headers of an answer that may be given to somebody else later: without those of one exchange, copied out
/// of the buffer they were read into, and with places for `Age` and `Cache-Status`, so that a copy of them need
/// not grow to say both.
#[must_use]
pub fn lasting(headers: &HeaderMap) -> HeaderMap {
    let mut lasting = HeaderMap::with_capacity(headers.len() + 2);
    lasting.insert(header::AGE, HeaderValue::from_static(""));
    lasting.insert(CACHE_STATUS, HeaderValue::from_static(""));
    for (name, value) in headers.iter().filter(|(name, _)| !is_of_one_exchange(name)) {
        lasting.append(own_name(name), own_value(value));
    }
    lasting
}

fn own_name(name: &HeaderName) -> HeaderName {
    HeaderName::from_bytes(name.as_str().as_bytes()).unwrap_or_else(|_| name.clone())
}

fn own_value(value: &HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone())
}
