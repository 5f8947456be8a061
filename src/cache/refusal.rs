//! Refusals: a 403 takes away what its caller was shown at and below the path.

use std::sync::Arc;

use dashmap::DashMap;

use crate::arm::path::is_at_or_below;

/// How many refused paths are told apart for one caller; beyond, all the caller's answers fall.
const PATHS: usize = 64;
/// How many callers are watched.
const CALLERS: usize = 10_000;

/// Where callers were refused, and when. What was sent before is not shown to them again.
#[derive(Debug, Default)]
pub struct Refusals(DashMap<u128, Vec<(Arc<str>, u64)>>);

impl Refusals {
    /// ARM refused `caller` at `path`, known at this place in the order of sending.
    /// Gives back whether everybody's refusals had to be forgotten to bound memory.
    pub fn note(&self, caller: u128, path: &Arc<str>, order: u64) -> bool {
        let crowded = self.0.len() >= CALLERS && !self.0.contains_key(&caller);
        if crowded {
            self.0.clear();
        }
        let mut refused = self.0.entry(caller).or_default();
        refused.retain(|(known, _)| !is_at_or_below(known, path));
        if refused.len() >= PATHS {
            refused.clear();
            refused.push(("".into(), order));
        } else {
            refused.push((path.clone(), order));
        }
        crowded
    }

    /// Whether an answer about `path`, sent at this place in the order, was taken away from `caller`.
    #[must_use]
    pub fn hides(&self, caller: u128, path: &str, order: u64) -> bool {
        self.0.get(&caller).is_some_and(|refused| {
            refused.iter().any(|(at, since)| order < *since && is_at_or_below(path, at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_hides_what_was_sent_before_at_and_below_its_path() {
        let refusals = Refusals::default();
        refusals.note(1, &"/a/b".into(), 10);
        assert!(refusals.hides(1, "/a/b", 9));
        assert!(refusals.hides(1, "/a/b/c", 9));
        assert!(!refusals.hides(1, "/a/b", 11), "what was let in later counts");
        assert!(!refusals.hides(1, "/a", 9));
        assert!(!refusals.hides(2, "/a/b", 9), "another caller was not refused");
    }

    #[test]
    fn too_many_refusals_hide_everything_of_the_caller() {
        let refusals = Refusals::default();
        for n in 0..=PATHS {
            refusals.note(1, &format!("/a/{n}").into(), 10);
        }
        assert!(refusals.hides(1, "/elsewhere", 9));
    }
}
