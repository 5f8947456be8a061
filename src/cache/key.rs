//! Keys: everything that can change an answer, in one digest.

use dashmap::DashMap;
use http::{HeaderMap, HeaderName};

use crate::arm::{ArmPath, Query};

use super::neutral::is_neutral;

/// How many questions whose answers are split by headers are watched.
const WATCHED: usize = 4096;

/// Everything that can change an answer, as a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// A key without the headers that split it: what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Question([u8; 32]);

impl Question {
    /// A short form, for tables that hold many.
    #[must_use]
    pub fn short(self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(first)
    }
}

/// A request, keyed.
#[derive(Debug, Clone)]
pub struct Keyed {
    /// The key of the answer.
    pub key: Key,
    /// What was asked.
    pub question: Question,
    /// The headers that are not known to be neutral.
    pub split_by: Vec<HeaderName>,
}

impl Keyed {
    /// Keys a GET: who asks (what ARM would judge), where, what, and how.
    #[must_use]
    pub fn new(
        asker: &[u8],
        authority: &str,
        path: &ArmPath,
        query: &Query<'_>,
        headers: &HeaderMap,
        more_neutral: &[String],
    ) -> Self {
        let mut digest = Digest(Vec::with_capacity(512));
        digest.add(asker);
        digest.add(authority.as_bytes());
        digest.add(path.as_str().as_bytes());
        for (name, value) in query.parts() {
            digest.add(name.as_bytes());
            digest.add(value.as_bytes());
        }
        let question = Question(digest.value());
        let mut split: Vec<_> =
            headers.iter().filter(|(name, value)| !is_neutral(name, value, more_neutral)).collect();
        if split.is_empty() {
            return Self { key: Key(question.0), question, split_by: Vec::new() };
        }
        // Stable: values of one name keep their order.
        split.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
        digest.add(b"\nheaders");
        for (name, value) in &split {
            digest.add(name.as_str().as_bytes());
            digest.add(value.as_bytes());
        }
        let mut split_by: Vec<HeaderName> = split.into_iter().map(|(name, _)| name.clone()).collect();
        split_by.dedup();
        Self { key: Key(digest.value()), question, split_by }
    }
}

/// Fields of a digest, each preceded by its length, so that no two lists of fields run together.
struct Digest(Vec<u8>);

impl Digest {
    fn add(&mut self, field: &[u8]) {
        self.0.extend_from_slice(&(field.len() as u64).to_le_bytes());
        self.0.extend_from_slice(field);
    }

    fn value(&self) -> [u8; 32] {
        *blake3::hash(&self.0).as_bytes()
    }
}

/// Counts the variants of questions that headers split, so that a header with a fresh value in every
/// request does not fill the store.
#[derive(Debug, Default)]
pub struct Variants(DashMap<Question, Vec<Key>>);

impl Variants {
    /// Whether this would be one variant too many of its question. Notes nothing.
    #[must_use]
    pub fn would_be_too_many(&self, keyed: &Keyed, most: usize) -> bool {
        !keyed.split_by.is_empty()
            && self.0.get(&keyed.question).is_some_and(|known| is_surplus(&known, &keyed.key, most))
    }

    /// Whether this is one variant too many of its question.
    #[must_use]
    pub fn too_many(&self, keyed: &Keyed, most: usize) -> bool {
        if keyed.split_by.is_empty() {
            return false;
        }
        if self.0.len() >= WATCHED && !self.0.contains_key(&keyed.question) {
            self.0.clear();
        }
        let mut known = self.0.entry(keyed.question).or_default();
        let surplus = is_surplus(&known, &keyed.key, most);
        if !surplus && !known.contains(&keyed.key) {
            known.push(keyed.key);
        }
        surplus
    }
}

fn is_surplus(known: &[Key], key: &Key, most: usize) -> bool {
    known.len() >= most && !known.contains(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(asker: &str, target: &str, headers: &[(&'static str, &str)]) -> Keyed {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let path = ArmPath::parse(path).unwrap();
        Keyed::new(asker.as_bytes(), "management.azure.com", &path, &Query::parse(query), &map, &[])
    }

    #[test]
    fn what_means_the_same_has_one_key() {
        let plain = keyed("a", "/subscriptions/s/x?api-version=1&$expand=v", &[]);
        for other in [
            keyed("a", "/Subscriptions/S/X?%24expand=v&api-version=1", &[]),
            keyed("a", "/subscriptions/s/x?$expand=v&api-version=1", &[("x-ms-client-request-id", "7")]),
        ] {
            assert_eq!(plain.key, other.key);
            assert!(other.split_by.is_empty());
        }
    }

    #[test]
    fn what_can_change_the_answer_has_keys_of_its_own() {
        let all = [
            keyed("a", "/subscriptions/s/x?api-version=1", &[]),
            keyed("b", "/subscriptions/s/x?api-version=1", &[]),
            keyed("a", "/subscriptions/s/y?api-version=1", &[]),
            keyed("a", "/subscriptions/s/x?api-version=2", &[]),
            keyed("a", "/subscriptions/s/x?api-version=1&useResourceGraph=true", &[]),
            keyed("a", "/subscriptions/s/x?api-version=1", &[("x-new", "1")]),
            keyed("a", "/subscriptions/s/x?api-version=1", &[("x-new", "2")]),
            keyed("a", "/subscriptions/s/x?api-version=1", &[("x-new", "1"), ("x-new", "2")]),
            keyed("a", "/subscriptions/s/x?api-version=1", &[("x-new", "2"), ("x-new", "1")]),
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(one.key, other.key);
            }
        }
        assert_eq!(all[5].question, all[6].question);
        assert_eq!(all[5].split_by, ["x-new"]);
    }

    #[test]
    fn a_fresh_header_value_in_every_request_soon_bypasses() {
        let variants = Variants::default();
        let too_many = |value: &str| {
            let keyed = keyed("a", "/x", &[("x-new", value)]);
            let would_be = variants.would_be_too_many(&keyed, 2);
            assert_eq!(would_be, variants.would_be_too_many(&keyed, 2), "asking changes nothing");
            assert_eq!(would_be, variants.too_many(&keyed, 2), "and foretells the answer");
            would_be
        };
        assert!(!too_many("1"));
        assert!(!too_many("2"));
        assert!(too_many("3"));
        assert!(!too_many("1"), "variants known before stay");
    }
}
