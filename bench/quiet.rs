//! How quiet the machine was: what others used while something was measured.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Outcome;
use super::process::{from_ticks, stat};
use super::stats::Spread;

/// What others may use of a core beside a measurement that is worth showing.
const QUIET: f64 = 0.05;

/// A beginning.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    others: Duration,
    stolen: Duration,
}

/// Shares of one core.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Noise {
    /// Used by processes that have no part in the measurement.
    others: f64,
    /// Taken by other virtual machines.
    stolen: f64,
}

impl Watch {
    pub(crate) fn begin() -> Outcome<Self> {
        Ok(Self { began: Instant::now(), others: others()?, stolen: stolen()? })
    }

    pub(crate) fn end(&self) -> Outcome<Noise> {
        let elapsed = self.began.elapsed().as_secs_f64();
        let share = |now: Duration, then| now.saturating_sub(then).as_secs_f64() / elapsed;
        Ok(Noise { others: share(others()?, self.others), stolen: share(stolen()?, self.stolen) })
    }
}

impl Noise {
    pub(crate) const fn sum(self) -> f64 {
        self.others + self.stolen
    }

    pub(crate) const fn is_quiet(self) -> bool {
        self.sum() < QUIET
    }

    pub(crate) fn json(self) -> Value {
        json!({"others": self.others, "stolen": self.stolen})
    }
}

/// Whether it was quiet in most rounds, and that in words: what is shown are medians.
pub(crate) fn verdict(rounds: &[Noise]) -> (bool, String) {
    let of = |number: fn(&Noise) -> f64| Spread::of(rounds.iter().map(number));
    let quiet = of(|noise| noise.sum()).median < QUIET;
    let (others, stolen) = (of(|noise| 100.0 * noise.others), of(|noise| 100.0 * noise.stolen));
    let words = format!(
        "{}: others used {:.0} % of a core ({:.0} % in the worst round), {:.0} % ({:.0} %) was stolen",
        if quiet { "the machine was quiet" } else { "THE MACHINE WAS NOT QUIET" },
        others.median,
        others.most,
        stolen.median,
        stolen.most,
    );
    (quiet, words)
}

/// Processor time of all processes that are neither this one nor begun by it, and of what they began and
/// that has ended (proc_pid_stat(5)).
fn others() -> Outcome<Duration> {
    let pids =
        fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    // Processes come and go while they are looked at.
    let all: HashMap<u32, Vec<String>> = pids.filter_map(|pid| Some((pid, stat(pid).ok()?))).collect();
    let own = std::process::id();
    let is_ours = |pid: u32| {
        let parent = |pid: &u32| all.get(pid).and_then(|fields| fields[1].parse().ok());
        std::iter::successors(Some(pid), parent).take(all.len()).any(|pid| pid == own)
    };
    let of_others = all.iter().filter(|(pid, _)| !is_ours(**pid));
    let ticks = of_others.flat_map(|(_, fields)| fields[11..15].iter().map(|field| field.parse::<u64>()));
    Ok(from_ticks(ticks.sum::<Result<_, _>>()?))
}

/// Time for which this machine was kept from running (proc_stat(5)).
fn stolen() -> Outcome<Duration> {
    let text = fs::read_to_string("/proc/stat")?;
    let field = text.lines().next().and_then(|line| line.split_whitespace().nth(8));
    Ok(from_ticks(field.map_or(Ok(0), str::parse)?))
}
