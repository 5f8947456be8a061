//! A world for tests: armshield between clients and a scripted ARM, real HTTP over pipes in memory, on
//! tokio's clock.

pub mod arm;
pub mod client;
pub mod eras;
pub mod origin;
pub mod raw;
pub mod resources;
pub mod shelf;
pub mod simulated;
pub mod sockets;
pub mod tokens;
pub mod upstream;
pub mod world;
pub mod written;

pub use arm::{Call, Reply};
pub use client::{Answer, Client};
pub use simulated::Simulated;
pub use world::World;
