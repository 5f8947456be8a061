//! The rooms side by side, and the journeys through them, in the order in which `src/proxy/` takes them.
//!
//! One file for each of `lookup.rs`, `read.rs`, `fetch.rs`, `send.rs`, `write.rs`, `poll.rs` there, and the same
//! names in it. A journey pauses wherever another thread could come in between: what is done between two pauses
//! is one step. What is not about the promises kept here (budgets, bodies in the making, links, headers, logs)
//! is left out.

mod fetch;
mod lookup;
mod poll;
mod read;
mod send;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armshield::arm::Query;
use armshield::cache::{Keyed, Refusals, Store, Variants};
use armshield::classify::Asked;
use armshield::clock::{Clock, Wall};
use armshield::coalesce::Flights;
use armshield::guard::{Guard, Viewer};
use armshield::identify::{Identify, Identity, Token};
use armshield::operations::Operations;
use armshield::policy::{Policy, Profile};
use armshield::scopes::Scopes;
use armshield::{cache, guard, identify, operations, scopes};
use http::{HeaderMap, HeaderName, Method};

use super::arm::{Arm, Who};
use super::people::{PEOPLE, Person, end, policy};
use super::reference::{Reference, Settles, Tick};
use super::stage::{Fate, Stage};
use super::table::QUESTIONS;
use crate::support::tokens::EPOCH;

pub use fetch::{Fetched, Together, number};
pub use lookup::{Mark, ask, find, key, may_join};
pub use poll::poll;
pub use read::{asker, read};
pub use write::{Write, write};

/// The rooms, the ARM behind them, the reference beside them. `Rooms` in `src/proxy/rooms.rs`.
pub struct World {
    pub clock: Clock,
    pub policy: Arc<Policy>,
    pub identify: Identify,
    pub scopes: Scopes,
    pub store: Store,
    pub refusals: Refusals,
    pub variants: Variants,
    pub guard: Guard,
    pub operations: Operations,
    pub flights: Flights<Together, Mark, Arc<Fetched>>,
    pub repeat_age: Duration,
    pub stage: Stage,
    /// The marks of calls that were sent, by their numbers.
    pub marks: Mutex<HashMap<usize, Mark>>,
    /// The write that began each operation, once its answer was passed on.
    pub begun: Mutex<HashMap<usize, Settles>>,
    /// The operations whose poll URLs clients have.
    pub polls: Mutex<Vec<usize>>,
    keys: Mutex<HashMap<(u128, usize), Keyed>>,
    /// Everybody keeps to one connection.
    connections: Vec<identify::Memory>,
    arm: Mutex<Arm>,
    reference: Mutex<Reference>,
}

impl World {
    /// Nothing is known yet.
    pub fn new() -> Self {
        let clock = Clock::tokio(Wall::from_unix(EPOCH));
        let kept = cache::Settings { bytes: 4 << 20, entry_max: 1 << 16, ..cache::Settings::default() };
        Self {
            clock,
            policy: policy().into(),
            identify: Identify::with_key(&identify::Settings::default(), clock, [7; 32]),
            scopes: Scopes::new(scopes::Settings::default(), clock),
            store: Store::new(&kept),
            refusals: Refusals::default(),
            variants: Variants::default(),
            guard: Guard::new(guard::Settings::default(), clock),
            operations: Operations::new(operations::Settings::default(), clock),
            flights: Flights::new(),
            repeat_age: kept.repeat_age,
            stage: Stage::default(),
            marks: Mutex::default(),
            begun: Mutex::default(),
            polls: Mutex::default(),
            keys: Mutex::default(),
            connections: PEOPLE.iter().map(|_| identify::Memory::default()).collect(),
            arm: Mutex::new(Arm::new()),
            reference: Mutex::default(),
        }
    }

