//! Makes it certain that a flight ends: its key is freed, then everybody is woken, whatever happens.

use std::hash::Hash;
use std::sync::Arc;

use super::flight::Course;
use super::{Ending, Flight, Shared};

/// Held by a flight's task; dropped with it.
pub(super) struct Landing<K: Eq + Hash, M, T> {
    shared: Arc<Shared<K, M, T>>,
    key: K,
    course: Arc<Course<M, T>>,
}

impl<K: Eq + Hash, M, T> Landing<K, M, T> {
    pub(super) const fn of(shared: Arc<Shared<K, M, T>>, key: K, course: Arc<Course<M, T>>) -> Self {
        Self { shared, key, course }
    }

    /// The flight itself: the fetch to its end, unless all leave before it was sent.
    pub(super) async fn fly<F, Fut>(self, fetch: F)
    where
        F: FnOnce(Flight<M, T>) -> Fut,
        Fut: Future<Output = T>,
    {
        let flight = Flight::of(self.course.clone());
        let fetched = tokio::select! {
            biased;
            () = self.course.unwanted() => None,
            fetched = async { fetch(flight).await } => Some(fetched),
        };
        if let Some(fetched) = fetched {
            self.course.land(Ending::Done(fetched));
        }
    }
}

impl<K: Eq + Hash, M, T> Drop for Landing<K, M, T> {
    fn drop(&mut self) {
        let ending = if std::thread::panicking() { Ending::Panicked } else { Ending::Abandoned };
        let ended = self.course.land(ending);
        let mut under_way = self.shared.under_way();
        // A replaced flight leaves its successor alone.
        if under_way.get(&self.key).is_some_and(|found| Arc::ptr_eq(found, &self.course)) {
            under_way.remove(&self.key);
        }
        drop(under_way);
        self.shared.counts.ended(&ended);
        self.course.wake();
    }
}
