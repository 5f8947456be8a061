//! An ARM to talk to, for tests, the demo and benchmarks.
//!
//! It follows what is known of the real one (recorded exchanges of `kubernetes-sigs/cloud-provider-azure`, the
//! provider contract `Azure/azure-resource-manager-rpc`, published throttling limits), not what a proxy would
//! wish for, and it shares no code with the proxy, or it would share its mistakes.
//!
//! - Time is tokio's: it runs on paused time, and nothing in it waits or runs by itself.
//! - Equal seeds and equal calls give equal answers.
//! - One lock, never held while waiting.
//!
//! ```
//! use armshield::simulator::{Match, Fault, Options, Principal, Simulator};
//! use http::{Method, Request};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let arm = Simulator::new(Options::default());
//! let set = arm.add_uniform("pool", 3);
//! let token = arm.token(&Principal::named("ccm"));
//! arm.fault(Match::ending(&Method::GET, "/pool"), Fault::Reset, 1);
//!
//! let get = || {
//!     Request::get(format!("{set}?api-version=2025-04-01"))
//!         .header("host", "management.azure.com")
//!         .header("authorization", format!("Bearer {token}"))
//!         .body(String::new())
//!         .expect("a request")
//! };
//! assert!(arm.handle(get()).await.is_err());
//! let answer = arm.handle(get()).await.expect("an answer");
//! assert_eq!(answer.headers()["etag"], "\"1\"");
//! assert_eq!(arm.journal().len(), 2);
//! # }
//! ```

mod actions;
mod address;
mod admit;
mod answers;
mod ask;
mod changes;
mod children;
mod discovery;
mod etags;
mod faults;
mod front;
mod groups;
mod handle;
mod head;
mod journal;
mod kinds;
mod limits;
mod lists;
mod merge;
mod models;
mod operations;
mod options;
mod paging;
mod payload;
mod random;
mod reads;
mod refusals;
mod replay;
mod serve;
mod sets;
mod state;
mod store;
mod text;
mod throttle;
mod timeline;
mod tokens;
mod transport;
mod writes;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use self::state::State;

pub use self::faults::{Canned, Fault, Match};
pub use self::front::Cut;
pub use self::journal::Call;
pub use self::limits::{Limits, Policy, Rate};
pub use self::operations::Failure;
pub use self::options::{Latency, Options};
pub use self::payload::{BrokenOff, Payload};
pub use self::refusals::Throttled;
pub use self::replay::{Exchange, NotARecording, Replay};
pub use self::store::Power;
pub use self::tokens::{Grant, Principal};

/// The simulator. Clones are handles to the same one.
#[derive(Clone)]
pub struct Simulator {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    connections: AtomicU64,
}

impl Simulator {
    /// A simulator with one empty resource group. Its time starts now, by tokio's clock.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let inner = Inner { state: Mutex::new(State::new(options)), connections: AtomicU64::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// Looks at the state as it is now. Never called while waiting.
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        look(&mut state)
    }

    fn next_connection(&self) -> u64 {
        self.inner.connections.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").finish_non_exhaustive()
    }
}
