//! The rooms called directly, without HTTP: the small steps of many requests under way, in any order.
//!
//! [`journey`] takes requests through the rooms as `src/proxy/` does, and pauses wherever another thread could
//! come in between. [`play`] lets one of those that pause go on at a time, in the order of a generated list, on
//! a clock that stands still. [`arm`] is the truth, and [`reference`] knows, by the words of the promises, what
//! may be shown to whom; it is asked after every step.

mod arm;
mod journey;
mod people;
mod play;
mod reference;
mod stage;
mod steps;
mod table;

use std::cell::Cell;

use proptest::test_runner::{TestCaseError, TestError};

use crate::seed::runner;
use play::Play;
use steps::{Case, Mix, case};

const FAILURES: &str = "tests/model/rooms.regressions";

fn check(mix: Mix, cases: u32, least: usize) {
    let taken = Cell::new(0);
    let played = runner(cases, FAILURES).run(&case(mix, 20..160), |case| {
        let steps = play(&case).map_err(TestCaseError::fail)?;
        taken.set(taken.get() + steps);
        Ok(())
    });
    match played {
        Ok(()) => assert!(taken.get() >= least, "only {} steps", taken.get()),
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

fn play(case: &Case) -> Result<usize, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(Play::play(case))
}

/// Everything, some of each.
const EVEN: Mix = Mix { lags: false, reads: 6, writes: 3, changes: 3, callers: 1, time: 5 };

#[test]
fn the_promises_hold_in_any_order_of_steps() {
    check(EVEN, 100, 0);
}
