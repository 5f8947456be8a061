//! ARM as it is: the states of every resource from the first on, who may do what, operations under way.
//!
//! A state's number is its place among the states of its resource. Nothing here is of armshield.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::people::is_forged;
use super::table::{About, Kind, MEMBER, QUESTIONS, Question, SET, SUBSCRIPTION, THINGS, Target, address};

/// One version of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub life: u32,
    pub tag: u32,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Succeeded,
    Updating,
    Deleting,
}

/// What an answer shows of one resource: which of its states, and that it is not there if that is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    pub thing: usize,
    pub number: usize,
    /// Whether the state was over when ARM looked.
    pub lags: bool,
}

/// An answer of ARM.
#[derive(Debug, Clone)]
pub struct Answered {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    pub seen: Vec<Sighting>,
    /// What a write brought about, and the operation it began.
    pub brought: Vec<Sighting>,
    pub began: Option<usize>,
}

/// How ARM answers a write that it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// With the resource as it is now.
    Whole,
    /// With the address of an operation.
    Polled,
    /// With a state that says that it goes on.
    Shown,
    /// With nothing.
    Bare,
    /// Not at all: it is wrong.
    Refused,
    /// Not at all: something else is under way.
    Busy,
    /// With an error, though it was applied.
    Broken,
}

/// A write as it reaches ARM.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub target: Target,
    pub method: http::Method,
    pub said: Said,
    pub if_match: Option<String>,
    pub create_only: bool,
}

/// A long-running operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub thing: usize,
    life: u32,
    deletes: bool,
    /// Whether it did what was asked, once it is over.
    pub ended: Option<bool>,
    /// The number of the state in which there is nothing, if it brought that about.
    pub gone: Option<usize>,
}

#[derive(Debug)]
pub struct Arm {
    things: [Vec<Option<Version>>; THINGS.len()],
    /// The numbers of all present states after each change.
    history: Vec<[usize; THINGS.len()]>,
    pub operations: Vec<Operation>,
    /// How many times the set has yet to move because of its VM.
    late: usize,
    lives: u32,
    refused: BTreeSet<usize>,
    denied: BTreeSet<(usize, String)>,
}

impl Arm {
    pub fn new() -> Self {
        let first = |life| vec![Some(Version { life, tag: 1, state: State::Succeeded })];
        Self {
            things: [0, 1, 2, 3, 4, 5, 6].map(first),
            history: vec![[0; THINGS.len()]],
            operations: Vec::new(),
            late: 0,
            lives: THINGS.len() as u32,
            refused: BTreeSet::new(),
            denied: BTreeSet::new(),
        }
    }

    pub fn version(&self, thing: usize, number: usize) -> Option<Version> {
        self.things[thing][number]
    }

    pub fn now(&self, thing: usize) -> Option<Version> {
        *self.things[thing].last().unwrap()
    }

    /// The number of the present state.
    pub fn number(&self, thing: usize) -> usize {
        self.things[thing].len() - 1
    }

    fn become_(&mut self, thing: usize, version: Option<Version>) {
        self.things[thing].push(version);
        self.history.push(std::array::from_fn(|at| self.things[at].len() - 1));
    }

    // What happens behind everybody's back.

    /// Somebody else changes a resource that is there.
    pub fn change(&mut self, thing: usize) {
        if let Some(version) = self.now(thing) {
            self.become_(thing, Some(Version { tag: version.tag + 1, ..version }));
        }
    }

    /// Somebody else begins to change a resource, or is done with it, and its version stays.
    pub fn stir(&mut self, thing: usize) {
        if let Some(version) = self.now(thing) {
            let state = if version.state == State::Succeeded { State::Updating } else { State::Succeeded };
            self.become_(thing, Some(Version { state, ..version }));
        }
    }

    /// Somebody else deletes a resource.
    pub fn remove(&mut self, thing: usize) {
        if thing != SET && self.now(thing).is_some() {
            self.become_(thing, None);
        }
    }

    /// Somebody else makes a resource anew.
    pub fn create(&mut self, thing: usize, state: State) {
        if self.now(thing).is_none() {
            self.lives += 1;
            self.become_(thing, Some(Version { life: self.lives, tag: 1, state }));
        }
    }

    /// The set moves because its VM was written.
    pub fn move_late(&mut self) {
        if self.late > 0 {
            self.late -= 1;
            self.change(SET);
        }
    }

