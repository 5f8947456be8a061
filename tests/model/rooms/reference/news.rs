//! P6: armshield adds no step back. What it was told by then, nobody is shown less of from memory or by joining;
//! ARM's own lag is passed on, not kept.

use std::collections::BTreeMap;

use armshield::clock::Moment;

use super::{Fetch, How, Reference, Tick};
use crate::rooms::arm::{Arm, Sighting, State, Version};
use crate::rooms::table::{About, QUESTIONS, THINGS};

#[derive(Debug, Default)]
pub(super) struct News {
    told: [Vec<Told>; THINGS.len()],
    /// Who was in a list when it was last seen whole.
    ids: BTreeMap<(String, bool), Vec<usize>>,
    /// When something was told that had not been, and by which call.
    novelties: Vec<(Tick, Option<usize>)>,
}

/// A state armshield was told of.
#[derive(Debug, Clone, Copy)]
struct Told {
    tick: Tick,
    number: usize,
    /// When what showed it was asked for.
    sent: Tick,
    tagged: bool,
    /// A list showed it, or did not.
    listed: bool,
    /// A call that was under way at the same time had shown another state: neither need be believed.
    beside_other: bool,
}

/// What tells of resources: an answer to a read, to a write, the end of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    pub seen: &'a [Sighting],
    pub sent: Tick,
    pub tagged: bool,
    pub listed: bool,
    pub by: Option<usize>,
}

impl News {
    fn last(&self, thing: usize) -> Option<&Told> {
        self.told[thing].last()
    }
}

impl Reference {
    /// What a call brought was taken in.
    pub fn took_in(&mut self, fetch: usize, arm: &Arm, now: Moment) {
        let one = self.fetches[fetch].clone();
        let question = &QUESTIONS[one.question];
        let sent = one.sent.map_or(0, |(sent, _)| sent);
        let (mut seen, mut new) = (one.seen.clone(), false);
        let list = question
            .is_list()
            .then(|| (question.target().split('?').next().unwrap().to_owned(), question.is_filtered()));
        if let Some(list) = list {
            // Who is missing is told by a list that is not what it was, or is the first of its kind.
            let there = |one: &&Sighting| arm.version(one.thing, one.number).is_some();
            let ids: Vec<_> = seen.iter().filter(there).map(|one| one.thing).collect();
            let filtered = list.1;
            let before = self.news.ids.insert(list, ids.clone());
            new = before.as_ref() != Some(&ids);
            if before.as_ref().map_or(filtered, |before| *before == ids) {
                seen.retain(|one| ids.contains(&one.thing));
            }
        }
        if let (About::Point(thing), Some(version)) =
            (question.about, seen.first().and_then(|one| arm.version(one.thing, one.number)))
        {
            self.showed_its_state(thing, (sent, one.came), version.state == State::Succeeded, now);
        }
        let beside = |one: &Sighting| {
            self.news.told[one.thing].iter().any(|told| told.number != one.number && told.tick > sent)
        };
        self.fetches[fetch].alone = !one.seen.iter().any(beside);
        self.fetches[fetch].lags = !question.kind().is_network() && self.is_lag(&one, arm);
        self.fetches[fetch].taken = Some(self.tick + 1);
        let by = Some(fetch);
        self.told(&Telling {
            seen: &seen,
            sent,
            tagged: question.is_tagged(),
            listed: question.is_list(),
            by,
        });
        if new {
            self.news.novelties.push((self.tick, by));
        }
    }

    /// armshield was told.
    pub fn told(&mut self, telling: &Telling<'_>) {
        let tick = self.tick("learned by call", telling.by.unwrap_or(usize::MAX));
        let mut new = false;
        for one in telling.seen {
            let Telling { sent, tagged, listed, .. } = *telling;
            // That something is gone is told by a list in another way than by an answer about it.
            let same = |told: &Told| told.number == one.number && told.listed == listed && !told.beside_other;
            new |= !self.news.last(one.thing).is_some_and(same);
            let beside = |told: &Told| told.number != one.number && told.tick > sent;
            let beside_other = self.news.told[one.thing].iter().any(beside);
            let told = Told { tick, number: one.number, sent, tagged, listed, beside_other };
            self.news.told[one.thing].push(told);
        }
        if new {
            self.news.novelties.push((tick, telling.by));
        }
    }

    /// An answer that shows less than is known, and can be seen to: a smaller number inside one life, or a life
    /// that was known before the present one.
    fn is_lag(&self, fetch: &Fetch, arm: &Arm) -> bool {
        let tagged = QUESTIONS[fetch.question].is_tagged();
        fetch.seen.iter().any(|one| self.shows_less(one, tagged, arm))
    }

