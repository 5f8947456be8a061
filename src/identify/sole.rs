//! Whether one caller has the loopback listener to itself, as a sidecar's does.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use super::digest::Caller;
use crate::clock::Moment;

/// The two callers ARM vouched for last over loopback, each with the moment; two are enough to know.
#[derive(Debug, Default)]
pub(super) struct Sole(RwLock<[Option<(Caller, Moment)>; 2]>);

impl Sole {
    pub(super) fn note(&self, caller: Caller, now: Moment) {
        let mut seen = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let [last, before] = *seen;
        let other = if last.is_some_and(|(known, _)| known == caller) { before } else { last };
        *seen = [Some((caller, now)), other];
    }

    /// Whether no other caller was there within the time before now.
    pub(super) fn is(&self, caller: Caller, now: Moment, within: Duration) -> bool {
        let seen = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seen.iter().flatten().all(|(known, when)| *known == caller || now.since(*when) >= within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_alone_while_no_other_was_there_lately() {
        let (one, other, third) = (Caller::of(1), Caller::of(2), Caller::of(3));
        let (sole, hour) = (Sole::default(), Duration::from_secs(3600));
        let at = |minutes: u64| Moment::ZERO + Duration::from_secs(60 * minutes);
        assert!(sole.is(one, at(0), hour));
        sole.note(one, at(0));
        sole.note(one, at(1));
        assert!(sole.is(one, at(2), hour));
        assert!(!sole.is(other, at(2), hour));
        sole.note(other, at(2));
        assert!(!sole.is(one, at(3), hour) && !sole.is(other, at(3), hour));
        sole.note(one, at(50));
        assert!(sole.is(one, at(62), hour));
        sole.note(third, at(63));
        assert!(!sole.is(one, at(64), hour));
    }
}
