//! One fetch for many askers.
//!
//! Invariants:
//! - A fetch runs in a task of its own; no asker's leaving, lateness or panic ends it once it was sent.
//! - Whether an asker may join is decided under the same lock under which the fetch says it was sent, so
//!   nobody joins a fetch that leaves in the same moment.
//! - A fetch that nobody waits for and that was not sent is dropped where it stands; whatever place in a
//!   queue it held goes with it.
//! - Every flight ends, and its key is free by then. The ways to end have names: [`Ending`].
//!
//! What the room does not know: HTTP, caches, callers. A fetch that ends puts its result where later
//! askers look *before* it returns, and looks there itself before it asks upstream: between an asker's
//! look and its joining another flight may have landed.

mod counts;
mod flight;
mod interest;
mod landing;
mod ticket;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use counts::Counts;
pub use flight::{Flight, Phase, Sight};
pub use interest::{Asker, Interest};
pub use ticket::{Ending, Ticket};

use counts::Counters;
use flight::{Boarding, Course};
use landing::Landing;

/// The fetches under way, by what they fetch: `K` is the question, `M` what is noted of a fetch when it
/// is sent, `T` what every asker gets a clone of.
pub struct Flights<K, M, T> {
    shared: Arc<Shared<K, M, T>>,
}

struct Shared<K, M, T> {
    under_way: Mutex<HashMap<K, Arc<Course<M, T>>>>,
    counts: Counters,
}

impl<K, M, T> Flights<K, M, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    M: Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// No fetch under way.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared { under_way: Mutex::default(), counts: Counters::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Joins the fetch under `key` if `may_join` says so, else starts `fetch` in a task of its own. A
    /// fetch under way that may not be joined is replaced: it goes on for those who wait for it, and
    /// nobody joins it any more.
    ///
    /// `may_join` is called under a lock: it decides by its argument alone and calls nothing of this room.
    ///
    /// # Panics
    /// When a fetch has to be started outside of a tokio runtime.
    pub fn join<F, Fut>(
        &self,
        key: K,
        asker: Asker,
        may_join: impl FnOnce(&Phase<M>) -> bool,
        fetch: F,
    ) -> Ticket<M, T>
    where
        F: FnOnce(Flight<M, T>) -> Fut + Send + 'static,
        Fut: Future<Output = T> + Send + 'static,
    {
        let counts = &self.shared.counts;
        let mut under_way = self.shared.under_way();
        if let Some(course) = under_way.get(&key) {
            match course.board(asker, may_join) {
                Boarding::Aboard(ticket) => {
                    counts.joined();
                    return ticket;
                }
                Boarding::Refused => counts.replaced(),
                Boarding::Over => {}
            }
        }
        let course = Arc::new(Course::new());
        let ticket = course.lead(asker);
        under_way.insert(key.clone(), course.clone());
        counts.led();
        drop(under_way);
        // Made before the task: the flight lands also if the task is dropped before it ever ran.
        let landing = Landing::of(self.shared.clone(), key, course);
        tokio::spawn(landing.fly(fetch));
        ticket
    }

    /// What would become of an asker under `key`. Nobody joins and nothing is started.
    pub fn look(&self, key: &K, may_join: impl FnOnce(&Phase<M>) -> bool) -> Sight {
        let course = self.shared.under_way().get(key).cloned();
        course.map_or(Sight::Nothing, |course| course.look(may_join))
    }

    /// The number of keys under which a fetch can be found.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.under_way().len()
    }

    /// Whether nothing is under way that could be joined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What has happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts.read()
    }
}

impl<K, M, T> Shared<K, M, T> {
    // A panicking `may_join` must not make every later asker panic: nothing was changed before it ran.
    fn under_way(&self) -> MutexGuard<'_, HashMap<K, Arc<Course<M, T>>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, M, T> Clone for Flights<K, M, T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K, M, T> Default for Flights<K, M, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    M: Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<K, M, T> fmt::Debug for Flights<K, M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights").field("under_way", &self.shared.under_way().len()).finish_non_exhaustive()
    }
}
