//! Where a story plays: a subscription, and the way to it that its clients take.

use armshield::policy::Policy;
use armshield::simulator::{Options, Simulator};

use crate::support::{Client, Simulated};

/// How clients reach ARM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As before there was armshield.
    Direct,
    /// Through armshield.
    Through,
}

impl Way {
    /// Both, the one without armshield first.
    pub const BOTH: [Self; 2] = [Self::Direct, Self::Through];
}

/// A subscription with a resource group, and armshield, which is passed by on the direct way.
#[derive(Debug, Clone)]
pub struct Stage {
    pub way: Way,
    /// ARM, and the hand behind everybody's back.
    pub sim: Simulator,
    world: Simulated,
}

impl Stage {
    pub fn new(way: Way, options: Options) -> Self {
        let world = Simulated::with(Policy::default(), |_| {}, options);
        Self { way, sim: world.sim.clone(), world }
    }

    /// A client with a token of `principal`, issued now, on the machine with this number.
    pub fn client(&self, principal: &str, agent: &str, machine: u8) -> Client {
        let peer = ([127, 0, 0, machine], 50_000).into();
        let client = Client { peer, ..self.world.client(principal).with_agent(agent) };
        match self.way {
            Way::Direct => client.past_armshield(&self.sim),
            Way::Through => client,
        }
    }

    /// The path of what Microsoft.Compute has in the group.
    pub fn compute(&self) -> String {
        format!("{}/providers/Microsoft.Compute", self.sim.group())
    }

    /// The path of what Microsoft.Network has in the group.
    pub fn network(&self) -> String {
        format!("{}/providers/Microsoft.Network", self.sim.group())
    }
}
