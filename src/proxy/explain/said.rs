//! What an explanation says: the JSON of `/api/explain`. The names of its fields are documented here.

use serde::{Deserialize, Serialize};

/// What armshield would do with a request, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// When this was true, as a date of HTTP.
    pub at: String,
    /// The request that is explained.
    pub request: Request,
    /// The way it goes: `read`, `write`, `poll`, `pass` or `discovery`.
    pub route: String,
    /// The type addressed, in lower case.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What is addressed: `point` (one resource) or `collection` (a list, a view, an action).
    pub shape: Option<String>,
    /// What moves together with the type: `compute`, `disks`, `network` or `other`.
    pub family: String,
    /// The rule of the type, if there is one.
    pub rule: Option<Rule>,
    /// The profile that the User-Agent chooses.
    pub profile: Profile,
    /// The scopes that an answer to this read depends on, or that this write would count up.
    pub scopes: Vec<Scope>,
    /// Every caller that is vouched for, or of which more is to be said than of any unvouched asker.
    pub askers: Vec<Asker>,
    /// How many callers there are besides.
    pub more_askers: usize,
    /// A caller that ARM lets in and of which nothing is kept.
    pub newcomer: Asker,
    /// An asker whose token ARM has not let in, or not lately.
    pub unvouched: Asker,
    /// What the guard would do with a write.
    pub guard: Option<Guard>,
    /// What is kept at the path of a read, whoever asked, with whatever query.
    pub kept_at_path: Option<KeptAtPath>,
    /// What is odd about the request.
    pub hints: Vec<String>,
}

/// The request that is explained, as it was understood. Values of the query are left out: they can be signatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path in canonical form, if it has one, else as it was given.
    pub path: String,
    /// The names of the query's parts.
    pub query: Vec<String>,
    /// The api-version, if there is one.
    pub api_version: Option<String>,
    /// The name that is dialled.
    pub dialled: String,
    /// The User-Agent; may be empty.
    pub user_agent: String,
    /// The address it comes from.
    pub peer: String,
}

/// What holds for a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The oldest an answer may be.
    pub max_age_seconds: f64,
    /// Whether writes get a condition.
    pub guard: bool,
}

/// What a kind of client tolerates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The mode that holds for it: `active`, `shadow` or `pass`.
    pub mode: String,
    /// The oldest an answer of this family may be.
    pub age_seconds: f64,
    /// What a repeated question means: `refresh` (it asks for news) or `cached`.
    pub repeat: String,
    /// What the guard does for it: `off`, `observe` or `enforce`.
    pub guard: String,
    /// How long a version shown may be the base of a write.
    pub base_window_seconds: f64,
}

/// A moment to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// How long it is until then.
    pub seconds: f64,
    /// When it is, as a date of HTTP.
    pub at: String,
}

/// A part of ARM that changes at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// Its name, for example `unit /subscriptions/…`.
    pub scope: String,
    /// What it has to do with the request: an answer `depends` on it; a write reaches it as its `resource`
    /// (and lists of it) or as what changes `along`.
    pub role: String,
    /// Until when, at most, writes under way or just over leave it unsettled.
    pub unsettled: Option<Until>,
}

