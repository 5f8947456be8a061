//! The state of one scope: its counter, its floor, and until when writes leave it unsettled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::clock::Moment;

use super::Sent;

#[derive(Debug, Default)]
pub(super) struct State {
    counter: AtomicU64,
    /// Entries sent before this place in the order are unusable.
    floor: AtomicU64,
    /// Fetches sent before this place in the order are not joined any more.
    known: AtomicU64,
    /// Nanoseconds of the moment until which some write leaves this scope unsettled.
    unsettled: AtomicU64,
    /// The same for each write, since each settles for itself.
    writes: Mutex<HashMap<u64, Moment>>,
}

impl State {
    pub(super) fn counter(&self) -> u64 {
        self.counter.load(Ordering::SeqCst)
    }

    pub(super) fn bump(&self) {
        self.counter.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn raise_floor(&self, sent: Sent, known: Sent) {
        self.floor.fetch_max(sent.order(), Ordering::SeqCst);
        self.known.fetch_max(known.order(), Ordering::SeqCst);
    }

    pub(super) fn is_below_floor(&self, sent: Sent) -> bool {
        sent.order() < self.floor.load(Ordering::SeqCst)
    }

    pub(super) fn is_before_news(&self, sent: Sent) -> bool {
        sent.order() < self.known.load(Ordering::SeqCst)
    }

    pub(super) fn is_unsettled(&self, now: Moment) -> bool {
        self.unsettled.load(Ordering::SeqCst) > now.nanos()
    }

    /// Until when writes leave this scope unsettled, if they do.
    pub(super) fn until(&self, now: Moment) -> Option<Moment> {
        self.is_unsettled(now).then(|| Moment::from_nanos(self.unsettled.load(Ordering::SeqCst)))
    }

    /// Sets until when one write leaves this scope unsettled, replacing what that write said before.
    pub(super) fn unsettle(&self, write: u64, until: Moment, now: Moment) {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.retain(|_, until| *until > now);
        if until > now {
            writes.insert(write, until);
        } else {
            writes.remove(&write);
        }
        let latest = writes.values().max().copied().unwrap_or(Moment::ZERO);
        self.unsettled.store(latest.nanos(), Ordering::SeqCst);
    }
}
