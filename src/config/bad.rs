//! Why a configuration cannot be used, in one line.

use std::fmt;
use std::path::{Path, PathBuf};

/// The code a process ends with that was given a bad configuration (`EX_USAGE` of BSD's `sysexits.h`).
pub const EXIT_CODE: u8 = 64;

/// A configuration that cannot be used: `config.toml:12: [listen] names: …`, always one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct BadConfiguration {
    place: Place,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The whole file.
    File(PathBuf),
    /// A line of it, from 1, and the key there, for example `[listen] names`.
    Line(PathBuf, usize, Option<String>),
    /// A flag or a variable.
    Named(String),
}

impl BadConfiguration {
    pub(super) fn file(path: &Path, reason: impl fmt::Display) -> Self {
        Self::new(Place::File(path.to_owned()), reason)
    }

    pub(super) fn line(path: &Path, line: usize, key: Option<String>, reason: impl fmt::Display) -> Self {
        Self::new(Place::Line(path.to_owned(), line, key), reason)
    }

    /// A flag such as `--listen`, or a variable.
    pub(super) fn named(name: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self::new(Place::Named(name.into()), reason)
    }

    fn new(place: Place, reason: impl fmt::Display) -> Self {
        let reason = reason.to_string();
        let lines: Vec<_> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self { place, reason: lines.join("; ") }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Line(path, line, None) => write!(f, "{}:{line}", path.display()),
            Self::Line(path, line, Some(key)) => write!(f, "{}:{line}: {key}", path.display()),
            Self::Named(name) => f.write_str(name),
        }
    }
}
