//! The operator's door: health, metrics, status, purge, mode.
//!
//! - Health and metrics need no token; nothing else is readable without one, unless the operator opened it.
//! - `Host` and `Origin` are checked, so that a page in a browser on the same machine learns and does nothing.
//! - No answer carries a token, a body of ARM's, or a digest that could be tested against a guess.

mod act;
mod gate;
mod routes;
mod server;
mod status;
mod token;

use std::net::{Ipv4Addr, SocketAddr};

pub use gate::Gate;
pub use server::{Door, Readiness};
pub use token::{Token, Unusable};

/// What an operator may decide about the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where it is.
    pub address: SocketAddr,
    /// Where health and metrics are besides, if anywhere.
    pub health: Option<SocketAddr>,
    /// Whether it needs no token.
    pub open: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7789)), health: None, open: false }
    }
}
