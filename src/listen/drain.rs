//! A stop that cuts nothing off.

use tokio::sync::watch;

/// How far a stop has come. Only ever advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No stop was asked for.
    Serving,
    /// Connections of other machines end with what is in flight; loopback is served as before, only that
    /// idle connections are given up sooner.
    Draining,
    /// No new connections; all end with what is in flight.
    Closing,
    /// The deadline has passed: what is left is cut off.
    Cut,
}

/// Knows who still works, and tells them how far a stop has come. Clones are the same drain.
#[derive(Debug, Clone)]
pub struct Drain(watch::Sender<Phase>);

impl Drain {
    /// A drain that nobody has asked to stop.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }

    /// Counts its holder as at work until it is dropped: a connection, a write that outlives its client.
    #[must_use]
    pub fn guard(&self) -> Guard {
        Guard(self.0.subscribe())
    }

    /// How far the stop has come.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// How many guards there are.
    #[must_use]
    pub fn guards(&self) -> usize {
        self.0.receiver_count()
    }

    /// Waits until there is no guard.
    pub async fn empty(&self) {
        self.0.closed().await;
    }

    pub(super) fn advance(&self, phase: Phase) {
        self.0.send_if_modified(|now| {
            let later = phase > *now;
            if later {
                *now = phase;
            }
            later
        });
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps a stop from ending, up to its deadline.
#[derive(Debug, Clone)]
pub struct Guard(watch::Receiver<Phase>);

impl Guard {
    /// How far the stop has come.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Waits until the stop has come at least as far as `phase`.
    pub async fn reached(&mut self, phase: Phase) -> Phase {
        self.when(|now| now >= phase).await
    }

    /// Waits until the stop has come further than `phase`.
    pub(super) async fn beyond(&mut self, phase: Phase) -> Phase {
        self.when(|now| now > phase).await
    }

    async fn when(&mut self, enough: impl Fn(Phase) -> bool) -> Phase {
        let reached = self.0.wait_for(|now| enough(*now)).await.ok().map(|now| *now);
        match reached {
            Some(phase) => phase,
            // Without a drain there is no stop.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_drain_is_empty_when_the_last_guard_is_gone() {
        let drain = Drain::new();
        drain.empty().await;
        let (one, other) = (drain.guard(), drain.guard());
        assert_eq!(drain.guards(), 2);
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            drop((one, other));
        });
        drain.empty().await;
        assert_eq!(drain.guards(), 0);
    }

    #[tokio::test]
    async fn a_stop_never_goes_back() {
        let drain = Drain::new();
        drain.advance(Phase::Closing);
        drain.advance(Phase::Draining);
        assert_eq!(drain.phase(), Phase::Closing);
        assert_eq!(drain.guard().reached(Phase::Draining).await, Phase::Closing);
        assert_eq!(drain.guard().beyond(Phase::Draining).await, Phase::Closing);
    }
}
