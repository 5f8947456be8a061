//! One fetch under way: its phase, who cares, how it ended.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::interest::Crowd;
use super::{Asker, Ending, Interest, Ticket};

/// How far a fetch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<M> {
    /// Not sent: whatever upstream answers will be from after now.
    Waiting,
    /// Sent, with what the fetch noted then.
    Sent(M),
}

/// What would become of an asker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// No fetch is under way: it would start one.
    Nothing,
    /// It would join one.
    Joins,
    /// It does not accept what the fetch under way will bring: it would start another.
    Refuses,
}

/// What became of an asker that wanted to join.
pub(super) enum Boarding<M, T> {
    /// It has a ticket.
    Aboard(Ticket<M, T>),
    /// It does not accept what this flight will bring.
    Refused,
    /// The flight landed or was given up a moment ago.
    Over,
}

/// What one flight's task, its fetch and its tickets share.
pub(super) struct Course<M, T> {
    state: Mutex<State<M>>,
    ending: OnceLock<Ending<T>>,
    landed: Notify,
    unwanted: Notify,
}

struct State<M> {
    phase: Phase<M>,
    crowd: Crowd,
    /// Nobody joins any more: it landed, or all left before it was sent.
    closed: bool,
}

impl<M, T> Course<M, T> {
    pub(super) fn new() -> Self {
        let state = State { phase: Phase::Waiting, crowd: Crowd::default(), closed: false };
        Self {
            state: Mutex::new(state),
            ending: OnceLock::new(),
            landed: Notify::new(),
            unwanted: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ticket of the asker that starts this flight.
    pub(super) fn lead(self: &Arc<Self>, asker: Asker) -> Ticket<M, T> {
        self.state().crowd.enter(asker);
        Ticket::of(self.clone(), asker, true)
    }

    /// Takes one more asker aboard, if it may still be joined.
    pub(super) fn board(
        self: &Arc<Self>,
        asker: Asker,
        may_join: impl FnOnce(&Phase<M>) -> bool,
    ) -> Boarding<M, T> {
        let mut state = self.state();
        if state.closed {
            return Boarding::Over;
        }
        if !may_join(&state.phase) {
            return Boarding::Refused;
        }
        state.crowd.enter(asker);
        drop(state);
        Boarding::Aboard(Ticket::of(self.clone(), asker, false))
    }

    /// Whether an asker would be taken aboard.
    pub(super) fn look(&self, may_join: impl FnOnce(&Phase<M>) -> bool) -> Sight {
        let state = self.state();
        match (state.closed, may_join(&state.phase)) {
            (true, _) => Sight::Nothing,
            (false, true) => Sight::Joins,
            (false, false) => Sight::Refuses,
        }
    }

    /// An asker goes. The last one to go before the fetch was sent ends it, in the same step.
    pub(super) fn leave(&self, asker: Asker) {
        let mut state = self.state();
        state.crowd.leave(asker);
        let abandoned = !state.closed && state.crowd.interest().alive == 0 && state.waiting();
        state.closed |= abandoned;
        drop(state);
        if abandoned {
            self.unwanted.notify_one();
        }
    }

    /// Returns when all left before the fetch was sent.
    pub(super) async fn unwanted(&self) {
        self.unwanted.notified().await;
    }

    /// Ends the flight, if it has not ended, and says how it did.
    pub(super) fn land(&self, ending: Ending<T>) -> Ending<()> {
        self.state().closed = true;
        self.ending.get_or_init(|| ending).kind()
    }

    /// Wakes everybody who waits for the ending.
    pub(super) fn wake(&self) {
        self.landed.notify_waiters();
    }

    pub(super) fn ending(&self) -> Option<&Ending<T>> {
        self.ending.get()
    }

    /// Counts from its making: a wake after that is not missed.
    pub(super) fn landed(&self) -> Notified<'_> {
        self.landed.notified()
    }
}

impl<M> State<M> {
    const fn waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting)
    }
}

/// A fetch's view of its own flight.
pub struct Flight<M, T> {
    course: Arc<Course<M, T>>,
}

impl<M, T> Flight<M, T> {
    pub(super) const fn of(course: Arc<Course<M, T>>) -> Self {
        Self { course }
    }

    /// Says that the fetch is sent now, with `mark` for those who want to join later. `false`: nobody
    /// waits any more, and it must not be sent; the fetch is dropped at its next `await`.
    ///
    /// From here on the fetch is finished whoever leaves. A second call replaces the mark.
    #[must_use]
    pub fn sent(&self, mark: M) -> bool {
        let mut state = self.course.state();
        if state.closed {
            return false;
        }
        state.phase = Phase::Sent(mark);
        true
    }

    /// Whether anybody still waits. Once sent a fetch is finished whatever this says.
    #[must_use]
    pub fn wanted(&self) -> bool {
        self.interest().alive > 0
    }

    /// Who waits at this moment, summed up.
    #[must_use]
    pub fn interest(&self) -> Interest {
        self.course.state().crowd.interest()
    }
}

impl<M, T> fmt::Debug for Flight<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.course.state();
        f.debug_struct("Flight")
            .field("sent", &!state.waiting())
            .field("interest", &state.crowd.interest())
            .finish_non_exhaustive()
    }
}
