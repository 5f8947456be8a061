//! The promises, each with tests named after it.

mod bad_input;
mod p3_read_your_writes;
