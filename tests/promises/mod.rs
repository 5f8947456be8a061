//! The promises, each with tests named after it.

mod bad_input;
mod ccm_never_worse_off;
mod explain;
mod modes;
mod p10_stop_when_told;
mod p11_follow_operations;
mod p12_stay_in_the_path;
mod p13_fail_open;
mod p14_no_trace_of_secrets;
mod p15_clean_stop;
mod p1_transparent;
mod p2_callers_apart;
mod p3_read_your_writes;
mod p4_no_late_fills;
mod p5_bounded_age;
mod p6_never_backwards;
mod p7_no_lost_update;
mod p9_one_call;
mod smoke;
