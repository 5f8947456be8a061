//! Shows that the model bites: with a fault planted in the source, the model has to name the promise it breaks.
//!
//! The source that ships has no hooks. Its copy below the target directory has all faults at once, each asleep
//! until `ARMSHIELD_PLANTED` names it, so that one build serves all of them. A fault is caught if tests of the
//! model fail and say its promise; a panic elsewhere, a run that takes too long or a build that fails is no catch.
//! The copy with no fault awake has to pass, or it would prove nothing.
//!
//! To add a fault, add it to the list of its kind in `faults/`: a name, the promises it breaks, what it means in production,
//! who has to catch it, and one patch or several. `before` is text of the source that stands in its file exactly
//! once; `after` takes its place and asks `$planted` whether the fault is awake. `cargo test --test planted NAME`
//! plays one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod copy;
mod fault;
mod faults;
mod model;
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Failed, Trial};

use fault::{Fault, Refused};
use model::{Ended, Ran};

fn main() {
    let faults = faults::all();
    let caught = faults.iter().flat_map(|fault| {
        let fault = *fault;
        fault.caught_by.iter().map(move |test| {
            Trial::test(fault.name, move || has_to_be_caught(fault, test)).with_kind(level(test))
        })
    });
    let tests: BTreeSet<_> = faults.iter().flat_map(|fault| fault.caught_by).copied().collect();
    let healthy = tests
        .into_iter()
        .map(|test| Trial::test(format!("no-fault-{test}"), || has_to_pass(test)).with_kind(level(test)));
    let trials = healthy.chain(caught).chain(tests::all()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The level of the model that a test is of.
fn level(test: &str) -> &str {
    test.split("::").next().unwrap_or_default()
}

/// The model with all faults in it.
struct Planted {
    binary: PathBuf,
    refused: Vec<Refused>,
}

/// Built by the first who needs it.
fn planted() -> Result<&'static Planted, Failed> {
    static PLANTED: OnceLock<Result<Planted, String>> = OnceLock::new();
    let make = || {
        let (package, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")), folder().join("package"));
        let refused = copy::copy(package, &folder, &faults::all());
        let refused = refused.map_err(|error| format!("the package cannot be copied: {error}"))?;
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        Ok(Planted { binary: model::build(&folder, target)?, refused })
    };
    PLANTED.get_or_init(make).as_ref().map_err(Failed::from)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted")
}

fn run(test: &str, fault: Option<&str>) -> Result<Ran, Failed> {
    let own = folder().join("runs").join(fault.unwrap_or("none")).join(test.replace(':', "_"));
    Ok(model::run(&planted()?.binary, &own, test, fault)?)
}

fn has_to_pass(test: &str) -> Result<(), Failed> {
    let ran = run(test, None)?;
    match ran.ended {
        Ended::Passed => Ok(()),
        ended => Err(format!("the source as it is: {ended:?}\n{}", ran.said).into()),
    }
}

fn has_to_be_caught(fault: &Fault, test: &str) -> Result<(), Failed> {
    let without_place = planted()?.refused.iter().find(|refused| refused.fault == fault.name);
    if let Some(Refused { why, .. }) = without_place {
        return Err(why.into());
    }
    let ran = run(test, Some(fault.name))?;
    verdict(fault, &ran)
        .map_err(|why| format!("{why}\nIn production: {}\n\n{}", fault.means, ran.said).into())
}

/// Whether a run has caught a fault, or why it has not.
fn verdict(fault: &Fault, ran: &Ran) -> Result<(), String> {
    let promises = fault.breaks.join(", ");
    match ran.ended {
        Ended::Failed if fault.breaks.iter().any(|promise| names(&ran.said, promise)) => Ok(()),
        Ended::Failed => Err(format!("tests failed, and none because of {promises}")),
        Ended::Passed => Err(format!("the model does not see that it breaks {promises}")),
        Ended::Late => Err(format!("the run was killed after {:?}", model::LIMIT)),
        Ended::Broken => Err("the run did not come to its end".to_owned()),
    }
}

/// Whether a text has this word in it: P1 is not in P13.
fn names(text: &str, promise: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| word == promise)
}
