//! `probe`: asks a running armshield whether it is ready, for images without a shell.

use std::process::ExitCode;
use std::time::Duration;

use crate::config::Configuration;

use super::{door, say};

/// Kubernetes gives an exec probe one second unless told otherwise.
const PATIENCE: Duration = Duration::from_millis(900);

pub(super) fn run(configuration: &Configuration) -> ExitCode {
    let address = configuration.health.unwrap_or(configuration.admin.address);
    match door::get(address, "/readyz", "", PATIENCE, 4096) {
        Ok(answer) if answer.status == 200 => ExitCode::SUCCESS,
        Ok(answer) => {
            say(&format!("armshield at {address} is not ready: {}", answer.line));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("armshield at {address} does not answer: {error}"));
            ExitCode::FAILURE
        }
    }
}
