//! The one source of time: moments for ages and order, wall time for tokens and dates.
//!
//! In production a [`Moment`] counts suspended time (a laptop that slept for an hour must not call an
//! entry fresh), so it comes from `CLOCK_BOOTTIME`. In tests it comes from tokio's clock, which can be
//! paused; wall time is then derived from the same clock, because pausing does not move the system's.

use std::ops::Add;
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "the one place that reads the system's wall clock")]
use std::time::SystemTime;

use tokio::time::Instant;

/// A point on the clock's time line, comparable only with moments of the same [`Clock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(Duration);

impl Moment {
    /// The beginning of the clock's time line.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// How long after `earlier` this is; zero if it is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Nanoseconds from the beginning of the time line, for atomics.
    #[must_use]
    pub fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The inverse of [`Moment::nanos`].
    #[must_use]
    pub fn from_nanos(nanos: u64) -> Self {
        Self(Duration::from_nanos(nanos))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, after: Duration) -> Self {
        Self(self.0.saturating_add(after))
    }
}

/// Seconds and fractions since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wall(Duration);

impl Wall {
    /// A wall time from seconds since the Unix epoch.
    #[must_use]
    pub const fn from_unix(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Whole seconds since the Unix epoch.
    #[must_use]
    pub const fn unix(self) -> u64 {
        self.0.as_secs()
    }

    /// Time since the Unix epoch.
    #[must_use]
    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// The `Date` form of this instant (RFC 9110 §5.6.7).
    #[must_use]
    #[expect(clippy::disallowed_types, reason = "httpdate formats the standard type")]
    pub fn http_date(self) -> String {
        httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + self.0)
    }
}

/// Reads time. Copied into every room that needs it.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Boot,
    Tokio { start: Instant, wall: Duration },
}

impl Clock {
    /// The machine's clock, suspended time included.
    #[must_use]
    pub const fn boot() -> Self {
        Self(Kind::Boot)
    }

    /// tokio's clock, starting now, with `wall` as the wall time of this moment. For tests.
    #[must_use]
    pub fn tokio(wall: Wall) -> Self {
        Self(Kind::Tokio { start: Instant::now(), wall: wall.0 })
    }

    /// The present moment.
    #[must_use]
    pub fn now(self) -> Moment {
        match self.0 {
            Kind::Boot => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
                let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
                Moment(Duration::new(seconds, nanos))
            }
            Kind::Tokio { start, .. } => Moment(start.elapsed()),
        }
    }

    /// The present wall time.
    #[must_use]
    #[expect(clippy::disallowed_types, reason = "the one place that reads the system's wall clock")]
    pub fn wall(self) -> Wall {
        match self.0 {
            Kind::Boot => {
                Wall(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO))
            }
            Kind::Tokio { start, wall } => Wall(wall + start.elapsed()),
        }
    }
}
