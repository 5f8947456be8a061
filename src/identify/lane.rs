//! The lane of calls nobody has vouched for: they cannot crowd out those of callers ARM knows.
//!
//! A peer has a number of calls in flight, the others wait in the order in which they came. Only refusals
//! are rated: a peer whose calls draw one 401 after another goes on at a slow pace until that stops.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Settings;
use super::refusals::{Rated, Refusals};
use crate::clock::{Clock, Moment};

/// The lanes of all peers.
pub struct UnvouchedLane {
    settings: Settings,
    clock: Clock,
    peers: Mutex<HashMap<IpAddr, Arc<Lane>>>,
    /// Shared by the peers there is no room to tell apart.
    crowd: Arc<Lane>,
}

impl UnvouchedLane {
    /// Empty lanes.
    #[must_use]
    pub fn new(settings: &Settings, clock: Clock) -> Self {
        let crowd = Arc::new(Lane::new(settings));
        Self { settings: settings.clone(), clock, peers: Mutex::default(), crowd }
    }

    /// Waits for a place in the peer's lane. Who stops waiting loses the place.
    ///
    /// # Errors
    /// When refusals have slowed the peer down and its next call is not due.
    #[expect(clippy::missing_panics_doc, reason = "the semaphore is never closed")]
    pub async fn enter(&self, peer: IpAddr) -> Result<Admitted, Rated> {
        let lane = self.lane(peer.to_canonical());
        lane.refusals().due(self.clock.now())?;
        let place = lane.places.clone().acquire_owned().await.expect("the semaphore is never closed");
        // Asked again: the calls it waited for may have been refused.
        lane.refusals().go(self.clock.now())?;
        Ok(Admitted { lane, clock: self.clock, _place: place })
    }

    /// Whether a call of the peer could go at this moment; it may still have to wait for others. No effects.
    ///
    /// # Errors
    /// When refusals have slowed the peer down and its next call is not due.
    pub fn look(&self, peer: IpAddr) -> Result<(), Rated> {
        let now = self.clock.now();
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        match peers.get(&peer.to_canonical()) {
            Some(lane) => lane.refusals().due(now),
            None if peers.values().filter(|lane| is_needed(lane, now)).count() < self.settings.peers => {
                Ok(())
            }
            None => self.crowd.refusals().due(now),
        }
    }

    fn lane(&self, peer: IpAddr) -> Arc<Lane> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = peers.get(&peer) {
            return lane.clone();
        }
        if peers.len() >= self.settings.peers {
            let now = self.clock.now();
            peers.retain(|_, lane| is_needed(lane, now));
            if peers.len() >= self.settings.peers {
                return self.crowd.clone();
            }
        }
        let lane = Arc::new(Lane::new(&self.settings));
        peers.insert(peer, lane.clone());
        lane
    }
}

/// Whether a lane cannot be forgotten: a call is in it, or was refused lately.
fn is_needed(lane: &Arc<Lane>, now: Moment) -> bool {
    Arc::strong_count(lane) > 1 || lane.refusals().has_any(now)
}

impl fmt::Debug for UnvouchedLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnvouchedLane").finish_non_exhaustive()
    }
}

/// A place in a peer's lane, given back when dropped.
#[derive(Debug)]
pub struct Admitted {
    lane: Arc<Lane>,
    clock: Clock,
    _place: OwnedSemaphorePermit,
}

impl Admitted {
    /// Takes note of how ARM answered the call; once a call. A call that is never answered counts as nothing.
    pub fn settle(&self, status: StatusCode) {
        if status == StatusCode::UNAUTHORIZED {
            self.lane.refusals().note(self.clock.now());
        }
    }
}

#[derive(Debug)]
struct Lane {
    places: Arc<Semaphore>,
    refusals: Mutex<Refusals>,
}

