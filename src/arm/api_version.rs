//! api-versions: dates that compare, with previews before the stable version of their date.

/// Whether `version` is `floor` or later (ARM RPC, "common API details": `YYYY-MM-DD` with an optional
/// suffix such as `-preview`). A version with a suffix comes before the stable one of its date; what is no
/// date is never at least anything.
#[must_use]
pub fn at_least(version: &str, floor: &str) -> bool {
    match (rank(version), rank(floor)) {
        (Some(version), Some(floor)) => version >= floor,
        _ => false,
    }
}

/// The date, and whether it stands alone.
fn rank(version: &str) -> Option<(&str, bool)> {
    let (date, suffix) = version.split_at_checked(10)?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    (is_date && (suffix.is_empty() || suffix.starts_with('-'))).then_some((date, suffix.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_date_and_previews_come_first() {
        let check =
            |version, floor, holds| assert_eq!(at_least(version, floor), holds, "{version} ≥ {floor}");
        check("2024-03-01", "2024-03-01", true);
        check("2025-04-01", "2024-03-01", true);
        check("2023-09-01", "2024-03-01", false);
        check("2024-03-01-preview", "2024-03-01", false);
        check("2024-03-02-preview", "2024-03-01", true);
        check("2024-03-01", "2024-03-01-preview", true);
        check("2024-03-01-alpha", "2024-03-01-preview", true);
    }

    #[test]
    fn what_is_no_date_is_at_least_nothing() {
        for version in ["", "latest", "1.0", "2024-3-1", "2024/03/01", "2024-03-01x", "２024-03-01"] {
            assert!(!at_least(version, "2015-01-01"), "{version}");
            assert!(!at_least("2024-03-01", version), "{version}");
        }
    }
}
