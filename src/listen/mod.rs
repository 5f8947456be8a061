//! The entrance: turns accepted connections into requests and knows how each of them was dialled.
//!
//! - One port takes plain http, https, and HTTP/2 on both; the first bytes tell which.
//! - The first bytes, a TLS handshake and the first head share one deadline. Whoever has not asked by then
//!   is dropped.
//! - A request is answered only under a name that is ours, the socket's own or ARM's ([`Dialled`]).
//! - A stop cuts nothing off before its deadline ([`Drain`]).
//!
//! This room picks no status codes: it says who was dialled or why not. The exceptions are heads that
//! hyper cannot read, which it answers itself (400, 414, 431).

mod activity;
mod connection;
mod dialled;
mod drain;
mod drive;
mod ending;
mod entrance;
mod listener;
mod name;
mod rewind;
mod settings;
mod shared;
mod sniff;
mod timed;
pub mod tls;

#[cfg(test)]
mod sockets;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod wire;

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use crate::body::Body;

pub use connection::serve_io;
pub use dialled::{Dialled, Misdirection, Refusal};
pub use drain::{Drain, Guard, Phase};
pub use ending::Ending;
pub use entrance::{Connection, Entrance, Via};
pub use listener::{Drained, Listener};
pub use settings::{HostSet, Settings};
pub use shared::Shared;

/// Answers requests. Cloned for each of them, so a clone should cost no more than a few counters.
pub trait Handler: Clone + Send + Sync + 'static {
    /// What is remembered from one request of a connection to the next; those of an HTTP/2 connection come at
    /// the same time.
    type Memory: Default + Send + Sync + 'static;

    /// Answers a `request` of `connection`.
    ///
    /// The future is dropped when the client leaves before it is answered.
    fn handle(
        &self,
        request: Request<Incoming>,
        connection: Arc<Connection<Self::Memory>>,
    ) -> impl Future<Output = Response<Body>> + Send;
}
