//! What one client was shown: the latest document of each question, and the versions it superseded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::arm::{ArmPath, Document, ETag, Life, Shape};
use crate::clock::Moment;

use super::{Version, Viewer};

/// What a client asked when it was shown something.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Tells questions apart: the same question is answered anew, another one besides.
    pub key: u64,
    /// The canonical path asked for.
    pub path: &'a Arc<str>,
}

/// The life of a resource and the version in it that armshield was last shown.
pub type Present<'a> = (&'a Life, &'a ETag);

/// How many versions of a life that ended are remembered.
const FORMER: usize = 16;
/// Bytes that a superseded version takes with its id, roughly.
const ITEM: usize = 320;

#[derive(Debug)]
struct Shown {
    path: Arc<str>,
    document: Arc<Document>,
    last: Moment,
    order: u64,
}

/// A version that a newer answer to the same question replaced.
#[derive(Debug)]
struct Superseded {
    question: Arc<str>,
    id: Arc<str>,
    etag: ETag,
    life: Life,
    /// Whether a list showed it.
    listed: bool,
    last: Moment,
    order: u64,
}

/// A life of a resource that ended, as this client knows: it was told 404, or deleted it.
#[derive(Debug, Default)]
struct Ended {
    order: u64,
    /// The versions it was shown of it. ARM's lists go on showing them for a while; a read of the resource
    /// itself that finds it again says that it lives.
    former: Vec<(ETag, Life)>,
}

impl Ended {
    /// Whether a version shown afterwards is one of the life that ended.
    fn knows(&self, etag: &ETag, life: &Life) -> bool {
        self.former.iter().any(|(former, lived)| match lived.differs(life) {
            true => false,
            // Where no mark tells, the version does.
            false => lived.shares_mark(life) || former == etag,
        })
    }
}

/// What one client was shown. Nothing is forgotten before its window ends, except for space, and then the
/// questions that were forgotten are remembered.
#[derive(Debug, Default)]
pub(super) struct Memory {
    order: u64,
    latest: HashMap<u64, Shown>,
    superseded: VecDeque<Superseded>,
    ended: HashMap<Box<str>, Ended>,
    dropped: HashMap<Arc<str>, Moment>,
    bytes: usize,
    /// The caller that was last shown something through this client, and the name of its profile.
    pub(super) caller: u128,
    pub(super) profile: Box<str>,
}

impl Memory {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes whose memory this is.
    pub(super) fn belongs_to(&mut self, viewer: &Viewer<'_>) {
        self.caller = viewer.caller;
        if self.profile != viewer.profile.name {
            self.profile = viewer.profile.name.clone();
        }
    }

    pub(super) fn show(
        &mut self,
        question: &Question<'_>,
        document: &Arc<Document>,
        now: Moment,
        window: Duration,
    ) {
        self.order += 1;
        let order = self.order;
        if let Some(shown) = self.latest.get_mut(&question.key)
            && Arc::ptr_eq(&shown.document, document)
        {
            (shown.last, shown.order) = (now, order);
            return;
        }
        let shown = Shown { path: question.path.clone(), document: document.clone(), last: now, order };
        self.bytes += weight(document);
        if let Some(former) = self.latest.insert(question.key, shown) {
            self.bytes -= weight(&former.document);
            self.supersede(&former, document);
        }
        self.expire(now, window);
    }

    /// Keeps of a former answer the items whose version is not the newer answer's.
    fn supersede(&mut self, former: &Shown, newer: &Document) {
        for item in &former.document.items {
            let Some(etag) = item.etag.clone().filter(|_| !item.id.is_empty()) else { continue };
            if newer.item(&item.id).and_then(|newer| newer.etag.as_ref()) != Some(&etag) {
                self.bytes += ITEM;
                self.superseded.push_back(Superseded {
                    question: former.path.clone(),
                    id: item.id.clone(),
                    etag,
                    life: item.life.clone(),
                    listed: former.document.shape == Shape::Collection,
                    last: former.last,
                    order: former.order,
                });
            }
        }
    }

    pub(super) fn end(&mut self, id: &str) {
        self.order += 1;
        let latest = self.latest.values().filter_map(|shown| shown.document.item(id));
        let latest = latest.filter_map(|item| Some((item.etag.clone()?, item.life.clone())));
        let superseded = self.superseded.iter().filter(|version| *version.id == *id);
        let superseded = superseded.map(|version| (version.etag.clone(), version.life.clone()));
        let mut former: Vec<_> = latest.chain(superseded).collect();
        former.dedup();
        // The life that ends is the last one: of those before, what is shown no more is not looked for.
        former.truncate(FORMER);
        self.ended.insert(id.into(), Ended { order: self.order, former });
    }