    /// An operation ends, well or not.
    pub fn end(&mut self, at: usize, well: bool) {
        let Operation { thing, life, deletes, ended, .. } = self.operations[at];
        if ended.is_some() {
            return;
        }
        let same = self.now(thing).filter(|version| version.life == life);
        let Some(version) = same else {
            self.operations[at].ended = Some(false);
            return;
        };
        if deletes && well {
            self.remove(thing);
            self.operations[at].gone = Some(self.number(thing));
        } else {
            // The platform writes the id of the disk it made.
            let tag = version.tag + u32::from(well && THINGS[thing].kind == Kind::Vm);
            self.become_(thing, Some(Version { tag, state: State::Succeeded, ..version }));
        }
        self.late += usize::from(thing == MEMBER);
        self.operations[at].ended = Some(well);
    }

    /// The front door begins to refuse a token, or stops.
    pub fn turn_token(&mut self, token: usize) {
        if !self.refused.remove(&token) {
            self.refused.insert(token);
        }
    }

    /// A principal loses its rights at and below a path, or gets them back.
    pub fn turn_rights(&mut self, principal: usize, at: &str) {
        let right = (principal, at.to_lowercase());
        if !self.denied.remove(&right) {
            self.denied.insert(right);
        }
    }

    // What is asked.

    fn refusal(&self, token: usize, expired: bool, principal: usize, path: &str) -> Option<Answered> {
        let path = path.to_lowercase();
        let below =
            |at: &str| path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_forged(token) || expired || self.refused.contains(&token) {
            return Some(error(401, "InvalidAuthenticationToken"));
        }
        let denied = self.denied.iter().any(|(who, at)| *who == principal && below(at));
        denied.then(|| error(403, "AuthorizationFailed"))
    }

    /// Reads, `lag` changes ago where it is a list.
    pub fn read(&self, who: &Who, question: usize, lag: usize) -> Answered {
        let asked = &QUESTIONS[question];
        let target = asked.target();
        let path = target.split('?').next().unwrap();
        if let Some(refusal) = self.refusal(who.token, who.expired, who.principal, path) {
            return refusal;
        }
        let lag = if asked.is_list() && !asked.kind().is_network() { lag } else { 0 };
        let then = &self.history[self.history.len().saturating_sub(1 + lag)];
        let seen: Vec<_> = asked
            .shows()
            .into_iter()
            .map(|thing| Sighting { thing, number: then[thing], lags: then[thing] != self.number(thing) })
            .collect();
        let items =
            |seen: &[Sighting]| -> Vec<_> { seen.iter().filter_map(|one| self.item(one, asked)).collect() };
        match asked.about {
            About::View(thing) if self.now(thing).is_none() => error(404, "ResourceNotFound"),
            About::View(thing) => {
                let state = format!("{:?}", self.now(thing).unwrap().state).to_lowercase();
                ok(json!({"statuses": [{"code": format!("ProvisioningState/{state}")}]}), seen)
            }
            About::List(..) => ok(json!({"value": items(&seen)}), seen),
            About::Point(_) => match items(&seen).pop() {
                Some(item) => ok(item, seen),
                None => Answered { seen, ..error(404, "ResourceNotFound") },
            },
        }
    }

    fn item(&self, sighting: &Sighting, asked: &Question) -> Option<Value> {
        let Sighting { thing, number, .. } = *sighting;
        let version = self.things[thing][number]?;
        let mut item = json!({
            "id": address(thing),
            "properties": {"provisioningState": format!("{:?}", version.state), "n": number},
        });
        let properties = &mut item["properties"];
        match THINGS[thing].kind {
            Kind::Set => {
                let mode = if THINGS[thing].uniform { "Uniform" } else { "Flexible" };
                properties["orchestrationMode"] = mode.into();
                properties["uniqueId"] = version.life.to_string().into();
            }
            Kind::Member | Kind::Vm => properties["vmId"] = version.life.to_string().into(),
            // Network has versions and no lives.
            Kind::Balancer | Kind::Address => {}
        }
        if asked.is_tagged() {
            item["etag"] = tag_text(thing, version).into();
        }
        Some(item)
    }

    /// A poll of an operation.
    pub fn poll(&self, who: &Who, at: usize) -> Answered {
        if let Some(refusal) = self.refusal(who.token, who.expired, who.principal, "") {
            return refusal;
        }
        let Operation { deletes, ended, .. } = self.operations[at];
        let answer = |status, body: Value| Answered { status, ..ok(body, Vec::new()) };
        match (deletes, ended) {
            // Deletions are followed by their `Location`, all else by `Azure-AsyncOperation`.
            (true, None) => answer(202, Value::Null),
            (true, Some(true)) => answer(204, Value::Null),
            (true, Some(false)) => error(409, "OperationPreempted"),
            (false, None) => answer(200, json!({"status": "InProgress"})),
            (false, Some(true)) => answer(200, json!({"status": "Succeeded"})),
            (false, Some(false)) => answer(200, json!({"status": "Canceled"})),
        }
    }

