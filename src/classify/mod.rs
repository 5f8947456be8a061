//! What a request is: a read that may be answered from memory, a write, a poll, or something to pass.
//!
//! Decided by method, path and query alone; nothing here looks at headers, tokens or state.

pub mod call;

pub use call::{Call, Charge, Class, Reach};
