//! The promises, each with tests named after it.

mod modes;
mod p3_read_your_writes;
mod p7_no_lost_update;