    /// The versions of a resource that may be the base of a write, each once. None where a question that
    /// could have shown one was forgotten for space. A version of another life that has the number of the
    /// present one is none: as a condition it would hold.
    pub(super) fn versions(
        &self,
        path: &ArmPath,
        now: Moment,
        window: Duration,
        present: Option<Present<'_>>,
    ) -> Vec<ETag> {
        let candidates = self.candidates(path, now, window, present).unwrap_or_default();
        candidates.into_iter().map(|version| version.etag).collect()
    }

    /// The same, with when each was last shown, in the order of the tags; `None` where a question that could
    /// have shown one was forgotten.
    pub(super) fn candidates(
        &self,
        path: &ArmPath,
        now: Moment,
        window: Duration,
        present: Option<Present<'_>>,
    ) -> Option<Vec<Version>> {
        let forgotten = self.dropped.iter().any(|(question, at)| {
            now.since(*at) <= window
                && ArmPath::parse(question).is_ok_and(|question| could_show(&question, path))
        });
        if forgotten {
            return None;
        }
        let ended = self.ended.get(path.as_str());
        let counts = |last: Moment, order: u64, listed: bool, etag: &ETag, life: &Life| {
            let alive = |ended: &Ended| order > ended.order && !(listed && ended.knows(etag, life));
            let namesake = present.is_some_and(|(now, number)| life.differs(now) && etag == number);
            ended.is_none_or(alive) && !namesake && now.since(last) <= window
        };
        let latest = self.latest.values().filter_map(|shown| {
            let item = shown.document.item(path.as_str())?;
            let listed = shown.document.shape == Shape::Collection;
            let etag = item.etag.clone();
            let etag = etag.filter(|etag| counts(shown.last, shown.order, listed, etag, &item.life))?;
            Some(Version { etag, last: shown.last, superseded: false })
        });
        let superseded =
            self.superseded.iter().filter(|version| *version.id == *path.as_str()).filter(|version| {
                counts(version.last, version.order, version.listed, &version.etag, &version.life)
            });
        let superseded = superseded.map(|version| Version {
            etag: version.etag.clone(),
            last: version.last,
            superseded: true,
        });
        let mut versions: Vec<_> = latest.chain(superseded).collect();
        versions.sort_unstable_by(|a, b| (&a.etag, b.last).cmp(&(&b.etag, a.last)));
        versions.dedup_by(|later, first| later.etag == first.etag);
        Some(versions)
    }

    /// Lets go what no window reaches any more.
    fn expire(&mut self, now: Moment, window: Duration) {
        while self.superseded.front().is_some_and(|version| now.since(version.last) > window) {
            self.superseded.pop_front();
            self.bytes -= ITEM;
        }
        // The whole table is walked now and then only.
        if self.order.is_multiple_of(64) {
            let mut freed = 0;
            self.latest.retain(|_, shown| {
                let keep = now.since(shown.last) <= window;
                freed += if keep { 0 } else { weight(&shown.document) };
                keep
            });
            self.bytes -= freed;
            self.dropped.retain(|_, at| now.since(*at) <= window);
            if self.ended.len() > 1024 {
                let oldest = self.order.saturating_sub(512);
                self.ended.retain(|_, ended| ended.order > oldest);
            }
        }
    }

    /// Forgets the older half for space and remembers which questions it belonged to.
    pub(super) fn forget_half(&mut self, now: Moment, window: Duration) {
        self.expire(now, window);
        let count = self.superseded.len().div_ceil(2);
        for version in self.superseded.drain(..count) {
            self.dropped.insert(version.question, now);
        }
        self.bytes -= count * ITEM;
        let mut ages: Vec<_> = self.latest.values().map(|shown| shown.order).collect();
        ages.sort_unstable();
        let Some(&median) = ages.get(ages.len() / 2) else { return };
        let (dropped, mut freed) = (&mut self.dropped, 0);
        self.latest.retain(|_, shown| {
            let forget = shown.order <= median;
            if forget {
                freed += weight(&shown.document);
                dropped.insert(shown.path.clone(), now);
            }
            !forget
        });
        self.bytes -= freed;
    }
}

fn weight(document: &Document) -> usize {
    256 + document.weight()
}

/// Whether an answer to a question about `question` could have shown the resource at `path`.
fn could_show(question: &ArmPath, path: &ArmPath) -> bool {
    let kind = |path: &ArmPath| path.resource().map(|(kind, _)| kind);
    question.subscription() == path.subscription()
        && (question.group().is_none() || question.group() == path.group())
        && kind(question) == kind(path)
}
