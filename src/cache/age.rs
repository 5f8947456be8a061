//! How old an answer may be: the smallest of the bounds that apply, judged when it is about to be given.

use std::time::Duration;

use http::{HeaderMap, header};

use crate::clock::Moment;
use crate::policy::Repeat;

use super::entry::Entry;
use super::storable::directives;

/// What a request says about how old its answer may be (RFC 9111 §5.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tolerance {
    /// `no-cache`, or `Pragma: no-cache`: only an answer that is yet to be asked for.
    pub no_cache: bool,
    /// `no-store`: the answer is not kept.
    pub no_store: bool,
    /// `max-age`.
    pub max_age: Option<Duration>,
}

impl Tolerance {
    /// Reads a request's headers.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut tolerance = Self::default();
        if headers.contains_key(header::CACHE_CONTROL) {
            for (name, value) in directives(headers) {
                if name.eq_ignore_ascii_case("no-cache") {
                    tolerance.no_cache = true;
                } else if name.eq_ignore_ascii_case("no-store") {
                    tolerance.no_store = true;
                } else if name.eq_ignore_ascii_case("max-age") {
                    // What cannot be read asks for the freshest answer.
                    let seconds = value.and_then(|value| value.parse().ok()).unwrap_or(0);
                    tolerance.max_age = Some(Duration::from_secs(seconds));
                }
            }
        } else if let Some(pragma) = headers.get(header::PRAGMA) {
            tolerance.no_cache =
                pragma.as_bytes().to_ascii_lowercase().windows(8).any(|word| word == b"no-cache");
        }
        tolerance
    }
}

/// What an asker tolerates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Who asks: the unit of the repeat rule.
    pub client: u128,
    /// The rule's bound.
    pub rule_age: Duration,
    /// The profile's bound.
    pub profile_age: Duration,
    /// The bound while a change is under way.
    pub unsettled_age: Duration,
    /// The bound for an entry that this client was shown before, if it asks again for news.
    pub repeat_age: Duration,
    /// What a repeated question means.
    pub repeat: Repeat,
    /// What the request says.
    pub tolerance: Tolerance,
}

/// Why an entry does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// There is none.
    Absent,
    /// Something it depends on was written, purged or forgotten.
    Written,
    /// It is older than news that armshield has seen.
    News,
    /// It is older than the rule or the profile allows.
    Aged,
    /// A change is under way, and it is older than that allows.
    Unsettled,
    /// This client was shown it before and asks again.
    Repeated,
    /// The request wants a fresher one.
    Wanted,
    /// The caller was refused here since.
    Refused,
    /// ARM has not let this token in yet, or not lately.
    Unvouched,
    /// It would have answered, but shadow mode asks ARM all the same.
    Shadow,
}

impl Why {
    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Written => "written",
            Self::News => "news",
            Self::Aged => "aged",
            Self::Unsettled => "unsettled",
            Self::Repeated => "repeated",
            Self::Wanted => "wanted",
            Self::Refused => "refused",
            Self::Unvouched => "unvouched",
            Self::Shadow => "shadow",
        }
    }
}

/// Whether an entry answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It does, and would for so long.
    Fresh {
        /// How old it is.
        age: Duration,
        /// For how long it would still answer this asker.
        ttl: Duration,
    },
    /// It does not.
    Stale(Why),
}

/// What bounds the age of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The rule of its type.
    Rule,
    /// What the client's profile tolerates.
    Profile,
    /// A change under way.
    Unsettled,
    /// The client was shown it before and asks again for news.
    Repeated,
    /// The request's `max-age`.
    Wanted,
}

impl Bound {
    /// The word used for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Profile => "profile",
            Self::Unsettled => "unsettled",
            Self::Repeated => "repeated",
            Self::Wanted => "wanted",
        }
    }

    /// Why an entry older than this bound does not answer.
    #[must_use]
    pub const fn why(self) -> Why {
        match self {
            Self::Rule | Self::Profile => Why::Aged,
            Self::Unsettled => Why::Unsettled,
            Self::Repeated => Why::Repeated,
            Self::Wanted => Why::Wanted,
        }
    }
}

