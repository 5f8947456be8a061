//! News: what an answer tells that was not known, and how that keeps answers from going backwards.
//!
//! News raises a floor in the unit and its collections: the time its fetch was *sent*, so that news never
//! harms its own fill. An answer that shows less than is known is ARM's lag: who waits for it gets it, and
//! it is not kept.

use std::sync::{Arc, Mutex, PoisonError};

use quick_cache::unsync::Cache;

use crate::arm::{ArmPath, Document, ETag, Item, Life, Shape};
use crate::classify::Scope;
use crate::policy::Family;

use super::known::{Known, Meaning, When};
use super::{Scopes, Sent};

/// A 200 body that was accepted from ARM.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The path that was asked for.
    pub path: &'a ArmPath,
    /// Its family.
    pub family: Family,
    /// The body.
    pub document: &'a Document,
    /// When its call was sent.
    pub sent: Sent,
    /// For a list that is whole (one page, no `$top`): what it was filtered by. Otherwise `None`.
    pub whole: Option<&'a str>,
}

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be kept.
    Keep,
    /// It shows less than is known: everybody who waits gets it, nobody else.
    Lag,
}

#[derive(Debug)]
pub(super) struct News(Mutex<Index>);

#[derive(Debug)]
struct Index {
    resources: Cache<Arc<str>, Known>,
    lists: Cache<String, Ids>,
}

/// The ids of a whole list, as hashes in order.
#[derive(Debug)]
struct Ids {
    taken: Sent,
    hashes: Vec<u64>,
}

impl News {
    pub(super) fn new(resources: usize) -> Self {
        let lists = (resources / 16).max(64);
        Self(Mutex::new(Index { resources: Cache::new(resources.max(64)), lists: Cache::new(lists) }))
    }

    fn index<T>(&self, work: impl FnOnce(&mut Index) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a scale set is known to be Uniform.
    pub(super) fn is_uniform(&self, root: &str) -> bool {
        self.index(|index| index.resources.peek(root).is_some_and(|known| known.uniform == Some(true)))
    }
}

impl Index {
    fn meet(&mut self, item: &Item, when: When, point: bool) -> Meaning {
        if let Some(mut known) = self.resources.get_mut(&item.id) {
            return known.meet(item, when, point);
        }
        self.resources.insert(item.id.clone(), Known::first(item, when, point));
        // What was forgotten, or never known, counts as different.
        Meaning::News
    }

    /// What a whole list's ids mean: which of them were not known, and whether one known before is missing.
    fn meet_ids(&mut self, key: String, items: &[Item], when: When) -> Option<Change> {
        let When { sent, taken } = when;
        let mut hashes: Vec<u64> = items.iter().map(|item| item.hash).collect();
        hashes.sort_unstable();
        let Some(known) = self.lists.get(&key) else {
            // What is missing from a list that filters nothing may have been known from elsewhere.
            let missing = key.ends_with('\n');
            self.lists.insert(key, Ids { taken, hashes });
            return Some(Change { meaning: Meaning::News, missing, appeared: Vec::new() });
        };
        if known.hashes == hashes {
            self.lists.insert(key, Ids { taken, hashes });
            return None;
        }
        if sent <= known.taken {
            return Some(Change { meaning: Meaning::Unordered, missing: true, appeared: Vec::new() });
        }
        let missing = known.hashes.iter().any(|hash| hashes.binary_search(hash).is_err());
        let appeared = items.iter().filter(|item| known.hashes.binary_search(&item.hash).is_err());
        let change = Change {
            meaning: Meaning::News,
            missing,
            appeared: appeared.map(|item| item.id.clone()).collect(),
        };
        self.lists.insert(key, Ids { taken, hashes });
        Some(change)
    }
}

/// What changed in the set of a list's ids.
struct Change {
    meaning: Meaning,
    missing: bool,
    appeared: Vec<Arc<str>>,
}

impl Scopes {
    /// Compares an accepted body with what is known, takes over what is new and raises the floors.
    #[must_use]
    pub fn learn(&self, shown: &Shown<'_>) -> Verdict {
        let point = shown.document.shape == Shape::Point;
        let when = When { sent: shown.sent, taken: self.now() };
        let (mut lag, mut raised) = (false, Vec::new());
        self.0.news.index(|index| {
            for item in shown.document.items.iter().filter(|item| !item.id.is_empty()) {
                let own = point && *item.id == *shown.path.as_str();
                let meaning = index.meet(item, when, own);
                lag |= meaning == Meaning::Lag;
                if matches!(meaning, Meaning::News | Meaning::Unordered)
                    && let Ok(path) = ArmPath::parse(&item.id)
                {
                    let family = path.resource().map_or(shown.family, |(kind, _)| Family::of(&kind));
                    raised.push((meaning, Scope::of_item(&path, family)));
                }
            }
            // A list that lags in what it shows does so in whom it shows.
            if let Some(filter) = shown.whole.filter(|_| !point && !lag) {
                let key = format!("{}\n{filter}", shown.path.as_str());
                if let Some(change) = index.meet_ids(key, &shown.document.items, when) {
                    raised.push((change.meaning, of_list(shown.path, shown.family, change.missing)));
                    // Known before or not: a list of another place that does not show it is older.
                    raised.extend(change.appeared.iter().filter_map(|id| {
                        let path = ArmPath::parse(id).ok()?;
                        let family = path.resource().map_or(shown.family, |(kind, _)| Family::of(&kind));
                        let mut scopes = Scope::of_item(&path, family);
                        scopes.retain(|scope| matches!(scope, Scope::Collections(..)));
                        Some((change.meaning, scopes))
                    }));
                }
            }
        });
        for (meaning, scopes) in raised {
            self.raise(&scopes, shown.sent, meaning);
        }
        if lag { Verdict::Lag } else { Verdict::Keep }
    }

