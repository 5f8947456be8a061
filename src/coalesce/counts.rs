//! What has happened to flights so far.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Ending;

/// What has happened so far. Every flight that was led is flying, done, abandoned or panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Askers that started a fetch.
    pub led: u64,
    /// Askers that joined one.
    pub joined: u64,
    /// Fetches started although one was under way, because the asker might not join that one.
    pub replaced: u64,
    /// Fetches under way now, replaced ones included.
    pub flying: u64,
    /// Fetches that came to their end.
    pub done: u64,
    /// Fetches dropped before they were sent because nobody cared any more, or with the process.
    pub abandoned: u64,
    /// Fetches that panicked.
    pub panicked: u64,
}

/// The living form of [`Counts`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    led: AtomicU64,
    joined: AtomicU64,
    replaced: AtomicU64,
    done: AtomicU64,
    abandoned: AtomicU64,
    panicked: AtomicU64,
}

impl Counters {
    pub(super) fn led(&self) {
        self.led.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn joined(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn replaced(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, ending: &Ending<()>) {
        let counter = match ending {
            Ending::Done(()) => &self.done,
            Ending::Abandoned => &self.abandoned,
            Ending::Panicked => &self.panicked,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // Endings first: a flight that ends meanwhile then counts as flying, never as less than nothing.
        let (done, abandoned, panicked) = (read(&self.done), read(&self.abandoned), read(&self.panicked));
        let led = read(&self.led);
        Counts {
            led,
            joined: read(&self.joined),
            replaced: read(&self.replaced),
            flying: led.saturating_sub(done + abandoned + panicked),
            done,
            abandoned,
            panicked,
        }
    }
}
