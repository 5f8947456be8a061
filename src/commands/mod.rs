//! The commands, a file each.

mod check;
mod demo;
mod door;
mod explain;
mod probe;
mod serve;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::{self, BadConfiguration, Configuration, EXIT_CODE, Overrides};

/// An ETag-aware caching reverse proxy for Azure Resource Manager.
#[derive(Debug, Parser)]
#[command(name = "armshield", version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy.
    Serve(Common),
    /// Say whether a configuration is good, and what it means.
    Check(Common),
    /// Ask a running armshield whether it is ready: exit code 0 if it is. For exec probes.
    Probe(Common),
    /// Show in a minute what armshield is for: busy clients on a simulated ARM, first directly, then through it.
    Demo(demo::Demo),
    /// Ask a running armshield what it would do with a request now, and why. Nothing is changed by that.
    Explain {
        #[command(flatten)]
        wanted: explain::Wanted,
        #[command(flatten)]
        common: Common,
    },
}

/// Every flag has a variable: ARMSHIELD_CONFIG, ARMSHIELD_LISTEN, ARMSHIELD_ADMIN, ARMSHIELD_UPSTREAM.
#[derive(Debug, Args)]
struct Common {
    /// The configuration file; without one, the defaults hold [variable: ARMSHIELD_CONFIG].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where clients connect [variable: ARMSHIELD_LISTEN; default: 127.0.0.1:7788].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where operators connect [variable: ARMSHIELD_ADMIN; default: 127.0.0.1:7789].
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
    /// Where ARM is [variable: ARMSHIELD_UPSTREAM; default: the cloud's own].
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
}

impl Common {
    /// Defaults, then the file, then the environment, then the flags.
    fn load(self) -> Result<Configuration, BadConfiguration> {
        let Self { config, listen, admin, upstream } = self;
        config::load(config.as_deref(), &Overrides { listen, admin, upstream }, &config::environment)
    }
}

/// Runs the command the process was called with.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(words) => {
            let _ = words.print();
            return if words.use_stderr() { ExitCode::from(EXIT_CODE) } else { ExitCode::SUCCESS };
        }
    };
    let loaded = match cli.command {
        Command::Serve(common) => common.load().map(serve::run),
        Command::Check(common) => common.load().map(|configuration| check::run(&configuration)),
        Command::Probe(common) => common.load().map(|configuration| probe::run(&configuration)),
        Command::Demo(words) => Ok(demo::run(&words)),
        Command::Explain { wanted, common } => {
            common.load().map(|configuration| explain::run(&configuration, &wanted))
        }
    };
    loaded.unwrap_or_else(|bad| {
        say(&format!("armshield: {bad}"));
        ExitCode::from(EXIT_CODE)
    })
}

/// Says something to the person at the terminal.
fn say(text: &str) {
    // Nobody is left to be told that nobody listens.
    let _ = writeln!(std::io::stderr(), "{text}");
}
