//! Fences: what a write under way does to the scopes it reaches, to its very end.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;

use super::state::State;
use super::{Scopes, Settings};

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was never sent, or a token nobody vouched for was refused: as if it had not been.
    NeverSent,
    /// ARM refused it (4xx other than 408 and 409): nothing is under way.
    Refused,
    /// ARM answered and began no operation: it is over, what follows from it may still come.
    Done,
    /// ARM began an operation.
    Began,
    /// Nobody knows whether it was applied.
    Unknown,
}

impl Outcome {
    /// The outcome that a status tells, for a write that was answered; `began` says whether the answer
    /// names an operation.
    #[must_use]
    pub const fn of(status: u16, began: bool) -> Self {
        match status {
            200..=399 if began => Self::Began,
            200..=399 => Self::Done,
            408 | 409 => Self::Unknown,
            400..=499 => Self::Refused,
            _ => Self::Unknown,
        }
    }
}

#[derive(Debug)]
struct Reached {
    scopes: Scopes,
    write: u64,
    near: Vec<Arc<State>>,
    wider: Vec<Arc<State>>,
}

impl Reached {
    fn bump(&self) {
        for state in self.near.iter().chain(&self.wider) {
            state.bump();
        }
    }

    /// `near` for the resource written and its lists, `wider` for what changes along.
    fn unsettle(&self, near: Duration, wider: Duration) {
        let now = self.scopes.0.clock.now();
        let each = |states: &[Arc<State>], until: Moment| {
            for state in states {
                state.unsettle(self.write, until, now);
            }
        };
        each(&self.near, now + near);
        each(&self.wider, now + wider);
    }

    /// The write is over: its scopes settle.
    fn end(&self) {
        let settle = self.scopes.0.settings.settle;
        self.unsettle(settle, settle);
        self.bump();
    }
}

/// A write that was sent and not yet answered.
#[derive(Debug)]
#[must_use = "dropped, it counts the write as lost"]
pub struct Fence(Option<Arc<Reached>>);

impl Fence {
    pub(super) fn new(scopes: Scopes, near: Vec<Arc<State>>, wider: Vec<Arc<State>>) -> Self {
        let write = scopes.now().order();
        Self(Some(Arc::new(Reached { scopes, write, near, wider })))
    }

    /// The write is being sent: a change is under way.
    pub(super) fn raise(&self) {
        if let Some(reached) = &self.0 {
            let operation = reached.scopes.0.settings.operation;
            reached.unsettle(operation, operation);
            reached.bump();
        }
    }

    /// The write was answered or given up: everything it reached counts up before the first byte of the
    /// answer is passed on. What it began is followed by the [`Settling`] given back.
    #[expect(clippy::unused_async, reason = "instances that share scopes will wait here")]
    pub async fn lift(mut self, outcome: Outcome) -> Settling {
        let reached = self.0.take();
        if let Some(reached) = &reached {
            let Settings { settle, unknown_outcome, operation, .. } = reached.scopes.0.settings;
            match outcome {
                Outcome::NeverSent => {
                    reached.unsettle(Duration::ZERO, Duration::ZERO);
                    return Settling(None);
                }
                Outcome::Refused => {
                    reached.unsettle(Duration::ZERO, Duration::ZERO);
                    reached.bump();
                }
                Outcome::Done => reached.end(),
                Outcome::Began => {
                    reached.unsettle(operation, settle);
                    reached.bump();
                }
                Outcome::Unknown => {
                    reached.unsettle(unknown_outcome, settle);
                    reached.bump();
                }
            }
        }
        Settling(reached)
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        if let Some(reached) = self.0.take() {
            let Settings { settle, unknown_outcome, .. } = reached.scopes.0.settings;
            reached.unsettle(unknown_outcome, settle);
            reached.bump();
        }
    }
}

/// What a write began and is not over yet. Dropped, it ends by its deadline.
#[derive(Debug, Clone)]
pub struct Settling(Option<Arc<Reached>>);

