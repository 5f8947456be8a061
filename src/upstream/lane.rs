//! One HTTP/2 connection that many calls share, dialled once however many wait for it.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::dial::Two;
use super::error::SendError;

/// A place on a lane, held until the answer's body has ended.
#[derive(Debug)]
pub(super) struct Claim(Arc<Lane>);

#[derive(Debug, Default)]
pub(super) struct Lane {
    in_flight: AtomicUsize,
    state: Mutex<State>,
}

/// How a dial ended: with a connection for all, or with one that only one call can use at a time, which
/// the dial has put elsewhere.
pub(super) type Ending = Result<Option<Two>, SendError>;

#[derive(Debug, Default)]
enum State {
    #[default]
    Cold,
    Dialling(watch::Receiver<Option<Ending>>),
    Open(Two),
}

impl Lane {
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn claim(self: &Arc<Self>) -> Claim {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Claim(self.clone())
    }

    /// The lane's connection, dialled now if it has none or a closed one. The dial is a task of its own: who
    /// began it may leave without harm to those who wait with it. `None`: the dial did not come to an end.
    pub(super) async fn open<F>(self: &Arc<Self>, dial: impl FnOnce() -> F + Send) -> Option<Ending>
    where
        F: Future<Output = Ending> + Send + 'static,
    {
        let mut ending = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &*state {
                State::Open(sender) if !sender.is_closed() => return Some(Ok(Some(sender.clone()))),
                // A dial that panicked leaves its channel closed.
                State::Dialling(ending) if ending.has_changed().is_ok() => ending.clone(),
                State::Cold | State::Dialling(_) | State::Open(_) => {
                    let (say, ending) = watch::channel(None);
                    *state = State::Dialling(ending.clone());
                    tokio::spawn(self.clone().run(dial(), say));
                    ending
                }
            }
        };
        ending.wait_for(Option::is_some).await.ok().and_then(|ending| ending.clone())
    }

    async fn run(self: Arc<Self>, dial: impl Future<Output = Ending>, say: watch::Sender<Option<Ending>>) {
        let ending = dial.await;
        let next = match &ending {
            Ok(Some(sender)) => State::Open(sender.clone()),
            Ok(None) | Err(_) => State::Cold,
        };
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = next;
        say.send_replace(Some(ending));
    }
}

impl Claim {
    pub(super) const fn lane(&self) -> &Arc<Lane> {
        &self.0
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
