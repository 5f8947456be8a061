//! Why, as sentences for people.

use crate::policy::Mode;
use crate::proxy::route::Route;
use crate::proxy::visit::Visit;

use super::asker::Outcome;
use super::said::{Gate, Kept};

/// Why this would be done.
pub(super) fn because(
    outcome: Outcome,
    why: &'static str,
    way: Route,
    kept: Option<&Kept>,
    gate: &Gate,
    vouched: bool,
) -> String {
    if outcome == Outcome::Refused {
        let seconds = gate.opens.as_ref().map_or(0.0, |until| until.seconds);
        let budget = gate.budget.as_deref().unwrap_or("a budget");
        return format!("no call is sent for another {seconds:.1} s: {budget} is used up");
    }
    match way {
        Route::Discovery => "it is answered from memory, before ARM is reachable".into(),
        Route::Write if vouched => {
            "what it reaches is dropped when it is sent and when it is answered".into()
        }
        Route::Write => "what it reaches is dropped when it is answered, unless with 401 or 403".into(),
        Route::Poll => "it asks for an operation: it is passed, and read for how far that has come".into(),
        Route::Pass(reason) => passed(reason).into(),
        Route::Read => read(outcome, why, kept),
    }
}

fn passed(reason: &str) -> &'static str {
    match reason {
        "pass" => "in pass mode everything is streamed",
        "range" => "a part of an answer is nothing to keep",
        "body" => "the answer to a body is nothing to keep",
        _ => "it is no GET of a type that has a rule",
    }
}

fn read(outcome: Outcome, why: &'static str, kept: Option<&Kept>) -> String {
    let reason = match (outcome, kept) {
        (Outcome::Hit, Some(kept)) => {
            let most = most(kept);
            format!("what is kept is {:.1} s old, and {most}", kept.age_seconds)
        }
        (Outcome::Bypass, _) => "headers split this question into too many variants to keep".into(),
        _ => missed(why, kept),
    };
    if outcome == Outcome::Collapsed { format!("{reason}; a fetch under way will do") } else { reason }
}

fn missed(why: &'static str, kept: Option<&Kept>) -> String {
    match (why, kept) {
        ("unvouched", _) => {
            "its token is to be judged by ARM; if that lets it in, the answer is kept for its caller".into()
        }
        ("written", Some(kept)) => {
            let moved: Vec<_> =
                kept.moved.iter().map(|moved| format!("{} ({})", moved.scope, moved.how)).collect();
            format!("since what is kept was asked for, this moved: {}", moved.join(", "))
        }
        ("news", Some(kept)) => format!("something newer is known in: {}", kept.newer_known_in.join(", ")),
        ("wanted", Some(kept)) if kept.smallest_bound != why => {
            "the request says no-cache: only an answer that is yet to be asked for will do".into()
        }
        ("aged" | "unsettled" | "repeated" | "wanted", Some(kept)) => {
            format!("what is kept is {:.1} s old, and {}", kept.age_seconds, most(kept))
        }
        ("refused", Some(_)) => "ARM refused this caller here since what is kept was asked for".into(),
        ("shadow", Some(_)) => "what is kept would answer, but in shadow mode every read goes to ARM".into(),
        _ => "nothing is kept for this question of this caller".into(),
    }
}

/// The smallest bound, said.
fn most(kept: &Kept) -> String {
    let smallest = kept.bounds.iter().find(|one| one.bound == kept.smallest_bound);
    let seconds = smallest.map_or(0.0, |one| one.seconds);
    match kept.smallest_bound.as_str() {
        "rule" => format!("the rule of its type allows {seconds} s"),
        "profile" => format!("the profile allows {seconds} s"),
        "unsettled" => format!("while a change is under way {seconds} s are allowed"),
        "repeated" => format!("a client that was shown it and asks again wants one of the last {seconds} s"),
        _ => format!("the request allows {seconds} s"),
    }
}

/// What is odd about a request.
pub(super) fn hints(visit: &Visit, way: Route) -> Vec<String> {
    let mut hints = Vec::new();
    let mut hint = |is: bool, text: &str| {
        if is {
            hints.push(text.to_owned());
        }
    };
    let path = visit.asked.path.as_ref();
    hint(
        path.is_none(),
        "the path has no canonical form (an empty or dot segment, bad encoding): it is never kept, and a write to it drops everything",
    );
    let below = path.is_some_and(|path| path.subscription().is_some());
    hint(
        below && visit.query().api_version().is_none() && way != Route::Poll,
        "the URL has no api-version: ARM refuses that, and it is part of the question",
    );
    hint(
        visit.query().is_continuation() || visit.query().has("$top"),
        "pages of a list are merged and not kept",
    );
    hint(visit.mode == Mode::Shadow, "the profile is in shadow mode: every read goes to ARM");
    hint(
        visit.mode == Mode::Pass && way != Route::Read,
        "the profile is in pass mode: everything is streamed",
    );
    hints
}
