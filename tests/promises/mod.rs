//! The promises, each with tests named after it.

mod p10_stop_when_told;
mod p14_no_trace_of_secrets;
mod p2_callers_apart;
mod p3_read_your_writes;
mod p9_one_call;
