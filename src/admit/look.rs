//! Looking at the gates a call would meet, without being one.

use std::time::Duration;

use super::gates::Verdict;
use super::{Admit, Closed, Payer};
use crate::classify::Call;

/// What [`Admit::enter`] would say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It may go.
    Enter,
    /// Another call tries a budget that has just reopened; it would wait so long at most.
    Wait(Duration),
    /// A gate is closed.
    Closed(Closed),
}

impl Admit {
    /// What a call would be told at this moment. Counts and notes nothing.
    #[must_use]
    pub fn look(&self, call: &Call, payer: Payer) -> Look {
        let ledger = self.books.ledger();
        let now = self.books.clock.now();
        let budgets = ledger.gates.drawn_from(call, payer, &ledger.learned);
        match ledger.gates.verdict(&budgets, now) {
            Verdict::Enter => Look::Enter,
            Verdict::Wait(_, until) => Look::Wait(until.since(now)),
            Verdict::Closed(closed) => Look::Closed(closed),
        }
    }
}
