//! The guard: sets `If-Match` on writes from the version their client was shown.
//!
//! It never replaces a client's own condition and never touches creates, deletes and actions. Where more
//! than one version was shown, nothing tells yet which one a body was built on, so nothing is sent and the
//! case is reported.

mod look;
mod memory;
mod report;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::arm::document::stated_etag;
use crate::arm::{ArmPath, Document, ETag, api_version};
use crate::clock::Clock;
use crate::policy::{GuardMode, Profile};

pub use look::{Seen, Version};
use memory::Memory;
pub use memory::{Present, Question};
pub use report::{Outcome, Report};

/// The first api-version of Microsoft.Compute whose models carry entity tags
/// (Azure/azure-rest-api-specs, `ComputeRP/stable/2024-03-01`).
const FIRST_API_VERSION: &str = "2024-03-01";

/// What an operator may decide about the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most memory for versions shown, in bytes.
    pub bytes: usize,
    /// The largest request body that is read for its `etag`, in bytes.
    pub body_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { bytes: 64 << 20, body_max: 4 << 20 }
    }
}

/// Where the version of a condition comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The client set a condition itself.
    Client,
    /// The request body names it.
    Body,
    /// One version was shown to this client.
    Seen,
    /// Several were shown, and the body tells which one it was built on.
    Evidence,
    /// Several were shown, and the body does not tell.
    Ambiguous,
    /// None was shown, none is remembered, or it was of another life that had the same number.
    None,
}

impl Source {
    /// The word used in headers, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Body => "body",
            Self::Seen => "seen",
            Self::Evidence => "evidence",
            Self::Ambiguous => "ambiguous",
            Self::None => "none",
        }
    }
}

/// What the guard decided for a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Where the version comes from.
    pub source: Source,
    /// The version.
    pub etag: Option<ETag>,
    /// Whether armshield adds it as a condition.
    pub send: bool,
}

impl Choice {
    /// What may be told to one whom ARM has not let in: no version that was shown to anybody.
    #[must_use]
    pub fn to_unproven(self) -> Self {
        match self.source {
            Source::Client | Source::Body | Source::None => self,
            Source::Seen | Source::Evidence | Source::Ambiguous => Self { etag: None, ..self },
        }
    }
}

/// Who is being shown something.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// The client.
    pub client: u128,
    /// The caller it speaks for.
    pub caller: u128,
    /// What its kind of client tolerates.
    pub profile: &'a Profile,
}

/// A write to a type whose rule asks for the guard. Debug output shows neither headers nor body.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    /// Who writes.
    pub client: u128,
    /// The method.
    pub method: &'a Method,
    /// The resource.
    pub path: &'a ArmPath,
    /// The api-version, if the query names one.
    pub api_version: Option<&'a str>,
    /// The request's headers.
    pub headers: &'a HeaderMap,
    /// The request's body, unless it is too large to be read.
    pub body: Option<&'a [u8]>,
    /// How long a version shown may be the base of a write.
    pub window: Duration,
    /// What the guard may do.
    pub mode: GuardMode,
    /// The life of the resource and the version in it that armshield was last shown, if it knows them. Numbers
    /// begin anew with every life, so a version of another life with this number would hold, and mean nothing.
    pub present: Option<Present<'a>>,
}

impl fmt::Debug for Write<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("method", self.method)
            .field("path", self.path)
            .field("api_version", &self.api_version)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// What clients were shown.
#[derive(Debug)]
pub struct Guard {
    settings: Settings,
    clock: Clock,
    clients: DashMap<u128, Arc<Mutex<Memory>>>,
    bytes: AtomicUsize,
}

/// Whether a write may carry a condition at all: PUT and PATCH, from the first api-version with tags on.
#[must_use]
pub fn is_guardable(method: &Method, api_version: Option<&str>) -> bool {
    (*method == Method::PUT || *method == Method::PATCH)
        && api_version.is_some_and(|version| api_version::at_least(version, FIRST_API_VERSION))
}

impl Guard {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(settings: Settings, clock: Clock) -> Self {
        Self { settings, clock, clients: DashMap::new(), bytes: AtomicUsize::new(0) }
    }

