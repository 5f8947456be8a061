//! The names of providers' policies, learned from the answers that carry them.

use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderMap;

use crate::arm::headers::remaining;
use crate::classify::Class;

/// More names than that on one answer are not kept.
const POLICIES_OF_A_CLASS: usize = 16;
/// Compute's limits per resource are 45 calls at most, those per subscription 300 at least (Microsoft
/// Learn, "Compute throttling limits"): a policy that had more than this left is no resource's.
const MOST_OF_A_RESOURCE: u64 = 100;

/// Which policies count which classes of calls. Bounded: the class not asked about for longest goes first.
#[derive(Debug)]
pub(super) struct Learned {
    capacity: usize,
    classes: HashMap<Class, Counted>,
    policies: HashMap<Arc<str>, Policy>,
    asked: u64,
}

#[derive(Debug, Default)]
struct Counted {
    by: Vec<Arc<str>>,
    asked: u64,
}

#[derive(Debug, Default)]
struct Policy {
    classes: usize,
    most_left: u64,
}

impl Learned {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), classes: HashMap::new(), policies: HashMap::new(), asked: 0 }
    }

    /// Takes note of the names an answer to a call of `class` carries.
    pub(super) fn note(&mut self, class: &Class, headers: &HeaderMap) {
        for (name, left) in remaining(headers) {
            self.teach(class, &full_name(class, name), left);
        }
    }

    /// Notes that `policy` counts calls of `class`, and had `left`.
    pub(super) fn teach(&mut self, class: &Class, policy: &str, left: u64) {
        let counts = self.classes.get(class).map(|counted| &counted.by);
        if let Some(known) = self.policies.get_mut(policy)
            && counts.is_some_and(|by| by.iter().any(|name| &**name == policy))
        {
            known.most_left = known.most_left.max(left);
            return;
        }
        if counts.is_none() && self.classes.len() >= self.capacity {
            self.forget_one();
        }
        let counted = self.classes.entry(class.clone()).or_default();
        if counted.by.len() >= POLICIES_OF_A_CLASS {
            return;
        }
        counted.asked = self.asked;
        let name =
            self.policies.get_key_value(policy).map_or_else(|| policy.into(), |(name, _)| name.clone());
        counted.by.push(name.clone());
        let policy = self.policies.entry(name).or_default();
        policy.classes += 1;
        policy.most_left = policy.most_left.max(left);
    }

    fn forget_one(&mut self) {
        let Some(class) =
            self.classes.iter().min_by_key(|(_, counted)| counted.asked).map(|(c, _)| c.clone())
        else {
            return;
        };
        for name in self.classes.remove(&class).into_iter().flat_map(|counted| counted.by) {
            if let Some(policy) = self.policies.get_mut(&name) {
                policy.classes -= 1;
                if policy.classes == 0 {
                    self.policies.remove(&name);
                }
            }
        }
    }

    /// Notes that calls of `class` are being made.
    pub(super) fn touch(&mut self, class: &Class) {
        self.asked += 1;
        if let Some(counted) = self.classes.get_mut(class) {
            counted.asked = self.asked;
        }
    }

    /// The policies that count calls of `class`.
    pub(super) fn of(&self, class: &Class) -> impl Iterator<Item = Arc<str>> {
        self.classes.get(class).into_iter().flat_map(|counted| counted.by.iter().cloned())
    }

    /// The policy of this name as it was learned, if it was.
    pub(super) fn known(&self, policy: &str) -> Option<Arc<str>> {
        self.policies.get_key_value(policy).map(|(name, _)| name.clone())
    }

    /// Whether the policy had more calls left than any limit per resource.
    pub(super) fn had_many_left(&self, policy: &str) -> bool {
        self.policies.get(policy).is_some_and(|policy| policy.most_left > MOST_OF_A_RESOURCE)
    }

    /// How many policies are known.
    pub(super) fn policies(&self) -> usize {
        self.policies.len()
    }
}

/// A policy's name with the provider of the class, in lower case. Headers name the provider, bodies do not.
pub(super) fn full_name(class: &Class, policy: &str) -> String {
    let provider = class.kind.split('/').next().unwrap_or_default();
    format!("{provider}/{policy}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Charge, Reach};

    fn class(kind: &str) -> Class {
        Class { charge: Charge::Read, kind: kind.into(), reach: Reach::List }
    }

    fn names(learned: &Learned, kind: &str) -> Vec<String> {
        learned.of(&class(kind)).map(|name| name.to_string()).collect()
    }

    #[test]
    fn one_policy_counts_several_classes_and_a_class_has_several_policies() {
        let mut learned = Learned::new(10);
        let mut headers = HeaderMap::new();
        headers.insert(
            "x-ms-ratelimit-remaining-resource",
            "Microsoft.Compute/A;9,Microsoft.Compute/B;359".parse().unwrap(),
        );
        learned.note(&class("microsoft.compute/x"), &headers);
        learned.note(&class("microsoft.compute/x"), &headers);
        learned.teach(&class("microsoft.compute/y"), "microsoft.compute/a", 0);
        assert_eq!(names(&learned, "microsoft.compute/x"), ["microsoft.compute/a", "microsoft.compute/b"]);
        assert_eq!(names(&learned, "microsoft.compute/y"), ["microsoft.compute/a"]);
        assert_eq!(learned.policies(), 2);
        assert!(
            !learned.had_many_left("microsoft.compute/a") && learned.had_many_left("microsoft.compute/b")
        );
    }

    #[test]
    fn the_class_not_asked_about_for_longest_is_forgotten_first() {
        let mut learned = Learned::new(2);
        learned.teach(&class("p/x"), "p/a", 1);
        learned.teach(&class("p/y"), "p/b", 1);
        learned.touch(&class("p/x"));
        learned.teach(&class("p/z"), "p/b", 1);
        assert_eq!(names(&learned, "p/y"), [""; 0]);
        assert_eq!(names(&learned, "p/x"), ["p/a"]);
        assert_eq!(learned.known("p/b").as_deref(), Some("p/b"));
        learned.touch(&class("p/x"));
        learned.teach(&class("p/y"), "p/c", 1);
        assert_eq!(learned.known("p/b"), None, "nobody counts by it any more");
        assert_eq!(learned.policies(), 2);
    }

    #[test]
    fn an_answer_with_a_flood_of_names_is_not_kept_whole() {
        let mut learned = Learned::new(2);
        for at in 0..1000 {
            learned.teach(&class("p/x"), &format!("p/{at}"), 1);
        }
        assert_eq!(learned.policies(), POLICIES_OF_A_CLASS);
    }
}
