//! Entity tags as ARM uses them: versions of a model, not validators of a body.
//!
//! Microsoft.Compute counts (`"1"`, `"2"`, in strong form, the quotes inside the JSON string); a number
//! stays the same from `Creating` to `Succeeded`. Microsoft.Network sends weak GUIDs (`W/"guid"`) and
//! accepts them in `If-Match`, so a tag is passed on verbatim and never judged by RFC 9110 §8.8.3.

use std::fmt;
use std::sync::Arc;

/// An entity tag exactly as ARM wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ETag(Arc<str>);

impl ETag {
    /// The tag as text, quotes and weakness mark included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number of a Compute counter, `None` for tags that have no order.
    #[must_use]
    pub fn counter(&self) -> Option<u64> {
        self.0.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
    }
}

impl From<&str> for ETag {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_tags_count_and_network_tags_do_not() {
        assert_eq!(ETag::from("\"17\"").counter(), Some(17));
        assert_eq!(ETag::from("W/\"17\"").counter(), None);
        assert_eq!(ETag::from("17").counter(), None);
        assert_eq!(ETag::from("W/\"0f0e-11\"").counter(), None);
    }
}
