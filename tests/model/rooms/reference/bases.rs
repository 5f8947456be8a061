//! P7: a guarded write is applied only on the version its body was built on.
//!
//! A body can have been built on any version its client was shown inside the window, since it last saw that the
//! resource is gone. So a condition may be added only where that is one version.

use std::collections::{BTreeMap, BTreeSet};

use armshield::clock::Moment;
use armshield::guard::{Choice, Source};
use http::Method;

use super::{Fetch, Reference, Tick};
use crate::rooms::arm::{Arm, Sighting, Version, tag_text};
use crate::rooms::people::{PEOPLE, WINDOW};
use crate::rooms::table::{About, QUESTIONS};

#[derive(Debug, Default)]
pub(super) struct Bases(BTreeMap<(usize, usize), Memory>);

/// What one client was shown of one resource.
#[derive(Debug, Default)]
struct Memory {
    shown: Vec<Show>,
    ended: Tick,
}

#[derive(Debug, Clone)]
struct Show {
    tick: Tick,
    at: Moment,
    tag: String,
    life: u32,
    listed: bool,
}

/// A write whose condition was chosen.
#[derive(Debug, Clone)]
pub struct Guarded<'a> {
    pub person: usize,
    pub thing: usize,
    pub method: &'a Method,
    /// The condition of the client itself.
    pub own: Option<&'a str>,
    /// The version its body names.
    pub stated: Option<&'a str>,
}

impl Reference {
    /// A client is shown versions.
    pub fn showed(&mut self, person: usize, seen: &[Sighting], listed: bool, arm: &Arm, now: Moment) {
        let tick = self.tick("shown to person", person);
        for sighting in seen {
            let Some(version) = arm.version(sighting.thing, sighting.number) else { continue };
            let tag = tag_text(sighting.thing, version);
            let memory = self.bases.0.entry((PEOPLE[person].unit, sighting.thing)).or_default();
            memory.shown.push(Show { tick, at: now, tag, life: version.life, listed });
        }
    }

    /// A client is shown an answer.
    pub fn showed_answer(&mut self, person: usize, fetch: usize, arm: &Arm, now: Moment) {
        let Fetch { question, ref seen, .. } = self.fetches[fetch];
        let question = &QUESTIONS[question];
        if question.is_tagged() {
            let seen = seen.clone();
            self.showed(person, &seen, question.is_list(), arm, now);
        }
    }

    /// A client is shown that the resource of a question is gone.
    pub fn saw_the_end_of(&mut self, person: usize, question: usize) {
        if let About::Point(thing) = QUESTIONS[question].about {
            self.saw_the_end(person, thing);
        }
    }

    /// A client is shown that a resource is gone, or deleted it.
    pub fn saw_the_end(&mut self, person: usize, thing: usize) {
        let tick = self.tick("shown the end to person", person);
        self.bases.0.entry((PEOPLE[person].unit, thing)).or_default().ended = tick;
    }

    /// A condition was chosen, or none.
    pub fn chose(&mut self, write: &Guarded<'_>, choice: &Choice, arm: &Arm, now: Moment) {
        if let Err(why) = self.is_right(write, choice, arm, now) {
            self.wrong.push(format!("P7: {why}: {choice:?} for {write:?}"));
        }
    }

    fn is_right(&self, write: &Guarded<'_>, choice: &Choice, arm: &Arm, now: Moment) -> Result<(), String> {
        let may_be = *write.method == Method::PUT || *write.method == Method::PATCH;
        if !may_be {
            return Err("deletes and actions are never guarded".into());
        }
        let etag = choice.etag.as_ref().map(|etag| etag.as_str());
        if write.own.is_some() {
            let untouched = choice.source == Source::Client && !choice.send;
            return if untouched { Ok(()) } else { Err("a client's own condition is never replaced".into()) };
        }
        let enforces = PEOPLE[write.person].is_guarded();
        if choice.send && !enforces {
            return Err("it was to observe".into());
        }
        if let Some(stated) = write.stated {
            let exact = choice.source == Source::Body && etag == Some(stated) && choice.send == enforces;
            return if exact { Ok(()) } else { Err(format!("the body says {stated}")) };
        }
        let memory = self.bases.0.get(&(PEOPLE[write.person].unit, write.thing));
        let present = self.certain_version(write.thing, arm);
        let told = self.told_versions(write.thing, arm);
        let sets = memory.map(|memory| memory.versions(write.thing, present, &told, now)).unwrap_or_default();
        let fits = |versions: &BTreeSet<String>| match versions.len() {
            0 => choice.source == Source::None && !choice.send,
            1 => {
                choice.source == Source::Seen
                    && etag == versions.first().map(String::as_str)
                    && choice.send == enforces
            }
            _ => choice.source == Source::Ambiguous && !choice.send,
        };
        if sets.iter().any(fits) { Ok(()) } else { Err(format!("it was shown {sets:?}")) }
    }
}

impl Memory {
    /// The versions a body can have been built on: with and without those that a list showed of a life that had
    /// ended so long ago that nobody need remember it, and with and without those of another life that have the
    /// number of a later one: as conditions they would hold. Those of the number that is present never count.
    fn versions(
        &self,
        thing: usize,
        present: Option<Version>,
        told: &[Version],
        now: Moment,
    ) -> [BTreeSet<String>; 4] {
        let former = |within: bool| -> BTreeSet<u32> {
            let before = self.shown.iter().filter(|show| show.tick < self.ended);
            let recent = |show: &&Show| !within || now.since(show.at) <= WINDOW;
            before.filter(recent).map(|show| show.life).collect()
        };
        let alive = |show: &&Show| show.tick > self.ended && now.since(show.at) <= WINDOW;
        let named =
            |show: &Show, version: Version| show.life != version.life && show.tag == tag_text(thing, version);
        [(false, false), (true, false), (false, true), (true, true)].map(|(within, namesakes)| {
            let former = former(within);
            let counts = |show: &&Show| {
                let present = present.is_some_and(|present| named(show, present));
                let later = namesakes && told.iter().any(|version| named(show, *version));
                let ended = show.listed && former.contains(&show.life);
                !(ended || present || later)
            };
            self.shown.iter().filter(alive).filter(counts).map(|show| show.tag.clone()).collect()
        })
    }
}
