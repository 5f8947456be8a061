//! A minute that shows what armshield is for: the same busy clients, first on a simulated ARM itself, then
//! through armshield, and what came of it side by side.
//!
//! - One process, nothing to install: the simulator, armshield with its real listener, rooms and admin door,
//!   and the clients, each over TCP.
//! - Clients are outsiders: they know armshield by its address alone.
//! - Every figure is drawn from what ARM's side saw and what the clients wrote down. Nothing is rounded in
//!   anybody's favour, and nothing is written here that was not measured.
//! - All times shrink by the same factor, armshield's ages included.

mod book;
mod call;
mod caller;
mod clients;
mod figures;
mod front;
mod lost;
mod percentile;
mod phase;
mod random;
mod scale;
mod screen;
mod span;
mod stage;
mod table;
#[cfg(test)]
mod tests;
mod who;
mod wire;
mod witness;
mod words;
mod writing;

use std::error::Error;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::simulator::{Principal, Simulator};
use crate::upstream::{Target, TcpConnect};

use self::figures::Figures;
use self::front::Front;
use self::phase::Phase;
use self::screen::Screen;
use self::stage::{Plan, Stage};
use self::wire::Road;
use self::words::Addresses;

/// Why the demo cannot run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// How often the table is drawn anew.
const FRAME: Duration = Duration::from_secs(1);
/// Without a terminal, one line in so many frames.
const LINE: u64 = 5;

/// What can be chosen.
#[derive(Debug, Clone)]
pub struct Options {
    /// VMs in the cluster's sets.
    pub nodes: usize,
    /// The length of each phase, in seconds.
    pub seconds: u64,
    /// Equal seeds let the clients do the same things, as far as real time allows.
    pub seed: u64,
    /// How many lines the terminal has that is written to; `None`: it is none.
    pub terminal: Option<usize>,
}

/// What stays up after the table: armshield and the ARM behind it. Dropped, they end.
#[derive(Debug)]
pub struct Open {
    stage: Stage,
    front: Front,
    simulator: SocketAddr,
    _serving: JoinSet<()>,
}

/// Runs both phases and writes the table.
///
/// # Errors
/// If a port on loopback cannot be listened on, or armshield cannot be built.
pub async fn run(options: &Options, out: &mut (dyn Write + Send)) -> Result<Open, Failure> {
    let mut screen = Screen::new(out, options.terminal);
    screen.say(&words::beginning(options));
    let plan = Plan {
        nodes: options.nodes,
        length: Duration::from_secs(options.seconds),
        seed: options.seed,
        wall: Clock::boot().wall().unix(),
    };
    let stage = Stage::set(&plan);
    let (arm, serving) = serve(&stage.simulator).await?;
    let direct = show(&plan, &stage, &road(arm)?, None, &mut screen).await;
    drop(serving);

    let stage = Stage::set(&plan);
    let (arm, serving) = serve(&stage.simulator).await?;
    let front = Front::open(arm).await?;
    let through = show(&plan, &stage, &road(front.address)?, Some(&direct), &mut screen).await;
    front.calm_down();
    screen.keep(&table::lines(&direct, Some(&through)));
    screen.say(&words::meaning(&direct, &through));
    Ok(Open { stage, front, simulator: arm, _serving: serving })
}

impl Open {
    /// Says how to look at what stays up, with a token that goes on being good.
    pub fn invite(&self, out: &mut (dyn Write + Send)) {
        let you = Principal::named("you").lasting(Duration::from_secs(10 * 365 * 86_400));
        let text = words::invitation(&Addresses {
            armshield: self.front.address,
            admin: self.front.admin,
            simulator: self.simulator,
            group: &self.stage.places.group,
            token: &self.stage.simulator.token(&you),
        });
        Screen::new(out, None).say(&text);
    }
}

/// Runs one phase and shows how it goes; `direct` are the figures of the one before, if there was one.
async fn show(
    plan: &Plan,
    stage: &Stage,
    road: &Road,
    direct: Option<&Figures>,
    screen: &mut Screen<'_>,
) -> Figures {
    let name = if direct.is_some() { "through armshield" } else { "direct" };
    let mut phase = Phase::begin(plan, stage, road);
    let seconds = plan.length.as_secs();
    let mut frame = 0;
    loop {
        frame += 1;
        let over = phase.run_until(Instant::now() + FRAME).await;
        let (figures, passed) = (phase.figures(), phase.passed().as_secs());
        if screen.is_terminal() {
            let mut lines = vec![words::progress(name, passed, seconds), String::new()];
            lines.extend(match direct {
                Some(direct) => table::lines(direct, Some(&figures)),
                None => table::lines(&figures, None),
            });
            screen.draw(&lines);
        } else if over || frame % LINE == 0 {
            screen.say(&words::so_far(name, passed, seconds, &figures));
        }
        if over {
            return figures;
        }
    }
}

/// Serves a simulator on a free port of loopback, until what is given back is dropped.
async fn serve(simulator: &Simulator) -> Result<(SocketAddr, JoinSet<()>), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(|error| format!("no port on 127.0.0.1 can be listened on: {error}"))?;
    let (address, simulator) = (listener.local_addr()?, simulator.clone());
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let _ended = simulator.serve_tcp(listener).await;
    });
    Ok((address, serving))
}

fn road(to: SocketAddr) -> Result<Road, Failure> {
    let target = Target::from_url(&format!("http://{to}"))?;
    Ok(Road { connect: Arc::new(TcpConnect::default()), target })
}
