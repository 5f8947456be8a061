//! Both phases on paused time, over pipes in memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{Clock, Wall};
use crate::listen::{Entrance, Shared, serve_io};
use crate::proxy::Proxy;
use crate::simulator::Simulator;
use crate::upstream::{Connect, Connecting, Io, Target};

use super::figures::Figures;
use super::front;
use super::phase::Phase;
use super::stage::{Plan, Stage};
use super::wire::Road;

struct ToArm(Simulator);

impl Connect for ToArm {
    fn connect(&self, _: &Target) -> Connecting {
        let simulator = self.0.clone();
        Box::pin(async move { Ok(Box::new(simulator.dial()) as Io) })
    }
}

struct ToArmshield(Proxy, Arc<Shared>);

impl Connect for ToArmshield {
    fn connect(&self, _: &Target) -> Connecting {
        let (proxy, shared) = (self.0.clone(), self.1.clone());
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let here = |port| SocketAddr::from(([127, 0, 0, 1], port));
            tokio::spawn(serve_io(theirs, Entrance::new(here(50_000), here(7788)), shared, proxy));
            Ok(Box::new(ours) as Io)
        })
    }
}

const WALL: u64 = 1_780_000_000;

fn plan(nodes: usize, seconds: u64, seed: u64) -> Plan {
    Plan { nodes, length: Duration::from_secs(seconds), seed, wall: WALL }
}

async fn run(plan: &Plan, stage: &Stage, connect: Arc<dyn Connect>) -> Figures {
    let road = Road { connect, target: Target::from_url("http://localhost:7788").unwrap() };
    let mut phase = Phase::begin(plan, stage, &road);
    while !phase.run_until(Instant::now() + Duration::from_secs(60)).await {}
    phase.figures()
}

async fn direct(plan: &Plan) -> Figures {
    let stage = Stage::set(plan);
    run(plan, &stage, Arc::new(ToArm(stage.simulator.clone()))).await
}

async fn through(plan: &Plan) -> Figures {
    let stage = Stage::set(plan);
    let mut configuration = front::configuration("http://arm.test").unwrap();
    configuration.upstream.ping = None;
    configuration.listen.ping = None;
    let shared = Shared::new(configuration.listen.clone(), None);
    let to_arm = Arc::new(ToArm(stage.simulator.clone()));
    let rooms = front::rooms(configuration, Clock::tokio(Wall::from_unix(WALL)), to_arm).unwrap();
    run(plan, &stage, Arc::new(ToArmshield(Proxy::new(Arc::new(rooms)), shared))).await
}

#[tokio::test(start_paused = true)]
async fn look() {
    let plan = plan(100, 25, 1);
    println!("{:#?}", direct(&plan).await);
    println!("{:#?}", through(&plan).await);
}
