//! Keeps calls out of budgets that ARM said are used up.
//!
//! Invariants:
//! - After a 429 no call enters the budget it names until `Retry-After` has passed, whoever calls; a gate
//!   longer than 10 min lets one call through in 5 min.
//! - A budget that reopens lets one call through first; the others wait until that one is answered or
//!   lost, at most 2 s.
//! - Only ARM's 429 closes a gate. What an unvouched caller draws at ARM's front door closes a gate of its
//!   token, never one of the principal it claims to be.
//! - Gates and learned names are bounded in number.
//! - A call that may not enter is told so at once: this room chooses no answers.

mod budget;
mod gate;
mod gates;
mod learned;
mod look;
mod place;
mod status;
mod throttle;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use budget::{Account, Budget, Payer};
pub use look::Look;
pub use place::{Answer, Place, Settled};
pub use status::{Counts, GateStatus, PerKind, Status};

use crate::classify::Call;
use crate::clock::{Clock, Moment};
use gates::{Gates, Verdict};
use learned::Learned;

/// How gates behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long a 429 that does not say closes a gate: the first, doubled by each that follows.
    pub untold: Duration,
    /// The longest such time.
    pub untold_longest: Duration,
    /// How long the first call after a gate reopened keeps the others waiting.
    pub trial: Duration,
    /// A gate longer than this is probed.
    pub probe_above: Duration,
    /// How often.
    pub probe_every: Duration,
    /// How many gates are kept; beyond, the one that opens soonest is forgotten.
    pub gates: usize,
    /// For how many classes of calls the names of policies are kept.
    pub classes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            untold: Duration::from_secs(1),
            untold_longest: Duration::from_secs(60),
            trial: Duration::from_secs(2),
            probe_above: Duration::from_secs(600),
            probe_every: Duration::from_secs(300),
            gates: 4096,
            classes: 1024,
        }
    }
}

/// A gate is closed for this call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{budget} is used up for another {} s", self.seconds())]
pub struct Closed {
    /// The budget: of several that are used up, the one that opens last.
    pub budget: Budget,
    /// When it reopens.
    pub until: Moment,
    /// How long that is from now.
    pub remaining: Duration,
}

impl Closed {
    /// Whole seconds for `Retry-After`, at least one.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.remaining.as_nanos().div_ceil(1_000_000_000).try_into().unwrap_or(u64::MAX).max(1)
    }
}

/// Lets calls into budgets.
#[derive(Debug)]
pub struct Admit {
    books: Arc<Books>,
}

/// What an [`Admit`] and the places it gave share.
#[derive(Debug)]
struct Books {
    clock: Clock,
    ledger: Mutex<Ledger>,
}

#[derive(Debug)]
struct Ledger {
    gates: Gates,
    learned: Learned,
    counts: Counts,
    next: u64,
    in_flight: usize,
}

impl Admit {
    /// All gates open, nothing learned.
    #[must_use]
    pub fn new(settings: Settings, clock: Clock) -> Self {
        let ledger = Ledger {
            gates: Gates::new(settings),
            learned: Learned::new(settings.classes),
            counts: Counts::default(),
            next: 0,
            in_flight: 0,
        };
        Self { books: Arc::new(Books { clock, ledger: Mutex::new(ledger) }) }
    }

    /// Waits for a place in every budget the call draws from. Waits only while another call tries a budget
    /// that has just reopened. Dropping the future gives up; nothing is held meanwhile.
    ///
    /// # Errors
    /// When a gate is closed.
    pub async fn enter(&self, call: &Call, payer: Payer) -> Result<Place, Closed> {
        loop {
            let (turned, at_most) = match self.books.ask(call, payer) {
                Asked::Place(id, entered) => {
                    return Ok(Place::new(self.books.clone(), id, entered, call.clone(), payer));
                }
                Asked::Closed(closed) => return Err(closed),
                Asked::Wait(turned, at_most) => (turned, at_most),
            };
            // Either way the gates are asked again.
            let _ = tokio::time::timeout(at_most, turned).await;
        }
    }

    /// What is closed now, and what has happened so far.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = self.books.clock.now();
        let ledger = self.books.ledger();
        Status {
            gates: ledger.gates.status(now),
            counts: ledger.counts,
            in_flight: ledger.in_flight,
            learned: ledger.learned.policies(),
        }
    }
}

enum Asked {
    Place(u64, Moment),
    Wait(tokio::sync::futures::OwnedNotified, Duration),
    Closed(Closed),
}

impl Books {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, call: &Call, payer: Payer) -> Asked {
        let mut guard = self.ledger();
        let ledger = &mut *guard;
        let now = self.clock.now();
        let id = ledger.next;
        let budgets = ledger.gates.concerned(call, payer, &mut ledger.learned);
        match ledger.gates.ask(id, &budgets, now) {
            Verdict::Enter => {
                ledger.next += 1;
                ledger.in_flight += 1;
                ledger.counts.entered += 1;
                Asked::Place(id, now)
            }
            Verdict::Wait(turned, until) => Asked::Wait(turned, until.since(now)),
            Verdict::Closed(closed) => {
                ledger.counts.refused.add(&closed.budget);
                Asked::Closed(closed)
            }
        }
    }
}
