//! Numbers, in the Prometheus text format. Every name begins with `armshield_`.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::Line;

/// How many header names are told apart as splitting keys; clients choose them.
const SPLITS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    profile: String,
    intent: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Read {
    profile: String,
    outcome: &'static str,
    why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByProfile {
    profile: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Guarded {
    profile: String,
    source: &'static str,
    result: &'static str,
    mode: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Cause {
    cause: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    intent: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Compared {
    kind: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Header {
    header: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

fn seconds() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

fn ages() -> Histogram {
    Histogram::new([0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0])
}

/// The numbers of one profile's hits, found once: to look for each by its labels takes longer than to count.
#[derive(Debug)]
struct Hits {
    requests: Counter,
    reads: Counter,
    took: Histogram,
    ages: Histogram,
}

/// All numbers.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    reads: Family<Read, Counter>,
    ages: Family<ByProfile, Histogram>,
    took: Family<ByProfile, Histogram>,
    hits: DashMap<Box<str>, Hits>,
    guarded: Family<Guarded, Counter>,
    refused: Family<Cause, Counter>,
    not_stored: Family<Cause, Counter>,
    calls: Family<Call, Counter>,
    failures: Family<Cause, Counter>,
    upstream: Histogram,
    shadow: Family<Compared, Counter>,
    splits: Family<Header, Counter>,
    split_names: Mutex<Vec<String>>,
    operations: Family<Cause, Counter>,
    broken: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("armshield");
        macro_rules! metric {
            ($name:literal, $help:literal, $metric:expr) => {{
                let metric = $metric;
                registry.register($name, $help, metric.clone());
                metric
            }};
        }
        let histogram = |make: fn() -> Histogram| Family::<ByProfile, Histogram>::new_with_constructor(make);
        let build = Family::<Build, Gauge>::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "The version that runs", build);
        let (took, ages) = (histogram(seconds), histogram(ages));
        let upstream = seconds();
        registry.register_with_unit("request", "Time to the end of an answer", Unit::Seconds, took.clone());
        registry.register_with_unit("hit_age", "Age of answers from memory", Unit::Seconds, ages.clone());
        registry.register_with_unit(
            "upstream",
            "Time to the head of ARM's answer",
            Unit::Seconds,
            upstream.clone(),
        );
        Self {
            requests: metric!("requests", "Requests answered", Family::default()),
            reads: metric!("reads", "Reads by what the cache did", Family::default()),
            guarded: metric!("guard", "Guarded writes by source and result", Family::default()),
            refused: metric!("refusals", "Requests armshield refused, by cause", Family::default()),
            not_stored: metric!("not_stored", "Answers not kept, by cause", Family::default()),
            calls: metric!("upstream_calls", "Calls sent to ARM", Family::default()),
            failures: metric!("upstream_failures", "Calls ARM did not answer, by cause", Family::default()),
            shadow: metric!("shadow", "Would-be hits compared with ARM's answer", Family::default()),
            splits: metric!("key_splits", "Reads whose key a header split", Family::default()),
            operations: metric!("operations_ended", "Operations seen to end", Family::default()),
            broken: metric!(
                "broken_answers",
                "Answers that broke off or whose client left",
                Counter::default()
            ),
            took,
            ages,
            hits: DashMap::new(),
            upstream,
            split_names: Mutex::default(),
            registry,
        }
    }
}

impl Metrics {
    /// Counts a request that ended.
    pub fn count(&self, line: &Line<'_>) {
        if let super::Cache::Hit(age) = line.cache {
            self.hit(line, age);
        } else {
            let profile = || line.profile.to_owned();
            let request = Request { profile: profile(), intent: line.intent, status: line.status };
            self.requests.get_or_create(&request).inc();
            self.took.get_or_create(&ByProfile { profile: profile() }).observe(line.total.as_secs_f64());
            if line.cache != super::Cache::None {
                let (outcome, why) = (line.cache.as_str(), line.cache.reason());
                self.reads.get_or_create(&Read { profile: profile(), outcome, why }).inc();
            }
        }
        if !line.refused.is_empty() {
            self.refused(line.refused);
        }
        if !line.complete {
            self.broken.inc();
        }
    }

    /// Counts an answer from memory. All of them are reads answered with 200, as only such answers are kept.
    fn hit(&self, line: &Line<'_>, age: Duration) {
        let count = |hits: &Hits| {
            hits.requests.inc();
            hits.reads.inc();
            hits.took.observe(line.total.as_secs_f64());
            hits.ages.observe(age.as_secs_f64());
        };
        match self.hits.get(line.profile) {
            Some(hits) => count(&hits),
            None => count(&self.hits.entry(line.profile.into()).or_insert_with(|| self.hits_of(line))),
        }
    }

    fn hits_of(&self, line: &Line<'_>) -> Hits {
        let profile = || line.profile.to_owned();
        let request = Request { profile: profile(), intent: line.intent, status: line.status };
        let read = Read { profile: profile(), outcome: line.cache.as_str(), why: line.cache.reason() };
        let of_profile = ByProfile { profile: profile() };
        Hits {
            requests: self.requests.get_or_create_owned(&request),
            reads: self.reads.get_or_create_owned(&read),
            took: self.took.get_or_create_owned(&of_profile),
            ages: self.ages.get_or_create_owned(&of_profile),
        }
    }

    /// Counts a request that armshield refused.
    pub fn refused(&self, cause: &'static str) {
        self.refused.get_or_create(&Cause { cause }).inc();
    }

    /// Counts a guarded write.
    pub fn guarded(&self, profile: &str, source: &'static str, result: &'static str, mode: &'static str) {
        self.guarded.get_or_create(&Guarded { profile: profile.into(), source, result, mode }).inc();
    }

    /// Counts a call that ARM answered.
    pub fn called(&self, intent: &'static str, status: u16, head: Duration) {
        self.calls.get_or_create(&Call { intent, status }).inc();
        self.upstream.observe(head.as_secs_f64());
    }

    /// Counts a call that ARM did not answer.
    pub fn failed(&self, cause: &'static str) {
        self.failures.get_or_create(&Cause { cause }).inc();
    }

    /// Counts an answer that was not kept.
    pub fn not_stored(&self, cause: &'static str) {
        self.not_stored.get_or_create(&Cause { cause }).inc();
    }

    /// Counts a would-be hit that was compared with ARM's answer.
    pub fn compared(&self, kind: &str, result: &'static str) {
        self.shadow.get_or_create(&Compared { kind: kind.into(), result }).inc();
    }

    /// Counts the end of an operation.
    pub fn operation_ended(&self, cause: &'static str) {
        self.operations.get_or_create(&Cause { cause }).inc();
    }

    /// Counts a read whose key a header split. Names beyond the first few count as `other`.
    pub fn split(&self, header: &str) {
        let mut names = self.split_names.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().any(|name| name == header);
        if !known && names.len() < SPLITS {
            names.push(header.to_owned());
        }
        let header = if known || names.iter().any(|name| name == header) { header } else { "other" };
        drop(names);
        self.splits.get_or_create(&Header { header: header.to_owned() }).inc();
    }

    /// The text a scraper reads; `now` are the values that are read when asked for.
    #[must_use]
    pub fn text(&self, now: &[(&str, &str, f64)]) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            return text;
        }
        let end = text.rfind("# EOF").unwrap_or(text.len());
        text.truncate(end);
        for (name, help, value) in now {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "# HELP armshield_{name} {help}\n# TYPE armshield_{name} gauge\narmshield_{name} {value}"
            );
        }
        text.push_str("# EOF\n");
        text
    }
}
