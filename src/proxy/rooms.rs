//! The rooms of one process, side by side.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::admit::Admit;
use crate::arm::Cloud;
use crate::cache::{Refusals, Store, Variants};
use crate::clock::Clock;
use crate::coalesce::Flights;
use crate::guard::Guard;
use crate::identify::{Identify, NoRandomness, UnvouchedLane};
use crate::listen;
use crate::observe::{Log, Metrics};
use crate::operations::Operations;
use crate::policy::Policy;
use crate::rewrite::{Links, Way};
use crate::scopes::Scopes;
use crate::upstream::{Connect, NotACertificate, Scheme, Target, Upstream};
use crate::{admit, cache, guard, identify, operations, scopes, upstream};

use super::collect::Fills;
use super::explain::Labels;
use super::fetch::{Fetched, Question};
use super::lookup::Mark;

/// What every room can be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which cloud's names are known.
    pub cloud: Cloud,
    /// Where ARM is.
    pub endpoint: Target,
    /// The entrance.
    pub listen: listen::Settings,
    /// Who asks.
    pub identify: identify::Settings,
    /// What writes reach, and for how long.
    pub scopes: scopes::Settings,
    /// What is kept.
    pub cache: cache::Settings,
    /// What clients were shown.
    pub guard: guard::Settings,
    /// What ARM allows.
    pub admit: admit::Settings,
    /// What writes began.
    pub operations: operations::Settings,
    /// How ARM is reached.
    pub upstream: upstream::Settings,
}

impl Settings {
    /// The defaults for an endpoint.
    #[must_use]
    pub fn new(cloud: Cloud, endpoint: Target) -> Self {
        let mut listen = listen::Settings::default();
        listen.know_arm_as(cloud.arm_host());
        Self {
            cloud,
            endpoint,
            listen,
            identify: identify::Settings::default(),
            scopes: scopes::Settings::default(),
            cache: cache::Settings::default(),
            guard: guard::Settings::default(),
            admit: admit::Settings::default(),
            operations: operations::Settings::default(),
            upstream: upstream::Settings::default(),
        }
    }
}

/// What differs between a process and a test.
#[derive(Debug)]
pub struct Parts {
    /// Reads time.
    pub clock: Clock,
    /// What an operator decided.
    pub policy: Policy,
    /// The log of requests.
    pub log: Log,
    /// A key for digests that is known, for tests.
    pub key: Option<[u8; 32]>,
}

/// Why the rooms cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Unbuilt {
    /// No key for the digests.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// A certificate that is none.
    #[error(transparent)]
    NotACertificate(#[from] NotACertificate),
}

/// The rooms of one process.
#[derive(Debug)]
pub struct Rooms {
    /// Reads time.
    pub clock: Clock,
    /// What an operator decided; swapped as a whole.
    pub policy: ArcSwap<Policy>,
    /// What every room was told.
    pub settings: Settings,
    /// Who asks.
    pub identify: Identify,
    /// The lane of calls nobody vouched for.
    pub lane: UnvouchedLane,
    /// What writes reach.
    pub scopes: Scopes,
    /// What is kept.
    pub store: Store,
    /// Who was refused where.
    pub refusals: Refusals,
    /// How many variants questions have.
    pub variants: Variants,
    /// What clients were shown.
    pub guard: Guard,
    /// What ARM allows.
    pub admit: Admit,
    /// What writes began.
    pub operations: Operations,
    /// The numbers.
    pub metrics: Metrics,
    /// The log of requests.
    pub log: Log,
    /// Writes under way, for a stop to wait for: their clients may be gone.
    pub writes: listen::Drain,
    pub(super) flights: Flights<Question, Mark, Arc<Fetched>>,
    /// Bytes of answers being collected.
    pub(super) fills: Arc<Fills>,
    /// Bytes of guarded writes being collected, of callers that ARM let in.
    pub(super) uploads: Arc<Fills>,
    /// The same of everybody else.
    pub(super) strangers: Arc<Fills>,
    pub(super) links: Arc<Links>,
    /// What callers and clients are called when something is explained.
    pub(super) labels: Labels,
    pub(super) upstream: Upstream,
}

impl Rooms {
    /// Builds the rooms; `connect` is how upstreams are dialled.
    ///
    /// # Errors
    /// See [`Unbuilt`].
    pub fn new(settings: Settings, parts: Parts, connect: Arc<dyn Connect>) -> Result<Self, Unbuilt> {
        let Parts { clock, policy, log, key } = parts;
        let identify = match key {
            Some(key) => Identify::with_key(&settings.identify, clock, key),
            None => Identify::new(&settings.identify, clock)?,
        };
        let endpoint = settings.endpoint.to_string();
        let secure = settings.endpoint.scheme == Scheme::Https;
        let links = Links::new(settings.cloud, Way { secure, authority: &endpoint });
        Ok(Self {
            clock,
            policy: ArcSwap::from_pointee(policy),
            identify,
            lane: UnvouchedLane::new(&settings.identify, clock),
            scopes: Scopes::new(settings.scopes.clone(), clock),
            store: Store::new(&settings.cache),
            refusals: Refusals::default(),
            variants: Variants::default(),
            guard: Guard::new(settings.guard.clone(), clock),
            admit: Admit::new(settings.admit, clock),
            operations: Operations::new(settings.operations.clone(), clock),
            metrics: Metrics::default(),
            writes: listen::Drain::new(),
            log,
            flights: Flights::new(),
            fills: Arc::new(Fills::new(settings.cache.fills)),
            uploads: Arc::new(Fills::new(settings.cache.fills)),
            strangers: Arc::new(Fills::new(settings.cache.fills / 4)),
            links: Arc::new(links),
            labels: Labels::default(),
            upstream: Upstream::new(&settings.upstream, connect, clock)?,
            settings,
        })
    }

    /// What is under way and what has happened, of the fetches shared by many.
    #[must_use]
    pub fn fetches(&self) -> crate::coalesce::Counts {
        self.flights.counts()
    }
}
