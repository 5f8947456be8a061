//! Vouchers: ARM itself has let this very token in, a short while ago.
//!
//! A forged token cannot take part: vouchers are known by the digest of the whole token, and only an answer
//! of ARM makes one. What is forgotten for lack of room costs one call upstream, nothing else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quick_cache::sync::Cache;

use super::digest::Token;
use crate::clock::{Clock, Moment, Wall};

#[derive(Debug, Clone, Copy)]
struct Voucher {
    ends: Moment,
    expires: Option<u64>,
}

impl Voucher {
    fn holds(self, now: Moment, wall: Wall) -> bool {
        now < self.ends && is_ahead(self.expires, wall)
    }
}

/// Whether a token that expires then is still good.
fn is_ahead(expires: Option<u64>, wall: Wall) -> bool {
    expires.is_none_or(|end| wall.unix() < end)
}

/// How many refusals there had been when a call was looked at. A success that was asked for before its token
/// was refused proves nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch(u64);

/// All vouchers in force, a bounded number.
#[derive(Debug)]
pub(super) struct Vouchers {
    vouch_for: Duration,
    clock: Clock,
    good: Cache<Token, Voucher>,
    refused: Cache<Token, Epoch>,
    refusals: AtomicU64,
    /// Held by whoever changes the two maps, so that a refusal and a success come one after the other.
    changing: Mutex<()>,
}

impl Vouchers {
    pub(super) fn new(vouch_for: Duration, most: usize, clock: Clock) -> Self {
        Self {
            vouch_for,
            clock,
            good: Cache::new(most),
            refused: Cache::new(most),
            refusals: AtomicU64::new(0),
            changing: Mutex::new(()),
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        Epoch(self.refusals.load(Ordering::Acquire))
    }

    pub(super) fn has(&self, token: Token) -> bool {
        self.good.get(&token).is_some_and(|voucher| voucher.holds(self.clock.now(), self.clock.wall()))
    }

    /// For how long a token is vouched for, if it is. Counts as no use of the voucher.
    pub(super) fn left(&self, token: Token) -> Option<Duration> {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let voucher = self.good.peek(&token).filter(|voucher| voucher.holds(now, wall))?;
        let expires = voucher.expires.map(|end| Duration::from_secs(end).saturating_sub(wall.since_epoch()));
        Some(expires.into_iter().chain([voucher.ends.since(now)]).min().unwrap_or_default())
    }

    /// Makes or renews a voucher; false if the token has expired, or was refused after `asked`.
    pub(super) fn vouch(&self, token: Token, expires: Option<u64>, asked: Epoch) -> bool {
        let _alone = self.change();
        let refused = self.refused.get(&token).is_some_and(|refused| asked < refused);
        if refused || !is_ahead(expires, self.clock.wall()) {
            return false;
        }
        let held = self.good.get(&token).map_or(Moment::ZERO, |voucher| voucher.ends);
        let ends = held.max(self.clock.now() + self.vouch_for);
        self.good.insert(token, Voucher { ends, expires });
        true
    }

    /// Lets a voucher in force last at least until then.
    pub(super) fn hold(&self, token: Token, until: Moment) {
        let _alone = self.change();
        let Some(voucher) = self.good.get(&token) else { return };
        if voucher.holds(self.clock.now(), self.clock.wall()) && voucher.ends < until {
            self.good.insert(token, Voucher { ends: until, ..voucher });
        }
    }

    /// Ends a voucher.
    pub(super) fn revoke(&self, token: Token) {
        let _alone = self.change();
        let epoch = self.refusals.fetch_add(1, Ordering::AcqRel) + 1;
        self.refused.insert(token, Epoch(epoch));
        self.good.remove(&token);
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const MINUTE: Duration = Duration::from_secs(60);

    fn vouchers() -> Vouchers {
        Vouchers::new(10 * MINUTE, 1000, Clock::tokio(Wall::from_unix(NOW)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_voucher_lasts_for_its_time_after_the_last_success() {
        let (vouchers, token) = (vouchers(), Token::of(1));
        assert!(!vouchers.has(token));
        assert!(vouchers.vouch(token, Some(NOW + 3600), vouchers.epoch()));
        advance(9 * MINUTE).await;
        assert!(vouchers.has(token) && !vouchers.has(Token::of(2)));
        vouchers.vouch(token, Some(NOW + 3600), vouchers.epoch());
        advance(9 * MINUTE).await;
        assert!(vouchers.has(token));
        advance(MINUTE).await;
        assert!(!vouchers.has(token));
    }

    #[tokio::test(start_paused = true)]
    async fn a_voucher_ends_with_its_token_and_an_expired_token_gets_none() {
        let (vouchers, token) = (vouchers(), Token::of(1));
        assert!(vouchers.vouch(token, Some(NOW + 60), vouchers.epoch()));
        vouchers.hold(token, vouchers.clock.now() + 60 * MINUTE);
        advance(Duration::from_secs(59)).await;
        assert!(vouchers.has(token));
        advance(Duration::from_secs(1)).await;
        assert!(!vouchers.has(token));
        assert!(!vouchers.vouch(token, Some(NOW + 60), vouchers.epoch()));
        assert!(!vouchers.has(token));
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_keeps_a_voucher_alive_but_revives_none() {
        let (vouchers, held, other) = (vouchers(), Token::of(1), Token::of(2));
        for token in [held, other] {
            vouchers.vouch(token, Some(NOW + 3600), vouchers.epoch());
        }
        let opens = vouchers.clock.now() + 30 * MINUTE;
        vouchers.hold(held, opens);
        // A success through another gate does not shorten what was held.
        vouchers.vouch(held, Some(NOW + 3600), vouchers.epoch());
        advance(29 * MINUTE).await;
        assert!(vouchers.has(held));
        vouchers.hold(other, opens);
        assert!(!vouchers.has(other));
        advance(MINUTE).await;
        assert!(!vouchers.has(held));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_outweighs_successes_that_were_asked_for_before_it() {
        let (vouchers, token) = (vouchers(), Token::of(1));
        let before = vouchers.epoch();
        vouchers.vouch(token, None, before);
        vouchers.vouch(Token::of(2), None, before);
        vouchers.revoke(token);
        assert!(!vouchers.has(token) && vouchers.has(Token::of(2)));
        vouchers.hold(token, vouchers.clock.now() + MINUTE);
        assert!(!vouchers.has(token));
        assert!(!vouchers.vouch(token, None, before));
        assert!(vouchers.vouch(Token::of(2), None, before));
        assert!(vouchers.vouch(token, None, vouchers.epoch()));
        assert!(vouchers.has(token));
    }

    #[tokio::test(start_paused = true)]
    async fn vouchers_are_bounded() {
        let vouchers = vouchers();
        for token in 0..5000 {
            vouchers.vouch(Token::of(token), None, vouchers.epoch());
            vouchers.revoke(Token::of(token + 10_000));
        }
        assert!(vouchers.good.len() <= 1000 && vouchers.refused.len() <= 1000);
        assert!(vouchers.has(Token::of(4999)));
    }
}
