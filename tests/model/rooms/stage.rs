//! Where journeys pause, so that any other may go on in between.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// What becomes of what a journey waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// It comes as it should.
    #[default]
    Fine,
    /// It is lost on its way.
    Lost,
    /// It shows what was, so many changes ago, where ARM lags.
    Late(usize),
    /// ARM says that it was made for its asker.
    Personal,
}

/// Journeys that pause, in the order in which they came to it.
#[derive(Debug, Default)]
pub struct Stage {
    paused: Mutex<Vec<Paused>>,
    /// Counts every coming and going.
    stirred: AtomicU64,
}

#[derive(Debug)]
struct Paused {
    at: &'static str,
    whose: usize,
    go: oneshot::Sender<Fate>,
}

/// One journey that may go on.
#[derive(Debug)]
pub struct Turn(Paused);

impl Turn {
    /// Where it paused, and whose journey it is.
    pub const fn at(&self) -> (&'static str, usize) {
        (self.0.at, self.0.whose)
    }

    pub fn go(self, fate: Fate) {
        let _ = self.0.go.send(fate);
    }
}

impl Stage {
    /// Waits for a turn.
    pub async fn pause(&self, at: &'static str, whose: usize) -> Fate {
        let (go, gone) = oneshot::channel();
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).push(Paused { at, whose, go });
        self.stir();
        gone.await.unwrap_or_default()
    }

    /// Something came, went or ended.
    pub fn stir(&self) {
        self.stirred.fetch_add(1, Ordering::Relaxed);
    }

    /// One of those that pause, if there is any.
    pub fn turn(&self, which: usize) -> Option<Turn> {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        paused.retain(|paused| !paused.go.is_closed());
        if paused.is_empty() {
            return None;
        }
        let at = which % paused.len();
        Some(Turn(paused.remove(at)))
    }

    /// Returns when everybody pauses, or waits for one who does.
    pub async fn quiet(&self) {
        let mut before = None;
        loop {
            let now = self.stirred.load(Ordering::Relaxed);
            if before == Some(now) {
                return;
            }
            before = Some(now);
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        }
    }
}
