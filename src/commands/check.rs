//! `check`: says whether a configuration is good, and what it means.

use std::process::ExitCode;

use crate::config::Configuration;

use super::say;

pub(super) fn run(configuration: &Configuration) -> ExitCode {
    for warning in &configuration.warnings {
        say(&format!("warning: {warning}"));
    }
    let policy = &configuration.policy;
    say(&format!(
        "the configuration is good: {} → {} (cloud {}), mode {}, guard {}, {} rules, {} profiles, admin at {}",
        configuration.listen.address,
        configuration.endpoint,
        configuration.cloud.as_str(),
        policy.mode.as_str(),
        policy.guard.as_str(),
        policy.rules.len(),
        policy.profiles.len() + 1,
        configuration.admin.address,
    ));
    ExitCode::SUCCESS
}
