//! Everything that is promised, held to on paused time over real HTTP in memory, and a few smoke tests on sockets.
//!
//! One binary: each test binary would link all of armshield again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod binary;
mod incidents;
mod promises;
#[allow(unreachable_pub, reason = "its models of clients are written like rooms")]
mod scenarios;
#[allow(dead_code, unused_imports, unreachable_pub, reason = "each test uses what it needs")]
mod support;
