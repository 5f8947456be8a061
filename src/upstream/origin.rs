//! The connections to one target, and which of them a call takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::dial::{Dial, Dialled, One, Two};
use super::error::{Kind, SendError};
use super::lane::{Claim, Ending, Lane};
use super::pool::Pool;
use super::target::{Scheme, Target};
use crate::clock::Clock;

/// Streamed calls on one lane: as many stalled ones leave a stream's window in the connection's.
const STREAMED_PER_LANE: usize = 60;
const STREAMED_LANES: usize = 16;

/// A connection for one call, and what to keep until the call has ended.
#[derive(Debug)]
pub(super) enum Line {
    One(One),
    Two(Two, Option<Claim>),
}

pub(super) struct Origin {
    target: Target,
    dial: Arc<Dial>,
    ordinary: Box<[Arc<Lane>]>,
    streamed: Mutex<Vec<Arc<Lane>>>,
    pub(super) pool: Arc<Pool>,
    /// The peer chose HTTP/1.1 the last time it could choose.
    speaks_one: Arc<AtomicBool>,
}

impl Origin {
    pub(super) fn new(target: Target, dial: Arc<Dial>, lanes: usize, clock: Clock) -> Self {
        let speaks_one = Arc::new(AtomicBool::new(target.scheme == Scheme::Http));
        Self {
            target,
            dial,
            ordinary: (0..lanes.max(1)).map(|_| Arc::default()).collect(),
            streamed: Mutex::new(vec![Arc::default()]),
            pool: Arc::new(Pool::new(clock)),
            speaks_one,
        }
    }

    pub(super) const fn target(&self) -> &Target {
        &self.target
    }

    /// Whether calls are in flight on lanes. Connections of HTTP/1.1 do not need their origin to go on.
    pub(super) fn is_in_use(&self) -> bool {
        let streamed = self.streamed.lock().unwrap_or_else(PoisonError::into_inner);
        self.ordinary.iter().chain(streamed.iter()).any(|lane| lane.in_flight() > 0)
    }

    /// A connection for one call; `fresh`: none that idled, because one that did has just failed.
    pub(super) async fn line(&self, streamed: bool, fresh: bool) -> Result<Line, SendError> {
        if !self.speaks_one.load(Ordering::Relaxed) {
            let claim = if streamed { self.claim_streamed() } else { least(&self.ordinary).claim() };
            if let Some(two) = self.shared(&claim).await? {
                if claim.lane().in_flight() == 1 {
                    // A closed one hands the call back, which comes again.
                    notice().await;
                }
                return Ok(Line::Two(two, Some(claim)));
            }
        }
        while !fresh && let Some(one) = self.pool.take() {
            notice().await;
            if !one.is_closed() {
                return Ok(Line::One(one));
            }
        }
        self.own().await
    }

    /// A connection of HTTP/1.1 that nobody else has had.
    async fn own(&self) -> Result<Line, SendError> {
        Ok(match self.dial.dial(&self.target).await? {
            Dialled::One(one) => Line::One(one),
            // The server has learned HTTP/2 meanwhile: the next call opens lanes.
            Dialled::Two(two) => {
                self.speaks_one.store(false, Ordering::Relaxed);
                Line::Two(two, None)
            }
        })
    }

    async fn shared(&self, claim: &Claim) -> Result<Option<Two>, SendError> {
        let (dial, target) = (self.dial.clone(), self.target.clone());
        let (pool, speaks_one) = (self.pool.clone(), self.speaks_one.clone());
        let begin = || async move {
            let ending: Ending = match dial.dial(&target).await? {
                Dialled::Two(two) => Ok(Some(two)),
                Dialled::One(one) => {
                    speaks_one.store(true, Ordering::Relaxed);
                    pool.put(one);
                    Ok(None)
                }
            };
            ending
        };
        let died = || SendError::new(Kind::Connect, &self.target, "the dial did not come to an end");
        claim.lane().open(begin).await.unwrap_or_else(|| Err(died()))
    }

    /// Fills one lane before it begins another, and lets go of the last ones when they are empty.
    fn claim_streamed(&self) -> Claim {
        let mut lanes = self.streamed.lock().unwrap_or_else(PoisonError::into_inner);
        while lanes.len() > 1 && lanes.last().is_some_and(|lane| lane.in_flight() == 0) {
            lanes.pop();
        }
        let roomy = lanes.iter().position(|lane| lane.in_flight() < STREAMED_PER_LANE);
        if let Some(roomy) = roomy {
            return lanes[roomy].claim();
        }
        if lanes.len() < STREAMED_LANES {
            let lane = Arc::new(Lane::default());
            lanes.push(lane.clone());
            return lane.claim();
        }
        least(&lanes).claim()
    }
}

/// Lets a connection that idled notice that its peer has hung up: its tasks run when the runtime has
/// looked for news, which a call made in the same instant would not wait for, and be lost.
async fn notice() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

fn least(lanes: &[Arc<Lane>]) -> &Arc<Lane> {
    lanes.iter().min_by_key(|lane| lane.in_flight()).expect("an origin has a lane")
}
