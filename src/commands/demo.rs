//! `demo`: shows in a minute what armshield is for, on a simulated ARM.

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::demo::{self, Failure, Options};

use super::say;

/// The code of who is stopped by Ctrl-C before they are done, as shells count.
const INTERRUPTED: u8 = 130;

/// Every flag has a variable.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// End with the table instead of staying up.
    #[arg(long, env = "ARMSHIELD_ONCE")]
    once: bool,
    /// VMs in the cluster.
    #[arg(long, value_name = "N", env = "ARMSHIELD_NODES", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(4..=3000))]
    nodes: u32,
    /// Seconds that each of the two phases takes.
    #[arg(long, value_name = "N", env = "ARMSHIELD_SECONDS", default_value_t = 25,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Equal seeds let the clients do the same things.
    #[arg(long, value_name = "N", env = "ARMSHIELD_SEED", default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(words: &Demo) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(show(words))) {
        Ok(code) => code,
        Err(failure) => {
            say(&format!("armshield demo: {failure}"));
            ExitCode::FAILURE
        }
    }
}

async fn show(words: &Demo) -> Result<ExitCode, Failure> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut stop = std::pin::pin!(async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    });
    let options =
        Options { nodes: words.nodes as usize, seconds: words.seconds, seed: words.seed, terminal: lines() };
    let mut out = stdout();
    let open = tokio::select! {
        open = demo::run(&options, &mut out) => open?,
        () = &mut stop => {
            say("armshield demo: stopped before it was over");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    if !words.once {
        open.invite(&mut out);
        stop.await;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many lines the terminal has, if standard output is one.
fn lines() -> Option<usize> {
    let out = stdout();
    let height = || rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_row));
    // Some terminals do not say.
    out.is_terminal().then(|| height().filter(|height| *height > 0).unwrap_or(24))
}
