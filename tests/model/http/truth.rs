//! What is so in ARM: the states of each thing from when each held, and the operations that change them.

use std::time::Duration;

use armshield::clock::Moment;

use super::places::{INSTANCES, MANY, SET, THINGS};

/// One state of a thing. A state's place in its history is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Counts up with each creation, as `etag` does inside a life: the two order all versions.
    pub life: usize,
    pub etag: u32,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Succeeded,
    Failed,
    Canceled,
    Updating,
    Deleting,
}

impl State {
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled)
    }
}

impl Shown {
    /// The version, to be compared.
    pub fn version(&self) -> (usize, u32) {
        (self.life, self.etag)
    }

    /// The entity tag as ARM writes it: Compute counts inside a life, Network has GUIDs.
    pub fn tag(&self, thing: usize) -> String {
        match THINGS[thing].is_network() {
            false => format!("\"{}\"", self.etag),
            true => {
                format!("W/\"00000000-0000-4000-8000-{thing:02}{:05}{:05}\"", self.life, self.etag)
            }
        }
    }
}

/// How an operation is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    AsyncOperation,
    Location,
    /// By the state of the resource alone.
    Nowhere,
}

/// What makes an answer to a write the beginning of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Long {
    /// How long it takes, in milliseconds.
    pub takes: u64,
    pub ends: State,
    pub named: Named,
}

#[derive(Debug)]
pub struct Operation {
    pub thing: usize,
    pub answered: Moment,
    until: Moment,
    deletes: bool,
    ends: State,
    pub named: Named,
    /// How it ended, and the number of the state in which it left its thing.
    pub over: Option<(State, usize)>,
}

/// A VM's write moves the version of its set so much later.
const LATER: Duration = Duration::from_millis(4507);

/// ARM.
#[derive(Debug)]
pub struct Truth {
    things: [Vec<(Moment, Option<Shown>)>; MANY],
    pub operations: Vec<Operation>,
    /// When the set's version moves because of what was written to a VM of it.
    later: Vec<Moment>,
}

impl Truth {
    /// Everything is there from the beginning.
    pub fn new() -> Self {
        let first = Shown { life: 0, etag: 1, state: State::Succeeded };
        let things = [(); MANY].map(|()| vec![(Moment::ZERO, Some(first))]);
        Self { things, operations: Vec::new(), later: Vec::new() }
    }

    pub fn now(&self, thing: usize) -> Option<Shown> {
        self.things[thing].last().unwrap().1
    }

    /// The state of this number.
    pub fn state(&self, thing: usize, number: usize) -> Option<Shown> {
        self.things[thing][number].1
    }

    pub fn number(&self, thing: usize) -> usize {
        self.things[thing].len() - 1
    }

    /// The number of the state that held then.
    pub fn number_at(&self, thing: usize, at: Moment) -> usize {
        self.things[thing].iter().rposition(|(from, _)| *from <= at).unwrap_or(0)
    }

    /// Whether another life had or has a version of the same tag.
    pub fn came_again(&self, thing: usize, tag: &str, life: usize) -> bool {
        let shown = self.things[thing].iter().filter_map(|(_, state)| state.as_ref());
        shown.into_iter().any(|shown| shown.life != life && shown.tag(thing) == tag)
    }

    fn become_(&mut self, thing: usize, at: Moment, state: Option<Shown>) {
        self.things[thing].push((at, state));
    }

    /// One version further, in this state.
    pub fn advance(&mut self, thing: usize, at: Moment, state: State) {
        if let Some(shown) = self.now(thing) {
            self.become_(thing, at, Some(Shown { etag: shown.etag + 1, state, ..shown }));
        }
    }

    /// The same version in another state.
    pub fn turn(&mut self, thing: usize, at: Moment, state: State) {
        if let Some(shown) = self.now(thing) {
            self.become_(thing, at, Some(Shown { state, ..shown }));
        }
    }

    /// A new life. A set begins with its VMs.
    pub fn create(&mut self, thing: usize, at: Moment, state: State) {
        let life = self.things[thing].len();
        self.become_(thing, at, Some(Shown { life, etag: 1, state }));
        if thing == SET {
            INSTANCES.iter().for_each(|vm| self.create(*vm, at, State::Succeeded));
        }
    }

    /// The end of a life. A set ends with its VMs.
    pub fn remove(&mut self, thing: usize, at: Moment) {
        if self.now(thing).is_some() {
            self.become_(thing, at, None);
        }
        self.end_all(thing, State::Canceled);
        if thing == SET {
            INSTANCES.iter().for_each(|vm| self.remove(*vm, at));
        }
    }

    /// Deleted and made anew behind everybody's back.
    pub fn replace(&mut self, thing: usize, at: Moment) {
        self.remove(thing, at);
        let of_no_set = INSTANCES.contains(&thing) && self.now(SET).is_none();
        if !of_no_set {
            self.create(thing, at, State::Succeeded);
        }
    }

    /// The set will follow what was written to a VM of it.
    pub fn move_set_later(&mut self, thing: usize, at: Moment) {
        if INSTANCES.contains(&thing) {
            self.later.push(at + LATER);
        }
    }

    /// Begins an operation on a thing, pushing others out of its way. Gives its place.
    pub fn begin(&mut self, thing: usize, long: Long, deletes: bool, at: Moment, answered: Moment) -> usize {
        let until = at + Duration::from_millis(long.takes);
        let Long { ends, named, .. } = long;
        self.operations.push(Operation { thing, answered, until, deletes, ends, named, over: None });
        self.operations.len() - 1
    }

    /// What is under way on a thing is over, in this way.
    pub fn end_all(&mut self, thing: usize, how: State) {
        let number = self.number(thing);
        for operation in self.operations.iter_mut().filter(|operation| operation.thing == thing) {
            operation.over.get_or_insert((how, number));
        }
    }

    /// Lets everything happen that is due.
    pub fn settle(&mut self, now: Moment) {
        loop {
            let next = (0..self.operations.len())
                .filter(|at| self.operations[*at].over.is_none() && self.operations[*at].until <= now)
                .min_by_key(|at| self.operations[*at].until);
            let later =
                (0..self.later.len()).filter(|at| self.later[*at] <= now).min_by_key(|at| self.later[*at]);
            match (next, later) {
                (Some(next), later)
                    if later.is_none_or(|later| self.operations[next].until <= self.later[later]) =>
                {
                    self.end(next);
                }
                (_, Some(later)) => {
                    let at = self.later.remove(later);
                    if let Some(shown) = self.now(SET) {
                        self.advance(SET, at, shown.state);
                    }
                }
                _ => return,
            }
        }
    }

    fn end(&mut self, at: usize) {
        let Operation { thing, until, deletes, ends, .. } = self.operations[at];
        match (deletes, ends) {
            (true, State::Succeeded) => self.remove(thing, until),
            // A VM is written once more by the platform.
            (false, State::Succeeded) if THINGS[thing].path.contains("/virtualMachines/") => {
                self.advance(thing, until, ends);
                self.move_set_later(thing, until);
            }
            _ => self.turn(thing, until, ends),
        }
        let number = self.number(thing);
        self.operations[at].over = Some((ends, number));
        self.end_all(thing, ends);
    }
}
