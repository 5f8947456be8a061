//! Servers as processes of their own: started, pinned, looked at from outside, ended.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::Outcome;
use super::load::Tally;
use super::secure::Files;

/// How long a server may take to be there.
const START: Duration = Duration::from_secs(20);

/// Which core is whose; without them nothing is pinned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) server: usize,
    pub(crate) loader: usize,
}

impl Cores {
    /// The first two cores this process may use.
    pub(crate) fn find() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let ranges = list.trim().split(',').filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
        });
        let mut cores = ranges.flatten();
        let (server, loader) = (cores.next()?, cores.next()?);
        Command::new("taskset")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .ok()
            .filter(|status| status.success())?;
        Some(Self { server, loader })
    }

    /// Puts this process, and with it everything it starts from now on, on the loader's core.
    pub(crate) fn take_loader(self) -> Outcome<()> {
        let (core, pid) = (self.loader.to_string(), std::process::id().to_string());
        let status =
            Command::new("taskset").args(["-a", "-p", "-c", &core, &pid]).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(format!("taskset cannot pin to core {core}").into()) }
    }
}

/// How servers are started.
#[derive(Debug)]
pub(crate) struct Starter {
    pub(crate) cores: Option<Cores>,
    /// The armshield that is measured.
    pub(crate) armshield: PathBuf,
    /// Where logs, configurations and state go.
    pub(crate) folder: PathBuf,
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The command that ends it, for a process that has children.
    stop: Option<Command>,
}

impl Starter {
    /// armshield in front of `upstream`; `words` are further arguments.
    pub(crate) async fn armshield(&self, upstream: &str, words: &[&str]) -> Outcome<Running> {
        let state = self.folder.join("state");
        fs::create_dir_all(&state)?;
        let mut command = self.on_server_core(&self.armshield);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ARMSHIELD_"))
        {
            command.env_remove(name);
        }
        command.env("STATE_DIRECTORY", state);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--upstream", upstream]);
        self.start("armshield", command.args(words)).await
    }

    /// This program in another role, where servers are.
    pub(crate) async fn bare(&self, words: &[&str]) -> Outcome<Running> {
        let mut command = self.on_server_core(&std::env::current_exe()?);
        self.start("bare-hyper", command.arg("serve-hyper").args(words)).await
    }

    /// The origin, where the loader is.
    pub(crate) async fn origin(&self, identity: &Files) -> Outcome<Running> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("serve-origin")
            .arg("--certificate")
            .arg(&identity.certificate)
            .arg("--key")
            .arg(&identity.key);
        self.start("origin", &mut command).await
    }

    /// A program whose arguments say that it listens there.
    pub(crate) async fn peer(
        &self,
        name: &str,
        command: &mut Command,
        address: SocketAddr,
        stop: Option<Command>,
    ) -> Outcome<Running> {
        let child = self.spawn(name, command)?;
        let mut running = Running { child, address, stop };
        let listens = async {
            while TcpStream::connect(address).await.is_err() {
                running.is_alive(name, &self.log(name))?;
                sleep(Duration::from_millis(20)).await;
            }
            Outcome::Ok(())
        };
        timeout(START, listens).await.map_err(|_| format!("{name} does not listen on {address}"))??;
        Ok(running)
    }

    /// A command that is to run on the core of servers.
    pub(crate) fn on_server_core(&self, program: &Path) -> Command {
        match self.cores {
            None => Command::new(program),
            Some(cores) => {
                let mut command = Command::new("taskset");
                command.arg("-c").arg(cores.server.to_string()).arg(program);
                command
            }
        }
    }

    async fn start(&self, name: &str, command: &mut Command) -> Outcome<Running> {
        let child = self.spawn(name, command)?;
        let mut running = Running { child, address: SocketAddr::from(([0; 4], 0)), stop: None };
        let log = self.log(name);
        let ready = async {
            loop {
                let said = fs::read_to_string(&log)?;
                let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
                if let Some(address) = whole.lines().find_map(|line| line.split("listening on ").nth(1)) {
                    return Ok(address.trim().parse()?);
                }
                running.is_alive(name, &log)?;
                sleep(Duration::from_millis(10)).await;
            }
        };
        let ready: Outcome<SocketAddr> =
            timeout(START, ready).await.map_err(|_| format!("{name} is not ready"))?;
        running.address = ready?;
        Ok(running)
    }

    /// What it prints goes nowhere, what it complains about into a file. A server of ours ends with its input.
    fn spawn(&self, name: &str, command: &mut Command) -> Outcome<Child> {
        let log = File::create(self.log(name))?;
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        Ok(command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }
}

impl Running {
    fn is_alive(&mut self, name: &str, log: &Path) -> Outcome<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let said = fs::read_to_string(log).unwrap_or_default();
                Err(format!("{name} ended with {status}: {said}").into())
            }
        }
    }

    /// Processor time used until now, of all threads and all children.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let pid = self.child.id();
        let mut total = cpu(pid)?;
        if self.stop.is_some() {
            for child in children(pid)? {
                total += cpu(child)?;
            }
        }
        Ok(total)
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes: u64 =
            line.and_then(|line| line.trim().strip_suffix("kB")).ok_or("no VmRSS")?.trim().parse()?;
        Ok(kibibytes << 10)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let stopped = self
            .stop
            .as_mut()
            .is_some_and(|stop| stop.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok());
        if !stopped {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// What a load cost its server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Of the server's processor time, per answer.
    pub(crate) micros: f64,
    /// How much of a core it used.
    pub(crate) busy: f64,
}

impl Cost {
    /// What `tally` cost a server that had used so much before and after.
    pub(crate) fn of(tally: &Tally, before: Duration, after: Duration) -> Self {
        let used = after.saturating_sub(before).as_secs_f64();
        Self { micros: used * 1e6 / tally.answers() as f64, busy: used / tally.elapsed.as_secs_f64() }
    }
}

/// Processor time of this process.
pub(crate) fn own_cpu() -> Outcome<Duration> {
    cpu(std::process::id())
}

fn cpu(pid: u32) -> Outcome<Duration> {
    let fields = stat(pid)?;
    // utime and stime, fields 14 and 15 (proc_pid_stat(5)); `stat` leaves out the first two.
    let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(from_ticks(ticks))
}

/// A time that is told in ticks of `USER_HZ`, which is 100 on every Linux that Rust runs on.
pub(crate) fn from_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

fn children(of: u32) -> Outcome<Vec<u32>> {
    let pids = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(pids.filter(|&pid| stat(pid).is_ok_and(|fields| fields[1] == of.to_string())).collect())
}

/// The fields of `/proc/PID/stat` behind the name, which can hold anything.
pub(crate) fn stat(pid: u32) -> Outcome<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = text.rsplit_once(')').ok_or("an unknown form of /proc/PID/stat")?;
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}
