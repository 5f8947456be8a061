//! Percentiles.

use std::time::Duration;

/// The smallest value that at least `percent` of the values do not exceed (nearest rank); zero without values.
pub(super) fn percentile(values: &[Duration], percent: usize) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let check = |millis: &[u64], percent, expected| {
            let values: Vec<_> = millis.iter().copied().map(Duration::from_millis).collect();
            assert_eq!(percentile(&values, percent), Duration::from_millis(expected), "{millis:?} {percent}");
        };
        check(&[], 50, 0);
        check(&[7], 50, 7);
        check(&[7], 99, 7);
        check(&[4, 1, 3, 2], 50, 2);
        check(&[4, 1, 3, 2], 75, 3);
        check(&[4, 1, 3, 2], 99, 4);
        check(&(1..=200).rev().collect::<Vec<_>>(), 99, 198);
        check(&(1..=200).collect::<Vec<_>>(), 100, 200);
    }
}
