//! On what it was measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use armshield::clock::Clock;
use serde::{Deserialize, Serialize};

use super::process::Cores;

/// A description of the machine and of what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory: String,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
    pub(crate) nginx: Option<String>,
    pub(crate) haproxy: Option<String>,
    /// The commit, and whether something was changed since.
    pub(crate) source: String,
    pub(crate) pinned: bool,
    pub(crate) date: String,
}

impl Machine {
    pub(crate) fn look(pinned: Option<Cores>) -> Self {
        let unknown = || "unknown".to_owned();
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(file).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_start_matches([' ', '\t', ':']).to_owned())
        };
        let changed = said("git", &["status", "--porcelain", "--untracked-files=no"])
            .is_some_and(|text| !text.is_empty());
        let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(unknown);
        Self {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: fs::read_to_string("/proc/cpuinfo").map_or(0, |text| text.matches("processor\t:").count()),
            memory: field("/proc/meminfo", "MemTotal")
                .and_then(|text| gibibytes(&text))
                .unwrap_or_else(unknown),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
            rustc: said("rustc", &["--version"]).unwrap_or_else(unknown),
            nginx: nginx(),
            haproxy: haproxy(),
            source: if changed { format!("{commit}, changed") } else { commit },
            pinned: pinned.is_some(),
            date: Clock::boot().wall().http_date(),
        }
    }

    /// Without the date, which differs between parts.
    pub(crate) fn text(&self) -> String {
        let peers = [&self.nginx, &self.haproxy].into_iter().flatten().map(|version| format!(", {version}"));
        format!(
            "{} cores of {}, {} of memory, Linux {}, {}{}; armshield {}{}",
            self.cores,
            self.processor,
            self.memory,
            self.kernel,
            self.rustc,
            peers.collect::<String>(),
            self.source,
            if self.pinned { "" } else { "; NOT PINNED to cores" },
        )
    }
}

/// `24684084 kB` as `24 GiB`.
fn gibibytes(text: &str) -> Option<String> {
    let kibibytes: f64 = text.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.0} GiB", kibibytes / f64::from(1 << 20)))
}

/// The version of nginx, if there is one.
pub(crate) fn nginx() -> Option<String> {
    let output = Command::new("nginx").arg("-v").output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(text.trim().strip_prefix("nginx version: ")?.replace('/', " "))
}

/// The version of HAProxy, if there is one.
pub(crate) fn haproxy() -> Option<String> {
    let text = said("haproxy", &["-v"])?;
    let version = text.strip_prefix("HAProxy version ")?.split(' ').next()?;
    Some(format!("HAProxy {version}"))
}

fn said(program: &str, words: &[&str]) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(program).args(words).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
