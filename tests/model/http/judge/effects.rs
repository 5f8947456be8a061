//! What writes do to what is remembered, by the design's table of scopes and its rules of settling.

use std::time::Duration;

use armshield::clock::Moment;

use super::super::arm::Arm;
use super::super::places::{About, LISTS, Question, SET, THINGS};
use super::super::records::{Call, What, Write};
use super::super::truth::Named;
use super::knowledge::{Standing, standing};

const SETTLE: Duration = Duration::from_secs(30);
const UNKNOWN: Duration = Duration::from_secs(120);
const OPERATION: Duration = Duration::from_secs(30 * 60);

/// A write that reached ARM.
pub struct Effect<'a> {
    pub call: &'a Call,
    pub write: Write,
    outcome: Outcome,
    /// Whether it made things unusable when it was sent: ARM had let its token in before.
    pub fenced: bool,
    /// When the end of what it began was seen.
    pub seen: Option<Moment>,
    /// The last time it was seen to go on.
    progress: Moment,
    /// Whether armshield may know the set written to be Uniform.
    uniform: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// As if it had not been sent.
    Nothing,
    Refused,
    Done,
    Began,
    Unknown,
}

/// How a write reaches an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The resource written and the lists it is in.
    Near,
    /// What can change along with it.
    Wider,
}

/// The effects of all writes.
pub fn of(arm: &Arm) -> Vec<Effect<'_>> {
    let records = &arm.records;
    records
        .writes()
        .map(|(call, request, write)| {
            let standing = standing(arm, request.token, request.begun);
            let outcome = match call.status {
                Some(401 | 403) if standing != Standing::Vouched => Outcome::Nothing,
                Some(200..=399) if call.began.is_some() => Outcome::Began,
                Some(200..=399) => Outcome::Done,
                Some(408 | 409) => Outcome::Unknown,
                Some(400..=499) => Outcome::Refused,
                _ => Outcome::Unknown,
            };
            let uniform = records
                .calls
                .iter()
                .any(|told| told.answered <= call.at && told.sights.iter().any(|(thing, _)| *thing == SET));
            let fenced = standing == Standing::Vouched;
            let (seen, progress) = followed(arm, call, write);
            Effect { call, write, outcome, fenced, seen, progress, uniform }
        })
        .collect()
}

/// When the end of what a write began was seen first, and when it was last seen to go on.
fn followed(arm: &Arm, write: &Call, of: Write) -> (Option<Moment>, Moment) {
    let (Some(began), Some(thing)) = (write.began, of.thing()) else { return (None, write.answered) };
    let calls = || arm.records.calls.iter();
    if arm.truth.operations[began].named != Named::Nowhere {
        let ends = calls().filter(|call| call.over.is_some_and(|over| over.operation == began));
        let goes_on = calls().filter(|call| {
            call.over.is_none() && call.succeeded() && arm.request_of(call).what == What::Poll(began)
        });
        let progress = goes_on.map(|call| call.answered).max().unwrap_or(write.answered);
        return (ends.map(|call| call.answered).min(), progress);
    }
    let shown = |call: &&Call| {
        let point = matches!(
            arm.request_of(call).what,
            What::Read(Question { about: About::Point(of), .. }) if of == thing
        );
        point && call.status == Some(200) && call.whole && call.at > write.answered
    };
    let terminal = |call: &&Call| {
        call.sights.iter().all(|(thing, number)| {
            arm.truth.state(*thing, *number).is_some_and(|shown| shown.state.is_terminal())
        })
    };
    let seen = calls().filter(shown).filter(terminal).map(|call| call.answered).min();
    let progress = calls().filter(shown).filter(|call| !terminal(call)).map(|call| call.answered).max();
    (seen, progress.unwrap_or(write.answered))
}

impl Effect<'_> {
    /// When it makes what was fetched before unusable, for all whom it reaches.
    pub fn bumps(&self) -> impl Iterator<Item = Moment> {
        let counts = self.outcome != Outcome::Nothing;
        let sent = self.fenced.then_some(self.call.at);
        let answered = counts.then_some(self.call.answered);
        sent.into_iter().chain(answered).chain(self.seen)
    }

    /// How it reaches the answer to a question, if it does.
    pub fn reach(&self, question: Question) -> Option<Reach> {
        self.reach_if(question, self.uniform)
    }

    fn reach_if(&self, question: Question, uniform: bool) -> Option<Reach> {
        let Some(thing) = self.write.thing() else { return Some(Reach::Wider) };
        let (about, written) = (question.about, &THINGS[thing]);
        if written.is_network() {
            return match about.is_network() {
                true if about.root() == Some(written.root) => Some(Reach::Near),
                true => Some(Reach::Wider),
                false => None,
            };
        }
        if about.is_network() {
            return Some(Reach::Wider);
        }
        let in_group = about.group().is_none_or(|group| group == written.group);
        let near = about.root() == Some(written.root) || (about.is_list() && in_group);
        if near {
            return Some(Reach::Near);
        }
        // A set that may be Flexible reaches the VMs of its group.
        let siblings = in_group && !(written.root == SET && uniform);
        siblings.then_some(Reach::Wider)
    }

    /// Whether it may reach the answer: views may be counted among the lists of their group.
    pub fn may_reach(&self, question: Question) -> bool {
        let view = matches!(question.about, About::View(_));
        let compute = self.write.thing().is_some_and(|thing| !THINGS[thing].is_network());
        // What was once known of the set may have been forgotten with its life.
        self.reach_if(question, false).is_some() || (view && compute)
    }

    /// Whether it leaves the answer to a question unsettled at that moment, by all accounts.
    pub fn unsettles(&self, question: Question, at: Moment) -> bool {
        let Some(reach) = self.reach(question) else { return false };
        let answered = self.call.answered;
        if at <= answered {
            return self.fenced && self.call.at < at && at < answered;
        }
        let within = |from: Moment, time: Duration| from < at && at < from + time;
        match (self.outcome, reach) {
            (Outcome::Nothing | Outcome::Refused, _) => false,
            (Outcome::Done, _) | (Outcome::Unknown, Reach::Wider) => within(answered, SETTLE),
            (Outcome::Unknown, Reach::Near) => within(answered, UNKNOWN),
            (Outcome::Began, Reach::Wider) => {
                within(answered, SETTLE) || self.seen.is_some_and(|seen| within(seen, SETTLE))
            }
            (Outcome::Began, Reach::Near) => match self.seen.filter(|seen| *seen <= at) {
                Some(seen) => within(seen, SETTLE),
                None => within(answered, OPERATION) || within(self.progress, OPERATION),
            },
        }
    }

    /// Whether anything came of it, as far as what is remembered is concerned.
    pub fn is_nothing(&self) -> bool {
        self.outcome == Outcome::Nothing && !self.fenced
    }
}

/// Whether a list is one of the things of this root's family and place.
pub fn shows_family_of(question: Question, thing: usize) -> bool {
    let network = match question.about {
        About::List(list) => LISTS[list].is_network(),
        About::Point(_) | About::View(_) => question.about.is_network(),
    };
    network == THINGS[thing].is_network()
}
