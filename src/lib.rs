//! armshield: an ETag-aware caching reverse proxy for Azure Resource Manager (ARM).
//!
//! It sits between the components of a Kubernetes cluster and `management.azure.com`: caches reads of scale
//! sets and their VMs, guards writes with `If-Match` from the version each client was shown, drops what a
//! write or a 412 made wrong, merges identical reads, and sends nothing into a budget ARM said is used up.
//!
//! The rooms, in the order in which a request passes them:
//!
//! | room | does |
//! |---|---|
//! | [`listen`] | first bytes, TLS, how we were dialled, stopping |
//! | [`identify`] | tokens → caller, vouchers, client |
//! | [`classify`] | method, path and query → read, write, poll or pass; what a write reaches |
//! | [`scopes`] | counters, stamps, fences, settling, news |
//! | [`cache`] | keys, entries, ages, store |
//! | [`coalesce`] | one fetch for many |
//! | [`guard`] | what clients were shown; the condition of a write |
//! | [`admit`] | budgets, gates, places |
//! | [`operations`] | what writes began, followed to its end |
//! | [`rewrite`] | links that lead back; endpoint discovery |
//! | [`upstream`] | lanes to ARM |
//! | [`proxy`] | the journey through them |
//!
//! Beside them: [`arm`] (the protocol's language), [`policy`] (what operators decide, as data), [`observe`],
//! [`admin`], [`config`], [`commands`], [`simulator`], [`demo`].
//!
//! What is deliberately absent:
//!
//! - No room holds or calls another room: `proxy` tells one what another said.
//! - Only `upstream` dials out (the demo's clients, which are outsiders, dial armshield); only `config` reads the environment and files of the operator.
//! - Nothing stores a token; only keyed digests are kept.
//! - No 304 is ever made: an ARM ETag is the version of a model, not of a body.
//! - armshield never polls and never refreshes by itself: every call to ARM carries a client's own token.
//! - No map guard crosses an await; no standard clock is read outside of `clock`.
//! - Simulator and proxy share no code, or they would share their mistakes.

pub mod admin;
pub mod admit;
pub mod arm;
pub mod body;
pub mod cache;
pub mod classify;
pub mod clock;
pub mod coalesce;
pub mod commands;
pub mod config;
pub mod demo;
pub mod guard;
pub mod identify;
pub mod listen;
pub mod observe;
pub mod operations;
pub mod policy;
pub mod proxy;
pub mod rewrite;
pub mod scopes;
pub mod simulator;
pub mod upstream;
