//! One mechanism behind three promises: no read shows the state from before a write that was answered,
//! no fetch sent before a write becomes an answer after it, no step backwards.
//!
//! Every [`Scope`] has a counter. An entry holds the counters it depends on as they were before its fetch
//! was sent, and is usable only while they are unchanged. A write counts up when it is sent and again when
//! it is answered or lost; the end of its operation counts up once more. News found in an answer raises
//! *floors*: entries sent before the floor of one of their scopes are unusable.
//!
//! Forgetting a scope makes what depends on it unusable, never usable.

mod fence;
mod known;
mod look;
mod news;
mod stamp;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;

use crate::classify::{Scope, Touched};
use crate::clock::{Clock, Moment};

pub use fence::{Fence, Outcome, Settling};
pub use look::{Dependence, Moved};
pub use news::{Shown, Verdict};
pub use stamp::Stamp;

use news::News;
use state::State;

/// What an operator may decide about scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long scopes stay unsettled after a write's answer and after its end.
    pub settle: Duration,
    /// How long a write whose outcome is unknown leaves its unit unsettled.
    pub unknown_outcome: Duration,
    /// How long after its last sign of progress an operation is taken for ended.
    pub operation: Duration,
    /// The largest number of scopes remembered.
    pub scopes: usize,
    /// The largest number of resources whose versions are remembered.
    pub resources: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(30),
            unknown_outcome: Duration::from_secs(120),
            operation: Duration::from_secs(30 * 60),
            scopes: 200_000,
            resources: 200_000,
        }
    }
}

/// When something was sent: a moment for ages, and a place in the order of all that was sent, because two
/// events can share a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sent {
    order: u64,
    /// The moment.
    pub at: Moment,
}

impl Sent {
    /// The place in the order.
    #[must_use]
    pub const fn order(self) -> u64 {
        self.order
    }

    /// The same, for a call that left later than it was to, or a second time: as old as it was, since who
    /// waits has waited so long, and in the order where what it brings was asked for.
    #[must_use]
    pub const fn left(self, left: Self) -> Self {
        Self { order: left.order, at: self.at }
    }
}

/// The counters of all scopes, and what is known of the resources in them.
#[derive(Debug, Clone)]
pub struct Scopes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    clock: Clock,
    order: AtomicU64,
    states: DashMap<Scope, Arc<State>>,
    news: News,
}

