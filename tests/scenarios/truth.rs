//! What ARM had at every moment, and whether what a client was shown was true when it may have been.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::simulator::Simulator;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::sdk::Line;

/// How often the truth is looked at: what changed was true as much earlier.
const GRAIN: Duration = Duration::from_millis(250);

/// A scale set as ARM has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub capacity: u64,
    pub state: String,
    /// The VMs by name or number, with their states.
    pub members: Members,
}

/// VMs with their provisioning states.
pub type Members = BTreeMap<String, String>;

/// All sets of a group at one moment, by folded id.
type Sets = BTreeMap<String, Set>;

/// A record of what ARM has, kept in the background until it is dropped.
#[derive(Debug)]
pub struct Truth {
    sim: Simulator,
    changes: Arc<Mutex<Vec<(Instant, Sets)>>>,
    recorder: JoinHandle<()>,
}

impl Drop for Truth {
    fn drop(&mut self) {
        self.recorder.abort();
    }
}

impl Truth {
    /// Begins to record.
    pub fn of(sim: &Simulator, sets: &[String]) -> Self {
        let changes = Arc::new(Mutex::new(vec![(Instant::now(), look(sim, sets))]));
        let (own, sim, sets) = (changes.clone(), sim.clone(), sets.to_vec());
        let watched = sim.clone();
        let recorder = tokio::spawn(async move {
            loop {
                tokio::time::sleep(GRAIN).await;
                let now = look(&watched, &sets);
                let mut changes = own.lock().unwrap();
                if changes.last().unwrap().1 != now {
                    changes.push((Instant::now(), now));
                }
            }
        });
        Self { sim, changes, recorder }
    }

    /// The states between two moments, the one that held at the first included.
    pub fn between(&self, from: Instant, to: Instant) -> Vec<Sets> {
        let changes = self.changes.lock().unwrap();
        let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([to + GRAIN * 2]);
        let held = changes
            .iter()
            .zip(ends)
            .filter(|((began, _), end)| *end + GRAIN > from && *began < to + GRAIN * 2);
        held.map(|((_, sets), _)| sets.clone()).collect()
    }

    /// When a set first was so, as far as recorded.
    pub fn since(&self, set: &str, holds: impl Fn(&Set) -> bool) -> Option<Instant> {
        let changes = self.changes.lock().unwrap();
        changes.iter().find(|(_, sets)| holds(&sets[&set.to_ascii_lowercase()])).map(|(at, _)| *at)
    }

    /// Holds a client's reads to what was true when their answers may have been made: not longer than `bound`
    /// before it asked, and not before the last of the moments in `since`, at which somebody was answered a write.
    /// Gives back how many reads there were.
    pub fn holds(&self, diary: &[Line], bound: Duration, since: &[Instant]) -> usize {
        let reads = diary.iter().filter(|line| line.method == "GET" && line.answer.status == 200);
        let shown = reads.filter_map(|line| Some((line, Shown::of(&self.sim, line)?)));
        shown.map(|(line, shown)| self.held(line, &shown, bound, since)).count()
    }

    fn held(&self, line: &Line, shown: &Shown, bound: Duration, since: &[Instant]) {
        let age = line.answer.header("age").map(|age| Duration::from_secs(age.parse().unwrap()));
        assert!(age.is_none_or(|age| age <= bound), "{} is {age:?} old", line.path);
        // `Age` is whole seconds.
        let oldest = age.map_or(bound, |age| (age + Duration::from_secs(1)).min(bound));
        let answered = since.iter().filter(|at| **at <= line.asked).max();
        let from = (line.asked - oldest).max(answered.copied().unwrap_or(line.asked - oldest));
        let states = self.between(from, line.answered);
        match shown {
            Shown::Sizes(sizes) => {
                let known: Vec<_> = states[0].keys().collect();
                assert_eq!(sizes.keys().collect::<Vec<_>>(), known, "a set is missing: {}", line.path);
                for (set, shown) in sizes {
                    let true_ = |sets: &Sets| (sets[set].capacity, sets[set].state.clone()) == *shown;
                    assert!(states.iter().any(true_), "{set} {shown:?} was not true: {states:?}");
                }
            }
            Shown::Members(set, members) => {
                let true_ = |sets: &Sets| sets[set].members == *members;
                assert!(states.iter().any(true_), "{set} {members:?} was not true: {states:?}");
            }
        }
    }
}

/// What an answer shows of sets.
#[derive(Debug)]
enum Shown {
    /// Size and state of each.
    Sizes(BTreeMap<String, (u64, String)>),
    /// The VMs of one.
    Members(String, Members),
}

impl Shown {
    fn of(sim: &Simulator, line: &Line) -> Option<Self> {
        let path = line.path.to_ascii_lowercase();
        let items = line.answer.json();
        let items = items["value"].as_array()?;
        if path.ends_with("/virtualmachinescalesets") {
            let size = |item: &Value| {
                let capacity = item["sku"]["capacity"].as_u64().unwrap();
                (item["id"].as_str().unwrap().to_ascii_lowercase(), (capacity, state_of(item)))
            };
            return Some(Self::Sizes(items.iter().map(size).collect()));
        }
        let set = match path.strip_suffix("/virtualmachines")? {
            set if set.contains("/virtualmachinescalesets/") => set.to_owned(),
            _ => filtered_by(sim, &line.query)?,
        };
        Some(Self::Members(set, items.iter().map(member).collect()))
    }
}

/// The Flexible set whose VMs a list was filtered for.
fn filtered_by(sim: &Simulator, query: &str) -> Option<String> {
    let text = percent_encoding::percent_decode_str(query).decode_utf8_lossy().to_ascii_lowercase();
    let (_, id) = text.split_once("eq+'")?;
    let (id, _) = id.split_once('\'')?;
    assert!(sim.read(id).is_some(), "{id}");
    Some(id.to_owned())
}

/// The name (for an instance of a Uniform set, its number) and the state of a VM as it is shown.
pub fn member(vm: &Value) -> (String, String) {
    let name = vm["instanceId"].as_str().or(vm["name"].as_str()).unwrap();
    (name.to_owned(), state_of(vm))
}

fn state_of(item: &Value) -> String {
    item["properties"]["provisioningState"].as_str().unwrap().to_owned()
}

fn look(sim: &Simulator, sets: &[String]) -> Sets {
    let all = sets.iter().map(|id| {
        let model = sim.read(id).unwrap();
        let members = sim.members(id).iter().filter_map(|vm| sim.read(vm)).map(|vm| member(&vm)).collect();
        let capacity = model["sku"]["capacity"].as_u64().unwrap();
        (id.to_ascii_lowercase(), Set { capacity, state: state_of(&model), members })
    });
    all.collect()
}
