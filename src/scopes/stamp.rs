//! Stamps: the counters an answer depends on, as they were before its fetch was sent.

use std::sync::Arc;

use crate::clock::Moment;

use super::Sent;
use super::state::State;

/// The counters an answer depends on.
#[derive(Debug, Clone)]
pub struct Stamp(Box<[(Arc<State>, u64)]>);

impl Stamp {
    pub(super) fn new(states: Vec<Arc<State>>) -> Self {
        Self(states.into_iter().map(|state| (state.clone(), state.counter())).collect())
    }

    pub(super) fn counters(&self) -> impl Iterator<Item = &(Arc<State>, u64)> {
        self.0.iter()
    }

    /// Whether nothing it depends on was written, purged or forgotten since.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.0.iter().all(|(state, counter)| state.counter() == *counter)
    }

    /// Whether an answer whose fetch was sent then shows nothing older than what is known.
    #[must_use]
    pub fn is_above_floors(&self, sent: Sent) -> bool {
        self.0.iter().all(|(state, _)| !state.is_below_floor(sent))
    }

    /// Whether a fetch sent then may be joined now: nothing was written since, and no news became known.
    #[must_use]
    pub fn may_join(&self, sent: Sent) -> bool {
        self.is_current() && self.0.iter().all(|(state, _)| !state.is_before_news(sent))
    }

    /// Whether a change is under way, or was a moment ago, in something it depends on.
    #[must_use]
    pub fn is_unsettled(&self, now: Moment) -> bool {
        self.0.iter().any(|(state, _)| state.is_unsettled(now))
    }
}
