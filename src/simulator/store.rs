//! The resources that exist, what they were a while ago, and in which order they came.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use super::etags::Version;
use super::kinds::Kind;
use super::text;

/// A state of a resource as it is shown, with its texts once they were asked for.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) body: Value,
    kind: &'static Kind,
    compact: OnceLock<String>,
    indented: OnceLock<String>,
}

impl Shown {
    fn new(kind: &'static Kind, body: Value) -> Arc<Self> {
        Arc::new(Self { body, kind, compact: OnceLock::new(), indented: OnceLock::new() })
    }

    pub(crate) fn compact(&self) -> &str {
        self.compact.get_or_init(|| text::compact(&self.body, self.kind.order))
    }

    /// Indented as an item of a list.
    pub(crate) fn item(&self) -> &str {
        self.indented.get_or_init(|| text::indented(&self.body, self.kind.order, 2))
    }
}

/// What the platform knows of a VM beside its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// Running.
    Running,
    /// Between states.
    Starting,
    /// Between states.
    Deallocating,
    /// Released from its host.
    Deallocated,
    /// Off, still on its host.
    Stopped,
}

impl Power {
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Deallocating => "deallocating",
            Self::Deallocated => "deallocated",
            Self::Stopped => "stopped",
        }
    }
}

/// One resource.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) id: String,
    pub(crate) kind: &'static Kind,
    pub(crate) born: u64,
    pub(crate) version: Version,
    pub(crate) power: Power,
    /// The operation that runs on it.
    pub(crate) operation: Option<String>,
    pub(crate) shown: Arc<Shown>,
    past: Past,
}

impl Resource {
    pub(crate) fn state(&self) -> &str {
        self.shown.body["properties"]["provisioningState"].as_str().unwrap_or("Succeeded")
    }
}

/// Former states, each with the moment it ended; `None`: it did not exist yet.
type Past = VecDeque<(Duration, Option<Arc<Shown>>)>;

fn at(past: &Past, moment: Duration) -> Option<&Option<Arc<Shown>>> {
    past.iter().find(|(until, _)| *until > moment).map(|(_, shown)| shown)
}

/// A resource group.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) body: Value,
    pub(crate) subscription: String,
}

/// All resources, by folded id.
#[derive(Debug, Default)]
pub(crate) struct Store {
    resources: HashMap<String, Resource>,
    collections: HashMap<String, BTreeMap<u64, String>>,
    gone: HashMap<String, Vec<(u64, Past)>>,
    pub(crate) groups: BTreeMap<String, Group>,
    count: u64,
    /// The next instance of each set; numbers are not used twice.
    numbers: HashMap<String, u64>,
    /// How long former states are kept.
    pub(crate) horizon: Duration,
}

impl Store {
    pub(crate) fn find(&self, key: &str) -> Option<&Resource> {
        self.resources.get(key)
    }

