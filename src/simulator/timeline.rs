//! The simulator's time: tokio's clock, with a wall time fixed to its beginning.

use std::time::Duration;

use tokio::time::Instant;

/// Reads tokio's clock, so that everything here runs on paused time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline {
    start: Instant,
    wall: Duration,
}

impl Timeline {
    /// A line that starts now, when it is `wall` seconds since the Unix epoch.
    pub(crate) fn starting(wall: u64) -> Self {
        Self { start: Instant::now(), wall: Duration::from_secs(wall) }
    }

    /// How long ago the line started.
    pub(crate) fn elapsed(self) -> Duration {
        self.start.elapsed()
    }

    /// Whole seconds since the Unix epoch.
    pub(crate) fn unix(self) -> u64 {
        (self.wall + self.elapsed()).as_secs()
    }

    /// ARM's form of the present time, `2026-05-28T20:26:40.1234567+00:00`.
    pub(crate) fn stamp(self) -> String {
        self.stamp_at(self.elapsed())
    }

    /// ARM's form of the time `elapsed` after the start.
    pub(crate) fn stamp_at(self, elapsed: Duration) -> String {
        let at = self.wall + elapsed;
        format!("{}.{:07}+00:00", seconds(at.as_secs()), at.subsec_nanos() / 100)
    }

    /// The form in routing ids, `20260528T202640Z`.
    pub(crate) fn compact_stamp(self) -> String {
        seconds(self.unix()).replace(['-', ':'], "") + "Z"
    }
}

fn seconds(unix: u64) -> String {
    let (days, rest) = (unix / 86_400, unix % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Year, month and day of a number of days since 1970-01-01 (the well-known algorithm over 400-year eras
/// that begin in March).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wall_time_follows_the_paused_clock() {
        let line = Timeline::starting(1_780_000_000);
        assert_eq!(line.stamp(), "2026-05-28T20:26:40.0000000+00:00");
        tokio::time::advance(Duration::from_millis(86_400_250)).await;
        assert_eq!(line.stamp(), "2026-05-29T20:26:40.2500000+00:00");
        assert_eq!(line.compact_stamp(), "20260529T202640Z");
    }

    #[test]
    fn days_become_dates() {
        for (days, date) in
            [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (11_016, (2000, 2, 29)), (20_819, (2027, 1, 1))]
        {
            assert_eq!(civil(days), date, "{days}");
        }
    }
}
