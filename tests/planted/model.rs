//! The model, built from the copy, and one run of it.

use std::io::{self, Read, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use crate::copy::PLAYED;

/// How long a run may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Builds the model of the package in this folder, with the same cargo, profile and target directory as this
/// test, so that only the package itself is compiled. Gives back its binary.
pub(crate) fn build(package: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--no-run", "--offline", "--locked", "--test", "model"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    cargo.args(profile().iter().flat_map(|profile| ["--profile", profile]));
    cargo.arg("--target-dir").arg(target).current_dir(package);
    let built = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !built.status.success() {
        return Err(format!("{} was not built; see what cargo says above", package.display()));
    }
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    said.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == "model")
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .ok_or_else(|| format!("cargo names no binary of the model:\n{said}"))
}

/// The profile this test was built with, by the folder it is in; `None` is the usual one.
fn profile() -> Option<String> {
    let binary = std::env::current_exe().ok()?;
    let folder = binary.ancestors().nth(2)?.file_name()?.to_string_lossy().into_owned();
    (folder != "debug").then_some(folder)
}

#[expect(clippy::disallowed_methods, reason = "cargo says where it is")]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// How a run of the model ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ended: Ended,
    pub(crate) said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Passed,
    /// Tests failed.
    Failed,
    /// It was killed, because it took too long.
    Late,
    /// Otherwise: it aborted, or was no test at all.
    Broken,
}

/// Runs a test of the model with a fault, or with none, in a folder of its own: the same cases every time.
pub(crate) fn run(binary: &Path, folder: &Path, test: &str, fault: Option<&str>) -> io::Result<Ran> {
    // What a run has left there must not decide the next one.
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut model = Command::new(binary);
    model.args(["--exact", test]).current_dir(folder).stdin(Stdio::null());
    model.env("ARMSHIELD_MODEL_SEED", "1").env_remove(PLAYED);
    // Which of the failing cases is the smallest is of no interest here.
    model.env("PROPTEST_MAX_SHRINK_TIME", "1");
    model.envs(fault.map(|name| (PLAYED, name)));
    let ran = limited(model, LIMIT)?;
    if ran.said.contains("running 1 test\n") || ran.ended == Ended::Late {
        return Ok(ran);
    }
    Err(io::Error::other(format!("the model has no test called {test}:\n{}", ran.said)))
}

/// Runs a command, and kills it when the time is over.
pub(crate) fn limited(mut command: Command, limit: Duration) -> io::Result<Ran> {
    let (mut reader, writer) = pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds the other ends of the pipe, and the reader waits for the last to go.
    drop(command);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let read = reader.read_to_end(&mut said);
        // Nobody listens after the time is over.
        let _ = sender.send(read.map(|_| said));
    });
    let in_time = receiver.recv_timeout(limit);
    let late = in_time.is_err();
    if late {
        child.kill()?;
    }
    let said = in_time.or_else(|_| receiver.recv()).map_err(io::Error::other)??;
    let ended = match child.wait()?.code() {
        _ if late => Ended::Late,
        Some(0) => Ended::Passed,
        // libtest's code for tests that failed.
        Some(101) => Ended::Failed,
        _ => Ended::Broken,
    };
    Ok(Ran { ended, said: String::from_utf8_lossy(&said).into_owned() })
}
