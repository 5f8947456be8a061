//! The store: bounded by bytes, and by a share for each caller.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashMap;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use super::{Entry, Key, NotStored, Settings};

/// Entries by their keys.
#[derive(Debug)]
pub struct Store {
    entries: Cache<Key, Held, Weigh>,
    shares: DashMap<u128, Arc<Share>>,
    share_max: usize,
}

#[derive(Debug, Clone)]
struct Weigh;

impl Weighter<Key, Held> for Weigh {
    fn weight(&self, _: &Key, held: &Held) -> u64 {
        held.0.weight as u64
    }
}

/// An entry in the store, charged to its caller until the store lets it go.
#[derive(Debug, Clone)]
struct Held(Arc<Charged>);

#[derive(Debug)]
struct Charged {
    entry: Arc<Entry>,
    weight: usize,
    share: Arc<Share>,
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.share.bytes.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

/// What one caller fills: so many bytes, in this order of filling.
#[derive(Debug, Default)]
struct Share {
    bytes: AtomicUsize,
    order: Mutex<VecDeque<(Key, u64)>>,
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        // quick_cache refuses what is larger than one of its shards, and makes shards by the number of
        // cores: their number follows from the largest entry instead.
        let largest = settings.entry_max * 2 + (1 << 16);
        let shards = (settings.bytes / largest).clamp(1, 16);
        let shards = if shards.is_power_of_two() { shards } else { shards.next_power_of_two() / 2 };
        let options = OptionsBuilder::new()
            .shards(shards)
            .weight_capacity(settings.bytes as u64)
            .estimated_items_capacity((settings.bytes / 16_384).max(64))
            .build()
            .unwrap_or_else(|error| unreachable!("capacity and weight are given: {error}"));
        let entries =
            Cache::with_options(options, Weigh, DefaultHashBuilder::default(), DefaultLifecycle::default());
        let share_max = settings.bytes / 100 * settings.caller_percent.clamp(1, 100);
        Self { entries, shares: DashMap::new(), share_max }
    }

