//! Reads that are stale after own writes: a client's read, begun after its own write was answered, shows the
//! state from before it. Judged by the client alone, from what it was answered.
//!
//! - Compute's ETags count up: what is lower than the one of the own write is older.
//! - Network's do not: older is what this client was shown before it sent the write.
//! - What it made must be in lists, what it deleted must be gone or going.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;

/// What one client knows of its own writes. Times are those of the phase.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// Versions shown, with the time of the answer.
    shown: HashMap<String, Vec<(String, Duration)>>,
    own: HashMap<String, Own>,
    /// What it made, until it deletes it.
    made: HashMap<String, Duration>,
    deleted: HashMap<String, Duration>,
    /// How many items a list has at least.
    grown: HashMap<String, (usize, Duration)>,
}

/// The last own write to a resource.
#[derive(Debug)]
struct Own {
    answered: Duration,
    etag: String,
    older: HashSet<String>,
}

impl Witness {
    /// A write was accepted, and its answer shows the resource.
    pub(super) fn wrote(&mut self, sent: Duration, answered: Duration, created: bool, body: &Value) {
        let Some((id, etag)) = tagged(body) else { return };
        let shown = self.shown.entry(id.clone()).or_default();
        let mut older: HashSet<_> =
            shown.iter().filter(|(_, at)| *at < sent).map(|(etag, _)| etag.clone()).collect();
        older.remove(&etag);
        shown.push((etag.clone(), answered));
        if created {
            self.made.insert(id.clone(), answered);
            self.deleted.remove(&id);
        }
        self.own.insert(id, Own { answered, etag, older });
    }

    /// A deletion was accepted, or its end seen.
    pub(super) fn deleted(&mut self, id: &str, at: Duration) {
        let id = id.to_ascii_lowercase();
        self.made.remove(&id);
        self.own.remove(&id);
        self.deleted.insert(id, at);
    }

    /// The list at this path has at least so many items from now on.
    pub(super) fn grown(&mut self, path: &str, least: usize, at: Duration) {
        self.grown.insert(path.to_ascii_lowercase(), (least, at));
    }

    /// A read begun then was answered: how many of the resources in it it shows as they were before an own
    /// write that was answered earlier.
    pub(super) fn read(&mut self, path: &str, begun: Duration, answered: Duration, body: &Value) -> usize {
        let path = path.to_ascii_lowercase();
        let list = body["value"].as_array();
        let items: Vec<&Value> = list.map_or_else(|| vec![body], |list| list.iter().collect());
        let mut stale = items.iter().filter(|item| self.is_stale(item, begun)).count();
        if list.is_some() {
            stale += self.missing(&path, &items, begun);
        }
        for (id, etag) in items.into_iter().filter_map(tagged) {
            let shown = self.shown.entry(id).or_default();
            if shown.last().is_none_or(|(last, _)| *last != etag) {
                shown.push((etag, answered));
            }
        }
        stale
    }

    /// A read begun then found nothing: whether the client had made it.
    pub(super) fn found_nothing(&self, path: &str, begun: Duration) -> usize {
        usize::from(self.made.get(&path.to_ascii_lowercase()).is_some_and(|at| *at <= begun))
    }

    fn is_stale(&self, item: &Value, begun: Duration) -> bool {
        let Some(id) = item["id"].as_str().map(str::to_ascii_lowercase) else { return false };
        if self.deleted.get(&id).is_some_and(|at| *at <= begun) {
            return item["properties"]["provisioningState"] != "Deleting";
        }
        let (Some(own), Some(etag)) = (self.own.get(&id), item["etag"].as_str()) else { return false };
        let is_older = match (counter(etag), counter(&own.etag)) {
            (Some(shown), Some(own)) => shown < own,
            _ => own.older.contains(etag),
        };
        own.answered <= begun && is_older
    }

    /// What the client made, or so much that it knows there is more, and the list does not show.
    fn missing(&self, path: &str, items: &[&Value], begun: Duration) -> usize {
        let ids: HashSet<_> =
            items.iter().filter_map(|item| item["id"].as_str()).map(str::to_ascii_lowercase).collect();
        let made = self.made.iter().filter(|(id, at)| {
            **at <= begun
                && id.rsplit_once('/').is_some_and(|(list, _)| list == path)
                && !ids.contains(id.as_str())
        });
        let short = self.grown.get(path).is_some_and(|(least, at)| *at <= begun && items.len() < *least);
        made.count() + usize::from(short)
    }
}

