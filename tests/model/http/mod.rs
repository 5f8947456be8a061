//! The promises over real HTTP in memory, however the requests of many clients, what ARM answers and what
//! others do to ARM interleave; judged by a small reference that holds sets of allowed answers.
//!
//! `operations` are generated whole, `play` plays them, `meetings` those that chance would seldom bring about, `arm` answers by what is so in `truth` and keeps
//! `records`, and `judge` reads them when all is over.

mod arm;
mod coverage;
mod judge;
mod meetings;
mod operations;
mod people;
mod places;
mod play;
mod records;
mod truth;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestError};

use self::coverage::Coverage;
use self::operations::{Case, Theme, case};
use self::play::Play;
use crate::seed;

const RECORDED: &str = "tests/model/http.regressions";

/// How many cases there are of each theme.
const CASES: u32 = 120;
/// How many steps a case has at most; on average it has half of them.
const MOST: usize = 60;

fn play(theme: Theme, case: Case, coverage: &Coverage) -> TestCaseResult {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let steps = case.steps.len();
        let arm = Play::new(case, theme == Theme::Lag).play().await;
        let arm = arm.lock().unwrap();
        coverage.add(&arm, steps);
        let wrong = judge::judge(&arm);
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
}

fn hold(theme: Theme) {
    let coverage = Coverage::default();
    let outcome = seed::runner(CASES, RECORDED).run(&case(theme, MOST), |case| play(theme, case, &coverage));
    match outcome {
        Ok(()) => {
            let missing = coverage.missing(theme, 5);
            assert!(missing.is_empty(), "not met often enough: {}", missing.join(", "));
            // Of four themes.
            assert!(coverage.steps() >= 2500, "fewer than ten thousand steps in all");
        }
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case}"),
        Err(aborted) => panic!("{aborted}"),
    }
}

#[test]
fn they_hold_whatever_happens() {
    hold(Theme::All);
}

#[test]
fn they_hold_where_many_write_the_same() {
    hold(Theme::Versions);
}

#[test]
fn they_hold_where_tokens_and_rights_come_and_go() {
    hold(Theme::Tokens);
}

#[test]
fn they_hold_where_lists_lag() {
    hold(Theme::Lag);
}