    pub(crate) fn find_mut(&mut self, key: &str) -> Option<&mut Resource> {
        self.resources.get_mut(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn insert(
        &mut self,
        now: Duration,
        kind: &'static Kind,
        id: &str,
        version: Version,
        mut body: Value,
    ) {
        let key = id.to_ascii_lowercase();
        self.count += 1;
        let born = self.count;
        mark(kind, &version, &mut body);
        let mut past = Past::new();
        if !self.horizon.is_zero() {
            past.push_back((now, None));
        }
        self.collections.entry(collection_of(&key)).or_default().insert(born, key.clone());
        let shown = Shown::new(kind, body);
        let resource = Resource {
            id: id.to_owned(),
            kind,
            born,
            version,
            power: Power::Running,
            operation: None,
            shown,
            past,
        };
        self.resources.insert(key, resource);
    }

    /// Puts `body` in the place of what is shown, marked with the version of the resource.
    pub(crate) fn show(&mut self, now: Duration, key: &str, mut body: Value) {
        let horizon = self.horizon;
        let Some(resource) = self.resources.get_mut(key) else { return };
        mark(resource.kind, &resource.version, &mut body);
        if resource.shown.body == body {
            return;
        }
        let former = std::mem::replace(&mut resource.shown, Shown::new(resource.kind, body));
        if !horizon.is_zero() {
            resource.past.push_back((now, Some(former)));
            while resource.past.front().is_some_and(|(until, _)| *until + horizon < now) {
                resource.past.pop_front();
            }
        }
    }

    pub(crate) fn remove(&mut self, now: Duration, key: &str) -> Option<Resource> {
        let mut resource = self.resources.remove(key)?;
        let collection = collection_of(key);
        if let Some(members) = self.collections.get_mut(&collection) {
            members.remove(&resource.born);
        }
        if !self.horizon.is_zero() {
            resource.past.push_back((now, Some(Arc::clone(&resource.shown))));
            let gone = self.gone.entry(collection).or_default();
            let horizon = self.horizon;
            gone.retain(|(_, past)| past.back().is_some_and(|(until, _)| *until + horizon >= now));
            gone.push((resource.born, resource.past.clone()));
        }
        Some(resource)
    }

    pub(crate) fn next_number(&mut self, set: &str) -> u64 {
        let next = self.numbers.entry(set.to_owned()).or_default();
        *next += 1;
        *next - 1
    }

    /// The keys of all that lies below, the deepest last.
    pub(crate) fn below(&self, key: &str) -> Vec<String> {
        let prefix = format!("{key}/");
        let mut keys: Vec<_> =
            self.resources.keys().filter(|key| key.starts_with(&prefix)).cloned().collect();
        keys.sort_by_key(|key| self.resources[key].born);
        keys
    }

    /// The keys of a collection in the order they came.
    pub(crate) fn members(&self, collection: &str) -> Vec<String> {
        self.collections
            .get(collection)
            .map(|members| members.values().cloned().collect())
            .unwrap_or_default()
    }

    /// A collection as it was at `moment`: order of birth and state.
    pub(crate) fn list(&self, collection: &str, moment: Duration) -> Vec<(u64, Arc<Shown>)> {
        let mut list = Vec::new();
        for key in self.collections.get(collection).into_iter().flat_map(BTreeMap::values) {
            let resource = &self.resources[key];
            let shown = at(&resource.past, moment).map_or(Some(&resource.shown), Option::as_ref);
            list.extend(shown.map(|shown| (resource.born, Arc::clone(shown))));
        }
        for (born, past) in self.gone.get(collection).into_iter().flatten() {
            let shown = at(past, moment).and_then(Option::as_ref);
            list.extend(shown.map(|shown| (*born, Arc::clone(shown))));
        }
        list.sort_by_key(|(born, _)| *born);
        list
    }
}

fn collection_of(key: &str) -> String {
    key.rsplit_once('/').map_or(key, |(collection, _)| collection).to_owned()
}

/// Writes the version into the body, and into the embedded children, whose ETag is their parent's.
fn mark(kind: &Kind, version: &Version, body: &mut Value) {
    let Some(tag) = version.tag() else { return };
    body["etag"] = json!(tag);
    for name in kind.embedded {
        for child in body["properties"][*name].as_array_mut().into_iter().flatten() {
            if child.is_object() {
                child["etag"] = json!(tag);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds;
    use super::*;

    #[test]
    fn lists_show_a_former_moment() {
        let mut store = Store { horizon: Duration::from_secs(60), ..Store::default() };
        let second = Duration::from_secs;
        store.insert(second(1), &kinds::VM, "/g/vms/A", Version::Counter(1), json!({"name": "A"}));
        store.show(second(2), "/g/vms/a", json!({"name": "A", "x": 1}));
        store.insert(second(3), &kinds::VM, "/g/vms/B", Version::Counter(1), json!({"name": "B"}));
        store.remove(second(4), "/g/vms/a");
        let seen = |at| {
            let list = store.list("/g/vms", second(at));
            list.iter()
                .map(|(_, shown)| (shown.body["name"].clone(), shown.body["x"].clone()))
                .collect::<Vec<_>>()
        };
        assert!(seen(0).is_empty());
        assert_eq!(seen(1), [(json!("A"), json!(null))]);
        assert_eq!(seen(3), [(json!("A"), json!(1)), (json!("B"), json!(null))]);
        assert_eq!(seen(4), [(json!("B"), json!(null))]);
    }
}