impl Settling {
    /// A sign of progress: the deadline counts from now.
    pub fn progress(&self) {
        if let Some(reached) = &self.0 {
            let Settings { settle, operation, .. } = reached.scopes.0.settings;
            let now = reached.scopes.0.clock.now();
            for state in &reached.near {
                state.unsettle(reached.write, now + operation.max(settle), now);
            }
        }
    }

    /// The operation ended, well or badly: everything counts up again and settles.
    #[expect(clippy::unused_async, reason = "instances that share scopes will wait here")]
    pub async fn end(&self) {
        if let Some(reached) = &self.0 {
            reached.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{scopes, unit};
    use super::*;
    use crate::classify::{Scope, Touched};

    fn wide() -> Scope {
        Scope::Below("/subscriptions/s".into())
    }

    async fn written(scopes: &Scopes, outcome: Outcome) -> Settling {
        let touched = Touched { near: vec![unit("a")], wider: vec![wide()], unless_uniform: None };
        scopes.fence(&touched).await.lift(outcome).await
    }

    /// For how many seconds the unit and the wider scope stay unsettled, to the second.
    async fn unsettled_for(outcome: Outcome, end_after: Option<u64>) -> (u64, u64) {
        let scopes = scopes(Settings::default());
        let settling = written(&scopes, outcome).await;
        let (mut near, mut wider) = (0, 0);
        for second in 0..4000 {
            if end_after == Some(second) {
                let before = scopes.stamp(&[unit("a"), wide()]);
                settling.end().await;
                assert!(!before.is_current(), "an end invalidates again");
            }
            let now = scopes.0.clock.now();
            if scopes.stamp(&[unit("a")]).is_unsettled(now) {
                near = second + 1;
            }
            if scopes.stamp(&[wide()]).is_unsettled(now) {
                wider = second + 1;
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        (near, wider)
    }

    #[tokio::test(start_paused = true)]
    async fn each_outcome_settles_in_its_time() {
        assert_eq!(unsettled_for(Outcome::Refused, None).await, (0, 0));
        assert_eq!(unsettled_for(Outcome::Done, None).await, (30, 30));
        assert_eq!(unsettled_for(Outcome::Began, None).await, (1800, 30));
        assert_eq!(unsettled_for(Outcome::Began, Some(100)).await, (130, 130));
        assert_eq!(unsettled_for(Outcome::Unknown, None).await, (120, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn each_write_settles_for_itself() {
        let scopes = scopes(Settings::default());
        let first = written(&scopes, Outcome::Began).await;
        let _second = written(&scopes, Outcome::Began).await;
        first.end().await;
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(scopes.stamp(&[unit("a")]).is_unsettled(scopes.0.clock.now()), "the second is under way");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_write_drops_entries_and_unsettles_nothing() {
        let scopes = scopes(Settings::default());
        let touched = Touched { near: vec![unit("a")], wider: vec![], unless_uniform: None };
        let fence = scopes.fence(&touched).await;
        let during = scopes.stamp(&[unit("a")]);
        fence.lift(Outcome::Refused).await;
        assert!(!during.is_current());
    }

    #[tokio::test(start_paused = true)]
    async fn progress_moves_the_deadline() {
        let scopes = scopes(Settings::default());
        let settling = written(&scopes, Outcome::Began).await;
        tokio::time::advance(Duration::from_secs(1700)).await;
        settling.progress();
        tokio::time::advance(Duration::from_secs(1700)).await;
        assert!(scopes.stamp(&[unit("a")]).is_unsettled(scopes.0.clock.now()));
    }

    #[test]
    fn statuses_tell_outcomes() {
        assert_eq!(Outcome::of(200, false), Outcome::Done);
        assert_eq!(Outcome::of(202, true), Outcome::Began);
        assert_eq!(Outcome::of(412, false), Outcome::Refused);
        assert_eq!(Outcome::of(409, false), Outcome::Unknown);
        assert_eq!(Outcome::of(408, false), Outcome::Unknown);
        assert_eq!(Outcome::of(503, false), Outcome::Unknown);
    }
}
