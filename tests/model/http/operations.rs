//! A case: a few questions, clients and things, and steps that name them by number, modulo how many there
//! are. All is generated whole, so that a failure shrinks to few and simple steps.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::select;

use super::places::{About, INSTANCES, LISTS, Question, SET};
use super::records::{Fault, Fresh, Plan, Write};
use super::truth::{Long, Named, State};

/// Few of everything, so that steps meet.
#[derive(Debug, Clone)]
pub struct Case {
    questions: Vec<Question>,
    people: Vec<usize>,
    things: Vec<usize>,
    pub steps: Vec<Step>,
}

impl Case {
    pub fn question(&self, number: usize) -> Question {
        self.questions[number % self.questions.len()]
    }

    pub fn who(&self, number: usize) -> usize {
        self.people[number % self.people.len()]
    }

    /// Of those that are asked about, and a few others.
    pub fn thing(&self, number: usize) -> usize {
        let asked = self.questions.iter().flat_map(|question| question.about.things());
        let things: Vec<_> = asked.chain(self.things.iter().copied()).collect();
        things[number % things.len()]
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { questions, people, things, steps } = self;
        writeln!(f, "people {people:?}, things {things:?}, and questions")?;
        questions.iter().enumerate().try_for_each(|(at, question)| writeln!(f, "{at}: {question:?}"))?;
        writeln!(f, "and steps")?;
        steps.iter().enumerate().try_for_each(|(at, step)| writeln!(f, "{at}: {step:?}"))
    }
}

/// What a client or somebody else does, and how long it is until the next.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub deed: Deed,
    /// In milliseconds; with none of them, the next step begins in the same moment.
    pub pause: u64,
}

/// What is done. Questions, clients and things are named by their numbers in the case.
#[derive(Debug, Clone, Copy)]
pub enum Deed {
    Read {
        who: usize,
        question: usize,
        fresh: Fresh,
        plan: Plan,
        leaves: Option<u64>,
        old_token: bool,
    },
    /// The same question by several at once, one bit for each of all people.
    Crowd {
        who: u8,
        question: usize,
        plan: Plan,
    },
    Write {
        who: usize,
        write: Kind,
        thing: usize,
        version: usize,
        basis: Basis,
        plan: Plan,
        leaves: Option<u64>,
    },
    /// Of an operation that some answer has named.
    Poll {
        who: usize,
        which: usize,
        plan: Plan,
    },
    /// Somebody else does it, on another way.
    Change {
        thing: usize,
    },
    Replace {
        thing: usize,
    },
    Remove {
        thing: usize,
    },
    /// The caller gets its next token.
    Rotate {
        who: usize,
    },
    /// ARM does not accept the caller's token any more.
    Ban {
        who: usize,
    },
    /// The caller loses its rights in a place, or gets them back.
    Rights {
        who: usize,
        place: usize,
    },
    /// Somebody who knows all that a client's token says asks in its name.
    Forge {
        who: usize,
        what: Forged,
        plan: Plan,
        from_far: bool,
    },
    /// A client asks, somebody asks in its name, it asks again.
    Imitate {
        who: usize,
        question: usize,
        what: Forged,
    },
    /// ARM refuses a client in the middle of its asking.
    Refuse {
        who: usize,
        question: usize,
        what: Refusal,
    },
    /// A question is asked, something it is about changes or goes, who reads that is told so, and the question
    /// is asked again, before it was answered or after.
    Overtake {
        who: usize,
        question: usize,
        thing: usize,
        goes: bool,
        slow: bool,
    },
}

/// What ARM refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Rights that the client had a moment ago.
    Rights,
    /// The same, and its token is one that ARM has yet to let in.
    RightsToNewToken,
    /// The client's former token, while it asks the same with its present one.
    OldToken,
}

/// What is asked with a forged token.
#[derive(Debug, Clone, Copy)]
pub enum Forged {
    Read(usize),
    Write(Kind, usize),
    Poll(usize),
}

/// What kind of write it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Put,
    Patch,
    Delete,
    Act,
    Deploy,
    Batch,
}

impl Kind {
    /// The write of this kind to a thing. VMs of a set cannot be patched.
    pub fn to(self, thing: usize) -> Write {
        match self {
            Self::Patch if !INSTANCES.contains(&thing) => Write::Patch(thing),
            Self::Put | Self::Patch => Write::Put(thing),
            Self::Delete => Write::Delete(thing),
            Self::Act => Write::Act(thing),
            Self::Deploy => Write::Deploy,
            Self::Batch => Write::Batch,
        }
    }
}

