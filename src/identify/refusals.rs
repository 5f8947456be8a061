//! How often a peer was refused lately, and how fast it may go on.

use std::collections::VecDeque;
use std::time::Duration;

use super::Settings;
use crate::clock::Moment;

/// The peer's unvouched calls were refused too often; this one was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls of this peer were refused for their tokens; the next may go in {} ms", retry_after.as_millis())]
pub struct Rated {
    /// When the next call of the peer may go.
    pub retry_after: Duration,
}

/// The last refusals of a peer, no more than decide whether it is rated.
#[derive(Debug)]
pub(super) struct Refusals {
    last: VecDeque<Moment>,
    most: usize,
    window: Duration,
    pace: Duration,
    next: Moment,
}

impl Refusals {
    pub(super) const fn new(settings: &Settings) -> Self {
        Self {
            last: VecDeque::new(),
            most: settings.refusals,
            window: settings.refusal_window,
            pace: settings.pace,
            next: Moment::ZERO,
        }
    }

    pub(super) fn note(&mut self, now: Moment) {
        self.last.push_back(now);
        if self.last.len() > self.most {
            self.last.pop_front();
        }
    }

    pub(super) fn has_any(&self, now: Moment) -> bool {
        self.last.back().is_some_and(|last| now.since(*last) < self.window)
    }

    /// Whether a call could go now.
    pub(super) fn due(&self, now: Moment) -> Result<(), Rated> {
        let is_full = self.last.len() >= self.most;
        let rated = is_full && self.last.front().is_some_and(|first| now.since(*first) < self.window);
        if rated && now < self.next { Err(Rated { retry_after: self.next.since(now) }) } else { Ok(()) }
    }

    /// Lets a call go.
    pub(super) fn go(&mut self, now: Moment) -> Result<(), Rated> {
        self.due(now)?;
        self.next = now + self.pace;
        Ok(())
    }
}
