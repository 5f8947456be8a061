//! Long-running operations: what a write began is followed to its end by the polls of clients.
//!
//! armshield never polls by itself. Poll URLs are opaque and signed: path and query are compared and sent
//! byte for byte. An end, a failed or preempted one too, invalidates again.

mod status;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use http::{HeaderMap, Uri, header};
use quick_cache::DefaultHashBuilder;

use crate::arm::{ArmPath, State, headers::AZURE_ASYNC_OPERATION};
use crate::clock::{Clock, Moment};
use crate::scopes::{Sent, Settling};

pub use status::{Progress, read};

/// What an operator may decide about operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long an operation nobody polls is remembered.
    pub remembered: Duration,
    /// The most operations remembered.
    pub most: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { remembered: Duration::from_secs(30 * 60), most: 20_000 }
    }
}

/// Which header named a poll URL: they end differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    /// `Azure-AsyncOperation`: always 200 with a `status`; an error there says nothing about the operation.
    AsyncOperation,
    /// `Location`: 202 until done, then the final answer.
    Location,
}

/// An operation a write began.
#[derive(Debug)]
pub struct Operation {
    settling: Settling,
    /// The resource that was written, canonical.
    pub path: Option<ArmPath>,
    /// Whether it deletes that resource.
    pub deletes: bool,
    /// When the write that began it was answered.
    pub begun: Sent,
    seen: Mutex<Moment>,
}

impl Operation {
    fn touch(&self, now: Moment) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    fn last_seen(&self) -> Moment {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the answer to a write says it began. Debug output shows no poll URL: they are signed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Begun {
    polls: Vec<(String, Named)>,
    in_progress: bool,
}

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = self.polls.iter().map(|(_, named)| named).collect();
        f.debug_struct("Begun").field("polls", &named).field("in_progress", &self.in_progress).finish()
    }
}

impl Begun {
    /// Reads the answer to a write: its status, headers, and the state its body shows.
    #[must_use]
    pub fn of(status: u16, headers: &HeaderMap, state: State) -> Self {
        if !(200..300).contains(&status) {
            return Self::default();
        }
        let named = |name, named| {
            let value = headers.get(name)?.to_str().ok()?;
            // A relative one is the resource's own address (ManagedIdentity answers 201 so).
            Some((target_of(value)?, named))
        };
        let polls: Vec<_> =
            [named(AZURE_ASYNC_OPERATION, Named::AsyncOperation), named(header::LOCATION, Named::Location)]
                .into_iter()
                .flatten()
                .collect();
        Self { polls, in_progress: state == State::InProgress }
    }

    /// Whether an operation was begun.
    #[must_use]
    pub fn any(&self) -> bool {
        self.in_progress || !self.polls.is_empty()
    }
}

/// Path and query of an absolute URL, byte for byte.
fn target_of(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    uri.authority()?;
    Some(uri.path_and_query()?.as_str().to_owned())
}

/// Operations under way. Debug output shows no poll URL: they are signed.
pub struct Operations {
    settings: Settings,
    clock: Clock,
    /// Looked at for every GET, and filled by what ARM says only: a fast hash will do.
    polls: DashMap<String, (Arc<Operation>, Named), DefaultHashBuilder>,
    /// Operations without a poll URL, by the resource whose state will tell their end.
    shown: DashMap<Arc<str>, Vec<Arc<Operation>>>,
    order: Mutex<VecDeque<(String, Moment)>>,
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations").field("under_way", &self.len()).finish_non_exhaustive()
    }
}

impl Operations {
    /// Knows of none.
    #[must_use]
    pub fn new(settings: Settings, clock: Clock) -> Self {
        Self { settings, clock, polls: DashMap::default(), shown: DashMap::new(), order: Mutex::default() }
    }

    /// Notes what a write began that was answered just now, before its answer is passed on.
    #[expect(clippy::unused_async, reason = "instances that share operations will wait here")]
    pub async fn note(
        &self,
        begun: Begun,
        settling: Settling,
        path: Option<ArmPath>,
        deletes: bool,
        answered: Sent,
    ) {
        let now = self.clock.now();
        self.make_room(now);
        let operation = Operation { settling, path, deletes, begun: answered, seen: Mutex::new(now) };
        let operation = Arc::new(operation);
        if begun.polls.is_empty() {
            if let Some(path) = &operation.path {
                self.shown.entry(path.shared()).or_default().push(operation);
            }
            return;
        }
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        for (target, named) in begun.polls {
            order.push_back((target.clone(), now));
            self.polls.insert(target, (operation.clone(), named));
        }
    }

    /// The operation a GET of this path and query polls, if a write's answer named it.
    #[must_use]
    pub fn polled(&self, target: &str) -> Option<(Arc<Operation>, Named)> {
        self.polls.get(target).map(|known| known.clone())
    }

    /// A poll was answered. Ends and progress take effect before the answer is passed on.
    pub async fn answered(&self, operation: &Operation, progress: Progress) {
        match progress {
            Progress::Ended { .. } => operation.settling.end().await,
            Progress::Under => {
                operation.touch(self.clock.now());
                operation.settling.progress();
            }
            Progress::Unsaid => {}
        }
    }

    /// A point read showed a resource: ends what it began without naming a poll URL.
    pub async fn shown(&self, id: &Arc<str>, state: State, sent: Sent) {
        if self.shown.is_empty() {
            return;
        }
        let Some(under) = self.shown.get(id).map(|under| under.clone()) else { return };
        for operation in under.iter().filter(|operation| operation.begun < sent) {
            match state {
                State::Terminal => operation.settling.end().await,
                State::InProgress => {
                    operation.touch(self.clock.now());
                    operation.settling.progress();
                }
                State::Unknown => {}
            }
        }
        if state == State::Terminal {
            self.shown.remove_if_mut(id, |_, under| {
                under.retain(|operation| operation.begun >= sent);
                under.is_empty()
            });
        }
    }

    /// How many operations are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.polls.len() + self.shown.len()
    }

    /// Whether none is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets what nobody polled for long, and the oldest where there are too many. What is forgotten
    /// settles by its deadline.
    fn make_room(&self, now: Moment) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((target, noted)) = order.front() {
            let old = now.since(*noted) > self.settings.remembered;
            if !old && order.len() < self.settings.most {
                break;
            }
            let seen = self.polls.get(target).map(|known| known.0.last_seen());
            let Some((target, _)) = order.pop_front() else { break };
            match seen {
                // Still polled: it goes to the end of the line.
                Some(seen)
                    if now.since(seen) <= self.settings.remembered && order.len() < self.settings.most =>
                {
                    order.push_back((target, seen));
                }
                _ => drop(self.polls.remove(&target)),
            }
        }
        if self.shown.len() >= self.settings.most {
            self.shown.clear();
        } else if self.shown.len() > 64 {
            let remembered = self.settings.remembered;
            self.shown.retain(|_, under| {
                under.retain(|operation| now.since(operation.last_seen()) <= remembered);
                !under.is_empty()
            });
        }
    }
}

#[cfg(test)]
mod tests;
