//! Names for callers and clients that say nothing about them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many are remembered. Beyond, all are forgotten; a number once given is never given again.
const REMEMBERED: usize = 8192;

/// Labels in the order of asking: `caller-1`, `client-1`. They begin anew with the process.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Labels(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    numbers: HashMap<(&'static str, u128), u64>,
    last: HashMap<&'static str, u64>,
}

impl Labels {
    /// The label of what has this digest, the same at every time of asking.
    pub(super) fn of(&self, what: &'static str, digest: u128) -> String {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Given { numbers, last } = &mut *given;
        if numbers.len() >= REMEMBERED && !numbers.contains_key(&(what, digest)) {
            numbers.clear();
        }
        let number = numbers.entry((what, digest)).or_insert_with(|| {
            let last = last.entry(what).or_default();
            *last += 1;
            *last
        });
        format!("{what}-{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stays_and_is_never_given_to_another() {
        let labels = Labels::default();
        assert_eq!(labels.of("caller", 77), "caller-1");
        assert_eq!(labels.of("client", 77), "client-1");
        assert_eq!(labels.of("caller", 5), "caller-2");
        assert_eq!(labels.of("caller", 77), "caller-1");
        let all: std::collections::HashSet<_> =
            (0..3 * REMEMBERED as u128).map(|n| labels.of("caller", n + 100)).collect();
        assert_eq!(all.len(), 3 * REMEMBERED);
        assert!(!all.contains("caller-1"));
    }
}
