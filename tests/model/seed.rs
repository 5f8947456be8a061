//! How the model tests draw their cases: fresh ones in every run, the same ones where a seed is given.
//!
//! `ARMSHIELD_MODEL_CASES` multiplies the cases, for nightly runs. `ARMSHIELD_MODEL_SEED`, a whole number, makes a
//! run repeatable: then recorded failures are neither tried nor added to.

use std::env::var;
use std::str::FromStr;

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestRunner};

/// So many cases; those that failed are recorded in `file`, and tried first ever after.
pub fn config(cases: u32, file: &'static str) -> Config {
    let recorded = || Some(Box::new(FileFailurePersistence::Direct(file)) as _);
    let seed = stated("ARMSHIELD_MODEL_SEED").map(RngSeed::Fixed);
    Config {
        cases: cases * stated::<u32>("ARMSHIELD_MODEL_CASES").unwrap_or(1),
        failure_persistence: if seed.is_some() { None } else { recorded() },
        rng_seed: seed.unwrap_or(RngSeed::Random),
        ..Config::default()
    }
}

/// What runs tests by such a configuration.
pub fn runner(cases: u32, file: &'static str) -> TestRunner {
    TestRunner::new(config(cases, file))
}

#[expect(clippy::disallowed_methods, reason = "what a run of the tests is told, not armshield")]
fn stated<T: FromStr>(name: &str) -> Option<T> {
    let value = var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}
