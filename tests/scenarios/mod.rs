//! Stories of a cluster: its controllers, somebody else and the platform at work on one simulated ARM, with
//! armshield in between and without.
//!
//! The clients are small models of the real ones, made after their sources; each story says in its file's
//! first lines what is held to, and what is not promised.

// The cast.
mod autoscaler;
mod ccm;
mod network;
mod others;
mod pools;
mod sdk;
mod service;
mod stage;
mod start;
mod truth;

// The stories.
mod autoscaler_cycle;
mod put_that_changes_nothing;
mod reset;
mod service_beside_a_change_of_a_vm;
mod service_beside_a_change_of_the_set;
mod service_beside_the_platform;
mod throttled_start;
