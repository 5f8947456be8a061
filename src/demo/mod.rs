//! A minute that shows what armshield is for: the same busy clients, first on a simulated ARM itself, then
//! through armshield, and what came of it side by side.
//!
//! - One process, nothing to install: the simulator, armshield with its real listener, rooms and admin door,
//!   and the clients, each over TCP.
//! - Clients are outsiders: they know armshield by its address alone.
//! - Every figure is drawn from what ARM's side saw and what the clients wrote down. Nothing is rounded in
//!   anybody's favour, and nothing is written here that was not measured.
//! - All times shrink by the same factor, armshield's ages included.

mod book;
mod call;
mod caller;
mod clients;
mod figures;
mod front;
mod lost;
mod percentile;
mod phase;
mod random;
mod scale;
mod stage;
mod who;
mod wire;
mod witness;

#[cfg(test)]
mod tests;
