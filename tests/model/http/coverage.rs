//! What a run has met: a model in which nothing is ever answered from memory would hold whatever it says.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::arm::Arm;
use super::operations::Theme;
use super::records::{What, Write};

/// How often what was met.
#[derive(Debug, Default)]
pub struct Coverage(Mutex<BTreeMap<&'static str, usize>>);

/// What every run has to meet.
const ALWAYS: [&str; 12] = [
    "answers from memory",
    "answers to several",
    "answers from memory beside a write under way",
    "calls lost",
    "calls throttled",
    "ends of operations seen",
    "errors of armshield",
    "pages after the first",
    "reads whose client left",
    "refused forgeries",
    "writes that begin an operation",
    "writes whose client left",
];

/// What else a run of a theme has to meet.
const fn besides(theme: Theme) -> &'static [&'static str] {
    match theme {
        Theme::All | Theme::Lag => &["writes with an own condition", "ends of operations that failed"],
        Theme::Versions => &[
            "writes with an own condition",
            "writes with a condition from their body",
            "writes with a condition from what was shown",
            "writes with a condition that are refused",
            "writes with a condition that are applied",
            "writes without a known outcome that were applied",
            "creates",
        ],
        Theme::Tokens => {
            &["answers from memory to another token of the caller", "refused tokens", "places without rights"]
        }
    }
}

impl Coverage {
    fn count(&self, what: &'static str, many: usize) {
        *self.0.lock().unwrap().entry(what).or_default() += many;
    }

    /// Takes in what happened in a case.
    pub fn add(&self, arm: &Arm, steps: usize) {
        self.count("steps", steps);
        let records = &arm.records;
        for (id, request, answer) in records.answered() {
            let origin = records.origin(answer).map(|(_, call)| call);
            let another = origin.filter(|call| call.request != id).map(|call| records.request_of(call));
            let hit = answer.is_hit();
            self.count("answers from memory", usize::from(hit));
            self.count("answers to several", usize::from(another.is_some() && !hit));
            let rotated = another.is_some_and(|other| other.token != request.token);
            self.count("answers from memory to another token of the caller", usize::from(hit && rotated));
            let beside =
                records.writes().any(|(call, _, _)| call.at < request.begun && request.begun < call.answered);
            self.count("answers from memory beside a write under way", usize::from(hit && beside));
            let page = request.question().is_some_and(|question| question.skip > 0);
            self.count("pages after the first", usize::from(page));
            self.count("errors of armshield", usize::from(origin.is_none()));
        }
        for request in &records.requests {
            let left = usize::from(request.left.is_some());
            match request.what {
                What::Write(..) => self.count("writes whose client left", left),
                What::Read(_) => self.count("reads whose client left", left),
                What::Poll(_) => {}
            }
        }
        for call in &records.calls {
            let forged = records.request_of(call).token.forged;
            let refused = usize::from(call.status == Some(401));
            self.count(if forged { "refused forgeries" } else { "refused tokens" }, refused);
            self.count("places without rights", usize::from(call.status == Some(403)));
            self.count("calls throttled", usize::from(call.status == Some(429)));
            self.count("calls lost", usize::from(call.status.is_none()));
            if let Some(over) = call.over {
                self.count("ends of operations seen", 1);
                self.count("ends of operations that failed", usize::from(!over.well));
            }
        }
        self.add_writes(arm);
    }

    fn add_writes(&self, arm: &Arm) {
        for (call, request, write) in arm.records.writes() {
            let condition = !call.conditions.is_empty();
            let own = request.condition.is_some();
            self.count("writes with an own condition", usize::from(condition && own));
            let added = condition && !own;
            let body = request.stated.is_some();
            self.count("writes with a condition from their body", usize::from(added && body));
            self.count("writes with a condition from what was shown", usize::from(added && !body));
            self.count(
                "writes with a condition that are refused",
                usize::from(added && call.status == Some(412)),
            );
            self.count(
                "writes with a condition that are applied",
                usize::from(added && call.applied.is_some()),
            );
            let put = matches!(write, Write::Put(_));
            let creates = put && call.applied.as_ref().is_some_and(|(on, _)| on.is_none());
            self.count("creates", usize::from(creates));
            self.count("writes that begin an operation", usize::from(call.began.is_some()));
            let unknown = !call.succeeded() && call.applied.is_some();
            self.count("writes without a known outcome that were applied", usize::from(unknown));
        }
    }

    /// What was met less often than so many times, and should have been.
    pub fn missing(&self, theme: Theme, least: usize) -> Vec<String> {
        let met = self.0.lock().unwrap();
        let times = |what: &str| met.get(what).copied().unwrap_or(0);
        let wanted = ALWAYS.iter().chain(besides(theme));
        wanted.filter(|what| times(what) < least).map(|what| format!("{what}: {}", times(what))).collect()
    }

    /// How many steps were played.
    pub fn steps(&self) -> usize {
        self.0.lock().unwrap().get("steps").copied().unwrap_or(0)
    }
}
