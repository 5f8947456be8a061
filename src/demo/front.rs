//! armshield as it is run: its own configuration, rooms, listener and admin door, on ports of their own.

use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::admin::{Door, Gate, Readiness};
use crate::clock::Clock;
use crate::config::{self, Configuration, Overrides};
use crate::listen::Listener;
use crate::observe::Log;
use crate::policy::Policy;
use crate::proxy::{Parts, Proxy, Rooms, Settings};
use crate::upstream::Connect;

use super::scale;

/// Why something could not be set up.
pub(super) type Failure = Box<dyn Error + Send + Sync>;

/// An armshield that listens. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) address: SocketAddr,
    pub(super) admin: SocketAddr,
    rooms: Arc<Rooms>,
    _tasks: JoinSet<()>,
}

impl Front {
    /// Opens armshield in front of `upstream`.
    pub(super) async fn open(upstream: SocketAddr) -> Result<Self, Failure> {
        let configuration = configuration(&format!("http://{upstream}"))?;
        let (listen, admin) = (configuration.listen.clone(), configuration.admin.address);
        let connector = Arc::new(configuration.upstream.connector());
        let rooms = Arc::new(rooms(configuration, Clock::boot(), connector)?);
        let listener = Listener::bind(listen, None).await?;
        let door = Door::bind(admin).await?;
        let (address, admin) = (listener.local_addr(), door.local_addr());
        let ready = Readiness::default();
        ready.set(true);
        let mut tasks = JoinSet::new();
        tasks.spawn(door.open(rooms.clone(), Gate { token: None }, ready, false));
        let proxy = Proxy::new(rooms.clone());
        tasks.spawn(async move {
            listener.run(proxy, pending()).await;
        });
        Ok(Self { address, admin, rooms, _tasks: tasks })
    }

    /// Time goes on at its usual pace: armshield's ages are the usual ones again.
    pub(super) fn calm_down(&self) {
        self.rooms.policy.store(Arc::new(Policy::default()));
    }
}

/// The default configuration in front of `upstream`, at the pace of the demo. Nothing of the environment
/// changes it, and no file.
pub(super) fn configuration(upstream: &str) -> Result<Configuration, Failure> {
    let free = || Some("127.0.0.1:0".to_owned());
    let overrides = Overrides { listen: free(), admin: free(), upstream: Some(upstream.to_owned()) };
    let mut configuration = config::load(None, &overrides, &|_| None)?;
    scale::hurry(&mut configuration);
    Ok(configuration)
}

/// The rooms of a configuration.
pub(super) fn rooms(
    configuration: Configuration,
    clock: Clock,
    connect: Arc<dyn Connect>,
) -> Result<Rooms, Failure> {
    let parts = Parts { clock, policy: configuration.policy, log: Log::silent(), key: None };
    let settings = Settings {
        cloud: configuration.cloud,
        endpoint: configuration.endpoint,
        listen: configuration.listen,
        identify: configuration.identify,
        scopes: configuration.scopes,
        cache: configuration.cache,
        guard: configuration.guard,
        admit: configuration.admit,
        operations: configuration.operations,
        upstream: configuration.upstream,
    };
    Ok(Rooms::new(settings, parts, connect)?)
}
