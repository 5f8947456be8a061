//! The promises, each with tests named after it.

mod p3_read_your_writes;
mod p4_no_late_fills;
mod p5_bounded_age;
