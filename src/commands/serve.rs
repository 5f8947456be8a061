//! `serve`: runs the proxy. Fails before binding where it can: configuration, logging, sockets, in this order.

use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout_at};
use tracing_subscriber::EnvFilter;

use crate::admin::{Door, Gate, Readiness, Token};
use crate::clock::Clock;
use crate::config::Configuration;
use crate::listen::{Listener, tls};
use crate::observe::{Format, Log};
use crate::proxy::{Parts, Proxy, Rooms, Settings};

use super::say;

/// Why armshield does not run.
type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(super) fn run(configuration: Configuration) -> ExitCode {
    match start(configuration) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("armshield: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn start(configuration: Configuration) -> Result<(), Failure> {
    logging(&configuration)?;
    for warning in &configuration.warnings {
        tracing::warn!("{warning}");
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(configuration))
}

fn logging(configuration: &Configuration) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&configuration.log.level)
        .map_err(|why| format!("[log] level '{}' is no filter: {why}", configuration.log.level))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match configuration.log.format {
        Format::Text => builder.with_target(false).try_init(),
        Format::Json => builder.json().try_init(),
    }
}

async fn serve(configuration: Configuration) -> Result<(), Failure> {
    let tls = configuration.tls.map(|files| tls::server(files.chain, files.key)).transpose()?.map(Arc::new);
    let token = match configuration.admin.open {
        true => None,
        false => Some(Token::at(&configuration.admin.token)?),
    };
    let log = match configuration.log.access {
        true => Log::to(std::io::stdout(), configuration.log.format)?,
        false => Log::silent(),
    };
    let parts = Parts { clock: Clock::boot(), policy: configuration.policy, log, key: None };
    let settings = Settings {
        cloud: configuration.cloud,
        endpoint: configuration.endpoint,
        listen: configuration.listen.clone(),
        identify: configuration.identify,
        scopes: configuration.scopes,
        cache: configuration.cache,
        guard: configuration.guard,
        admit: configuration.admit,
        operations: configuration.operations,
        upstream: configuration.upstream,
    };
    let connector = Arc::new(settings.upstream.connector());
    let rooms = Arc::new(Rooms::new(settings, parts, connector)?);

    let at = |address| move |error| format!("cannot listen on {address}: {error}");
    let address = configuration.listen.address;
    let listener = Listener::bind(configuration.listen, tls).await.map_err(at(address))?;
    let admin = configuration.admin.address;
    let door = Door::bind(admin).await.map_err(at(admin))?;
    let health = match configuration.health {
        Some(address) => Some(Door::bind(address).await.map_err(at(address))?),
        None => None,
    };

    let ready = Readiness::default();
    let gate = Gate { token };
    tracing::info!(address = %door.local_addr(), "operators connect here");
    tokio::spawn(door.open(rooms.clone(), gate.clone(), ready.clone(), false));
    if let Some(health) = health {
        tracing::info!(address = %health.local_addr(), "health and metrics are here");
        tokio::spawn(health.open(rooms.clone(), gate, ready.clone(), true));
    }
    // Before anybody is told that it runs: whoever knows may stop it.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // Ready before it is said: whoever reads the line may ask at once.
    ready.set(true);
    say(&format!("armshield listening on {}", listener.local_addr()));

    let patience = listener.shared().settings().drain + listener.shared().settings().grace;
    let mut deadline = None;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Readiness falls first, so that nobody new is sent here.
        ready.set(false);
        deadline = Some(Instant::now() + patience);
        tracing::info!("stopping: what is in flight is finished first");
    };
    let drained = listener.run(Proxy::new(rooms.clone()), stop).await;
    // Writes whose clients are gone are carried to their end as well; they have as long as everybody else.
    let deadline = deadline.unwrap_or_else(Instant::now);
    let writes_ended = timeout_at(deadline, rooms.writes.empty()).await.is_ok();
    tracing::info!(cut = drained.cut, writes_ended, "stopped");
    Ok(())
}
