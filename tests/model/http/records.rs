//! What happened in one case: what clients asked, what reached ARM, who was answered what.

use armshield::clock::Moment;
use bytes::Bytes;

use super::people::{PEOPLE, Person, Token};
use super::places::{Question, THINGS};
use super::truth::{Long, Shown};
use crate::support::Answer;

/// Everything that happened.
#[derive(Debug, Default)]
pub struct Records {
    pub requests: Vec<Request>,
    pub calls: Vec<Call>,
    /// What was seen to be wrong on the way.
    pub wrong: Vec<String>,
}

/// What one client asked.
#[derive(Debug)]
pub struct Request {
    /// By which step.
    pub step: usize,
    pub begun: Moment,
    /// Who, by the place in [`PEOPLE`]; for a forged token whom it imitates.
    pub who: usize,
    pub stranger: bool,
    pub token: Token,
    pub what: What,
    pub target: String,
    pub fresh: Fresh,
    /// The condition it carries.
    pub condition: Option<(&'static str, String)>,
    /// The `etag` in its body.
    pub stated: Option<String>,
    pub plan: Plan,
    /// When its client left without an answer.
    pub left: Option<Moment>,
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Read(Question),
    Write(Write, usize),
    /// Of the operation with this number.
    Poll(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Put(usize),
    Patch(usize),
    Delete(usize),
    Act(usize),
    /// A deployment: it can change everything in the subscription.
    Deploy,
    /// What does not say in its path what it reaches.
    Batch,
}

impl Write {
    pub fn method(self) -> &'static str {
        match self {
            Self::Put(_) | Self::Deploy => "PUT",
            Self::Patch(_) => "PATCH",
            Self::Delete(_) => "DELETE",
            Self::Act(_) | Self::Batch => "POST",
        }
    }

    /// The thing it names.
    pub fn thing(self) -> Option<usize> {
        match self {
            Self::Put(thing) | Self::Patch(thing) | Self::Delete(thing) | Self::Act(thing) => Some(thing),
            Self::Deploy | Self::Batch => None,
        }
    }
}

/// What a read says about the age of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fresh {
    pub no_cache: bool,
    /// In seconds.
    pub max_age: Option<u64>,
}

/// How ARM will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// How long it takes, in milliseconds.
    pub slow: u64,
    pub fault: Fault,
    /// For a write that fails: whether it was applied all the same.
    pub applied: bool,
    /// For a write: whether its answer shows the resource.
    pub shows: bool,
    pub long: Option<Long>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    Status(u16),
    /// By Compute for everybody, or by ARM's front door for the principal; for so many seconds.
    Throttled {
        by_compute: bool,
        seconds: u64,
    },
    /// The connection dies before the head; a second attempt succeeds.
    Lost,
    /// So does the second attempt.
    LostTwice,
    /// The connection dies inside the body.
    Cut,
    /// Nothing comes after the beginning of the body.
    Stall,
    /// The answer says it depends on more than a key holds.
    Varies,
}

/// On what a write was applied, and the things it made different with the numbers of their states.
pub type Applied = (Option<Shown>, Vec<(usize, usize)>);

/// A call that reached ARM.
#[derive(Debug)]
pub struct Call {
    /// Whose request it carries.
    pub request: usize,
    pub at: Moment,
    /// When the head of its answer was there, or its connection died.
    pub answered: Moment,
    /// When the answer was over.
    pub ended: Moment,
    /// `None`: it was lost.
    pub status: Option<u16>,
    /// Whether the body came whole.
    pub whole: bool,
    pub body: Bytes,
    /// `If-Match` and `If-None-Match` as they arrived.
    pub conditions: Vec<(&'static str, String)>,
    /// The things its body shows and the numbers of their states; those it would show and that are not
    /// there included.
    pub sights: Vec<(usize, usize)>,
    /// Where the list goes on.
    pub more: bool,
    /// For a write that was applied: on what, and the numbers of the states it brought about.
    pub applied: Option<Applied>,
    /// For a write: whether its answer began an operation, and which one.
    pub began: Option<usize>,
    /// For a poll: how its operation ended, if it said so, and the state that left.
    pub over: Option<Over>,
}

/// What a poll told about the end of its operation.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    pub operation: usize,
    pub well: bool,
    pub thing: usize,
    pub number: usize,
}

impl Request {
    pub fn person(&self) -> &'static Person {
        &PEOPLE[self.who]
    }

    pub fn question(&self) -> Option<Question> {
        match self.what {
            What::Read(question) => Some(question),
            What::Write(..) | What::Poll(_) => None,
        }
    }

    pub fn method(&self) -> &'static str {
        match self.what {
            What::Write(write, _) => write.method(),
            What::Read(_) | What::Poll(_) => "GET",
        }
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// What ARM's limits count it as: the bucket, the type and whether it is about one resource.
    pub fn class(&self) -> (&'static str, String) {
        let kind = match self.what {
            What::Read(question) => {
                format!("{:?}", std::mem::discriminant(&question.about)) + &kind(self.path())
            }
            What::Write(..) | What::Poll(_) => kind(self.path()),
        };
        (self.bucket(), kind)
    }

    pub fn bucket(&self) -> &'static str {
        match self.method() {
            "GET" => "read",
            "DELETE" => "delete",
            _ => "write",
        }
    }
}

/// The type a path names.
fn kind(path: &str) -> String {
    let after = path.split("/providers/").nth(1).unwrap_or("");
    let segments: Vec<_> = after.split('/').collect();
    let types = segments.iter().skip(1).step_by(2).copied();
    segments.first().copied().into_iter().chain(types).collect::<Vec<_>>().join("/")
}

impl Records {
    pub fn request_of(&self, call: &Call) -> &Request {
        &self.requests[call.request]
    }

    /// The call whose answer an answer repeats, by what ARM wrote in it.
    pub fn origin(&self, answer: &Answer) -> Option<(usize, &Call)> {
        let number: usize = answer.header("x-arm-call")?.parse().ok()?;
        Some((number, self.calls.get(number)?))
    }

    /// Answers to requests that did not leave, with their requests.
    pub fn answered(&self) -> impl Iterator<Item = (usize, &Request, &Answer)> {
        self.requests
            .iter()
            .enumerate()
            .filter_map(|(id, request)| Some((id, request, request.answer.as_ref()?)))
    }

    /// Calls that carry writes.
    pub fn writes(&self) -> impl Iterator<Item = (&Call, &Request, Write)> {
        self.calls.iter().filter_map(|call| match self.request_of(call) {
            request @ Request { what: What::Write(write, _), .. } => Some((call, request, *write)),
            _ => None,
        })
    }
}

impl Call {
    /// Whether ARM accepted it, as far as its head says.
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// The id a write's path ends in, for messages.
pub fn name(thing: usize) -> &'static str {
    THINGS[thing].path.rsplit_once("Microsoft.").map_or("", |(_, name)| name)
}
