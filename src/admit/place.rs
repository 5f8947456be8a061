//! A call that was let in, from entering to its end.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};

use super::gate::Sign;
use super::throttle::{self, Reading, UsedUp};
use super::{Books, Closed, Ledger, Payer};
use crate::classify::Call;
use crate::clock::Moment;

/// What came back. Debug output shows neither headers nor body.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body. Read only of a 429, which without it says little.
    pub body: Option<&'a [u8]>,
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// What an answer means for those who ask next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Settled {
    /// No throttle.
    Passed,
    /// A 429 that is no throttle: another operation holds the resource. It is for this client alone.
    Locked,
    /// A throttle: the gate that is now closed, of several the one that opens last.
    Throttled(Closed),
}

/// A call's place in its budgets. Dropped before it is settled, the call counts as lost; after that it is
/// in flight until it is dropped.
#[must_use = "a place that is dropped is a call that was lost"]
pub struct Place {
    books: Arc<Books>,
    id: u64,
    entered: Moment,
    call: Call,
    payer: Payer,
    settled: bool,
}

impl Place {
    pub(super) const fn new(books: Arc<Books>, id: u64, entered: Moment, call: Call, payer: Payer) -> Self {
        Self { books, id, entered, call, payer, settled: false }
    }

    /// Whether the call may be sent once more: no budget it draws from was used up since it entered.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        let mut guard = self.books.ledger();
        let ledger = &mut *guard;
        let budgets = ledger.gates.concerned(&self.call, self.payer, &mut ledger.learned);
        !ledger.gates.shuts_out(&budgets, self.books.clock.now())
    }

    /// Takes note of the answer. Only the first one counts.
    pub fn settle(&mut self, answer: &Answer<'_>) -> Settled {
        if std::mem::replace(&mut self.settled, true) {
            return Settled::Passed;
        }
        let books = self.books.clone();
        let mut ledger = books.ledger();
        ledger.learned.note(&self.call.class, answer.headers);
        if answer.status != StatusCode::TOO_MANY_REQUESTS {
            let sign = match answer.status {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Sign::Elsewhere,
                status if status.as_u16() < 400 => Sign::Done,
                _ => Sign::Answered,
            };
            self.answered(&mut ledger, sign);
            return Settled::Passed;
        }
        match throttle::read(answer, &self.call, self.payer, &mut ledger.learned, books.clock.wall()) {
            Reading::Lock => {
                ledger.counts.locks += 1;
                self.answered(&mut ledger, Sign::Answered);
                Settled::Locked
            }
            Reading::Throttle(used_up) => Settled::Throttled(self.throttled(&mut ledger, &used_up)),
        }
    }

    fn answered(&self, ledger: &mut Ledger, sign: Sign) {
        let budgets = ledger.gates.concerned(&self.call, self.payer, &mut ledger.learned);
        ledger.gates.answered(self.id, &budgets, self.entered, self.books.clock.now(), sign);
    }

    fn throttled(&self, ledger: &mut Ledger, used_up: &UsedUp) -> Closed {
        let now = self.books.clock.now();
        ledger.counts.throttled.add(&used_up.first);
        let mut shut = |budget| ledger.gates.shut(budget, self.entered, now, used_up.told, &used_up.code);
        let mut last = shut(&used_up.first);
        for budget in &used_up.more {
            let closed = shut(budget);
            if closed.until > last.until {
                last = closed;
            }
        }
        // A gate this call went first through is none the wiser if another budget was used up.
        self.answered(ledger, Sign::Elsewhere);
        last
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut guard = self.books.ledger();
        let ledger = &mut *guard;
        ledger.in_flight -= 1;
        if !self.settled {
            ledger.counts.lost += 1;
            let budgets = ledger.gates.concerned(&self.call, self.payer, &mut ledger.learned);
            ledger.gates.lost(self.id, &budgets);
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("class", &self.call.class)
            .field("settled", &self.settled)
            .finish_non_exhaustive()
    }
}