/// What would be done for one asker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    /// A label that begins anew with the process: `caller-1`. `newcomer` and `unvouched` are nobody in particular.
    pub caller: String,
    /// What ARM has said about its token: `vouched` or `unvouched`.
    pub standing: String,
    /// For how long its token is vouched for.
    pub vouched_seconds: Option<f64>,
    /// What would be done: `hit`, `miss` (fetched), `collapsed` (waits for a fetch under way), `bypass`
    /// (streamed), `sent` (a write) or `refused` (429).
    pub outcome: String,
    /// Why, in the word that logs and metrics use (`fresh` for a hit, for which they need none); for
    /// `collapsed` why no entry answers.
    pub why: String,
    /// Why, as a sentence.
    pub because: String,
    /// The answer that is kept for it.
    pub kept: Option<Kept>,
    /// The fetch that is under way for its question.
    pub fetch: Option<Fetch>,
    /// What a call would be told before it is sent.
    pub gate: Gate,
    /// The condition its write would get from this User-Agent and peer.
    pub condition: Option<Condition>,
}

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Whether it would answer.
    pub usable: bool,
    /// Why it would not.
    pub why: Option<String>,
    /// How old it is, from when its call was sent.
    pub age_seconds: f64,
    /// For how long it would go on answering.
    pub ttl_seconds: Option<f64>,
    /// The bounds of its age that apply.
    pub bounds: Vec<Bounded>,
    /// The smallest of them: `rule`, `profile`, `unsettled`, `repeated` or `wanted`.
    pub smallest_bound: String,
    /// Its status.
    pub status: u16,
    /// The length of its body.
    pub bytes: usize,
    /// Whether it shows something that is being changed.
    pub in_progress: bool,
    /// The scopes that were counted up since it was asked for.
    pub moved: Vec<MovedScope>,
    /// The scopes in which something newer is known.
    pub newer_known_in: Vec<String>,
    /// Whether ARM refused the caller at its path since.
    pub refused_since: bool,
    /// How many clients were shown it; more than 64 are not told apart.
    pub shown_to: usize,
    /// Whether this User-Agent from this peer was shown it, or may have been.
    pub shown_to_this_client: bool,
    /// What a client that was shown it gets, where that is something else.
    pub if_shown: Option<IfShown>,
}

/// One bound of an answer's age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// Whose: `rule`, `profile`, `unsettled`, `repeated` or `wanted`.
    pub bound: String,
    /// How old an answer may be by it.
    pub seconds: f64,
}

/// A scope that was counted up since an answer was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedScope {
    /// Its name.
    pub scope: String,
    /// `written` (or purged), or `forgotten` for lack of room.
    pub how: String,
}

/// What a client gets that was shown the entry before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IfShown {
    /// Whether the entry answers it again.
    pub usable: bool,
    /// Why not.
    pub why: Option<String>,
    /// For how long it would go on answering.
    pub ttl_seconds: Option<f64>,
}

/// A fetch under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fetch {
    /// Whether the asker would join it.
    pub joins: bool,
    /// How long ago its call was sent; absent while it waits.
    pub sent_seconds_ago: Option<f64>,
}

/// What a call would be told before it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Whether it may go.
    pub open: bool,
    /// What is used up.
    pub budget: Option<String>,
    /// When it may go.
    pub opens: Option<Until>,
    /// How long it waits at most for another call that tries a budget which has just reopened.
    pub waits_seconds: Option<f64>,
}

/// The condition of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Where its version comes from: `client`, `body`, `seen`, `evidence`, `ambiguous` or `none`.
    pub source: String,
    /// The version.
    pub etag: Option<String>,
    /// Whether armshield adds it.
    pub sends: bool,
}

/// What the guard would do with a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// Whether the write is one for the guard.
    pub applies: bool,
    /// What it may do: `off`, `observe` or `enforce`.
    pub mode: String,
    /// Why it applies or does not, and what is assumed of the write.
    pub because: String,
    /// What every known client of the profile was shown of the resource.
    pub clients: Vec<GuardClient>,
    /// How many clients there are besides.
    pub more_clients: usize,
}

/// What one client was shown of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardClient {
    /// A label that begins anew with the process: `client-1`.
    pub client: String,
    /// The caller it last spoke for.
    pub caller: String,
    /// The condition its write would get.
    pub condition: Condition,
    /// How many versions may be the base of its write.
    pub count: usize,
    /// Those versions, at most 64.
    pub versions: Vec<VersionShown>,
    /// Whether what could have shown it one was forgotten for space.
    pub forgotten: bool,
}

/// A version that may be the base of a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionShown {
    /// The version.
    pub etag: String,
    /// How long ago it was last shown.
    pub shown_seconds_ago: f64,
    /// Whether a newer answer to the same question replaced it.
    pub superseded: bool,
}

/// What is kept at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAtPath {
    /// How many answers.
    pub entries: usize,
    /// Whether all of the store was looked at.
    pub all: bool,
}
