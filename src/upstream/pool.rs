//! Idle HTTP/1.1 connections, kept for the next call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::dial::One;
use crate::clock::{Clock, Moment};

/// Servers close connections idle for longer, and a call may be lost in that race. Suspended time counts:
/// what a laptop slept through is as dead.
const MAX_IDLE: Duration = Duration::from_secs(50);
const MOST: usize = 256;

#[derive(Debug)]
pub(super) struct Pool {
    clock: Clock,
    idle: Mutex<Vec<(One, Moment)>>,
}

impl Pool {
    pub(super) const fn new(clock: Clock) -> Self {
        Self { clock, idle: Mutex::new(Vec::new()) }
    }

    /// The connection used last that is still fit.
    pub(super) fn take(&self) -> Option<One> {
        let now = self.clock.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((sender, since)) = idle.pop() {
            if now.since(since) > MAX_IDLE {
                // Those below have been idle for longer.
                idle.clear();
                return None;
            }
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    pub(super) fn put(&self, sender: One) {
        let now = self.clock.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(sender, since)| !sender.is_closed() && now.since(*since) <= MAX_IDLE);
        if idle.len() < MOST {
            idle.push((sender, now));
        }
    }

    /// Puts `sender` back when the exchange it is in has ended, unless its connection ends with it.
    pub(super) fn put_when_ready(self: &Arc<Self>, mut sender: One) {
        let pool = self.clone();
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                pool.put(sender);
            }
        });
    }
}
