//! Things that go wrong because a test asked for them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;

use super::refusals::Throttled;

/// Which calls are meant.
#[derive(Clone)]
pub struct Match(Arc<Test>);

type Test = dyn Fn(&Method, &str) -> bool + Send + Sync;

impl Match {
    /// Every call.
    #[must_use]
    pub fn any() -> Self {
        Self::when(|_, _| true)
    }

    /// Calls for which `test` holds, given method and path with query.
    #[must_use]
    pub fn when(test: impl Fn(&Method, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(test))
    }

    /// Calls with this method whose path and query contain `part`, in any case.
    #[must_use]
    pub fn containing(method: &Method, part: &str) -> Self {
        let (method, part) = (method.clone(), part.to_ascii_lowercase());
        Self::when(move |seen, target| *seen == method && target.to_ascii_lowercase().contains(&part))
    }

    /// Calls with this method whose path, without the query, ends with `end`, in any case.
    #[must_use]
    pub fn ending(method: &Method, end: &str) -> Self {
        let (method, end) = (method.clone(), end.to_ascii_lowercase());
        Self::when(move |seen, target| {
            let path = target.split('?').next().unwrap_or("").to_ascii_lowercase();
            *seen == method && path.ends_with(&end)
        })
    }

    /// Calls that are not GET, HEAD or OPTIONS.
    #[must_use]
    pub fn writes() -> Self {
        Self::when(|method, _| !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS))
    }

    /// Whether this call is meant.
    #[must_use]
    pub fn holds(&self, method: &Method, target: &str) -> bool {
        (self.0)(method, target)
    }
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Match")
    }
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The call reaches the provider this much later.
    Late(Duration),
    /// The provider has looked or written; the answer comes this much later.
    Slow(Duration),
    /// The call is lost before anything happened: its stream is reset (HTTP/1: the connection closes).
    Reset,
    /// As [`Fault::Reset`], but the whole connection breaks, with all its streams.
    Disconnect,
    /// The call is carried out and its answer lost: reset before the head.
    LostAnswer,
    /// The head promises the whole body; after this many bytes the connection breaks.
    Truncate(usize),
    /// After this many bytes of the body nothing comes for a while; `None`: ever.
    Stall(usize, Option<Duration>),
    /// Answered without being carried out.
    Answer(Canned),
    /// Carried out, then answered with something else.
    Instead(Canned),
    /// Header fields added to the true answer, those of the same name replaced.
    Headers(Vec<(&'static str, String)>),
    /// 429 of one of the schemes, with this `Retry-After`; `None` sends none.
    Throttle(Throttled, Option<u64>),
    /// 401 with a claims challenge of continuous access evaluation.
    Challenge,
    /// 401 for a token that is no longer accepted.
    Unauthorized,
    /// 403 `AuthorizationFailed`.
    Forbidden,
}

/// An answer made up by a test.
#[derive(Debug, Clone, Default)]
pub struct Canned {
    /// The status.
    pub status: u16,
    /// Header fields beside the usual ones.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

impl Canned {
    /// A status with an ARM error body.
    #[must_use]
    pub fn error(status: u16, code: &str) -> Self {
        let body = serde_json::json!({"error": {"code": code, "message": "Injected."}}).to_string();
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// A status with this body.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// One more header field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Fault {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Late(_) => "late",
            Self::Slow(_) => "slow",
            Self::Reset => "reset",
            Self::Disconnect => "disconnect",
            Self::LostAnswer => "lost-answer",
            Self::Truncate(_) => "truncate",
            Self::Stall(..) => "stall",
            Self::Answer(_) => "answer",
            Self::Instead(_) => "instead",
            Self::Headers(_) => "headers",
            Self::Throttle(..) => "throttle",
            Self::Challenge => "challenge",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
        }
    }
}

/// How long a fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Times(usize),
    /// Until this moment of the timeline.
    Until(Duration),
}

#[derive(Debug)]
struct Armed {
    id: u64,
    calls: Match,
    fault: Fault,
    left: Left,
}

/// The faults that are armed.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Vec<Armed>,
    count: u64,
}

impl Faults {
    pub(crate) fn times(&mut self, calls: Match, fault: Fault, times: usize) -> u64 {
        self.arm(calls, fault, Left::Times(times))
    }

    pub(crate) fn until(&mut self, calls: Match, fault: Fault, until: Duration) -> u64 {
        self.arm(calls, fault, Left::Until(until))
    }

    fn arm(&mut self, calls: Match, fault: Fault, left: Left) -> u64 {
        self.count += 1;
        self.armed.push(Armed { id: self.count, calls, fault, left });
        self.count
    }

    pub(crate) fn disarm(&mut self, id: u64) {
        self.armed.retain(|armed| armed.id != id);
    }

    pub(crate) fn clear(&mut self) {
        self.armed.clear();
    }

    /// The faults of one call: of every sort the one armed first. Throttles that last tell how long.
    pub(crate) fn draw(&mut self, method: &Method, target: &str, now: Duration) -> Vec<Fault> {
        self.armed.retain(|armed| {
            armed.left != Left::Times(0) && !matches!(armed.left, Left::Until(end) if end <= now)
        });
        let mut drawn: Vec<Fault> = Vec::new();
        for armed in &mut self.armed {
            if drawn.iter().any(|fault| fault.name() == armed.fault.name())
                || !armed.calls.holds(method, target)
            {
                continue;
            }
            let mut fault = armed.fault.clone();
            match &mut armed.left {
                Left::Times(times) => *times -= 1,
                Left::Until(end) => {
                    if let Fault::Throttle(_, Some(seconds)) = &mut fault {
                        let rest = end.saturating_sub(now);
                        *seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
                    }
                }
            }
            drawn.push(fault);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_last_as_long_as_asked() {
        let mut faults = Faults::default();
        let second = Duration::from_secs;
        faults.times(Match::ending(&Method::GET, "/a"), Fault::Reset, 2);
        faults.until(Match::writes(), Fault::Throttle(Throttled::Subscription, Some(0)), second(9));
        let mut names = |method: Method, target: &str, now| {
            let drawn = faults.draw(&method, target, second(now));
            drawn.iter().map(Fault::name).collect::<Vec<_>>()
        };
        assert_eq!(names(Method::GET, "/x/A?q", 0), ["reset"]);
        assert_eq!(names(Method::PUT, "/x/a", 1), ["throttle"]);
        assert_eq!(names(Method::GET, "/a", 1), ["reset"]);
        assert!(names(Method::GET, "/a", 1).is_empty());
        assert!(names(Method::PUT, "/a", 9).is_empty());
    }
}
