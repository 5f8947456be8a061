//! Measures armshield as ratios: to a bare hyper server, to nginx, to HAProxy, to asking the origin directly,
//! in turns on one machine. `bench/run` builds what it needs and runs it.
//!
//! - Servers are processes of their own, on one core; the loader and the origin share another.
//! - A number is shown only if every answer was checked and the origin was called as often as it should be.
//! - Absolute times are this machine's; only ratios within a round are compared.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks on both")]

mod ask;
mod bare;
mod big;
mod content;
mod hit;
mod idle;
mod load;
mod machine;
mod miss;
mod origin;
mod peers;
mod process;
mod quiet;
mod record;
mod report;
mod secure;
mod size;
mod stats;
mod storm;
mod token;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use machine::Machine;
use process::{Cores, Running, Starter};
use record::Record;
use secure::Files;
use size::Size;

/// Why there is no result.
type Failure = Box<dyn std::error::Error + Send + Sync>;
type Outcome<T> = Result<T, Failure>;

/// How old `az` is shown an answer at most: an entry asked for all the time is fetched so often.
const AZ: Duration = Duration::from_secs(15);

/// Measures armshield.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How much is measured.
    #[arg(long, global = true, value_enum, default_value = "full")]
    size: Size,
    /// Where results and logs go.
    #[arg(long, global = true, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/target/bench"))]
    out: PathBuf,
    /// The armshield to measure.
    #[arg(long, global = true, default_value = env!("CARGO_BIN_EXE_armshield"))]
    armshield: PathBuf,
    /// What cargo says to every benchmark.
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answers from memory, beside bare hyper, nginx and HAProxy.
    Hit,
    /// What a call through armshield takes longer than a direct one.
    Miss,
    /// A list of 3 MiB from memory: throughput and memory.
    Big,
    /// Many clients, one cold key.
    Storm,
    /// Memory of connections that do nothing.
    Idle,
    /// Next to nothing of everything: whether the measurements work.
    Smoke,
    /// The newest results in Markdown.
    Report(report::Wanted),
    /// Be the bare hyper server.
    #[command(hide = true)]
    ServeHyper(bare::Bare),
    /// Be the origin.
    #[command(hide = true)]
    ServeOrigin(origin::Identity),
}

/// What every measurement has.
#[derive(Debug)]
struct Bench {
    starter: Starter,
    record: Record,
    identity: Files,
    size: Size,
}

impl Bench {
    fn new(size: Size, out: PathBuf, armshield: PathBuf) -> Outcome<Self> {
        std::fs::create_dir_all(&out)?;
        let cores = if size == Size::Smoke { None } else { Cores::find() };
        match cores {
            Some(cores) => cores.take_loader()?,
            None if size == Size::Smoke => {}
            None => eprintln!("bench: there are no two cores and taskset to pin to: ratios are worth little"),
        }
        let record = Record::new(&out, size, Machine::look(cores));
        let identity = Files::make(&out)?;
        Ok(Self { starter: Starter { cores, armshield, folder: out }, record, identity, size })
    }

    async fn origin(&self) -> Outcome<Running> {
        self.starter.origin(&self.identity).await
    }

    async fn run(&self, command: &Command) -> Outcome<()> {
        match command {
            Command::Hit => hit::measure(self).await,
            Command::Miss => miss::measure(self).await,
            Command::Big => big::measure(self).await,
            Command::Storm => storm::measure(self).await,
            Command::Idle => idle::measure(self).await,
            _ => {
                hit::measure(self).await?;
                miss::measure(self).await?;
                big::measure(self).await?;
                storm::measure(self).await?;
                idle::measure(self).await
            }
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: FAILED: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Outcome<()> {
    let Cli { command, mut size, out, armshield, bench: _ } = cli;
    match command {
        Command::Report(wanted) => report::report(&out, &wanted),
        Command::ServeHyper(bare) => as_server(bare::serve(bare)),
        Command::ServeOrigin(identity) => as_server(origin::serve(identity)),
        command => {
            if matches!(command, Command::Smoke) {
                size = Size::Smoke;
            }
            if !Path::new("/proc/self/stat").exists() {
                println!("bench: left out: what a server takes is read from /proc, which is not here");
                return Ok(());
            }
            let bench = Bench::new(size, out, armshield)?;
            Builder::new_current_thread().enable_all().build()?.block_on(async {
                let mut terminate = signal(SignalKind::terminate())?;
                // Servers end with what is dropped here.
                tokio::select! {
                    ended = bench.run(&command) => ended,
                    _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
                    _ = terminate.recv() => Err("terminated".into()),
                }
            })
        }
    }
}

/// Runs a server until whoever started it is gone.
fn as_server(server: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    Builder::new_multi_thread().enable_all().build()?.block_on(server)
}