    /// Applies a write, or does not.
    pub fn write(&mut self, who: &Who, wanted: &Wanted) -> Answered {
        let path = match wanted.target {
            Target::Thing(thing) => address(thing),
            Target::Deployment | Target::Batch => SUBSCRIPTION.to_owned(),
        };
        if let Some(refusal) = self.refusal(who.token, who.expired, who.principal, &path) {
            return refusal;
        }
        match wanted.said {
            Said::Refused => return error(400, "InvalidParameter"),
            Said::Busy => return error(409, "Conflict"),
            _ => {}
        }
        let Target::Thing(thing) = wanted.target else {
            // Whatever it changes, its path does not say.
            let far = self.history.len() % THINGS.len();
            self.change(far);
            return ok(json!({}), Vec::new());
        };
        let now = self.now(thing);
        let matches = |tag: &String| now.is_some_and(|version| *tag == tag_text(thing, version));
        if wanted.if_match.as_ref().is_some_and(|tag| !matches(tag)) || (wanted.create_only && now.is_some())
        {
            return error(412, "PreconditionFailed");
        }
        self.preempt(thing);
        let answered = self.apply(thing, now, wanted);
        self.late += usize::from(thing == MEMBER);
        if wanted.said == Said::Broken { error(500, "InternalServerError") } else { answered }
    }

    /// What was under way is pushed out of the way.
    fn preempt(&mut self, thing: usize) {
        for operation in self.operations.iter_mut().filter(|operation| operation.thing == thing) {
            operation.ended.get_or_insert(false);
        }
    }

    fn apply(&mut self, thing: usize, now: Option<Version>, wanted: &Wanted) -> Answered {
        let goes_on = matches!(wanted.said, Said::Polled | Said::Shown);
        let state = if goes_on { State::Updating } else { State::Succeeded };
        let deletes = wanted.method == http::Method::DELETE;
        let creates = wanted.method == http::Method::PUT;
        match now {
            None if creates => self.create(thing, state),
            None if deletes => {
                let brought = vec![Sighting { thing, number: self.number(thing), lags: false }];
                return Answered { status: 204, brought, ..ok(Value::Null, Vec::new()) };
            }
            None => return error(404, "ResourceNotFound"),
            Some(version) if deletes && goes_on && thing != SET => {
                self.become_(thing, Some(Version { state: State::Deleting, ..version }));
            }
            Some(_) if deletes => self.remove(thing),
            Some(version) => {
                self.become_(thing, Some(Version { tag: version.tag + 1, state, ..version }));
            }
        }
        let number = self.number(thing);
        let mut answered = ok(Value::Null, Vec::new());
        answered.brought = vec![Sighting { thing, number, lags: false }];
        if let Some(version) = self.now(thing).filter(|_| goes_on) {
            let at = self.operations.len();
            self.operations.push(Operation { thing, life: version.life, deletes, ended: None, gone: None });
            answered.began = Some(at);
            if wanted.said == Said::Polled {
                let name = if deletes { "location" } else { "azure-asyncoperation" };
                answered.headers.push((name, format!("https://management.azure.com{}", poll_target(at))));
            }
        }
        if deletes {
            answered.status = if answered.headers.is_empty() { 200 } else { 202 };
        }
        let shows = creates || wanted.method == http::Method::PATCH;
        if shows && wanted.said != Said::Bare {
            answered.body = self.item(&answered.brought[0], &QUESTIONS[0]).unwrap().to_string();
        }
        answered
    }

    /// All states, for whoever has to understand a failure.
    pub fn states(&self) -> BTreeMap<&'static str, &[Option<Version>]> {
        THINGS.iter().zip(&self.things).map(|(thing, states)| (thing.tail, &states[..])).collect()
    }
}

/// Who asks ARM, as its front door sees it.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    pub token: usize,
    pub expired: bool,
    pub principal: usize,
}

/// The entity tag of a version: a number in Compute, something without an order in Network.
pub fn tag_text(thing: usize, version: Version) -> String {
    let Version { life, tag, .. } = version;
    match THINGS[thing].kind.is_network() {
        true => format!("W/\"0000-{life:x}-{tag:x}\""),
        false => format!("\"{tag}\""),
    }
}

/// Where an operation is polled.
pub fn poll_target(at: usize) -> String {
    format!("{SUBSCRIPTION}/providers/Microsoft.Compute/locations/e/operations/{at}?t=1&c=signed")
}

fn ok(body: Value, seen: Vec<Sighting>) -> Answered {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Answered { status: 200, headers: Vec::new(), body, seen, brought: Vec::new(), began: None }
}

fn error(status: u16, code: &str) -> Answered {
    let body = json!({"error": {"code": code, "message": code}}).to_string();
    Answered { status, headers: Vec::new(), body, seen: Vec::new(), brought: Vec::new(), began: None }
}