impl Ask {
    /// The bounds that apply.
    pub fn bounds(&self, unsettled: bool, repeated: bool) -> impl Iterator<Item = (Bound, Duration)> {
        let repeated = repeated && self.repeat == Repeat::Refresh;
        let bounds = [
            Some((Bound::Rule, self.rule_age)),
            Some((Bound::Profile, self.profile_age)),
            unsettled.then_some((Bound::Unsettled, self.unsettled_age)),
            repeated.then_some((Bound::Repeated, self.repeat_age)),
            self.tolerance.max_age.map(|age| (Bound::Wanted, age)),
        ];
        bounds.into_iter().flatten()
    }

    /// The smallest bound that applies, and which one it is; of equal ones the first.
    #[must_use]
    pub fn bound(&self, unsettled: bool, repeated: bool) -> (Duration, Bound) {
        let rule = (Bound::Rule, self.rule_age);
        let (bound, age) = self.bounds(unsettled, repeated).min_by_key(|(_, age)| *age).unwrap_or(rule);
        (age, bound)
    }
}

/// Whether an entry answers this asker now. No effects: what it says is what happens, is logged, is
/// explained.
#[must_use]
pub fn judge(entry: &Entry, ask: &Ask, now: Moment) -> Judgement {
    judge_if(entry, ask, now, || entry.was_shown(ask.client))
}

/// The same for a client of which `repeated` says whether it was shown this entry.
#[must_use]
pub fn judge_if(entry: &Entry, ask: &Ask, now: Moment, repeated: impl FnOnce() -> bool) -> Judgement {
    let parts = &entry.parts;
    if !parts.stamp.is_current() {
        return Judgement::Stale(Why::Written);
    }
    if !parts.stamp.is_above_floors(parts.sent) {
        return Judgement::Stale(Why::News);
    }
    if ask.tolerance.no_cache {
        return Judgement::Stale(Why::Wanted);
    }
    let (most, bound) = ask.bound(is_unsettled(entry, now), repeated());
    let age = now.since(parts.sent.at);
    if age > most { Judgement::Stale(bound.why()) } else { Judgement::Fresh { age, ttl: most - age } }
}

/// Whether a change is under way in what an entry depends on or shows.
#[must_use]
pub fn is_unsettled(entry: &Entry, now: Moment) -> bool {
    entry.parts.stamp.is_unsettled(now) || entry.in_progress()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn ask() -> Ask {
        Ask {
            client: 1,
            rule_age: seconds(30),
            profile_age: seconds(15),
            unsettled_age: seconds(2),
            repeat_age: seconds(2),
            repeat: Repeat::Refresh,
            tolerance: Tolerance::default(),
        }
    }

    #[test]
    fn the_smallest_bound_that_applies_holds_and_is_named() {
        assert_eq!(ask().bound(false, false), (seconds(15), Bound::Profile));
        assert_eq!(ask().bound(true, false), (seconds(2), Bound::Unsettled));
        assert_eq!(ask().bound(false, true), (seconds(2), Bound::Repeated));
        let cached = Ask { repeat: Repeat::Cached, ..ask() };
        assert_eq!(cached.bound(false, true), (seconds(15), Bound::Profile));
        let wanting = Tolerance { max_age: Some(seconds(1)), ..Tolerance::default() };
        assert_eq!(Ask { tolerance: wanting, ..ask() }.bound(true, true), (seconds(1), Bound::Wanted));
        assert_eq!(Ask { rule_age: seconds(1), ..ask() }.bound(false, false), (seconds(1), Bound::Rule));
        let lax = Tolerance { max_age: Some(seconds(3600)), ..Tolerance::default() };
        assert_eq!(Ask { tolerance: lax, ..ask() }.bound(false, false), (seconds(15), Bound::Profile));
    }

    #[test]
    fn requests_say_what_they_tolerate() {
        let check = |name: &'static str, value: &str, expected: Tolerance| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(Tolerance::of(&headers), expected, "{name}: {value}");
        };
        let no_cache = Tolerance { no_cache: true, ..Tolerance::default() };
        check("cache-control", "no-cache", no_cache);
        check("cache-control", "private, No-Cache", no_cache);
        check("pragma", "no-cache", no_cache);
        check("cache-control", "max-age=7", Tolerance { max_age: Some(seconds(7)), ..Tolerance::default() });
        check("cache-control", "max-age=x", Tolerance { max_age: Some(seconds(0)), ..Tolerance::default() });
        check("cache-control", "no-store", Tolerance { no_store: true, ..Tolerance::default() });
        check("cache-control", "max-stale=9", Tolerance::default());
    }
}
