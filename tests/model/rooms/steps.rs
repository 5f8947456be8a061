//! What is generated: everything that can happen, as a list that can be made shorter.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::select;

use super::arm::Said;
use super::journey::Fresh;
use super::people::{FORGER, PEOPLE};
use super::stage::Fate;
use super::table::{QUESTIONS, THINGS};

/// Something that happens. What is counted, counts around.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// A client begins to read. The first numbers of questions stand for those this case is about.
    Read { person: usize, what: usize, fresh: Fresh },
    /// A client begins to write.
    Write { person: usize, what: usize, how: Method, said: Said, base: Base },
    /// A client asks what has become of an operation.
    Poll { person: usize, which: usize },
    /// Something under way goes on, so many steps.
    Go { which: usize, times: usize, fate: Fate },
    /// A client leaves.
    Leave { which: usize },
    /// An operation ends at ARM.
    End { which: usize, well: bool },
    /// The set moves because its VM was written a while ago.
    MoveLate,
    /// Somebody else changes something.
    Change { what: usize, how: Change },
    /// A client gets its next token.
    Rotate { person: usize },
    /// ARM's front door begins to refuse a token, or stops.
    TurnToken { which: usize },
    /// A principal loses rights, or gets them back.
    TurnRights { principal: usize, what: usize, whole: bool },
    /// An operator purges.
    Purge { what: Option<usize> },
    /// Time passes.
    Pass { millis: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Put,
    Patch,
    Delete,
    Act,
    Deploy,
    Batch,
}

/// What a write says about the version it was built on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Unsaid,
    Body,
    IfMatch,
    IfNoneMatch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Advance,
    Stir,
    Remove,
    Create,
    Replace,
}

/// A case: what it is mostly about, and what happens.
#[derive(Debug, Clone)]
pub struct Case {
    pub focus: [usize; 4],
    pub steps: Vec<Step>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "about {:?}", self.focus.map(|question| QUESTIONS[question].target()))?;
        self.steps.iter().try_for_each(|step| writeln!(f, "    {step:?}"))
    }
}

/// What differs between the ways to play.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// Lists lag. Lives do not end then: nothing tells a list that lags from a life that is back.
    pub lags: bool,
    pub reads: u32,
    pub writes: u32,
    pub changes: u32,
    /// Tokens, rights, forgeries.
    pub callers: u32,
    pub time: u32,
}

/// Cases of so many steps.
pub fn case(mix: Mix, length: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
    let focus = prop::array::uniform4(prop_oneof![3 => 0..9_usize, 2 => 0..QUESTIONS.len()]);
    (focus, prop::collection::vec(step(mix), length)).prop_map(|(focus, steps)| Case { focus, steps })
}

fn step(mix: Mix) -> impl Strategy<Value = Step> {
    let which = 0..64_usize;
    // Forgeries are rare.
    let honest = 0..FORGER;
    let person = prop_oneof![12 => honest.clone(), mix.callers => honest.start..PEOPLE.len()];
    let fresh = prop_oneof![
        12 => Just(Fresh::Any),
        1 => Just(Fresh::NoCache),
        1 => (0..4_u64).prop_map(Fresh::MaxAge)
    ];
    let read = (person.clone(), 0..QUESTIONS.len() + 40, fresh)
        .prop_map(|(person, what, fresh)| Step::Read { person, what, fresh });
    let deletes = u32::from(!mix.lags);
    let method = prop_oneof![
        6 => Just(Method::Put),
        3 => Just(Method::Patch),
        3 * deletes => Just(Method::Delete),
        2 => Just(Method::Act),
        1 => Just(Method::Deploy),
        1 => Just(Method::Batch),
    ];
    let said = select(vec![
        Said::Whole,
        Said::Whole,
        Said::Polled,
        Said::Polled,
        Said::Shown,
        Said::Bare,
        Said::Refused,
        Said::Busy,
        Said::Broken,
    ]);
    let base = prop_oneof![
        6 => Just(Base::Unsaid),
        1 => Just(Base::Body),
        1 => Just(Base::IfMatch),
        1 => Just(Base::IfNoneMatch),
    ];
    let write = (person.clone(), 0..THINGS.len() * 3, method, said, base)
        .prop_map(|(person, what, how, said, base)| Step::Write { person, what, how, said, base });
    let poll = (person, which.clone()).prop_map(|(person, which)| Step::Poll { person, which });
    let late = u32::from(mix.lags) * 6;
    let fate = prop_oneof![
        20 => Just(Fate::Fine),
        1 => Just(Fate::Lost),
        1 => Just(Fate::Personal),
        late => (1..4_usize).prop_map(Fate::Late),
    ];
    let go =
        (which.clone(), 1..5_usize, fate).prop_map(|(which, times, fate)| Step::Go { which, times, fate });
    let change = prop_oneof![
        4 => Just(Change::Advance),
        2 => Just(Change::Stir),
        2 * deletes => Just(Change::Remove),
        2 * deletes => Just(Change::Create),
        deletes => Just(Change::Replace),
    ];
    let change = (0..THINGS.len() * 3, change).prop_map(|(what, how)| Step::Change { what, how });
    let rights = (0..2_usize, 0..THINGS.len(), any::<bool>())
        .prop_map(|(principal, what, whole)| Step::TurnRights { principal, what, whole });
    let purge = prop::option::of(0..THINGS.len()).prop_map(|what| Step::Purge { what });
    let pass = prop_oneof![
        6 => select(vec![1_u64, 10, 100, 500, 1000]),
        6 => select(vec![1999_u64, 2000, 2001, 3000]),
        3 => select(vec![5000_u64, 10_000, 15_000]),
        1 => select(vec![29_000_u64, 31_000, 61_000, 119_000]),
        1 => select(vec![599_000_u64, 601_000, 1_801_000]),
    ];
    prop_oneof![
        4 * mix.reads => read,
        mix.writes => write,
        mix.writes => poll,
        60 => go,
        2 => which.clone().prop_map(|which| Step::Leave { which }),
        mix.writes => (which, any::<bool>()).prop_map(|(which, bad)| Step::End { which, well: !bad }),
        1 => Just(Step::MoveLate),
        mix.changes => change,
        mix.callers => (0..FORGER).prop_map(|person| Step::Rotate { person }),
        mix.callers => (0..8_usize).prop_map(|which| Step::TurnToken { which }),
        mix.callers => rights,
        1 => purge,
        mix.time => pass.prop_map(|millis| Step::Pass { millis }),
    ]
}
