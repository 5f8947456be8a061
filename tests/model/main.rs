//! The promises under random interleavings, against a small reference of what may be shown: over real HTTP in
//! memory, and with the rooms called directly.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(unreachable_pub, reason = "a binary has no other crates")]
mod http;
#[allow(unreachable_pub, reason = "a binary has no other crates")]
mod rooms;
#[allow(dead_code, unreachable_pub, reason = "each level uses what it needs")]
mod seed;
#[allow(dead_code, unused_imports, unreachable_pub, reason = "each test uses what it needs")]
#[path = "../support/mod.rs"]
mod support;
