//! The verdicts, promise by promise, over everything that happened in a case. They follow the words of the
//! promises and know nothing of how armshield keeps them: where those words leave room, so do they.

pub mod effects;
pub mod knowledge;
mod p10_gates;
mod p2_callers;
mod p34_writes;
mod p5_age;
mod p6_backwards;
mod p7_guard;
mod p9_once;
mod sense;

use armshield::clock::Moment;

use super::arm::Arm;
use super::places::Question;
use super::records::{Call, Request};
use crate::support::Answer;
use effects::Effect;

/// A case that is over.
pub struct Case<'a> {
    pub arm: &'a Arm,
    pub effects: Vec<Effect<'a>>,
}

/// A read that was answered with what ARM once said.
pub struct Told<'a> {
    pub id: usize,
    pub request: &'a Request,
    pub question: Question,
    pub answer: &'a Answer,
    pub call: &'a Call,
    /// Whether the call was made for this request.
    pub own: bool,
    pub hit: bool,
}

impl<'a> Case<'a> {
    fn new(arm: &'a Arm) -> Self {
        Self { arm, effects: effects::of(arm) }
    }

    /// All reads that were answered with what ARM said.
    fn told(&self) -> impl Iterator<Item = Told<'a>> {
        let records = &self.arm.records;
        records.answered().filter_map(|(id, request, answer)| {
            let (question, (_, call)) = (request.question()?, records.origin(answer)?);
            Some(Told { id, request, question, answer, call, own: call.request == id, hit: answer.is_hit() })
        })
    }

    /// When a call's fetch began: at the first attempt.
    fn first_attempt(&self, call: &Call) -> Moment {
        let mut first = call.at;
        for before in self.arm.records.calls.iter().rev() {
            if before.request == call.request && before.status.is_none() && before.ended == first {
                first = before.at;
            }
        }
        first
    }
}

/// Everything that is wrong with a case.
pub fn judge(arm: &Arm) -> Vec<String> {
    let case = Case::new(arm);
    let mut wrong = arm.records.wrong.clone();
    for told in case.told() {
        let verdicts = [
            p2_callers::told(&case, &told),
            p34_writes::told(&case, &told),
            p5_age::told(&case, &told),
            p6_backwards::told(&case, &told),
            sense::told(&case, &told),
        ];
        wrong.extend(verdicts.into_iter().flatten().map(|why| {
            format!(
                "{why}\n    in the answer to request {} of step {} ({})",
                told.id,
                told.request.step,
                told.answer.cache()
            )
        }));
    }
    wrong.extend(p7_guard::writes(&case));
    wrong.extend(p9_once::calls(&case));
    wrong.extend(p10_gates::calls(&case));
    wrong.extend(sense::all(&case));
    wrong
}
