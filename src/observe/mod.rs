//! What operators see: a line for every request, numbers for everything, events for what is rare.
//!
//! Labels are enums, types that have a rule, and profile names; never paths, ids or tokens. Lines carry
//! the path without its query, because signatures live there.

mod line;
mod log;
mod metrics;

pub use line::{Cache, Line};
pub use log::{Format, Log};
pub use metrics::Metrics;

/// What an operator may decide about logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Text or JSON.
    pub format: Format,
    /// Which events are written, for example `info` or `armshield=debug`.
    pub level: String,
    /// Whether every request gets a line.
    pub access: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { format: Format::Text, level: "info".into(), access: true }
    }
}
