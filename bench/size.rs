//! How much is measured.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How much is measured. What is checked is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Size {
    /// Next to nothing: whether the scripts still work.
    Smoke,
    /// Short rounds, to look at while working.
    Quick,
    /// What may be published.
    Full,
}

impl Size {
    /// One of three, by size.
    pub(crate) fn of<T>(self, smoke: T, quick: T, full: T) -> T {
        match self {
            Self::Smoke => smoke,
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}
