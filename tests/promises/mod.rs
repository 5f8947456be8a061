//! The promises, each with tests named after it.

mod bad_input;
mod p12_stay_in_the_path;
mod p13_fail_open;
mod p1_transparent;
mod p3_read_your_writes;
