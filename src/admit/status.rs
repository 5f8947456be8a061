//! What the room shows of itself.

use std::sync::Arc;
use std::time::Duration;

use super::Budget;
use crate::clock::Moment;

/// What is closed now, and what has happened so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The gates that keep calls out, or waiting for one that went first; those that open last first.
    pub gates: Vec<GateStatus>,
    /// What has happened so far.
    pub counts: Counts,
    /// Calls that have a place now.
    pub in_flight: usize,
    /// Names of policies known.
    pub learned: usize,
}

/// A gate that keeps calls out, or waiting for one that went first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateStatus {
    /// Of what. Its words are for people, its [`Budget::kind`] for metrics.
    pub budget: Budget,
    /// When it opens.
    pub until: Moment,
    /// How long that is from now; zero while one call goes first.
    pub remaining: Duration,
    /// ARM's or the provider's word for why, letters and digits only; may be empty.
    pub code: Arc<str>,
    /// Whether the 429 said how long.
    pub told: bool,
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls let in.
    pub entered: u64,
    /// Calls refused, by the kind of the budget that was used up.
    pub refused: PerKind,
    /// Answers 429 that closed a gate or kept one closed, by the kind of the budget they named first.
    pub throttled: PerKind,
    /// Answers 429 that only said that another operation holds the resource.
    pub locks: u64,
    /// Calls that ended without an answer.
    pub lost: u64,
}

/// A number for each kind of budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerKind([u64; Budget::KINDS.len()]);

impl PerKind {
    pub(super) const fn add(&mut self, budget: &Budget) {
        self.0[budget.index()] += 1;
    }

    /// Every kind with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Budget::KINDS.into_iter().zip(self.0)
    }

    /// Of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