    /// The life of a resource and the version in it that an accepted answer last showed, if that is remembered.
    #[must_use]
    pub fn present(&self, path: &ArmPath) -> Option<(Life, ETag)> {
        self.0.news.index(|index| index.resources.peek(path.as_str()).and_then(Known::present))
    }

    /// A point read was answered 404.
    pub fn not_found(&self, path: &ArmPath, family: Family, sent: Sent) {
        let when = When { sent, taken: self.now() };
        self.ended(path, family, sent, |known| known.not_found(when));
    }

    /// A DELETE succeeded just now, or the operation it had begun when it was answered at `begun`.
    pub fn deleted(&self, path: &ArmPath, family: Family, begun: Sent) {
        let now = self.now();
        self.ended(path, family, now, |known| known.deleted(begun, now));
    }

    fn ended(&self, path: &ArmPath, family: Family, sent: Sent, end: impl FnOnce(&mut Known) -> Meaning) {
        let meaning = self.0.news.index(|index| {
            if let Some(mut known) = index.resources.get_mut(path.as_str()) {
                return end(&mut known);
            }
            // An answer under way may show what nobody was shown yet.
            let mut known = Known::unheard_of();
            let meaning = end(&mut known);
            index.resources.insert(path.shared(), known);
            meaning
        });
        if let Meaning::News | Meaning::Unordered = meaning {
            self.raise(&Scope::of_item(path, family), sent, meaning);
        }
    }

