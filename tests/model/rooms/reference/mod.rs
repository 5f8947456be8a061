//! What may be shown to whom, by the words of the promises: nothing here knows how armshield keeps them.
//!
//! Everything that happens has its tick. The reference hears of what happened in the order in which it did, and
//! is asked whether an answer may be given, must be given, or must not. It never says which one answer is right.

mod ages;
mod bases;
mod callers;
mod flights;
mod news;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use armshield::clock::Moment;

use super::arm::{Arm, Sighting};
use super::people::PEOPLE;
use super::table::QUESTIONS;

pub use bases::Guarded;
pub use news::{Telling, in_progress};
pub use writes::{Ending, Settles};

/// A place in the order of all that happens.
pub type Tick = u64;

/// Who asks what, and how old an answer may be.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    pub person: usize,
    pub question: usize,
    /// Whether ARM had lately let in this very token when it asked.
    pub vouched: bool,
    pub no_cache: bool,
    pub max_age: Option<Duration>,
}

impl Asker {
    const fn principal(&self) -> usize {
        PEOPLE[self.person].principal
    }
}

/// How an answer that was not asked for by who gets it comes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Memory,
    Joining,
}

/// A call to ARM that reads.
#[derive(Debug, Clone)]
pub struct Fetch {
    pub question: usize,
    principal: usize,
    /// When it was known what its answer depends on, and when it was sent.
    stamped: Tick,
    sent: Option<(Tick, Moment)>,
    /// What ARM showed.
    seen: Vec<Sighting>,
    in_progress: bool,
    personal: bool,
    /// When its answer came in.
    came: Tick,
    /// When what it shows was taken in.
    taken: Option<Tick>,
    kept: bool,
    /// It showed less than was known, and could be seen to.
    lags: bool,
    /// Nothing that it shows was shown differently to a call that was under way at the same time.
    alone: bool,
}

#[derive(Debug, Default)]
pub struct Reference {
    tick: Tick,
    /// All that happened, for whoever has to understand a failure: what, and to which person, call or write.
    journal: Vec<(Tick, &'static str, usize)>,
    /// Promises that were broken.
    pub wrong: Vec<String>,
    fetches: Vec<Fetch>,
    callers: callers::Callers,
    writes: writes::Writes,
    news: news::News,
    bases: bases::Bases,
    flights: flights::Flights,
    /// The answers each client was shown.
    shown: BTreeSet<(usize, usize)>,
    /// The latest sent of the answers kept to each question of each principal.
    kept: BTreeMap<(usize, usize), usize>,
}

impl Reference {
    /// Something happened.
    fn tick(&mut self, what: &'static str, to: usize) -> Tick {
        self.tick += 1;
        self.journal.push((self.tick, what, to));
        self.tick
    }

    /// The latest that happened.
    pub const fn now(&self) -> Tick {
        self.tick
    }

    /// All that happened, a line each.
    pub fn journal(&self) -> String {
        let happened = self.journal.iter().map(|(tick, what, to)| format!("{tick:5} {what} {to}\n"));
        let calls = self.fetches.iter().enumerate().filter(|(_, call)| call.sent.is_some());
        happened.chain(calls.map(|(at, call)| format!("call {at}: {call:?}\n"))).collect()
    }

    /// A promise was broken.
    pub fn wrong(&mut self, what: impl Into<String>) {
        self.wrong.push(what.into());
    }

    /// A call to ARM may be begun by this asker. Gives back its number.
    pub fn plan(&mut self, asker: &Asker) -> usize {
        self.fetches.push(Fetch {
            question: asker.question,
            principal: asker.principal(),
            stamped: 0,
            sent: None,
            seen: Vec::new(),
            in_progress: false,
            personal: false,
            came: 0,
            taken: None,
            kept: false,
            lags: false,
            alone: true,
        });
        self.fetches.len() - 1
    }

    /// It is settled what the answer to a call will depend on.
    pub fn stamped(&mut self, fetch: usize) {
        self.fetches[fetch].stamped = self.tick("it is settled what this call depends on:", fetch);
    }

