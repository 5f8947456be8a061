//! One asker's part in a flight, and the ways a flight can end.

use std::fmt;
use std::sync::Arc;

use super::Asker;
use super::flight::Course;

/// How a flight ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending<T> {
    /// The fetch came to its end, a failure of its own included: everybody gets the same.
    Done(T),
    /// The fetch was dropped before its end. Nobody waits then, save when the process stops.
    Abandoned,
    /// The fetch panicked.
    Panicked,
}

impl<T> Ending<T> {
    pub(super) const fn kind(&self) -> Ending<()> {
        match self {
            Self::Done(_) => Ending::Done(()),
            Self::Abandoned => Ending::Abandoned,
            Self::Panicked => Ending::Panicked,
        }
    }

    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Abandoned => "abandoned",
            Self::Panicked => "panicked",
        }
    }
}

/// One asker's part in a flight. Dropping it, or the future of [`Ticket::wait`], is leaving.
#[must_use = "dropping a ticket is leaving"]
pub struct Ticket<M, T> {
    /// Whether this asker started the fetch.
    pub led: bool,
    asker: Asker,
    course: Arc<Course<M, T>>,
}

impl<M, T> Ticket<M, T> {
    pub(super) const fn of(course: Arc<Course<M, T>>, asker: Asker, led: bool) -> Self {
        Self { led, asker, course }
    }
}

impl<M, T: Clone> Ticket<M, T> {
    /// Waits for the end of the flight. Has no deadline: every asker keeps its own around this.
    pub async fn wait(self) -> Ending<T> {
        let landed = self.course.landed();
        if let Some(ending) = self.course.ending() {
            return ending.clone();
        }
        landed.await;
        self.course.ending().cloned().unwrap_or(Ending::Abandoned)
    }
}

impl<M, T> Drop for Ticket<M, T> {
    fn drop(&mut self) {
        self.course.leave(self.asker);
    }
}

impl<M, T> fmt::Debug for Ticket<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("led", &self.led).finish_non_exhaustive()
    }
}
