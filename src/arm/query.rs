//! The query of an ARM request: names compare without case and without their encoding, values are kept.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;

/// The parts of a query, names folded and decoded, in the order in which they compare. Debug output shows
/// no values: they can be signatures.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Query<'a> {
    parts: Vec<(Cow<'a, str>, &'a str)>,
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.parts.iter().map(|(name, _)| name)).finish()
    }
}

impl<'a> Query<'a> {
    /// Reads the text behind the question mark.
    #[must_use]
    pub fn parse(raw: &'a str) -> Self {
        let mut parts: Vec<_> = raw
            .split('&')
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                (fold(name), value)
            })
            .collect();
        // Stable, so that repeated names keep the order of their values.
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        Self { parts }
    }

    /// The value of `name` (lower case) as the client encoded it; the first one if there are several.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.parts.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The value of `name` (lower case), decoded: `+` is a space.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).map(decode)
    }

    /// Whether `name` (lower case) is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Folded names and raw values, sorted by name.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.parts.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// The api-version, for example `2025-04-01`.
    #[must_use]
    pub fn api_version(&self) -> Option<&'a str> {
        self.raw("api-version")
    }

    /// Whether this asks for a later page of a list. The token's name is not fixed: `$skiptoken`, `$skipToken`.
    #[must_use]
    pub fn is_continuation(&self) -> bool {
        self.has("$skiptoken") || self.has("skiptoken")
    }

    /// Whether the answer shows less than the resource (`$select`), or comes from Resource Graph, whose
    /// bodies ignore the api-version and lag by seconds. Such bodies prove nothing about versions.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.has("$select")
            || self.value("useresourcegraph").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

fn fold(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte == b'%' || byte == b'+' || byte.is_ascii_uppercase()) {
        Cow::Owned(decode(name).to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn decode(text: &str) -> Cow<'_, str> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
    } else {
        percent_decode_str(text).decode_utf8_lossy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_case_and_encoding_of_names_make_no_difference() {
        let one = Query::parse("api-version=2025-04-01&%24expand=instanceView");
        let other = Query::parse("$Expand=instanceView&API-version=2025-04-01");
        assert_eq!(one, other);
        assert_eq!(one.value("$expand").as_deref(), Some("instanceView"));
    }

    #[test]
    fn values_keep_their_bytes() {
        assert_ne!(Query::parse("a=%2F"), Query::parse("a=/"));
        assert_ne!(Query::parse("a=B"), Query::parse("a=b"));
    }

    #[test]
    fn filters_decode() {
        let query = Query::parse("%24filter=%27virtualMachineScaleSet%2Fid%27+eq+%27%2Fs%27");
        assert_eq!(query.value("$filter").as_deref(), Some("'virtualMachineScaleSet/id' eq '/s'"));
    }

    #[test]
    fn partial_bodies_and_later_pages_are_told() {
        assert!(Query::parse("%24select=id").is_partial());
        assert!(Query::parse("useResourceGraph=True").is_partial());
        assert!(!Query::parse("useResourceGraph=false").is_partial());
        assert!(Query::parse("$skipToken=x").is_continuation());
    }
}