    /// The entry of a key, if there is one. It says nothing of whether it may be used.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Arc<Entry>> {
        self.entries.get(key).map(|held| held.0.entry.clone())
    }

    /// The same without counting as a use, which decides what is let go first.
    #[must_use]
    pub fn peek(&self, key: &Key) -> Option<Arc<Entry>> {
        self.entries.peek(key).map(|held| held.0.entry.clone())
    }

    /// How many of at most `most` entries looked at are about this canonical path, whoever asked, and whether
    /// those were all entries. Counts as no use of them.
    #[must_use]
    pub fn count_at(&self, path: &str, most: usize) -> (usize, bool) {
        let mut entries = self.entries.iter();
        let looked_at = entries.by_ref().take(most);
        let count = looked_at.filter(|(_, held)| *held.0.entry.parts.path == *path).count();
        (count, entries.next().is_none())
    }

    /// Keeps an entry, unless one that was sent later stands in its place. Entries of the same caller make
    /// room first where it fills more than its share.
    ///
    /// # Errors
    /// Why it is not kept.
    pub fn put(&self, caller: u128, key: Key, entry: Arc<Entry>) -> Result<(), NotStored> {
        let weight = entry.weight();
        if weight > self.share_max {
            return Err(NotStored::Large);
        }
        let share = self.shares.entry(caller).or_default().clone();
        let mut order = share.order.lock().unwrap_or_else(PoisonError::into_inner);
        // A key is one caller's, so its order is also what keeps look and insertion together.
        if self.entries.peek(&key).is_some_and(|held| held.0.entry.parts.sent > entry.parts.sent) {
            return Err(NotStored::Overtaken);
        }
        share.bytes.fetch_add(weight, Ordering::Relaxed);
        order.push_back((key, entry.serial()));
        self.entries.insert(key, Held(Arc::new(Charged { entry, weight, share: share.clone() })));
        self.trim(&share, &mut order);
        drop(order);
        if self.shares.len() > 4096 {
            // Its entries hold a share, and so does who is about to charge it.
            self.shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        Ok(())
    }

    /// Lets a caller's oldest entries go until it fills no more than its share.
    fn trim(&self, share: &Share, order: &mut VecDeque<(Key, u64)>) {
        while share.bytes.load(Ordering::Relaxed) > self.share_max {
            let Some((key, serial)) = order.pop_front() else { return };
            self.entries.remove_if(&key, |held| held.0.entry.serial() == serial);
        }
        // What was replaced or evicted leaves its place in the order behind.
        if order.len() > 64 && order.len() > 2 * self.entries.len() {
            order.retain(|(key, serial)| {
                self.entries.peek(key).is_some_and(|held| held.0.entry.serial() == *serial)
            });
        }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entries.weight()
    }

    /// Lets everything go.
    pub fn clear(&self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::{ArmPath, Query};
    use crate::cache::{Keyed, Parts};
    use crate::clock::{Clock, Wall};
    use crate::policy::Family;
    use crate::scopes::Scopes;

    fn scopes() -> Scopes {
        Scopes::new(crate::scopes::Settings::default(), Clock::tokio(Wall::from_unix(0)))
    }

    fn key(name: &str) -> Key {
        let path = ArmPath::parse(&format!("/{name}")).unwrap();
        Keyed::new(b"", "", &path, &Query::default(), &http::HeaderMap::new(), &[]).key
    }

    fn entry(scopes: &Scopes, bytes: usize) -> Arc<Entry> {
        Arc::new(Entry::new(Parts {
            status: http::StatusCode::OK,
            headers: http::HeaderMap::new(),
            body: vec![0; bytes].into(),
            document: None,
            path: "/a".into(),
            family: Family::Other,
            sent: scopes.now(),
            stamp: scopes.stamp(&[]),
        }))
    }

    #[test]
    fn an_entry_of_the_largest_size_is_kept_whatever_the_capacity() {
        let scopes = scopes();
        for megabytes in [40, 64, 100, 256, 1000] {
            let settings = Settings { bytes: megabytes << 20, caller_percent: 100, ..Settings::default() };
            let store = Store::new(&settings);
            for n in 0..4 {
                let name = key(&format!("{n}"));
                store.put(1, name, entry(&scopes, settings.entry_max)).unwrap();
                assert!(store.find(&name).is_some(), "{megabytes} MiB refused the largest entry");
            }
        }
    }

    #[test]
    fn bytes_are_bounded() {
        let scopes = scopes();
        let settings = Settings { bytes: 4 << 20, entry_max: 1 << 20, ..Settings::default() };
        let store = Store::new(&settings);
        for n in 0..5000 {
            store.put(n % 7, key(&format!("{n}")), entry(&scopes, 10_000)).unwrap();
        }
        assert!(store.bytes() <= 4 << 20, "{}", store.bytes());
        assert!(store.len() > 200);
    }

    #[test]
    fn a_caller_that_fills_more_than_its_share_pushes_out_only_its_own() {
        let scopes = scopes();
        let settings = Settings { bytes: 4 << 20, entry_max: 1 << 18, ..Settings::default() };
        let store = Store::new(&settings);
        for n in 0..20 {
            store.put(1, key(&format!("quiet-{n}")), entry(&scopes, 10_000)).unwrap();
        }
        for n in 0..2000 {
            store.put(2, key(&format!("noisy-{n}")), entry(&scopes, 10_000)).unwrap();
        }
        let kept = (0..20).filter(|n| store.find(&key(&format!("quiet-{n}"))).is_some()).count();
        assert!(kept >= 19, "{kept} of 20 kept");
        assert!(store.find(&key("noisy-1999")).is_some());
    }

    #[test]
    fn entries_are_counted_by_path_up_to_a_bound() {
        let scopes = scopes();
        let store = Store::new(&Settings::default());
        for n in 0..10 {
            store.put(n % 3, key(&format!("{n}")), entry(&scopes, 10)).unwrap();
        }
        assert_eq!(store.count_at("/a", 10), (10, true));
        assert_eq!(store.count_at("/b", 100), (0, true));
        assert_eq!(store.count_at("/a", 4), (4, false));
    }

    #[test]
    fn peeking_and_counting_do_not_change_what_is_let_go() {
        let scopes = scopes();
        let settings =
            Settings { bytes: 4 << 20, entry_max: 4 << 20, caller_percent: 100, ..Settings::default() };
        let name = |n: usize| key(&format!("{n}"));
        let kept = |look: fn(&Store, &Key)| {
            let store = Store::new(&settings);
            for n in 0..2000 {
                store.put(n as u128, name(n), entry(&scopes, 10_000)).unwrap();
                look(&store, &name(n - n % 20));
            }
            (0..2000).filter(|n| store.peek(&name(*n)).is_some()).collect::<Vec<_>>()
        };
        let unseen = kept(|_, _| {});
        assert_ne!(kept(|store, key| drop(store.find(key))), unseen);
        assert_eq!(kept(|store, key| drop((store.peek(key), store.count_at("/a", 9)))), unseen);
    }

    #[test]
    fn a_replaced_entry_is_not_charged_twice() {
        let scopes = scopes();
        let store = Store::new(&Settings { bytes: 4 << 20, entry_max: 1 << 18, ..Settings::default() });
        for _ in 0..2000 {
            store.put(1, key("same"), entry(&scopes, 10_000)).unwrap();
        }
        let share = store.shares.get(&1).unwrap().clone();
        assert_eq!(share.bytes.load(Ordering::Relaxed) as u64, store.bytes());
        assert!(share.order.lock().unwrap().len() < 200);
    }
}
