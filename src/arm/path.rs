//! The path of an ARM address, decoded, split and case-folded.
//!
//! Names in ARM paths compare without case (ARM RPC, "common API details"), so everything that is keyed
//! by a path is keyed by this form; what travels upstream stays byte for byte what the client sent.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

/// Why a path has no canonical form. Such a path is never cached, and a write to it reaches "all".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    /// Two slashes in a row, or one at the end.
    #[error("the path has an empty segment")]
    Empty,
    /// `.` or `..`, encoded or not.
    #[error("the path has a dot segment")]
    Dots,
    /// A percent sign without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("the path has invalid percent-encoding")]
    Encoding,
    /// A slash, backslash or control character hidden in an encoded segment, or a path that is not absolute.
    #[error("the path has a character that no ARM name can have")]
    Character,
}

/// What the end of a resource path addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `…/type/name`: one resource.
    Point,
    /// `…/type`: all resources of a type, an action, or a view such as `instanceView`.
    Collection,
}

/// A path in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArmPath {
    folded: Arc<str>,
    ends: Vec<u32>,
    provider: Option<usize>,
}

impl ArmPath {
    /// Reads the path part of a request target (no query).
    ///
    /// # Errors
    /// When the path has no canonical form.
    pub fn parse(raw: &str) -> Result<Self, NotCanonical> {
        let decoded = if raw.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
            Cow::Borrowed(raw)
        } else {
            Cow::Owned(decode(raw)?)
        };
        let mut folded: Arc<str> = decoded.into();
        Arc::make_mut(&mut folded).make_ascii_lowercase();
        if !folded.starts_with('/') {
            return Err(NotCanonical::Character);
        }
        let (mut end, mut ends, mut provider) = (0, Vec::with_capacity(12), None);
        for segment in folded.as_bytes().split(|byte| *byte == b'/').skip(1) {
            match segment {
                b"" => return Err(NotCanonical::Empty),
                b"." | b".." => return Err(NotCanonical::Dots),
                b"providers" if provider.is_none() => provider = Some(ends.len()),
                _ => {}
            }
            end += 1 + segment.len();
            ends.push(u32::try_from(end).map_err(|_| NotCanonical::Character)?);
        }
        Ok(Self { folded, ends, provider })
    }

    /// The canonical text: lower case, decoded, starting with a slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.folded
    }

    /// The canonical text, shared.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        self.folded.clone()
    }

    /// The number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never: a path has at least one segment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The segment at `at`, lower case.
    ///
    /// # Panics
    /// When `at` is not below [`ArmPath::len`].
    #[must_use]
    pub fn segment(&self, at: usize) -> &str {
        &self.folded[self.span(at)]
    }

    fn span(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        start + 1..self.ends[at] as usize
    }

    /// The first `count` segments as text.
    fn prefix(&self, count: usize) -> &str {
        if count == 0 { "" } else { &self.folded[..self.ends[count - 1] as usize] }
    }

    /// The last segment.
    #[must_use]
    pub fn last(&self) -> &str {
        self.segment(self.len() - 1)
    }

    /// `/subscriptions/{guid}`'s name, if the path is below a subscription.
    #[must_use]
    pub fn subscription(&self) -> Option<&str> {
        (self.len() >= 2 && self.segment(0) == "subscriptions").then(|| self.segment(1))
    }

    /// The resource group's name.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        (self.len() >= 4 && self.segment(0) == "subscriptions" && self.segment(2) == "resourcegroups")
            .then(|| self.segment(3))
    }

    /// The resource provider, for example `microsoft.compute`: the first one, if there are extensions.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let at = self.provider? + 1;
        (at < self.len()).then(|| self.segment(at))
    }

    /// The segment at which the first type stands; every second one after it is a type too.
    #[must_use]
    pub fn types_from(&self) -> Option<usize> {
        self.provider.map(|provider| provider + 2)
    }

    /// The type addressed, for example `microsoft.compute/virtualmachinescalesets/virtualmachines`, and
    /// whether one resource or what lies below the type is addressed. An extension
    /// (`…/providers/a/b/c/providers/d/e/f`) counts as a long type of its root.
    #[must_use]
    pub fn resource(&self) -> Option<(String, Shape)> {
        let first = self.types_from()?;
        if first >= self.len() {
            return None;
        }
        let mut name = String::with_capacity(self.folded.len());
        name.push_str(self.segment(first - 1));
        for at in (first..self.len()).step_by(2) {
            name.push('/');
            name.push_str(self.segment(at));
        }
        let shape = if (self.len() - first).is_multiple_of(2) { Shape::Point } else { Shape::Collection };
        Some((name, shape))
    }

    /// The root resource: the path up to and with the first name below the provider.
    #[must_use]
    pub fn root(&self) -> Option<&str> {
        let count = self.provider? + 4;
        (count <= self.len()).then(|| self.prefix(count))
    }

    /// The path without its last `count` segments, as text.
    #[must_use]
    pub fn parent(&self, count: usize) -> &str {
        self.prefix(self.len().saturating_sub(count))
    }

    /// Whether this path is `other` or lies below it.
    #[must_use]
    pub fn is_at_or_below(&self, other: &str) -> bool {
        is_at_or_below(&self.folded, other)
    }
}