impl Lane {
    fn new(settings: &Settings) -> Self {
        Self {
            places: Arc::new(Semaphore::new(settings.in_flight)),
            refusals: Mutex::new(Refusals::new(settings)),
        }
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;
    use crate::clock::Wall;

    const SECOND: Duration = Duration::from_secs(1);

    fn lane() -> UnvouchedLane {
        UnvouchedLane::new(&Settings { peers: 4, ..Settings::default() }, Clock::tokio(Wall::from_unix(0)))
    }

    fn peer(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    async fn refuse(lane: &UnvouchedLane, peer: IpAddr, times: usize) {
        for _ in 0..times {
            lane.enter(peer).await.unwrap().settle(StatusCode::UNAUTHORIZED);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn thirty_two_go_and_the_others_wait_in_order() {
        let lane = lane();
        let mut inside = Vec::new();
        for _ in 0..32 {
            inside.push(lane.enter(peer(1)).await.unwrap());
        }
        let (mut first, mut second, mut third) =
            (pin!(lane.enter(peer(1))), Box::pin(lane.enter(peer(1))), pin!(lane.enter(peer(1))));
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        assert!(poll(third.as_mut()).is_pending());
        assert!(lane.enter(peer(2)).await.is_ok(), "another peer has its own lane");

        inside.pop();
        assert!(poll(third.as_mut()).is_pending());
        assert!(poll(first.as_mut()).is_ready());
        drop(second);
        inside.pop();
        assert!(poll(third.as_mut()).is_ready(), "who left lost the place");
    }

    #[tokio::test(start_paused = true)]
    async fn only_refusals_are_rated() {
        let lane = lane();
        for status in [200, 403, 404, 429, 500] {
            for _ in 0..100 {
                lane.enter(peer(1)).await.unwrap().settle(StatusCode::from_u16(status).unwrap());
            }
        }
        refuse(&lane, peer(1), 19).await;
        assert!(lane.enter(peer(1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn after_twenty_refusals_in_a_minute_one_goes_a_second() {
        let lane = lane();
        refuse(&lane, peer(1), 20).await;
        advance(SECOND / 4).await;
        assert_eq!(lane.look(peer(1)), Err(Rated { retry_after: SECOND * 3 / 4 }));
        assert_eq!(lane.enter(peer(1)).await.unwrap_err(), Rated { retry_after: SECOND * 3 / 4 });
        assert_eq!(lane.look(peer(2)), Ok(()));
        assert!(lane.enter(peer(2)).await.is_ok());
        advance(SECOND * 3 / 4).await;
        let slow = lane.enter(peer(1)).await.unwrap();
        assert_eq!(lane.enter(peer(1)).await.unwrap_err(), Rated { retry_after: SECOND });
        slow.settle(StatusCode::OK);
        advance(60 * SECOND).await;
        for _ in 0..10 {
            assert!(lane.enter(peer(1)).await.is_ok(), "a minute later all is forgotten");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_spread_over_more_than_a_minute_are_not_rated() {
        let lane = lane();
        for _ in 0..100 {
            refuse(&lane, peer(1), 1).await;
            advance(SECOND * 31 / 10).await;
        }
        assert!(lane.enter(peer(1)).await.is_ok());
        assert!(lane.enter(peer(1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waited_while_the_others_were_refused_is_refused_too() {
        let lane = lane();
        let mut inside = Vec::new();
        for _ in 0..32 {
            inside.push(lane.enter(peer(1)).await.unwrap());
        }
        let mut waiting = pin!(lane.enter(peer(1)));
        assert!(poll(waiting.as_mut()).is_pending());
        for place in inside {
            place.settle(StatusCode::UNAUTHORIZED);
        }
        assert!(matches!(poll(waiting.as_mut()), Poll::Ready(Err(Rated { .. }))));
    }

    #[tokio::test(start_paused = true)]
    async fn peers_are_bounded_and_the_rated_ones_are_not_forgotten() {
        let lane = lane();
        refuse(&lane, peer(1), 20).await;
        let held = lane.enter(peer(2)).await.unwrap();
        for other in 3..200 {
            drop(lane.enter(peer(other)).await);
        }
        assert!(lane.enter(peer(1)).await.is_err());
        assert!(lane.peers.lock().unwrap().len() <= 4);
        assert!(lane.peers.lock().unwrap().contains_key(&peer(2)));
        drop(held);

        // With every peer rated, newcomers share one lane, and one who fails there slows the others.
        for other in 2..5 {
            refuse(&lane, peer(other), 20).await;
        }
        assert_eq!(lane.look(peer(201)), Ok(()));
        refuse(&lane, peer(201), 20).await;
        assert!(lane.look(peer(202)).is_err());
        assert!(lane.enter(peer(202)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_one_peer_in_both_notations() {
        let lane = lane();
        refuse(&lane, peer(1), 20).await;
        assert!(lane.enter("::ffff:10.0.0.1".parse().unwrap()).await.is_err());
    }
}