impl Scopes {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings, clock: Clock) -> Self {
        let news = News::new(settings.resources);
        Self(Arc::new(Inner { settings, clock, order: AtomicU64::new(1), states: DashMap::new(), news }))
    }

    /// The place of something sent now. Later calls give later places.
    #[must_use]
    pub fn now(&self) -> Sent {
        Sent { order: self.0.order.fetch_add(1, Ordering::SeqCst), at: self.0.clock.now() }
    }

    /// The stamp of a fetch that is about to be sent: taken before it leaves.
    #[must_use]
    pub fn stamp(&self, scopes: &[Scope]) -> Stamp {
        Stamp::new(scopes.iter().map(|scope| self.state(scope)).collect())
    }

    /// Raises a fence around what a write reaches, as it is sent. Dropped without being lifted, the write
    /// counts as lost.
    #[expect(clippy::unused_async, reason = "instances that share scopes will wait here")]
    pub async fn fence(&self, touched: &Touched) -> Fence {
        let fence = self.fenced(touched);
        fence.raise();
        fence
    }

    /// A fence that counts up nothing before the answer: for tokens that nobody vouched for, so that who
    /// has no rights cannot drop what others have.
    #[expect(clippy::unused_async, reason = "instances that share scopes will wait here")]
    pub async fn fence_at_answer(&self, touched: &Touched) -> Fence {
        self.fenced(touched)
    }

    fn fenced(&self, touched: &Touched) -> Fence {
        let (near, wider) = self.reached(touched);
        let states = |scopes: Vec<Scope>| scopes.iter().map(|scope| self.state(scope)).collect();
        Fence::new(self.clone(), states(near), states(wider))
    }

    /// Makes everything that depends on one of these scopes unusable.
    pub fn drop_all(&self, scopes: &[Scope]) {
        for scope in scopes {
            // A scope nobody depends on has no counter, and needs none.
            if let Some(state) = self.0.states.get(scope).map(|state| state.clone()) {
                state.bump();
            }
        }
    }

    /// The number of scopes remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.states.len()
    }

    /// Whether no scope is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.states.is_empty()
    }

    fn state(&self, scope: &Scope) -> Arc<State> {
        if let Some(state) = self.0.states.get(scope) {
            return state.clone();
        }
        self.make_room();
        self.0.states.entry(scope.clone()).or_default().clone()
    }

    /// Forgets scopes nobody holds; if that does not suffice, some that are held, after counting them up.
    fn make_room(&self) {
        let most = self.0.settings.scopes.max(64);
        if self.0.states.len() < most {
            return;
        }
        let now = self.0.clock.now();
        self.0.states.retain(|_, state| Arc::strong_count(state) > 1 || state.is_unsettled(now));
        let mut excess = (self.0.states.len() + 1).saturating_sub(most - most / 8);
        if excess > most / 8 {
            self.0.states.retain(|_, state| {
                // An open write would lose its fence with the state: it stays.
                let forget = excess > 0 && !state.is_unsettled(now);
                if forget {
                    excess -= 1;
                    state.bump();
                }
                !forget
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Wall;
    use crate::policy::Family;

    pub(super) fn scopes(settings: Settings) -> Scopes {
        Scopes::new(settings, Clock::tokio(Wall::from_unix(1_800_000_000)))
    }

    pub(super) fn unit(name: &str) -> Scope {
        Scope::Unit(name.into())
    }

    fn write_to(name: &str) -> Touched {
        let wider = vec![Scope::Family(Family::Network, "/subscriptions/s".into())];
        Touched { near: vec![unit(name)], wider, unless_uniform: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stamp_falls_when_a_write_is_sent_and_again_when_it_is_answered() {
        let scopes = scopes(Settings::default());
        let before = scopes.stamp(&[unit("a"), Scope::All]);
        let other = scopes.stamp(&[unit("b"), Scope::All]);
        let fence = scopes.fence(&write_to("a")).await;
        assert!(!before.is_current());
        let during = scopes.stamp(&[unit("a")]);
        assert!(during.is_current());
        fence.lift(Outcome::Done).await;
        assert!(!during.is_current());
        assert!(other.is_current());
    }

    #[tokio::test(start_paused = true)]
    async fn a_fence_that_is_dropped_counts_as_lost() {
        let scopes = scopes(Settings::default());
        let fence = scopes.fence(&write_to("a")).await;
        let during = scopes.stamp(&[unit("a")]);
        drop(fence);
        assert!(!during.is_current());
        tokio::time::advance(Duration::from_secs(119)).await;
        assert!(scopes.stamp(&[unit("a")]).is_unsettled(scopes.0.clock.now()));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(!scopes.stamp(&[unit("a")]).is_unsettled(scopes.0.clock.now()));
    }

    #[tokio::test(start_paused = true)]
    async fn forgetting_makes_unusable_never_usable() {
        let scopes = scopes(Settings { scopes: 64, ..Settings::default() });
        let stamps: Vec<_> = (0..200).map(|n| (n, scopes.stamp(&[unit(&format!("{n}"))]))).collect();
        assert!(scopes.len() <= 64);
        for (n, stamp) in stamps {
            let known = scopes.0.states.contains_key(&unit(&format!("{n}")));
            assert!(known || !stamp.is_current(), "{n} was forgotten and its entry stayed usable");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn scopes_nobody_holds_are_forgotten_first() {
        let scopes = scopes(Settings { scopes: 64, ..Settings::default() });
        let held = scopes.stamp(&[unit("held")]);
        for n in 0..500 {
            drop(scopes.stamp(&[unit(&format!("{n}"))]));
        }
        assert!(held.is_current());
        assert!(scopes.len() <= 64);
    }
}