    pub fn arm(&self) -> MutexGuard<'_, Arm> {
        self.arm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn reference(&self) -> MutexGuard<'_, Reference> {
        self.reference.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a token has ended.
    pub fn is_expired(&self, token: usize) -> bool {
        self.clock.wall().unix() >= end(token)
    }

    /// Others go on before a journey does.
    pub async fn pause(&self, at: &'static str, visit: &Visit) -> Fate {
        self.stage.pause(at, visit.person).await
    }

    /// Sees who asks, and what. `welcome` in `src/proxy/journey.rs`, `Visit::new` in `src/proxy/visit.rs`.
    pub fn welcome(&self, request: Request) -> Visit {
        let Request { person, token, method, target, headers: more, question, fresh } = request;
        let mut headers = PEOPLE[person].headers(token);
        headers.extend(more);
        let (peer, memory) = (PEOPLE[person].peer(), &self.connections[person]);
        let identity = self.identify.identify(&headers, peer, &self.policy, memory).unwrap();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let asked = Asked::new(&method, path, &Query::parse(query), &self.policy);
        Visit {
            person,
            token,
            came_in: 0,
            identity,
            policy: self.policy.clone(),
            asked,
            method,
            target,
            headers,
            question,
            fresh,
        }
    }
}

/// A request as a client makes it.
#[derive(Debug, Clone)]
pub struct Request {
    pub person: usize,
    pub token: usize,
    pub method: Method,
    pub target: String,
    pub headers: HeaderMap,
    /// For a read: which question it asks.
    pub question: Option<usize>,
    pub fresh: Fresh,
}

/// How fresh an answer is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fresh {
    Any,
    NoCache,
    MaxAge(u64),
}

impl Request {
    /// A read.
    pub fn read(person: usize, token: usize, question: usize, fresh: Fresh) -> Self {
        let asked = &QUESTIONS[question];
        let mut headers = HeaderMap::new();
        headers.extend(
            asked.header.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())),
        );
        let said = match fresh {
            Fresh::Any => None,
            Fresh::NoCache => Some("no-cache".to_owned()),
            Fresh::MaxAge(seconds) => Some(format!("max-age={seconds}")),
        };
        headers.extend(said.map(|said| (http::header::CACHE_CONTROL, said.parse().unwrap())));
        let target = asked.target();
        Self { person, token, method: Method::GET, target, headers, question: Some(question), fresh }
    }
}

/// A request, understood. `Visit` in `src/proxy/visit.rs`.
#[derive(Debug, Clone)]
pub struct Visit {
    pub person: usize,
    pub token: usize,
    pub came_in: Tick,
    pub identity: Identity,
    pub policy: Arc<Policy>,
    pub asked: Asked,
    pub method: Method,
    pub target: String,
    pub headers: HeaderMap,
    pub question: Option<usize>,
    pub fresh: Fresh,
}

impl Visit {
    fn profile(&self) -> &Profile {
        &self.identity.profile
    }

    /// Who the client is, once an answer has said whether ARM lets its token in.
    fn client(&self, proven: bool) -> u128 {
        let identity = &self.identity;
        if proven { identity.claimed_client().bits() } else { identity.client.bits() }
    }

    /// The same as the guard knows it.
    fn viewer(&self, client: u128) -> Viewer<'_> {
        Viewer { client, caller: self.identity.caller.bits(), profile: self.profile() }
    }

    fn query(&self) -> Query<'_> {
        Query::parse(self.target.split_once('?').map_or("", |(_, query)| query))
    }

    fn path(&self) -> &str {
        self.target.split_once('?').map_or(&self.target, |(path, _)| path)
    }

    const fn person(&self) -> &'static Person {
        &PEOPLE[self.person]
    }

    /// As the front door of ARM sees it at this moment.
    fn who(&self, world: &World) -> Who {
        Who { token: self.token, expired: world.is_expired(self.token), principal: self.person().principal }
    }

    pub const fn very_token(&self) -> Token {
        self.identity.token
    }
}
