//! Looking at scopes without touching them: why an answer is unusable, what is unsettled and until when.

use std::sync::Arc;

use crate::classify::{Scope, Touched};
use crate::clock::Moment;

use super::{Scopes, Sent, Stamp};

/// Why the counter of a scope is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It was written or purged.
    Written,
    /// It was forgotten for lack of room.
    Forgotten,
}

impl Moved {
    /// The word used for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Forgotten => "forgotten",
        }
    }
}

/// One of the scopes an answer depends on, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependence {
    /// Which one.
    pub scope: Scope,
    /// Why its counter is not what it was before the answer was asked for; `None`: it is.
    pub moved: Option<Moved>,
    /// Whether news were found in it that are newer than the answer.
    pub newer: bool,
    /// Until when writes leave it unsettled.
    pub unsettled: Option<Moment>,
}

impl Scopes {
    /// How the scopes of an answer stand: `scopes` are those its stamp was taken of, in that order, and `sent`
    /// is when it was asked for.
    #[must_use]
    pub fn look(&self, stamp: &Stamp, scopes: &[Scope], sent: Sent) -> Vec<Dependence> {
        let now = self.0.clock.now();
        let known = |scope: &Scope| self.0.states.get(scope).map(|state| state.clone());
        let look = |(scope, (state, counter)): (&Scope, &(Arc<_>, u64))| {
            let is_kept = known(scope).is_some_and(|known| Arc::ptr_eq(&known, state));
            let how = if is_kept { Moved::Written } else { Moved::Forgotten };
            Dependence {
                scope: scope.clone(),
                moved: (state.counter() != *counter).then_some(how),
                newer: state.is_below_floor(sent),
                unsettled: state.until(now),
            }
        };
        scopes.iter().zip(stamp.counters()).map(look).collect()
    }

    /// Which of these scopes are unsettled, and until when.
    #[must_use]
    pub fn unsettled(&self, scopes: &[Scope]) -> Vec<(Scope, Moment)> {
        let now = self.0.clock.now();
        let until = |scope: &Scope| self.0.states.get(scope).and_then(|state| state.until(now));
        scopes.iter().filter_map(|scope| Some((scope.clone(), until(scope)?))).collect()
    }

    /// The scopes a write reaches, as far as is known now: of the resource and its lists, and wider ones.
    #[must_use]
    pub fn reached(&self, touched: &Touched) -> (Vec<Scope>, Vec<Scope>) {
        touched.scopes(|root| self.0.news.is_uniform(root))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::{scopes, unit};
    use super::super::{Outcome, Settings};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_scope_that_moved_is_named_and_how_long_it_is_unsettled() {
        let scopes = scopes(Settings::default());
        let on = [Scope::All, unit("a"), unit("b")];
        let (stamp, sent) = (scopes.stamp(&on), scopes.now());
        assert!(
            scopes.look(&stamp, &on, sent).iter().all(|one| *one
                == Dependence { scope: one.scope.clone(), moved: None, newer: false, unsettled: None })
        );
        let touched = Touched { near: vec![unit("a")], ..Touched::default() };
        scopes.fence(&touched).await.lift(Outcome::Done).await;
        let until = scopes.0.clock.now() + Duration::from_secs(30);
        let looked = scopes.look(&stamp, &on, sent);
        let moved: Vec<_> = looked.iter().map(|one| (one.moved, one.unsettled)).collect();
        assert_eq!(moved, [(None, None), (Some(Moved::Written), Some(until)), (None, None)]);
        assert_eq!(scopes.unsettled(&on), [(unit("a"), until)]);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(scopes.unsettled(&on), []);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_forgotten_is_told_from_what_was_written() {
        let scopes = scopes(Settings { scopes: 64, ..Settings::default() });
        let all: Vec<_> = (0..200).map(|n| unit(&format!("{n}"))).collect();
        let stamps: Vec<_> = all.iter().map(|scope| scopes.stamp(std::slice::from_ref(scope))).collect();
        let looked = all.iter().zip(&stamps).map(|(scope, stamp)| {
            scopes.look(stamp, std::slice::from_ref(scope), scopes.now()).pop().unwrap().moved
        });
        let forgotten = looked.filter(|moved| *moved == Some(Moved::Forgotten)).count();
        assert!(forgotten >= 136, "{forgotten}");
    }

    #[tokio::test(start_paused = true)]
    async fn looking_makes_no_scopes() {
        let scopes = scopes(Settings::default());
        assert_eq!(scopes.unsettled(&[unit("a"), Scope::All]), []);
        let touched = Touched { near: vec![unit("a")], ..Touched::default() };
        assert_eq!(scopes.reached(&touched), (vec![unit("a")], vec![]));
        assert!(scopes.is_empty());
    }
}