    fn raise(&self, scopes: &[Scope], sent: Sent, meaning: Meaning) {
        let known = self.now();
        // Where nothing tells which of two answers is newer, neither is kept.
        let floor = if meaning == Meaning::Unordered { known } else { sent };
        for scope in scopes {
            self.state(scope).raise_floor(floor, known);
        }
    }
}

/// What a list's set of ids is about. Below a root that is the unit. A resource that is missing takes every list
/// along that could show it, and the answers about it: its family's, because a set of hashes no longer knows its
/// name.
fn of_list(path: &ArmPath, family: Family, missing: bool) -> Vec<Scope> {
    if let Some(root) = path.root() {
        return vec![Scope::Unit(root.into())];
    }
    let mut lists = Scope::of_item(path, family);
    match lists.last().cloned() {
        Some(Scope::Collections(family, at)) if missing => lists.push(Scope::Family(family, at)),
        narrowest => lists = narrowest.into_iter().collect(),
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::super::tests::scopes;
    use super::super::{Settings, Stamp};
    use super::*;

    const GROUP: &str = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines";

    /// A world of VMs in one group.
    struct World(Scopes);

    impl World {
        fn new() -> Self {
            Self(scopes(Settings::default()))
        }

        fn item(name: &str, etag: &str, life: &str) -> String {
            format!(r#"{{"id":"{GROUP}/{name}","etag":"{etag}","properties":{{"vmId":"{life}"}}}}"#)
        }

        fn point(&self, name: &str, etag: &str, life: &str, sent: Sent) -> Verdict {
            self.learn(&format!("{GROUP}/{name}"), &Self::item(name, etag, life), sent)
        }

        fn list(&self, items: &[(&str, &str, &str)], sent: Sent) -> Verdict {
            let items: Vec<_> = items.iter().map(|(name, etag, life)| Self::item(name, etag, life)).collect();
            self.learn(GROUP, &format!(r#"{{"value":[{}]}}"#, items.join(",")), sent)
        }

        fn learn(&self, path: &str, body: &str, sent: Sent) -> Verdict {
            let document = Document::parse(body.as_bytes()).unwrap();
            let path = ArmPath::parse(path).unwrap();
            let whole = Some("");
            self.0.learn(&Shown { path: &path, family: Family::Compute, document: &document, sent, whole })
        }

        fn stamp(&self, tail: &str, shape: Shape) -> Stamp {
            let path = ArmPath::parse(&format!("{GROUP}{tail}")).unwrap();
            self.0.stamp(&Scope::of_read(&path, Family::Compute, shape))
        }
    }

    const ONE: &str = r#"\"1\""#;
    const TWO: &str = r#"\"2\""#;

    #[test]
    fn news_in_a_list_makes_older_points_unusable_and_not_its_own_list() {
        let world = World::new();
        let point = world.0.now();
        world.point("a", ONE, "x", point);
        let list = world.0.now();
        assert_eq!(world.list(&[("a", TWO, "x")], list), Verdict::Keep);
        assert!(!world.stamp("/a", Shape::Point).is_above_floors(point));
        assert!(world.stamp("", Shape::Collection).is_above_floors(list));
    }

    #[test]
    fn the_same_version_again_raises_nothing() {
        let world = World::new();
        let list = world.0.now();
        world.list(&[("a", ONE, "x"), ("b", ONE, "y")], list);
        world.point("a", ONE, "x", world.0.now());
        assert!(world.stamp("", Shape::Collection).is_above_floors(list));
        assert!(world.stamp("/b", Shape::Point).is_above_floors(list));
    }

    #[test]
    fn a_smaller_number_inside_one_life_is_lag_whenever_it_was_asked_for() {
        let world = World::new();
        let early = world.0.now();
        world.point("a", TWO, "x", world.0.now());
        assert_eq!(world.list(&[("a", ONE, "x")], early), Verdict::Lag);
        assert_eq!(world.list(&[("a", ONE, "x")], world.0.now()), Verdict::Lag);
        assert_eq!(world.point("a", ONE, "x", world.0.now()), Verdict::Lag);
    }

    #[test]
    fn a_new_life_begins_anew_and_the_old_one_is_lag_from_then_on() {
        let world = World::new();
        world.point("a", TWO, "x", world.0.now());
        assert_eq!(world.point("a", ONE, "y", world.0.now()), Verdict::Keep);
        assert_eq!(world.list(&[("a", TWO, "x")], world.0.now()), Verdict::Lag);
    }

    #[test]
    fn a_larger_number_that_was_asked_for_earlier_leaves_neither_usable() {
        let world = World::new();
        let (early, late) = (world.0.now(), world.0.now());
        world.point("a", ONE, "x", late);
        assert_eq!(world.list(&[("a", TWO, "x")], early), Verdict::Keep);
        assert!(!world.stamp("/a", Shape::Point).is_above_floors(late));
        assert!(!world.stamp("", Shape::Collection).is_above_floors(early));
        assert_eq!(world.point("a", ONE, "x", world.0.now()), Verdict::Lag, "the larger number is known");
    }

    #[test]
    fn a_guid_accepted_before_the_present_one_is_lag() {
        let world = World::new();
        world.point("a", r#"W/\"p\""#, "x", world.0.now());
        assert_eq!(world.point("a", r#"W/\"q\""#, "x", world.0.now()), Verdict::Keep);
        assert_eq!(world.list(&[("a", r#"W/\"p\""#, "x")], world.0.now()), Verdict::Lag);
    }

    #[test]
    fn a_resource_missing_from_a_later_list_takes_its_point_along() {
        let world = World::new();
        let list = world.0.now();
        world.list(&[("a", ONE, "x"), ("b", ONE, "y")], list);
        let point = world.0.now();
        world.point("b", ONE, "y", point);
        assert!(world.stamp("/b", Shape::Point).is_above_floors(point));
        world.list(&[("a", ONE, "x")], world.0.now());
        assert!(!world.stamp("/b", Shape::Point).is_above_floors(point));
    }

    #[test]
    fn a_resource_missing_from_a_list_of_its_group_takes_the_list_of_its_subscription_along() {
        let all = "/subscriptions/s/providers/microsoft.compute/virtualmachines";
        let both = [World::item("a", ONE, "x"), World::item("b", ONE, "y")].join(",");
        let world = World::new();
        let list = world.0.now();
        world.learn(all, &format!(r#"{{"value":[{both}]}}"#), list);
        let stamp =
            world.0.stamp(&Scope::of_read(&ArmPath::parse(all).unwrap(), Family::Compute, Shape::Collection));
        assert!(stamp.is_above_floors(list));
        world.list(&[("a", ONE, "x")], world.0.now());
        assert!(!stamp.is_above_floors(list));
    }

    #[test]
    fn a_404_takes_lists_along_and_a_list_that_still_shows_the_old_life_is_lag() {
        let world = World::new();
        let list = world.0.now();
        world.list(&[("a", ONE, "x")], list);
        let path = ArmPath::parse(&format!("{GROUP}/a")).unwrap();
        world.0.not_found(&path, Family::Compute, world.0.now());
        assert!(!world.stamp("", Shape::Collection).is_above_floors(list));
        assert_eq!(world.list(&[("a", ONE, "x")], world.0.now()), Verdict::Lag);
        assert_eq!(world.point("a", ONE, "x", world.0.now()), Verdict::Keep, "the 404 was the lag");
    }

    #[test]
    fn a_404_of_what_was_never_shown_is_news_as_well_and_once() {
        let world = World::new();
        let path = ArmPath::parse(&format!("{GROUP}/a")).unwrap();
        let (early, stamp) = (world.0.now(), world.stamp("", Shape::Collection));
        world.0.not_found(&path, Family::Compute, world.0.now());
        assert!(!stamp.may_join(early), "a list under way may show it");
        world.list(&[("a", ONE, "x")], early);
        assert!(!stamp.is_above_floors(early), "and did");
        let list = world.0.now();
        world.list(&[], list);
        world.0.not_found(&path, Family::Compute, world.0.now());
        assert!(stamp.is_above_floors(list), "a second time it is none");
    }

    #[test]
    fn a_guid_from_before_a_404_is_lag_where_no_mark_tells_lives_apart() {
        let world = World::new();
        let path = ArmPath::parse(&format!("{GROUP}/a")).unwrap();
        let body = format!(r#"{{"value":[{{"id":"{GROUP}/a","etag":"W/\"p\""}}]}}"#);
        let list = || world.learn(GROUP, &body, world.0.now());
        assert_eq!(list(), Verdict::Keep);
        world.0.not_found(&path, Family::Compute, world.0.now());
        assert_eq!(list(), Verdict::Lag);
        let point = format!(r#"{{"id":"{GROUP}/a","etag":"W/\"p\""}}"#);
        let found = world.learn(&format!("{GROUP}/a"), &point, world.0.now());
        assert_eq!(found, Verdict::Keep, "the 404 was the lag");
        world.0.deleted(&path, Family::Compute, world.0.now());
        assert_eq!(list(), Verdict::Lag);
    }

    #[test]
    fn what_was_deleted_stays_deleted_until_another_life_is_shown() {
        let world = World::new();
        world.point("a", TWO, "x", world.0.now());
        let path = ArmPath::parse(&format!("{GROUP}/a")).unwrap();
        world.0.deleted(&path, Family::Compute, world.0.now());
        assert_eq!(world.point("a", TWO, "x", world.0.now()), Verdict::Lag);
        assert_eq!(world.point("a", ONE, "y", world.0.now()), Verdict::Keep);
    }

    #[test]
    fn a_set_known_to_be_uniform_is_forgotten_with_its_life() {
        let world = World::new();
        let set = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachinescalesets/a";
        let body =
            format!(r#"{{"id":"{set}","properties":{{"orchestrationMode":"Uniform","uniqueId":"x"}}}}"#);
        world.learn(set, &body, world.0.now());
        assert!(world.0.0.news.is_uniform(set));
        world.0.deleted(&ArmPath::parse(set).unwrap(), Family::Compute, world.0.now());
        assert!(!world.0.0.news.is_uniform(set));
    }

    /// Which of two answers, to calls that were under way at the same time, shows what was true later, their
    /// sending does not tell.
    #[test]
    fn answers_that_differ_and_were_under_way_together_leave_neither_usable() {
        const P: &str = r#"W/\"p\""#;
        const Q: &str = r#"W/\"q\""#;
        let check = |known: Option<(&str, &str)>, first: (&str, &str), second: (&str, &str)| {
            for turned in [false, true] {
                let world = World::new();
                if let Some((etag, life)) = known {
                    world.point("a", etag, life, world.0.now());
                }
                let (early, late) = (world.0.now(), world.0.now());
                let (point, list) = if turned { (late, early) } else { (early, late) };
                world.point("a", first.0, first.1, point);
                world.list(&[("a", second.0, second.1)], list);
                let name = format!("{known:?} {first:?} {second:?} {turned}");
                assert!(!world.stamp("/a", Shape::Point).is_above_floors(point), "{name}");
                assert!(!world.stamp("", Shape::Collection).is_above_floors(list), "{name}");
                let after = world.0.now();
                assert_eq!(world.list(&[("a", second.0, second.1)], after), Verdict::Keep, "{name}");
                assert!(
                    world.stamp("", Shape::Collection).is_above_floors(after),
                    "a later one tells: {name}"
                );
            }
        };
        check(None, (P, "x"), (Q, "x"));
        check(Some((r#"W/\"o\""#, "x")), (P, "x"), (Q, "x"));
        check(None, (ONE, "x"), (ONE, "y"));
    }

    #[test]
    fn a_404_and_an_answer_that_shows_the_resource_leave_nothing_usable_if_they_were_under_way_together() {
        for turned in [false, true] {
            let world = World::new();
            let (early, late) = (world.0.now(), world.0.now());
            let (missing, list) = if turned { (late, early) } else { (early, late) };
            world.list(&[("a", ONE, "x")], list);
            world.0.not_found(&ArmPath::parse(&format!("{GROUP}/a")).unwrap(), Family::Compute, missing);
            assert!(!world.stamp("", Shape::Collection).is_above_floors(list), "{turned}");
        }
    }

    #[test]
    fn lists_that_were_under_way_together_and_show_others_leave_neither_usable() {
        let world = World::new();
        world.list(&[("a", ONE, "x"), ("b", ONE, "y")], world.0.now());
        let (early, late) = (world.0.now(), world.0.now());
        world.list(&[("a", ONE, "x")], early);
        world.list(&[("a", ONE, "x"), ("b", ONE, "y")], late);
        assert!(!world.stamp("", Shape::Collection).is_above_floors(late));
    }

    #[test]
    fn a_point_read_under_way_beside_a_list_does_not_take_back_what_the_list_showed() {
        const P: &str = r#"W/\"p\""#;
        const Q: &str = r#"W/\"q\""#;
        let world = World::new();
        world.point("a", P, "x", world.0.now());
        let (early, late) = (world.0.now(), world.0.now());
        world.list(&[("a", Q, "x")], early);
        assert_eq!(world.point("a", P, "x", late), Verdict::Lag);
        assert_eq!(world.point("a", Q, "x", world.0.now()), Verdict::Keep);
    }

    #[test]
    fn a_fetch_sent_before_news_became_known_is_not_joined_after_that() {
        let world = World::new();
        let stamp = world.stamp("/a", Shape::Point);
        let (first, second) = (world.0.now(), world.0.now());
        world.point("a", ONE, "x", first);
        assert!(!stamp.may_join(second));
        assert!(stamp.may_join(world.0.now()));
        assert!(stamp.is_above_floors(second), "its answer may be kept all the same");
    }
}
