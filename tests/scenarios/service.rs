//! A service of type LoadBalancer comes or goes, while somebody else is at work on a set or a VM of the nodes.

use armshield::simulator::Options;

use crate::support::world;

use super::ccm::{Ccm, Point, Release};
use super::others::{self, Change, Hand};
use super::pools;
use super::sdk::{Line, Trouble};
use super::stage::{Stage, Way};

/// What the CCM is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A new service.
    Creates,
    /// Its deletion, within minutes of its creation.
    DeletesSoon,
    /// Its deletion, an hour later.
    DeletesLater,
}

/// On what somebody else is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Set,
    LastVm,
}

/// A story.
#[derive(Debug, Clone, Copy)]
pub struct Story {
    pub release: Release,
    pub act: Act,
    pub on: On,
    pub point: Point,
    pub hand: Hand,
    pub change: Change,
}

/// How it ended.
#[derive(Debug)]
pub struct Ending {
    /// Whether the other's change is still there.
    pub survived: bool,
    /// What went wrong for the CCM before it came to its end.
    pub troubles: Vec<Trouble>,
    /// The CCM's writes to what the other changed.
    pub writes: Vec<Line>,
}

impl Ending {
    /// With what these writes were answered.
    pub fn statuses(&self) -> Vec<u16> {
        self.writes.iter().map(|line| line.answer.status).collect()
    }

    /// What the guard said about each of these writes, with the status.
    pub fn guarded(&self) -> Vec<(u16, &str)> {
        self.writes.iter().map(|line| (line.answer.status, line.answer.guard())).collect()
    }
}

impl Story {
    /// How it ends without armshield, and with it.
    pub async fn both(self) -> (Ending, Ending) {
        (self.play(Way::Direct).await, self.play(Way::Through).await)
    }

    /// Plays it. Whatever happened to the other's change, in the end the service is there with all that
    /// belongs to it, or nothing of it is left.
    pub async fn play(self, way: Way) -> Ending {
        let stage = Stage::new(way, Options::default());
        let set = stage.sim.add_uniform("pool", 2);
        Ccm::prepare(&stage);
        let mut ccm = Ccm::new(&stage, self.release);
        let id = match self.on {
            On::Set => set.clone(),
            On::LastVm => stage.sim.members(&set).pop().unwrap(),
        };
        if self.act != Act::Creates {
            assert_eq!(ccm.create("web").await, []);
            assert_eq!(pools::joined(&stage.sim, &set), [1; 3]);
        }
        world::seconds(if self.act == Act::DeletesLater { 3600 } else { 60 }).await;
        let before = ccm.sdk.diary().len();
        let change = others::make(stage.clone(), self.hand, self.change, id.clone());
        ccm.meanwhile(self.point, change);
        let troubles = match self.act {
            Act::Creates => ccm.create("web").await,
            Act::DeletesSoon | Act::DeletesLater => ccm.delete("web").await,
        };
        assert!(ccm.was_interrupted(), "{self:?}: this shows nothing");
        self.service_is_whole_or_gone(&stage, &set);
        let writes = ccm.sdk.diary().into_iter().skip(before).filter(|line| line.is("PUT", &id));
        let (writes, survived) = (writes.collect(), self.change.is_there(&stage, &id));
        Ending { survived, troubles, writes }
    }

    fn service_is_whole_or_gone(&self, stage: &Stage, set: &str) {
        let creates = self.act == Act::Creates;
        assert_eq!(pools::joined(&stage.sim, set), [usize::from(creates); 3], "{self:?}");
        let network = stage.network();
        for resource in ["loadBalancers/kubernetes", "publicIPAddresses/web"] {
            let found = stage.sim.read(&format!("{network}/{resource}"));
            assert_eq!(found.is_some(), creates, "{self:?} {resource}");
        }
        let group = stage.sim.read(&format!("{network}/networkSecurityGroups/nodes-nsg")).unwrap();
        let rules = group["properties"]["securityRules"].as_array().unwrap().len();
        assert_eq!(rules, usize::from(creates), "{self:?}");
    }
}
