//! The `arm-simulator` command: an ARM to point clients and proxies at.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use armshield::simulator::{Latency, Limits, Options, Replay, Simulator};
use clap::{Parser, ValueEnum};
use tokio::net::TcpListener;

/// A simulated Azure Resource Manager.
#[derive(Debug, Parser)]
#[command(name = "arm-simulator", version)]
struct Arguments {
    /// Address to listen on, plain HTTP/1.1 and HTTP/2.
    #[arg(long, default_value = "127.0.0.1:7790")]
    listen: SocketAddr,
    /// VMs at the start, shared out among the sets.
    #[arg(long, default_value_t = 100)]
    nodes: usize,
    /// Uniform scale sets at the start.
    #[arg(long, default_value_t = 4)]
    sets: usize,
    /// Flexible scale sets beside them, with 5 VMs each.
    #[arg(long, default_value_t = 0)]
    flexible: usize,
    /// Equal seeds give equal ids.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Throttle as ARM and Compute do.
    #[arg(long, value_enum)]
    throttle: Option<Scheme>,
    /// Time of a call, `80ms` or `50ms..300ms`.
    #[arg(long, default_value = "0ms", value_parser = latency)]
    latency: Latency,
    /// Time of a long-running operation.
    #[arg(long, default_value = "30s", value_parser = time)]
    operation: Duration,
    /// Retry-After of operations, in seconds.
    #[arg(long, default_value_t = 10)]
    retry_after: u64,
    /// How long after a VM's write its set's ETag moves.
    #[arg(long, default_value = "10s", value_parser = time)]
    parent_delay: Duration,
    /// Items on a page of a list.
    #[arg(long)]
    page_size: Option<usize>,
    /// How far lists of groups and subscriptions lag behind.
    #[arg(long, default_value = "0s", value_parser = time)]
    list_lag: Duration,
    /// Compress answers for clients that accept gzip.
    #[arg(long)]
    gzip: bool,
    /// Let everybody in, with any token or none.
    #[arg(long)]
    no_auth: bool,
    /// The subscription.
    #[arg(long)]
    subscription: Option<String>,
    /// The resource group of everything made at the start.
    #[arg(long, default_value = "nodes")]
    group: String,
    /// The region.
    #[arg(long, default_value = "eastus2")]
    location: String,
    /// Answer from recorded exchanges (JSON lines), and know nothing else.
    #[arg(long)]
    replay: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Scheme {
    /// Token buckets of the public cloud.
    Published,
    /// Counts by the hour, as other clouds have.
    Hourly,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a command speaks on standard error")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = tokio::select! {
        outcome = run(arguments) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("arm-simulator: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), String> {
    match &arguments.replay {
        Some(path) => replay(path, arguments.listen).await,
        None => {
            let address = arguments.listen;
            let simulator = simulator(&arguments);
            simulator.listen(address).await.map_err(|error| format!("{address}: {error}"))
        }
    }
}

/// The simulator with what is there at the start.
fn simulator(arguments: &Arguments) -> Simulator {
    let defaults = Options::default();
    let simulator = Simulator::new(Options {
        seed: arguments.seed,
        wall: wall(),
        subscription: arguments.subscription.clone().unwrap_or(defaults.subscription),
        location: arguments.location.clone(),
        group: arguments.group.clone(),
        operation: arguments.operation,
        retry_after: Some(arguments.retry_after),
        parent_delay: arguments.parent_delay,
        page: arguments.page_size,
        list_lag: arguments.list_lag,
        latency: arguments.latency,
        throttle: arguments.throttle.map(|scheme| match scheme {
            Scheme::Published => Limits::published(),
            Scheme::Hourly => Limits::hourly(),
        }),
        gzip: arguments.gzip,
        authenticate: !arguments.no_auth,
        journal: 1_000,
        ..Options::default()
    });
    for number in 0..arguments.sets {
        let share = arguments.nodes / arguments.sets + usize::from(number < arguments.nodes % arguments.sets);
        simulator.add_uniform(&format!("aks-pool{number}-vmss"), share);
    }
    for number in 0..arguments.flexible {
        simulator.add_flexible(&format!("aks-flex{number}-vmss"), 5);
    }
    let address = simulator.add_public_ip("kubernetes-ip");
    simulator.add_load_balancer("kubernetes", &[&address]);
    simulator.add_security_group("aks-nsg");
    simulator.add_route_table("aks-routetable");
    simulator
}

#[expect(clippy::print_stderr, reason = "the ready line of the command")]
async fn replay(path: &PathBuf, address: SocketAddr) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let replay = Replay::load(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let listener = TcpListener::bind(address).await.map_err(|error| format!("{address}: {error}"))?;
    let bound = listener.local_addr().map_err(|error| error.to_string())?;
    eprintln!("arm-simulator listening on {bound}");
    replay.serve_tcp(listener).await.map_err(|error| error.to_string())
}

#[expect(clippy::disallowed_types, reason = "the command's wall clock starts with the system's")]
fn wall() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |time| time.as_secs())
}

/// `250ms`, `10s`, `2m`.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| format!("not a time: {text}"))?;
    match &text[digits.len()..] {
        "ms" => Ok(Duration::from_millis(number)),
        "s" | "" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        unit => Err(format!("unknown unit {unit}: use ms, s or m")),
    }
}

fn latency(text: &str) -> Result<Latency, String> {
    match text.split_once("..") {
        Some((least, most)) => Ok(Latency { least: time(least)?, most: time(most)? }),
        None => time(text).map(Latency::of),
    }
}