/// Whether the canonical `path` is `other` or lies below it.
#[must_use]
pub fn is_at_or_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a byte of a path stands for itself and is nothing to object to. Nearly all of them are.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'%' | b'\\')
}

/// Decodes a path in which no segment hides a slash.
fn decode(raw: &str) -> Result<String, NotCanonical> {
    let mut decoded = String::with_capacity(raw.len());
    for (at, segment) in raw.split('/').enumerate() {
        if !encoding_is_valid(segment) {
            return Err(NotCanonical::Encoding);
        }
        let segment = percent_decode_str(segment).decode_utf8().map_err(|_| NotCanonical::Encoding)?;
        if segment.chars().any(|character| matches!(character, '/' | '\\') || character.is_control()) {
            return Err(NotCanonical::Character);
        }
        if at > 0 {
            decoded.push('/');
        }
        decoded.push_str(&segment);
    }
    Ok(decoded)
}

fn encoding_is_valid(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'%')
        .all(|(at, _)| bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VM: &str = "/subscriptions/S/resourceGroups/Rg/providers/Microsoft.Compute/virtualMachineScaleSets/Set/virtualMachines/0";

    #[test]
    fn a_resource_path_knows_its_parts() {
        let path = ArmPath::parse(VM).unwrap();
        assert_eq!(path.subscription(), Some("s"));
        assert_eq!(path.group(), Some("rg"));
        assert_eq!(path.namespace(), Some("microsoft.compute"));
        let (name, shape) = path.resource().unwrap();
        assert_eq!(name, "microsoft.compute/virtualmachinescalesets/virtualmachines");
        assert_eq!(shape, Shape::Point);
        assert_eq!(
            path.root(),
            Some(
                "/subscriptions/s/resourcegroups/rg/providers/microsoft.compute/virtualmachinescalesets/set"
            )
        );
        assert!(path.is_at_or_below(path.root().unwrap()));
    }

    #[test]
    fn a_list_is_a_collection_and_has_no_root_of_its_own() {
        let path = ArmPath::parse("/subscriptions/s/providers/Microsoft.Compute/virtualMachines").unwrap();
        assert_eq!(path.resource(), Some(("microsoft.compute/virtualmachines".into(), Shape::Collection)));
        assert_eq!(path.root(), None);
        assert_eq!(path.group(), None);
    }

    #[test]
    fn casing_and_encoding_make_no_difference() {
        let plain = ArmPath::parse("/subscriptions/s/resourceGroups/a b").unwrap();
        assert_eq!(plain, ArmPath::parse("/Subscriptions/S/resourcegroups/A%20b").unwrap());
    }

    #[test]
    fn what_is_not_canonical_says_why() {
        let check = |raw, why| assert_eq!(ArmPath::parse(raw), Err(why), "{raw}");
        check("/a//b", NotCanonical::Empty);
        check("/a/", NotCanonical::Empty);
        check("/a/%2e%2E/b", NotCanonical::Dots);
        check("/a/%2", NotCanonical::Encoding);
        check("/a/%zz", NotCanonical::Encoding);
        check("/a/%ff", NotCanonical::Encoding);
        check("/a/b%2fc", NotCanonical::Character);
        check("/a/b\\c", NotCanonical::Character);
        check("/a/b%5Cc", NotCanonical::Character);
        check("/a/b%7f", NotCanonical::Character);
        check("/a/b\u{85}", NotCanonical::Character);
        check("/a/../b", NotCanonical::Dots);
        for odd in ["*", "", "a", "a/b", "%2fa"] {
            check(odd, NotCanonical::Character);
        }
        check("/", NotCanonical::Empty);
    }

    #[test]
    fn a_name_that_only_begins_alike_is_not_below() {
        assert!(!is_at_or_below("/a/bc", "/a/b"));
        assert!(is_at_or_below("/a/b/c", "/a/b"));
        assert!(is_at_or_below("/a/b", "/a/b"));
    }
}
