//! What the clients write down of a phase: every exchange, every wait, every change.

use std::time::Duration;

use http::{HeaderMap, Method};

use super::lost::Change;
use super::who::Who;

/// What armshield says about where an answer came from. A claim: the figures hold it against ARM's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing, or that ARM was asked.
    Asked,
    /// From memory, with the age in whole seconds.
    Memory(Duration),
    /// From a call that somebody else had begun.
    Merged,
}

impl Said {
    /// Reads `Cache-Status` (RFC 9211) and `Age`.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let status = text("cache-status");
        if status.starts_with("armshield; hit") {
            Self::Memory(Duration::from_secs(text("age").parse().unwrap_or(0)))
        } else if status.contains("collapsed") {
            Self::Merged
        } else {
            Self::Asked
        }
    }
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// Its `x-ms-client-request-id`, by which it is found in ARM's journal.
    pub(super) id: String,
    pub(super) who: Who,
    pub(super) method: Method,
    pub(super) target: String,
    /// When the answer was there, since the beginning of the phase.
    pub(super) ended: Duration,
    /// `None`: no answer.
    pub(super) status: Option<u16>,
    pub(super) said: Said,
    /// Whether the client put a condition on it.
    pub(super) conditional: bool,
}

/// All that is written down.
#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    pub(super) exchanges: Vec<Exchange>,
    /// From asking to the last answer, what was waited for after 429 included.
    pub(super) took: Vec<Duration>,
    /// Time waited because ARM or armshield said so.
    pub(super) waited: Duration,
    /// Changes that were sent.
    pub(super) changes: Vec<Change>,
    /// Resources shown as they were before the reader's own write.
    pub(super) stale: usize,
    /// Pieces of work brought to their end.
    pub(super) done: usize,
    /// The number of the next request.
    pub(super) next: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_armshield_says_is_read_from_its_headers() {
        let check = |fields: &[(&'static str, &str)], said| {
            let headers = fields
                .iter()
                .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
            assert_eq!(Said::of(&headers.collect()), said, "{fields:?}");
        };
        check(&[], Said::Asked);
        check(&[("cache-status", "armshield; fwd=miss; stored")], Said::Asked);
        check(&[("cache-status", "armshield; fwd=miss; collapsed")], Said::Merged);
        check(
            &[("cache-status", "armshield; hit; ttl=3"), ("age", "12")],
            Said::Memory(Duration::from_secs(12)),
        );
    }
}
