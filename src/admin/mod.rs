//! The operator's door: health, metrics, status, explain, purge, mode.
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

pub use gate::Gate;
pub use server::{Door, Readiness};
pub use token::{Token, Unusable};
