//! How quiet the machine was: what others used while something was measured.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Outcome;
use super::process::{Running, from_ticks, own_cpu};

/// A beginning.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    busy: Duration,
    stolen: Duration,
    ours: Duration,
}

/// Shares of one core.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Noise {
    /// Used by processes that have no part in the measurement.
    pub(crate) others: f64,
    /// Taken by other virtual machines.
    pub(crate) stolen: f64,
}

impl Noise {
    pub(crate) const fn sum(self) -> f64 {
        self.others + self.stolen
    }

    /// Whether a measurement made meanwhile is worth showing.
    pub(crate) fn is_quiet(self) -> bool {
        self.sum() < 0.05
    }

    pub(crate) fn json(self) -> Value {
        json!({"others": self.others, "stolen": self.stolen})
    }

    /// The worst of several, in words.
    pub(crate) fn worst(all: impl IntoIterator<Item = Self>) -> String {
        let worst = all.into_iter().fold(Self::default(), |worst, noise| Self {
            others: worst.others.max(noise.others),
            stolen: worst.stolen.max(noise.stolen),
        });
        let verdict = if worst.is_quiet() { "quiet" } else { "NOT QUIET: measure again" };
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        format!(
            "machine {verdict}; in the worst round others used {} of a core and {} was stolen",
            percent(worst.others),
            percent(worst.stolen)
        )
    }
}

impl Watch {
    pub(crate) fn begin(servers: &[&Running]) -> Outcome<Self> {
        let (busy, stolen) = machine()?;
        Ok(Self { began: Instant::now(), busy, stolen, ours: ours(servers)? })
    }

    pub(crate) fn end(&self, servers: &[&Running]) -> Outcome<Noise> {
        let (busy, stolen) = machine()?;
        let elapsed = self.began.elapsed().as_secs_f64();
        let ours = ours(servers)?.saturating_sub(self.ours);
        let others = busy.saturating_sub(self.busy).saturating_sub(ours);
        Ok(Noise {
            others: others.as_secs_f64() / elapsed,
            stolen: stolen.saturating_sub(self.stolen).as_secs_f64() / elapsed,
        })
    }
}

fn ours(servers: &[&Running]) -> Outcome<Duration> {
    servers.iter().try_fold(own_cpu()?, |sum, server| Ok(sum + server.cpu()?))
}

/// Time all cores have spent for processes, and time they were kept from running (proc_stat(5)).
fn machine() -> Outcome<(Duration, Duration)> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().ok_or("an empty /proc/stat")?;
    let ticks = line.split_whitespace().skip(1).map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let at = |field: usize| ticks.get(field).copied().unwrap_or_default();
    Ok((from_ticks(at(0) + at(1) + at(2)), from_ticks(at(7))))
}
