//! armshield between clients and the simulator.

use std::ops::Deref;
use std::sync::Arc;

use armshield::clock::{Clock, Wall};
use armshield::policy::Policy;
use armshield::proxy::Settings;
use armshield::simulator::{Call, Match, Options, Principal, Simulator};
use armshield::upstream::{Connect, Connecting, Io, Target};
use http::Method;

use super::arm::Arm;
use super::client::Client;
use super::world::World;

/// A world whose ARM is the simulator. Everything a [`World`] has but its scripted ARM, which nobody dials.
#[derive(Debug, Clone)]
pub struct Simulated {
    world: World,
    /// The simulator.
    pub sim: Simulator,
}

/// Compute's api-version, to be put behind a path.
pub const COMPUTE: &str = "?api-version=2025-04-01";
/// Network's.
pub const NETWORK: &str = "?api-version=2024-07-01";

struct Dial(Simulator);

impl Connect for Dial {
    fn connect(&self, _: &Target) -> Connecting {
        let simulator = self.0.clone();
        Box::pin(async move { Ok(Box::new(simulator.dial()) as Io) })
    }
}

impl Simulated {
    /// A world with the defaults.
    pub fn new() -> Self {
        Self::with(Policy::default(), |_| {}, Options::default())
    }

    /// A world of a simulator with these options.
    pub fn of(options: Options) -> Self {
        Self::with(Policy::default(), |_| {}, options)
    }

    /// A world with another policy, other settings, another simulator.
    pub fn with(policy: Policy, change: impl FnOnce(&mut Settings), options: Options) -> Self {
        let clock = Clock::tokio(Wall::from_unix(options.wall));
        let sim = Simulator::new(options);
        let proxy = World::proxy(clock, policy, change, Arc::new(Dial(sim.clone())));
        let nobody = Arm::new(clock, |call| panic!("the scripted ARM was asked: {call:?}"));
        Self { world: World::around(clock, nobody, proxy), sim }
    }

    /// A client named `az` with a token of a principal, which the simulator issues now.
    pub fn client(&self, principal: &str) -> Client {
        let token = self.sim.token(&Principal::named(principal));
        self.world.client(principal).with_token(token)
    }

    /// The calls with this method whose path ends so.
    pub fn calls(&self, method: Method, path_end: &str) -> Vec<Call> {
        self.sim.calls(&Match::ending(&method, path_end))
    }
}

impl Default for Simulated {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Simulated {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}
