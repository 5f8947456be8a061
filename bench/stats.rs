//! Medians and quantiles.

/// The value below which that share of a sorted list lies, in milliseconds of nanoseconds; 0 for an empty list.
pub(crate) fn millis(sorted: &[u64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map_or(0.0, |&nanos| nanos as f64 / 1e6)
}

/// A number out of every round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// Of the numbers that are some: a round can be too short for a ratio.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        };
        let at = |end: Option<&f64>| end.copied().unwrap_or(f64::NAN);
        Self { median, least: at(sorted.first()), most: at(sorted.last()) }
    }

    /// `1.30 (1.25–1.41)`
    pub(crate) fn text(self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.least, self.most)
    }
}
