//! Answers kept: how they are keyed, how old they may be, where they are stored.
//!
//! ARM's bytes are stored, never rewritten ones. An entry never says by itself that it may be used:
//! [`judge`] does, from the entry, the stamp it holds and what the asker tolerates.

mod age;
mod entry;
mod key;
mod neutral;
mod refusal;
mod storable;
mod store;

use std::time::Duration;

pub use age::{Ask, Bound, Judgement, Tolerance, Why, is_unsettled, judge, judge_if};
pub use entry::{Entry, Parts, lasting};
pub use key::{Key, Keyed, Question, Variants};
pub use refusal::Refusals;
pub use storable::{NotStored, storable, varies};
pub use store::Store;

/// What an operator may decide about the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most bytes kept.
    pub bytes: usize,
    /// The largest body kept, in bytes.
    pub entry_max: usize,
    /// The most of `bytes` that one caller may fill, between 0 and 1 in hundredths.
    pub caller_percent: usize,
    /// The most bytes of bodies collected at once; beyond, answers are streamed and not kept.
    pub fills: usize,
    /// How many variants of one question, split by request headers, are kept apart.
    pub variants: usize,
    /// How long an answer that found nothing wrong with a repeated question may be repeated.
    pub repeat_age: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bytes: 256 << 20,
            entry_max: 16 << 20,
            caller_percent: 50,
            fills: 32 << 20,
            variants: 8,
            repeat_age: Duration::from_secs(2),
        }
    }
}