    /// A call was sent.
    pub fn sent(&mut self, fetch: usize, now: Moment) {
        self.fetches[fetch].sent = Some((self.tick("sent was call", fetch), now));
        self.flight_sent(fetch);
    }

    /// ARM looked, and its answer is on its way.
    pub fn looked(&mut self, fetch: usize, seen: &[Sighting], in_progress: bool, personal: bool) {
        let fetch = &mut self.fetches[fetch];
        (fetch.seen, fetch.in_progress, fetch.personal) = (seen.to_vec(), in_progress, personal);
    }

    /// An answer came in.
    pub fn heard_answer(&mut self, fetch: usize) {
        self.fetches[fetch].came = self.tick("answered was call", fetch);
    }

    /// An answer is kept. One sent earlier never takes the place of one sent later.
    pub fn kept(&mut self, fetch: usize) {
        let Fetch { question, principal, lags, .. } = self.fetches[fetch];
        if lags {
            self.wrong.push(format!("P6: lag was kept as answer {fetch}: {:?}", self.fetches[fetch]));
        }
        self.fetches[fetch].kept = true;
        let place = self.kept.entry((principal, question)).or_insert(fetch);
        let sent = |at: usize| self.fetches[at].sent.map(|(tick, _)| tick);
        if sent(fetch) < sent(*place) {
            self.wrong.push(format!("P6: answer {fetch} took the place of {place}, which was sent later"));
        }
        *place = fetch;
    }

    /// Whether this asker may be given what that call brought, or will bring.
    pub fn may_have(
        &self,
        asker: &Asker,
        fetch: usize,
        how: How,
        arm: &Arm,
        now: Moment,
    ) -> Result<(), String> {
        let one = &self.fetches[fetch];
        self.is_let_in(asker, one, how)?;
        let Some((sent, at)) = one.sent else {
            return if how == How::Joining { Ok(()) } else { Err("P9: it was never sent".into()) };
        };
        if asker.no_cache {
            return Err("P5: no-cache was answered with what had been asked for".into());
        }
        self.is_from_after_writes(asker.question, sent)?;
        self.is_young(asker, fetch, how, now.since(at), now)?;
        self.is_not_before_news(one, how, arm)
    }

    /// The same, and notes a broken promise.
    pub fn given(&mut self, asker: &Asker, fetch: usize, how: How, arm: &Arm, now: Moment) {
        if let Err(why) = self.may_have(asker, fetch, how, arm, now) {
            let one = &self.fetches[fetch];
            let question = QUESTIONS[asker.question].target();
            self.wrong
                .push(format!("{why}\n  {asker:?}\n  {question}\n  by {how:?} of answer {fetch}: {one:?}"));
        }
    }

    /// What was asked for together has come.
    pub fn came(&mut self, asker: &Asker, fetch: usize, led: bool) {
        let one = &self.fetches[fetch];
        if !led && one.personal {
            self.wrong.push(format!("P2: {asker:?} got answer {fetch}, which was made for another"));
        }
        if one.principal != asker.principal() || one.question != asker.question {
            self.wrong.push(format!("P2: {asker:?} got answer {fetch}: {one:?}"));
        }
    }

    /// A client that ARM has let in is shown an answer.
    pub fn shown(&mut self, person: usize, fetch: usize) {
        self.shown.insert((PEOPLE[person].unit, fetch));
    }

    /// The answer from memory that this asker must be given, if there is one that nothing speaks against.
    pub fn must_have(&self, asker: &Asker, now: Moment) -> Option<usize> {
        let fetch = *self.kept.get(&(asker.principal(), asker.question))?;
        let one = &self.fetches[fetch];
        let (_, at) = one.sent?;
        let willing = asker.vouched && !asker.no_cache && one.kept && one.alone;
        let fits = willing
            && self.is_let_in(asker, one, How::Memory).is_ok()
            && self.is_quiet_since(one.stamped, Some(fetch))
            && now.since(at) <= self.certain_age(asker);
        fits.then_some(fetch)
    }
}