    fn shows_less(&self, one: &Sighting, tagged: bool, arm: &Arm) -> bool {
        let Some(shown) = arm.version(one.thing, one.number) else { return false };
        let newer = self.news.told[one.thing].iter().filter(|told| told.number > one.number);
        newer.into_iter().any(|told| match arm.version(one.thing, told.number) {
            Some(known) => tagged && told.tagged && known.life == shown.life && known.tag > shown.tag,
            None => false,
        })
    }

    pub(super) fn is_not_before_news(&self, fetch: &Fetch, how: How, arm: &Arm) -> Result<(), String> {
        let question = &QUESTIONS[fetch.question];
        let (sent, _) = fetch.sent.unwrap_or_default();
        if how == How::Joining {
            return match question.shows().into_iter().find_map(|thing| self.news_since(thing, sent, arm)) {
                Some(told) => Err(format!("P6: sent at {sent}, and news became known at {}", told.tick)),
                None => Ok(()),
            };
        }
        for one in &fetch.seen {
            let lag = one.lags && !self.shows_less(one, question.is_tagged(), arm);
            let before = self.news.told[one.thing].iter().filter(|told| told.number > one.number);
            let mut relevant =
                before.filter(|told| !lag || fetch.taken.is_some_and(|taken| told.tick > taken));
            let shown = arm.version(one.thing, one.number);
            let less = relevant.find(|told| {
                let tagged = told.tagged && question.is_tagged();
                differ(one.thing, shown, arm.version(one.thing, told.number), tagged)
            });
            if let Some(told) = less {
                return Err(format!(
                    "P6: it shows state {} of {}, and armshield knew of {} at {}",
                    one.number, THINGS[one.thing].tail, told.number, told.tick
                ));
            }
        }
        Ok(())
    }

    /// What was told of a resource since then, and was different from what had been told before.
    fn news_since(&self, thing: usize, tick: Tick, arm: &Arm) -> Option<&Told> {
        let told = &self.news.told[thing];
        told.windows(2).rev().take_while(|pair| pair[1].tick > tick).find_map(|pair| {
            let versions = [0, 1].map(|at| arm.version(thing, pair[at].number));
            let greatest =
                told.iter().take_while(|told| told.tick < pair[1].tick).map(|told| told.number).max();
            let newest = greatest.is_some_and(|greatest| pair[1].number > greatest);
            let tagged = pair[0].tagged && pair[1].tagged;
            (newest && differ(thing, versions[0], versions[1], tagged)).then_some(&pair[1])
        })
    }

    /// Whether nothing was written or learned since then, but by that call.
    pub(super) fn is_quiet_since(&self, tick: Tick, own: Option<usize>) -> bool {
        let since = self.news.novelties.iter().rev().take_while(|(at, _)| *at > tick);
        self.writes.is_quiet_since(tick) && since.into_iter().all(|(_, by)| own.is_some() && *by == own)
    }

    /// All versions of a resource that armshield was told of.
    pub(super) fn told_versions(&self, thing: usize, arm: &Arm) -> Vec<Version> {
        self.news.told[thing].iter().filter_map(|told| arm.version(thing, told.number)).collect()
    }

    /// The version of a resource that armshield must know as the present one: nothing that was under way at the
    /// same time showed another.
    pub(super) fn certain_version(&self, thing: usize, arm: &Arm) -> Option<Version> {
        let told = &self.news.told[thing];
        let last = told.last().filter(|last| last.tagged && !last.listed)?;
        let ordered = |other: &Told| {
            other.number == last.number || (other.number < last.number && other.tick < last.sent)
        };
        told.iter().all(ordered).then(|| arm.version(thing, last.number)).flatten()
    }

    /// Whether anything was told of a resource at all.
    pub fn is_known(&self, thing: usize) -> bool {
        !self.news.told[thing].is_empty()
    }
}

/// Whether two states differ in something that both sightings carry.
fn differ(thing: usize, one: Option<Version>, other: Option<Version>, tagged: bool) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_some() != other.is_some() };
    let lives = !THINGS[thing].kind.is_network() && one.life != other.life;
    let rests = |version: Version| version.state == State::Succeeded;
    lives || rests(one) != rests(other) || (tagged && (one.life, one.tag) != (other.life, other.tag))
}

/// Whether an answer shows a change under way.
pub fn in_progress(seen: &[Sighting], arm: &Arm) -> bool {
    let versions = seen.iter().filter_map(|one| arm.version(one.thing, one.number));
    versions.into_iter().any(|version| version.state != State::Succeeded)
}