/// What a write says about the version it was built on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    Nothing,
    /// `If-Match` with a version.
    Own(Which),
    /// `If-Match: *`.
    Any,
    /// `If-None-Match: *`.
    Absent,
    /// The body's own `etag`.
    Body(Which),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The one its client was shown last.
    Shown,
    Present,
    Wrong,
}

/// Which kinds of steps a run has more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Everything.
    All,
    /// Reads and writes of few things by few clients.
    Versions,
    /// Tokens and rights.
    Tokens,
    /// Lists that lag.
    Lag,
}

/// All begins at whole hundredths of a second and is answered between them: little happens at once.
fn slow() -> impl Strategy<Value = u64> {
    select(vec![5_u64, 5, 5, 25, 105, 1005, 3005])
}

fn leaves() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![5 => Just(None), 1 => select(vec![3_u64, 13, 503]).prop_map(Some)]
}

fn thing(theme: Theme) -> BoxedStrategy<usize> {
    match theme {
        Theme::Versions => select(vec![0, 1, 3, 3, 3]).boxed(),
        _ => select(vec![0, 0, 1, 2, 3, 3, 4, 5, 6, 7]).boxed(),
    }
}

fn question(theme: Theme) -> BoxedStrategy<Question> {
    let points = thing(theme).prop_map(About::Point);
    let views = select(vec![SET, INSTANCES[0], 3]).prop_map(About::View);
    let lists = match theme {
        Theme::Versions => select(vec![0, 1, 2, 3]).boxed(),
        _ => (0..LISTS.len()).boxed(),
    };
    let listed = if theme == Theme::Lag { 12 } else { 5 };
    let about = prop_oneof![6 => points, 1 => views, listed => lists.prop_map(About::List)];
    let version = prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2)];
    (about, version, prop::bool::weighted(0.1), prop::bool::weighted(0.08))
        .prop_map(|(about, version, expand, locale)| {
            let expand = expand && !about.is_network() && !matches!(about, About::View(_));
            Question { about, version, expand, locale, skip: 0 }
        })
        .boxed()
}

