//! armshield between clients and a scripted ARM.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use armshield::arm::Cloud;
use armshield::clock::{Clock, Wall};
use armshield::listen::{Entrance, Shared, serve_io};
use armshield::observe::Log;
use armshield::policy::{Mode, Policy};
use armshield::proxy::{Parts, Proxy, Rooms, Settings};
use armshield::upstream::{Connect, Target};
use tokio::io::DuplexStream;

use super::arm::{Arm, Call, Reply};
use super::client::{AZ, Client};
use super::tokens::{EPOCH, token};

/// armshield, an ARM, a clock. Cheap to clone.
#[derive(Debug, Clone)]
pub struct World {
    pub clock: Clock,
    pub arm: Arm,
    pub proxy: Proxy,
    shared: Arc<Shared>,
}

/// Where the scripted ARM is, unless a test says otherwise: behind plain http, with a name of its own.
pub const ENDPOINT: &str = "http://arm.test";

impl World {
    /// A world with the defaults, whose ARM answers by `script`.
    pub fn new(script: impl FnMut(&Call) -> Reply + Send + 'static) -> Self {
        Self::with(Policy::default(), |_| {}, script)
    }

    /// A world with another policy and other settings.
    pub fn with(
        policy: Policy,
        change: impl FnOnce(&mut Settings),
        script: impl FnMut(&Call) -> Reply + Send + 'static,
    ) -> Self {
        let clock = Clock::tokio(Wall::from_unix(EPOCH));
        let arm = Arm::new(clock, script);
        let proxy = Self::proxy(clock, policy, change, Arc::new(arm.clone()));
        Self::around(clock, arm, proxy)
    }

    /// A world with the defaults that logs its requests.
    pub fn logging(log: Log, script: impl FnMut(&Call) -> Reply + Send + 'static) -> Self {
        let clock = Clock::tokio(Wall::from_unix(EPOCH));
        let arm = Arm::new(clock, script);
        let proxy = Self::logged(clock, Policy::default(), |_| {}, Arc::new(arm.clone()), log);
        Self::around(clock, arm, proxy)
    }

    /// A world whose upstream is not the scripted ARM but whatever `connect` leads to.
    pub fn behind(policy: Policy, change: impl FnOnce(&mut Settings), connect: Arc<dyn Connect>) -> Self {
        let clock = Clock::tokio(Wall::from_unix(EPOCH));
        let arm = Arm::new(clock, |call| panic!("the scripted ARM was asked {call:?}"));
        let proxy = Self::proxy(clock, policy, change, connect);
        Self::around(clock, arm, proxy)
    }

    /// A proxy that dials by `connect`.
    pub fn proxy(
        clock: Clock,
        policy: Policy,
        change: impl FnOnce(&mut Settings),
        connect: Arc<dyn Connect>,
    ) -> Proxy {
        Self::logged(clock, policy, change, connect, Log::silent())
    }

    fn logged(
        clock: Clock,
        policy: Policy,
        change: impl FnOnce(&mut Settings),
        connect: Arc<dyn Connect>,
        log: Log,
    ) -> Proxy {
        let mut settings = Settings::new(Cloud::Public, Target::from_url(ENDPOINT).unwrap());
        // Pings and timers of idle connections would make paused time hop.
        settings.upstream.ping = None;
        settings.listen.ping = None;
        change(&mut settings);
        let parts = Parts { clock, policy, log, key: Some([7; 32]) };
        Proxy::new(Arc::new(Rooms::new(settings, parts, connect).unwrap()))
    }

    /// A world of this proxy, whose scripted ARM is `arm`.
    pub fn around(clock: Clock, arm: Arm, proxy: Proxy) -> Self {
        let shared = Shared::new(proxy.rooms().settings.listen.clone(), None);
        Self { clock, arm, proxy, shared }
    }

    /// A client named `az` with the first token of a principal.
    pub fn client(&self, principal: &str) -> Client {
        Client {
            world: self.clone(),
            token: token(principal, 0),
            agent: AZ.into(),
            host: "localhost:7788".into(),
            peer: SocketAddr::from(([127, 0, 0, 1], 50_000)),
            past: None,
        }
    }

    /// A connection to armshield from `peer`.
    pub fn dial(&self, peer: SocketAddr) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let entrance = Entrance::new(peer, SocketAddr::from(([127, 0, 0, 1], 7788)));
        tokio::spawn(serve_io(theirs, entrance, self.shared.clone(), self.proxy.clone()));
        ours
    }

    /// What listens, for tests of stopping.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Sets the mode of everybody.
    pub fn mode(&self, mode: Mode) {
        let policy = self.proxy.rooms().policy.load().with_mode(mode, None).unwrap();
        self.proxy.rooms().policy.store(Arc::new(policy));
    }
}

/// Lets time pass.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Lets `seconds` pass.
pub async fn seconds(seconds: u64) {
    pass(Duration::from_secs(seconds)).await;
}