    /// The largest request body that is read for its `etag`, in bytes.
    #[must_use]
    pub const fn body_max(&self) -> usize {
        self.settings.body_max
    }

    /// Notes that a client is being shown a document as the answer to a question.
    pub fn show(&self, viewer: &Viewer<'_>, question: &Question<'_>, document: &Arc<Document>) {
        let (memory, window) = (self.memory(viewer.client), viewer.profile.base_window);
        let (before, after) = {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            let before = memory.bytes();
            memory.belongs_to(viewer);
            memory.show(question, document, self.clock.now(), window);
            (before, memory.bytes())
        };
        self.account(before, after);
        self.make_room(window);
    }

    /// Notes that a client was shown that a resource is not there, or deleted it: its next PUT may be a create.
    pub fn end(&self, client: u128, id: &str) {
        if let Some(memory) = self.clients.get(&client).map(|memory| memory.clone()) {
            memory.lock().unwrap_or_else(PoisonError::into_inner).end(id);
        }
    }

    /// Chooses the condition of a write. No effects but on its own counters.
    #[must_use]
    pub fn choose(&self, write: &Write<'_>) -> Choice {
        let found = |source, etag: Option<ETag>, send: bool| Choice {
            source,
            etag,
            send: send && write.mode == GuardMode::Enforce,
        };
        if let Some(condition) = own_condition(write.headers) {
            return found(Source::Client, Some(condition), false);
        }
        let Some(stated) = write.body.and_then(|body| stated_etag(body).ok()) else {
            // A body that cannot be read cannot be judged: it goes out as it came.
            return found(Source::None, None, false);
        };
        if let Some(etag) = stated {
            // A tag that no header can carry is no version of ARM's.
            return match HeaderValue::from_str(etag.as_str()) {
                Ok(_) => found(Source::Body, Some(etag), true),
                Err(_) => found(Source::None, None, false),
            };
        }
        let mut shown = self.versions(write);
        match shown.len() {
            0 => found(Source::None, None, false),
            1 => found(Source::Seen, shown.pop(), true),
            _ => {
                let oldest = shown.into_iter().min_by_key(|etag| etag.counter().unwrap_or(u64::MAX));
                found(Source::Ambiguous, oldest, false)
            }
        }
    }

    fn versions(&self, write: &Write<'_>) -> Vec<ETag> {
        let Some(memory) = self.clients.get(&write.client).map(|memory| memory.clone()) else {
            return Vec::new();
        };
        let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.versions(write.path, self.clock.now(), write.window, write.present)
    }

    /// Bytes taken and clients remembered.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.bytes.load(Ordering::Relaxed), self.clients.len())
    }

    fn memory(&self, client: u128) -> Arc<Mutex<Memory>> {
        if let Some(memory) = self.clients.get(&client) {
            return memory.clone();
        }
        self.clients.entry(client).or_default().clone()
    }

    fn account(&self, before: usize, after: usize) {
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Forgets what the largest memories hold longest, marking it, until the budget suffices.
    fn make_room(&self, window: Duration) {
        while self.bytes.load(Ordering::Relaxed) > self.settings.bytes {
            let now = self.clock.now();
            let memories: Vec<_> =
                self.clients.iter().map(|memory| (*memory.key(), memory.clone())).collect();
            let largest = memories
                .into_iter()
                .max_by_key(|(_, memory)| memory.lock().unwrap_or_else(PoisonError::into_inner).bytes());
            let Some((client, memory)) = largest else { return };
            let (before, after) = {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                let before = memory.bytes();
                memory.forget_half(now, window);
                (before, memory.bytes())
            };
            self.account(before, after);
            if after >= before {
                self.clients.remove(&client);
                self.account(after, 0);
            }
        }
    }
}

fn own_condition(headers: &HeaderMap) -> Option<ETag> {
    let value = headers.get(header::IF_MATCH).or_else(|| headers.get(header::IF_NONE_MATCH))?;
    Some(ETag::from(String::from_utf8_lossy(value.as_bytes()).as_ref()))
}

#[cfg(test)]
mod tests;
