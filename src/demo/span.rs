//! The time of a phase.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// When a phase began and ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) began: Instant,
    pub(super) until: Instant,
}

impl Span {
    /// A phase that begins now.
    pub(super) fn of(length: Duration) -> Self {
        let began = Instant::now();
        Self { began, until: began + length }
    }

    /// Whether it is over.
    pub(super) fn is_over(self) -> bool {
        Instant::now() >= self.until
    }

    /// Waits until so long after the beginning, at most to the end; whether there is time left.
    pub(super) async fn reach(self, after: Duration) -> bool {
        sleep_until((self.began + after).min(self.until)).await;
        !self.is_over()
    }

    /// Waits for so long, at most to the end; whether there is time left.
    pub(super) async fn rest(self, time: Duration) -> bool {
        self.reach(self.began.elapsed() + time).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_span_lets_nobody_wait_beyond_its_end() {
        let span = Span::of(Duration::from_secs(10));
        assert!(span.reach(Duration::from_secs(4)).await);
        assert!(span.rest(Duration::from_secs(4)).await);
        assert!(!span.rest(Duration::from_secs(4)).await);
        assert_eq!(span.began.elapsed(), Duration::from_secs(10));
    }
}
