//! What is known of one resource, and what an answer that shows it means: the same, news, or ARM's lag.
//!
//! Compared is only what both sides carry. Compute's numbers have an order inside one life of a resource;
//! Network's GUIDs have none, so a GUID seen before the present one is old, and any other is new if it was
//! asked for after the present one was known. Of two calls that were under way together the one sent later may
//! have been answered from an earlier state.

use crate::arm::{ETag, Item, Life, State};

use super::Sent;

/// How many former entity tags and lives of a resource are remembered.
const FORMER: usize = 8;

/// What a sighting of a resource means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing that was not known.
    Same,
    /// Something changed, and this was asked for later than what was known.
    News,
    /// Something differs, and nothing tells which is newer: what is kept of either must go.
    Unordered,
    /// It shows less than is known.
    Lag,
}

/// When a sighting was asked for, and when its answer was taken in.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    pub(super) sent: Sent,
    pub(super) taken: Sent,
}

/// How a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// A point read was answered 404; a later one that finds it again corrects that.
    NotFound,
    /// It was deleted.
    Deleted,
}

/// What is known of one resource.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// When the latest call was sent that showed what is known.
    sent: Sent,
    /// When the latest answer was taken in that showed it.
    taken: Sent,
    etag: Option<ETag>,
    life: Life,
    state: State,
    former_tags: Vec<ETag>,
    former_lives: Vec<Life>,
    ended: Option<Ended>,
    /// When the fetch was sent that was the first to show the present life, where another was known before.
    born: Sent,
    /// Nothing but a list has shown the present version: lists lag, and a point read corrects them.
    listed: bool,
    pub(super) uniform: Option<bool>,
}

impl Known {
    /// A resource met for the first time.
    pub(super) fn first(item: &Item, when: When, point: bool) -> Self {
        Self {
            sent: when.sent,
            taken: when.taken,
            etag: item.etag.clone(),
            life: item.life.clone(),
            state: item.state,
            listed: !point,
            uniform: item.uniform,
            ..Self::unheard_of()
        }
    }

    /// A resource that nothing has shown yet.
    pub(super) fn unheard_of() -> Self {
        Self {
            sent: Sent::default(),
            taken: Sent::default(),
            etag: None,
            life: Life::default(),
            state: State::Unknown,
            former_tags: Vec::new(),
            former_lives: Vec::new(),
            ended: None,
            born: Sent::default(),
            listed: false,
            uniform: None,
        }
    }

    /// The present life and the version in it; `None` if it ended or no version was shown.
    pub(super) fn present(&self) -> Option<(Life, ETag)> {
        let etag = self.etag.clone().filter(|_| self.ended.is_none())?;
        Some((self.life.clone(), etag))
    }

    /// What a sighting means; what it tells is taken over. `point`: it comes from a read of this resource.
    pub(super) fn meet(&mut self, item: &Item, when: When, point: bool) -> Meaning {
        let meaning = self.judge(item, when.sent, point);
        match meaning {
            Meaning::Lag => {}
            Meaning::Same | Meaning::News => self.take(item, when, point),
            Meaning::Unordered if self.is_overtaken_by(item) => self.take(item, when, point),
            Meaning::Unordered => {}
        }
        meaning
    }

    /// A point read was answered 404: the life known so far ended, unless it was shown to a call that was under
    /// way at the same time.
    pub(super) fn not_found(&mut self, when: When) -> Meaning {
        match self.ended {
            None if when.sent <= self.taken => Meaning::Unordered,
            ended => self.end(when, ended.unwrap_or(Ended::NotFound)),
        }
    }

    /// A deletion that was begun then has succeeded: the life it was begun in ended, and not one that was
    /// seen to begin since.
    pub(super) fn deleted(&mut self, begun: Sent, now: Sent) -> Meaning {
        if self.born > begun {
            return Meaning::Same;
        }
        self.end(When { sent: now, taken: now }, Ended::Deleted)
    }

