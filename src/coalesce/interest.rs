//! Who still cares about a fetch: a multiset of askers, summed up.

use std::collections::BTreeMap;

use crate::clock::Moment;

/// One who asks, as far as a waiting fetch needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// Higher goes first.
    pub priority: u8,
    /// Until when the asker will wait. The asker keeps it itself: this only tells the fetch.
    pub deadline: Moment,
}

/// Everybody who still waits, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest {
    /// How many wait.
    pub alive: usize,
    /// The highest priority among them; 0 if nobody waits.
    pub priority: u8,
    /// The latest deadline among them; [`Moment::ZERO`] if nobody waits.
    pub deadline: Moment,
}

/// The askers of one flight. Sums are exact after every leaving, so a fetch does not keep the urgency of
/// somebody who is gone.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    alive: usize,
    priorities: BTreeMap<u8, usize>,
    deadlines: BTreeMap<Moment, usize>,
}

impl Crowd {
    pub(super) fn enter(&mut self, asker: Asker) {
        self.alive += 1;
        *self.priorities.entry(asker.priority).or_default() += 1;
        *self.deadlines.entry(asker.deadline).or_default() += 1;
    }

    pub(super) fn leave(&mut self, asker: Asker) {
        self.alive = self.alive.saturating_sub(1);
        take_one(&mut self.priorities, asker.priority);
        take_one(&mut self.deadlines, asker.deadline);
    }

    pub(super) fn interest(&self) -> Interest {
        Interest {
            alive: self.alive,
            priority: self.priorities.last_key_value().map_or(0, |(priority, _)| *priority),
            deadline: self.deadlines.last_key_value().map_or(Moment::ZERO, |(deadline, _)| *deadline),
        }
    }
}

fn take_one<V: Ord>(counts: &mut BTreeMap<V, usize>, value: V) {
    if let Some(count) = counts.get_mut(&value) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn asker(priority: u8, seconds: u64) -> Asker {
        Asker { priority, deadline: Moment::ZERO + Duration::from_secs(seconds) }
    }

    #[test]
    fn interest_is_that_of_those_who_are_still_there() {
        let mut crowd = Crowd::default();
        let check = |crowd: &Crowd, alive, priority, seconds| {
            let deadline = Moment::ZERO + Duration::from_secs(seconds);
            assert_eq!(crowd.interest(), Interest { alive, priority, deadline });
        };
        check(&crowd, 0, 0, 0);
        crowd.enter(asker(1, 30));
        crowd.enter(asker(2, 10));
        crowd.enter(asker(2, 20));
        check(&crowd, 3, 2, 30);
        crowd.leave(asker(1, 30));
        check(&crowd, 2, 2, 20);
        crowd.leave(asker(2, 20));
        check(&crowd, 1, 2, 10);
        crowd.leave(asker(2, 10));
        check(&crowd, 0, 0, 0);
        assert!(crowd.priorities.is_empty() && crowd.deadlines.is_empty());
    }
}
