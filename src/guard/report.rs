//! What is said about a guarded write: the `Armshield-Guard` header, and the same words in log and metrics.

use std::fmt::Write;

use http::HeaderValue;

use super::{Choice, Source};

/// How a guarded write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It went through with its condition, or failed for another reason.
    Passed,
    /// It was applied on a newer version than the one shown, both changes kept.
    Rebased,
    /// ARM answered 412.
    Conflict,
    /// A version was found and not sent.
    Observed,
    /// No version was found.
    Unguarded,
}

impl Outcome {
    /// The word used in headers, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Rebased => "rebased",
            Self::Conflict => "conflict",
            Self::Observed => "observed",
            Self::Unguarded => "unguarded",
        }
    }
}

/// What is said about a guarded write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was decided.
    pub choice: Choice,
    /// How it ended.
    pub outcome: Outcome,
}

impl Report {
    /// The report of a write that was answered with this status.
    #[must_use]
    pub const fn new(choice: Choice, status: u16) -> Self {
        let conditional = choice.send || matches!(choice.source, Source::Client);
        let outcome = match choice.source {
            Source::None => Outcome::Unguarded,
            _ if !conditional => Outcome::Observed,
            _ if status == 412 => Outcome::Conflict,
            _ => Outcome::Passed,
        };
        Self { choice, outcome }
    }

    /// `source=seen, etag="\"3\"", result=passed` (a dictionary of RFC 9651).
    #[must_use]
    pub fn header(&self) -> HeaderValue {
        let mut text = format!("source={}", self.choice.source.as_str());
        if let Some(etag) = &self.choice.etag {
            text.push_str(", etag=\"");
            for character in etag.as_str().chars().filter(|character| matches!(character, ' '..='~')) {
                if matches!(character, '"' | '\\') {
                    text.push('\\');
                }
                text.push(character);
            }
            text.push('"');
        }
        // Writing to a string does not fail.
        let _ = write!(text, ", result={}", self.outcome.as_str());
        HeaderValue::from_str(&text)
            .unwrap_or_else(|_| HeaderValue::from_static("source=none, result=unguarded"))
    }
}
