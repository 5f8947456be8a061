//! Everything that is promised, held to on paused time over real HTTP in memory, and a few smoke tests on sockets.
//!
//! One binary: each test binary would link all of armshield again.

mod binary;
mod promises;
#[allow(dead_code, unused_imports, unreachable_pub, reason = "each test uses what it needs")]
mod support;