fn fresh() -> impl Strategy<Value = Fresh> {
    prop_oneof![
        8 => Just(Fresh::default()),
        1 => Just(Fresh { no_cache: true, max_age: None }),
        1 => (0..4_u64).prop_map(|seconds| Fresh { no_cache: false, max_age: Some(seconds) }),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let status = select(vec![500, 502, 503, 504]).prop_map(Fault::Status);
    let throttled =
        (any::<bool>(), 1..3_u64).prop_map(|(by_compute, seconds)| Fault::Throttled { by_compute, seconds });
    prop_oneof![
        40 => Just(Fault::None),
        2 => status,
        1 => throttled,
        1 => Just(Fault::Lost),
        1 => Just(Fault::LostTwice),
        1 => Just(Fault::Cut),
        1 => Just(Fault::Varies),
    ]
}

fn read_plan() -> impl Strategy<Value = Plan> {
    let fault = prop_oneof![60 => fault(), 1 => Just(Fault::Stall)];
    (slow(), fault).prop_map(|(slow, fault)| Plan { slow, fault, applied: false, shows: true, long: None })
}

fn write_plan(theme: Theme) -> impl Strategy<Value = Plan> {
    let long = (
        select(vec![1003_u64, 2503, 6003]),
        select(vec![State::Succeeded, State::Succeeded, State::Failed, State::Canceled]),
        select(vec![Named::AsyncOperation, Named::AsyncOperation, Named::Location, Named::Nowhere]),
    );
    let long = long.prop_map(|(takes, ends, named)| Long { takes, ends, named });
    let lost = if theme == Theme::Versions { 1 } else { 0 };
    let fault = prop_oneof![9 => fault(), lost => Just(Fault::Lost)];
    (slow(), fault, any::<bool>(), prop::bool::weighted(0.7), prop::option::weighted(0.4, long))
        .prop_map(|(slow, fault, applied, shows, long)| Plan { slow, fault, applied, shows, long })
}

fn kind(theme: Theme) -> BoxedStrategy<Kind> {
    let (puts, rest) = if theme == Theme::Versions { (12, 1) } else { (4, 1) };
    prop_oneof![
        puts => Just(Kind::Put),
        2 => Just(Kind::Patch),
        2 => Just(Kind::Delete),
        rest => Just(Kind::Act),
        rest => select(vec![Kind::Deploy, Kind::Deploy, Kind::Batch]),
    ]
    .boxed()
}

fn basis() -> impl Strategy<Value = Basis> {
    let which = || select(vec![Which::Shown, Which::Present, Which::Wrong]);
    prop_oneof![
        8 => Just(Basis::Nothing),
        1 => which().prop_map(Basis::Own),
        1 => which().prop_map(Basis::Body),
        1 => select(vec![Basis::Any, Basis::Absent]),
    ]
}

fn number() -> std::ops::Range<usize> {
    0..12
}

fn forged(theme: Theme) -> impl Strategy<Value = Forged> {
    prop_oneof![
        number().prop_map(Forged::Read),
        (kind(theme), number()).prop_map(|(kind, thing)| Forged::Write(kind, thing)),
        number().prop_map(Forged::Poll),
    ]
}

fn who(theme: Theme) -> BoxedStrategy<usize> {
    match theme {
        Theme::Versions => select(vec![0, 0, 1, 2, 3, 4, 6]).boxed(),
        _ => select(vec![0, 0, 1, 2, 2, 3, 4, 5, 6]).boxed(),
    }
}

fn deed(theme: Theme) -> BoxedStrategy<Deed> {
    let old_token = prop::bool::weighted(if theme == Theme::Tokens { 0.3 } else { 0.05 });
    let read = (number(), number(), fresh(), read_plan(), leaves(), old_token).prop_map(
        |(who, question, fresh, plan, leaves, old_token)| Deed::Read {
            who,
            question,
            fresh,
            plan,
            leaves,
            old_token,
        },
    );
    let crowd = (1..128_u8, number(), read_plan()).prop_map(|(who, question, plan)| Deed::Crowd {
        who,
        question,
        plan,
    });
    let version = select(vec![0, 0, 0, 1, 2]);
    let write = (number(), kind(theme), number(), version, basis(), write_plan(theme), leaves()).prop_map(
        |(who, write, thing, version, basis, plan, leaves)| Deed::Write {
            who,
            write,
            thing,
            version,
            basis,
            plan,
            leaves,
        },
    );
    let poll =
        (number(), number(), read_plan()).prop_map(|(who, which, plan)| Deed::Poll { who, which, plan });
    let forge = (number(), forged(theme), read_plan(), prop::bool::weighted(0.7))
        .prop_map(|(who, what, plan, from_far)| Deed::Forge { who, what, plan, from_far });
    let imitate = (number(), number(), forged(theme)).prop_map(|(who, question, what)| Deed::Imitate {
        who,
        question,
        what,
    });
    let refusal = select(vec![Refusal::Rights, Refusal::RightsToNewToken, Refusal::OldToken]);
    let refuse =
        (number(), number(), refusal).prop_map(|(who, question, what)| Deed::Refuse { who, question, what });
    let overtake = (number(), number(), number(), any::<bool>(), any::<bool>())
        .prop_map(|(who, question, thing, goes, slow)| Deed::Overtake { who, question, thing, goes, slow });
    let tokens = if theme == Theme::Tokens { 5 } else { 1 };
    prop_oneof![
        24 => read,
        2 => crowd,
        6 => write,
        2 => poll,
        3 => number().prop_map(|thing| Deed::Change { thing }),
        1 => number().prop_map(|thing| Deed::Replace { thing }),
        1 => number().prop_map(|thing| Deed::Remove { thing }),
        tokens => prop_oneof![
            2 => number().prop_map(|who| Deed::Rotate { who }),
            1 => number().prop_map(|who| Deed::Ban { who }),
            2 => (number(), 0..3_usize).prop_map(|(who, place)| Deed::Rights { who, place }),
        ],
        tokens => forge,
        tokens => imitate,
        tokens => refuse,
        1 => overtake,
    ]
    .boxed()
}

fn step(theme: Theme) -> impl Strategy<Value = Step> {
    let pause = prop_oneof![
        60 => select(vec![0_u64, 10, 10, 10, 50, 400, 2000]),
        6 => Just(5000),
        2 => Just(31_000),
        1 => select(vec![130_000, 650_000]),
    ];
    (deed(theme), pause).prop_map(|(deed, pause)| Step { deed, pause })
}

/// A case of at most so many steps.
pub fn case(theme: Theme, most: usize) -> impl Strategy<Value = Case> {
    let questions = prop::collection::vec(question(theme), 1..5);
    let people = prop::collection::vec(who(theme), 1..5);
    let things = prop::collection::vec(thing(theme), 1..3);
    let steps = prop::collection::vec(step(theme), 1..most);
    (questions, people, things, steps).prop_map(|(questions, people, things, steps)| Case {
        questions,
        people,
        things,
        steps,
    })
}
