//! JSON as a canonical digest: the order of names, whitespace and escapes make no difference, all else does.
//!
//! Numbers are text (`1` and `1.0` differ) and arrays keep their order: where two texts might mean the
//! same, they count as different. Text whose meaning is unclear (a name twice, too deep) has no digest.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::digest::Absorb;

/// Why a JSON text has no digest: readers may disagree about what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear;

/// Objects and arrays inside each other; each level reads its text once more. Entra's claims have three.
const DEEPEST: usize = 8;

/// The members of an object, sorted by name, each name once.
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Unclear> {
        let Self(mut members) = serde_json::from_str(text).map_err(|_| Unclear)?;
        members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(Unclear);
        }
        Ok(Self(members))
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    pub(super) fn member(&self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        Some(self.0[at].1)
    }

    /// The text of a member that is a string and not empty.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let text = string(self.member(name)?).ok()?;
        (!text.is_empty()).then_some(text)
    }
}

/// Feeds a value into a digest.
pub(super) fn absorb(value: &RawValue, into: &mut Absorb) -> Result<(), Unclear> {
    absorb_at(value, into, DEEPEST)
}

fn absorb_at(value: &RawValue, into: &mut Absorb, depth: usize) -> Result<(), Unclear> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let below = depth.checked_sub(1).ok_or(Unclear)?;
            let object = Object::parse(text)?;
            into.mark(b'{').count(object.0.len());
            for (name, value) in object.members() {
                into.bytes(name.as_bytes());
                absorb_at(value, into, below)?;
            }
        }
        Some(b'[') => {
            let below = depth.checked_sub(1).ok_or(Unclear)?;
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| Unclear)?;
            into.mark(b'[').count(items.len());
            for item in items {
                absorb_at(item, into, below)?;
            }
        }
        Some(b'"') => {
            into.mark(b'"').bytes(string(value)?.as_bytes());
        }
        _ => {
            into.mark(b'=').bytes(text.as_bytes());
        }
    }
    Ok(())
}

fn string(value: &RawValue) -> Result<Cow<'_, str>, Unclear> {
    serde_json::from_str(value.get()).map(|Text(text)| text).map_err(|_| Unclear)
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(32);
                while let Some((Text(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::{Key, Purpose};
    use super::*;

    fn digest(text: &str) -> Result<u128, Unclear> {
        let value: &RawValue = serde_json::from_str(text).unwrap();
        let mut into = Key::fixed([7; 32]).absorb(Purpose::Claim);
        absorb(value, &mut into).map(|()| into.finish())
    }

    #[test]
    fn order_whitespace_and_escapes_make_no_difference() {
        let check = |one, other| {
            assert!(digest(one).is_ok(), "{one}");
            assert_eq!(digest(one), digest(other), "{one} {other}");
        };
        check(
            r#"{"a":1,"b":[true,{"c":"x","d":null}]}"#,
            "{ \"b\" : [ true , {\"d\":null, \"c\":\"x\"} ],\n\"a\" : 1 }",
        );
        check(r#"{"\u0061":"\u00e9\/"}"#, r#"{"a":"é/"}"#);
    }

    #[test]
    fn whatever_might_differ_in_meaning_differs() {
        let check = |one, other| assert_ne!(digest(one).unwrap(), digest(other).unwrap(), "{one} {other}");
        check("1", "1.0");
        check("1", "\"1\"");
        check("null", "\"null\"");
        check("[]", "{}");
        check("[]", "[[]]");
        check(r#"["a","b"]"#, r#"["b","a"]"#);
        check(r#"["ab"]"#, r#"["a","b"]"#);
        check(r#"[["a"],"b"]"#, r#"[["a","b"]]"#);
        check(r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#);
        check("18446744073709551616", "18446744073709551617");
    }

    #[test]
    fn unclear_text_has_no_digest() {
        let check = |text: &str| assert_eq!(digest(text), Err(Unclear), "{text}");
        check(r#"{"a":1,"a":1}"#);
        check(r#"{"a":1,"\u0061":2}"#);
        check(r#"[{"x":{"a":1,"b":2,"a":3}}]"#);
        check(r#"{"a":"\ud800"}"#);
        check(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    }
}
