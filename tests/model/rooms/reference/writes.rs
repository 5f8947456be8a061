//! P3 and P4, and what is under way: no answer that was asked for before a write was sent, or answered, or an
//! operation ended, is given to anybody who asks after that.

use std::time::Duration;

use armshield::clock::Moment;

use super::{Reference, Tick};
use crate::rooms::table::{QUESTIONS, Reach, Target, reach};

/// After the answer to a write, and after the end of its operation.
const SETTLE: Duration = Duration::from_secs(30);
const UNKNOWN: Duration = Duration::from_secs(120);
const OPERATION: Duration = Duration::from_secs(1800);

/// For each question, how it is reached.
type Reached = [Option<Reach>; QUESTIONS.len()];

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was not sent, or was no write of anybody who may write.
    Never,
    Refused,
    Done,
    Began,
    Unknown,
}

impl Ending {
    /// What a status means; `began`: the answer names an operation, or shows that it goes on.
    pub fn of(status: u16, began: bool) -> Self {
        match status {
            200..=299 if began => Self::Began,
            200..=299 => Self::Done,
            408 | 409 => Self::Unknown,
            400..=499 => Self::Refused,
            _ => Self::Unknown,
        }
    }
}

/// A write, known by its number, until nothing of it is under way any more.
#[derive(Debug, Clone, Copy)]
pub struct Settles(usize, Tick);

impl Settles {
    /// When it was sent.
    pub const fn asked(self) -> Tick {
        self.1
    }
}

#[derive(Debug)]
struct Under {
    reached: Reached,
    near: Moment,
    wider: Moment,
    /// When the latest that ARM said of it came in.
    heard: Tick,
}

#[derive(Debug)]
struct Event {
    /// When it was passed on to a client, or took effect.
    tick: Tick,
    /// What was asked for before is from before it.
    since: Tick,
    reached: Reached,
    what: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Writes {
    events: Vec<Event>,
    under: Vec<Under>,
    /// When something last happened that may make answers unusable.
    stirred: Tick,
    /// Operations without a poll URL: the resource that shows their end, and when their beginning was noted.
    shown: Vec<(usize, Settles, Tick)>,
}

impl Writes {
    pub(super) fn is_quiet_since(&self, tick: Tick) -> bool {
        self.stirred < tick
    }
}

impl Reference {
    /// A write is begun; one by a token that is believed counts from when it is sent, which is now.
    pub fn write_sent(&mut self, target: Target, uniform: bool, vouched: bool, now: Moment) -> Settles {
        let reached = std::array::from_fn(|at| reach(target, &QUESTIONS[at], uniform));
        let until = if vouched { now + OPERATION } else { Moment::ZERO };
        self.writes.under.push(Under { reached, near: until, wider: until, heard: 0 });
        let write = Settles(self.writes.under.len() - 1, self.tick);
        if vouched {
            self.heard(write);
            self.happened(write, "a write was sent");
        }
        write
    }

    /// ARM's answer to a write, or to a poll of its operation, came in, or was lost.
    pub fn heard(&mut self, write: Settles) {
        self.writes.under[write.0].heard = self.tick("heard of was write", write.0);
    }

    /// What a write made wrong has been dropped.
    pub fn write_lifted(&mut self, write: Settles, ending: Ending, now: Moment) {
        let under = &mut self.writes.under[write.0];
        let (near, wider) = match ending {
            Ending::Never | Ending::Refused => (now, now),
            Ending::Done => (now + SETTLE, now + SETTLE),
            Ending::Began => (now + OPERATION, now + SETTLE),
            Ending::Unknown => (now + UNKNOWN, now + SETTLE),
        };
        (under.near, under.wider) = (near, wider);
        self.writes.stirred = self.tick("lifted was write", write.0);
    }

    /// The answer to a write is passed on.
    pub fn write_answered(&mut self, write: Settles, ending: Ending) {
        if ending != Ending::Never {
            self.happened(write, "a write was answered");
        }
    }

    /// An operation goes on.
    pub fn goes_on(&mut self, write: Settles, now: Moment) {
        self.writes.under[write.0].near = now + OPERATION;
    }

    /// An operation has ended, as armshield was told.
    pub fn ended(&mut self, write: Settles, now: Moment) {
        let under = &mut self.writes.under[write.0];
        (under.near, under.wider) = (now + SETTLE, now + SETTLE);
        self.writes.stirred = self.tick("ended has what was begun by write", write.0);
    }

    /// The answer that says so is passed on.
    pub fn end_answered(&mut self, write: Settles) {
        self.happened(write, "an operation ended");
    }

    /// An operation without a poll URL was noted: a read of the resource shows its end.
    pub fn will_show_its_end(&mut self, thing: usize, write: Settles) {
        let noted = self.tick("it will show its end: resource", thing);
        self.writes.shown.push((thing, write, noted));
    }

    /// A read of a resource that was sent then showed whether it is at rest.
    pub(super) fn showed_its_state(
        &mut self,
        thing: usize,
        (sent, came): (Tick, Tick),
        rests: bool,
        now: Moment,
    ) {
        let told = |(of, _, noted): &(usize, Settles, Tick)| *of == thing && *noted < sent;
        let (over, rest) =
            std::mem::take(&mut self.writes.shown).into_iter().partition(|one| told(one) && rests);
        self.writes.shown = rest;
        let under: Vec<_> = self.writes.shown.iter().filter(|one| told(one)).map(|one| one.1).collect();
        for write in under {
            self.goes_on(write, now);
        }
        let over: Vec<(usize, Settles, Tick)> = over;
        for (_, write, _) in over {
            self.ended(write, now);
            self.writes.under[write.0].heard = came;
            self.end_answered(write);
        }
    }

    /// An operator says that what is remembered of a resource is wrong; of everything where none is named.
    pub fn purged(&mut self, thing: Option<usize>) {
        let near = |at| reach(thing.map_or(Target::Batch, Target::Thing), &QUESTIONS[at], true);
        let mut reached = std::array::from_fn(near);
        if thing.is_none() {
            self.kept.clear();
        } else {
            for at in &mut reached {
                *at = at.filter(|reach| *reach == Reach::Near);
            }
        }
        let tick = self.tick("purged was resource", thing.unwrap_or(usize::MAX));
        self.writes.stirred = tick;
        self.writes.events.push(Event { tick, since: tick, reached, what: "it was purged" });
    }

    fn happened(&mut self, write: Settles, what: &'static str) {
        let tick = self.tick(what, write.0);
        self.writes.stirred = tick;
        let Under { reached, heard: since, .. } = self.writes.under[write.0];
        self.writes.events.push(Event { tick, since, reached, what });
    }

    pub(super) fn is_from_after_writes(&self, question: usize, sent: Tick) -> Result<(), String> {
        let since = self.writes.events.iter().rev().take_while(|event| event.tick > sent);
        match since.filter(|event| event.since > sent && event.reached[question].is_some()).last() {
            Some(event) => {
                Err(format!("P3, P4: it was sent at {sent}, and {} at {}", event.what, event.since))
            }
            None => Ok(()),
        }
    }

    /// Whether something is under way that reaches a question, or was a moment ago.
    pub(super) fn is_unsettled(&self, question: usize, now: Moment) -> bool {
        self.writes.under.iter().any(|under| match under.reached[question] {
            Some(Reach::Near) => now < under.near,
            Some(Reach::Wider) => now < under.wider,
            None => false,
        })
    }
}