    fn end(&mut self, when: When, how: Ended) -> Meaning {
        self.seen(when);
        self.remember();
        (self.etag, self.life, self.state, self.uniform) = (None, Life::default(), State::Unknown, None);
        if self.ended.replace(how).is_none() { Meaning::News } else { Meaning::Same }
    }

    fn judge(&self, item: &Item, sent: Sent, point: bool) -> Meaning {
        let later = sent > self.taken;
        let unless_later = if later { Meaning::News } else { Meaning::Unordered };
        let former_life = self.former_lives.iter().any(|life| is_same(life, &item.life));
        // A list that lags may have shown a version from before the first one known, and made that present.
        let corrected = later && point && self.listed;
        if let Some(ended) = self.ended {
            let corrects = later && point && ended == Ended::NotFound;
            // No two versions have one GUID.
            let former = former_life || item.etag.as_ref().is_some_and(|tag| self.former_tags.contains(tag));
            return if former && !corrects { Meaning::Lag } else { unless_later };
        }
        if item.life.differs(&self.life) {
            return if former_life && !corrected { Meaning::Lag } else { unless_later };
        }
        if let (Some(known), Some(seen)) = (&self.etag, &item.etag)
            && known != seen
        {
            return match (known.counter(), seen.counter()) {
                (Some(known), Some(seen)) if seen < known => {
                    let new_life = later && point && !is_same(&self.life, &item.life);
                    if new_life { Meaning::News } else { Meaning::Lag }
                }
                // The order of numbers holds whichever call was sent when, but a floor needs the later one.
                (Some(_), Some(_)) if sent > self.sent => Meaning::News,
                (None, None) if self.former_tags.contains(seen) && !corrected => Meaning::Lag,
                _ => unless_later,
            };
        }
        let states = [self.state, item.state];
        if states[0] == states[1] || states.contains(&State::Unknown) { Meaning::Same } else { unless_later }
    }

    /// Whether the sighting is newer though it was asked for earlier: a larger number inside one life.
    fn is_overtaken_by(&self, item: &Item) -> bool {
        let counter = |tag: &Option<ETag>| tag.as_ref().and_then(ETag::counter);
        self.ended.is_none()
            && !item.life.differs(&self.life)
            && matches!((counter(&self.etag), counter(&item.etag)), (Some(known), Some(seen)) if seen > known)
    }

    fn seen(&mut self, when: When) {
        (self.sent, self.taken) = (self.sent.max(when.sent), self.taken.max(when.taken));
    }

    fn take(&mut self, item: &Item, when: When, point: bool) {
        self.seen(when);
        let new_life = item.life.differs(&self.life) || self.ended.take().is_some();
        let moved = new_life || (item.etag.is_some() && item.etag != self.etag);
        if moved {
            self.remember();
        }
        self.listed = !point && (moved || self.listed);
        if new_life {
            self.born = when.sent;
            (self.etag, self.life, self.uniform) = (None, Life::default(), None);
        }
        self.etag = item.etag.clone().or(self.etag.take());
        self.life = self.life.merged(&item.life);
        self.uniform = item.uniform.or(self.uniform);
        if item.state != State::Unknown {
            self.state = item.state;
        }
    }

    /// Keeps what is known now as former.
    fn remember(&mut self) {
        if let Some(tag) = self.etag.clone().filter(|tag| tag.counter().is_none()) {
            push_bounded(&mut self.former_tags, tag);
        }
        if !self.life.is_empty() && !self.former_lives.contains(&self.life) {
            push_bounded(&mut self.former_lives, self.life.clone());
        }
    }
}

/// Whether two sightings carry a mark in common, and no mark in which they differ.
fn is_same(one: &Life, other: &Life) -> bool {
    !one.differs(other) && one.shares_mark(other)
}

fn push_bounded<T>(former: &mut Vec<T>, value: T) {
    if former.len() == FORMER {
        former.remove(0);
    }
    former.push(value);
}