fn tagged(item: &Value) -> Option<(String, String)> {
    Some((item["id"].as_str()?.to_ascii_lowercase(), item["etag"].as_str()?.to_owned()))
}

/// The number in an ETag of Compute, `"12"`.
fn counter(etag: &str) -> Option<u64> {
    etag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const AT: fn(u64) -> Duration = Duration::from_secs;

    fn item(id: &str, etag: &str) -> Value {
        json!({"id": id, "etag": etag, "properties": {"provisioningState": "Succeeded"}})
    }

    #[test]
    fn a_lower_number_than_the_own_writes_is_stale_once_that_was_answered() {
        let mut witness = Witness::default();
        witness.wrote(AT(1), AT(2), false, &item("/vms/A", "\"9\""));
        let list = json!({"value": [item("/vms/a", "\"8\""), item("/vms/b", "\"1\"")]});
        assert_eq!(witness.read("/vms", AT(1), AT(3), &list), 0, "begun before the answer");
        assert_eq!(witness.read("/vms", AT(2), AT(3), &list), 1);
        assert_eq!(witness.read("/vms/a", AT(4), AT(5), &item("/vms/a", "\"10\"")), 0);
        assert_eq!(witness.read("/vms/a", AT(4), AT(5), &item("/vms/a", "\"9\"")), 0);
    }

    #[test]
    fn of_guids_those_shown_before_the_write_was_sent_are_stale() {
        let mut witness = Witness::default();
        witness.read("/lbs/a", AT(0), AT(1), &item("/lbs/a", "W/\"old\""));
        // Shown while the write was under way: it may be what the write made, or what came after.
        witness.read("/lbs/a", AT(2), AT(4), &item("/lbs/a", "W/\"touched\""));
        witness.wrote(AT(3), AT(5), false, &item("/lbs/a", "W/\"new\""));
        for (etag, stale) in [("old", 1), ("touched", 0), ("new", 0), ("later", 0)] {
            let shown = item("/lbs/a", &format!("W/\"{etag}\""));
            assert_eq!(witness.read("/lbs/a", AT(6), AT(7), &shown), stale, "{etag}");
        }
    }

    #[test]
    fn what_was_made_must_be_listed_and_what_was_deleted_must_be_going() {
        let mut witness = Witness::default();
        let (list, empty) = (json!({"value": [item("/ips/a", "W/\"1\"")]}), json!({"value": []}));
        witness.wrote(AT(1), AT(2), true, &item("/ips/a", "W/\"1\""));
        assert_eq!(witness.read("/IPs", AT(1), AT(3), &empty), 0);
        assert_eq!(witness.read("/IPs", AT(3), AT(4), &empty), 1);
        assert_eq!(witness.found_nothing("/IPs/A", AT(3)), 1);
        assert_eq!(witness.read("/elsewhere", AT(3), AT(4), &empty), 0);
        witness.deleted("/ips/A", AT(5));
        assert_eq!(witness.read("/ips", AT(4), AT(6), &list), 0);
        assert_eq!(witness.read("/ips", AT(6), AT(7), &list), 1);
        let going = json!({"value": [{"id": "/ips/a", "properties": {"provisioningState": "Deleting"}}]});
        assert_eq!(witness.read("/ips", AT(6), AT(7), &going), 0);
        assert_eq!(witness.read("/ips", AT(6), AT(7), &empty), 0);
        assert_eq!(witness.found_nothing("/ips/a", AT(6)), 0);
    }

    #[test]
    fn a_list_the_client_made_longer_must_not_be_shorter() {
        let mut witness = Witness::default();
        witness.grown("/set/virtualMachines", 2, AT(1));
        let one = json!({"value": [item("/set/virtualMachines/0", "\"1\"")]});
        assert_eq!(witness.read("/set/virtualmachines", AT(0), AT(2), &one), 0);
        assert_eq!(witness.read("/set/virtualmachines", AT(2), AT(3), &one), 1);
        witness.grown("/set/virtualMachines", 1, AT(4));
        assert_eq!(witness.read("/set/virtualmachines", AT(5), AT(6), &one), 0);
    }
}
