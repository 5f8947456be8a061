//! Upstreams that are dialled in memory, in the place of the scripted ARM: the simulator, a recording.

use std::sync::Arc;

use armshield::clock::{Clock, Wall};
use armshield::policy::Policy;
use armshield::proxy::Settings;
use armshield::upstream::{Connect, Connecting, Io, Target};
use tokio::io::DuplexStream;

use super::World;
use super::arm::Arm;

/// Dials by a function that gives the near end of a pipe.
struct Dial<F>(F);

impl<F: Fn() -> DuplexStream + Send + Sync + 'static> Connect for Dial<F> {
    fn connect(&self, _: &Target) -> Connecting {
        let near = (self.0)();
        Box::pin(async move { Ok(Box::new(near) as Io) })
    }
}

/// A world that begins at `wall` (seconds since the Unix epoch) and whose upstream `dial` gives pipes to.
/// Its scripted ARM is asked by nobody.
pub fn world(
    wall: u64,
    policy: Policy,
    change: impl FnOnce(&mut Settings),
    dial: impl Fn() -> DuplexStream + Send + Sync + 'static,
) -> World {
    let clock = Clock::tokio(Wall::from_unix(wall));
    let proxy = World::proxy(clock, policy, change, Arc::new(Dial(dial)));
    let nobody = Arm::new(clock, |call| panic!("the scripted ARM was asked: {call:?}"));
    World::around(clock, nobody, proxy)
}
