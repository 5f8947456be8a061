//! What `explain` says is what happens then, and saying it changes nothing.

mod random;
mod situations;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::observe::{Format, Log};
use armshield::policy::Mode;
use armshield::proxy::explain::{Asker, Explanation, Inquiry};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::task::yield_now;

use crate::support::client::{AZ, CCM};
use crate::support::eras::address;
use crate::support::written::Written;
use crate::support::{Answer, Call, Client, Reply, World, tokens, world};

/// Where the operations of this ARM are polled.
const POLL: &str = "/subscriptions/1/providers/Microsoft.Compute/locations/e/operations/1?t=signature";

/// What this ARM does next, and what it has.
#[derive(Debug, Default)]
struct State {
    version: u32,
    /// What the next calls are answered.
    next: VecDeque<Reply>,
    /// How long the next call takes.
    slow: Duration,
    /// Whether writes begin operations.
    operations: bool,
}

/// An ARM of which every resource has the same version, which writes move.
#[derive(Debug, Clone, Default)]
struct Scripted(Arc<Mutex<State>>);

impl Scripted {
    fn answer(&self, call: &Call) -> Reply {
        let mut state = self.0.lock().unwrap();
        let slow = std::mem::take(&mut state.slow);
        // A principal that ARM never lets in.
        if call.token() == tokens::token("stranger", 0) {
            return Reply::error(401, "InvalidAuthenticationToken");
        }
        if let Some(next) = state.next.pop_front() {
            return next.after(slow);
        }
        let reads = call.method == "GET" || call.method == "HEAD";
        if !reads {
            state.version += 1;
        }
        let path = call.path().to_ascii_lowercase();
        let shown = |id: &str| {
            let version = state.version;
            format!(
                r#"{{"id":"{id}","etag":"\"{version}\"","properties":{{"vmId":"{id}","provisioningState":"Succeeded"}}}}"#
            )
        };
        let reply = if path.contains("/operations/") {
            Reply::ok(r#"{"status":"Succeeded"}"#)
        } else if reads && path.ends_with("/virtualmachines") {
            let all: Vec<_> = ["a", "b"].iter().map(|name| shown(&format!("{path}/{name}"))).collect();
            Reply::ok(format!(r#"{{"value":[{}]}}"#, all.join(",")))
        } else {
            Reply::ok(shown(&path)).with("etag", &format!("\"{}\"", state.version))
        };
        let begins = !reads && state.operations;
        let reply = if begins {
            reply.with("azure-asyncoperation", &format!("https://management.azure.com{POLL}"))
        } else {
            reply
        };
        reply.after(slow)
    }
}

/// A world whose requests are explained before they are made.
struct Stage {
    world: World,
    arm: Scripted,
    log: Written,
    requests: usize,
}

/// A request.
#[derive(Debug, Clone)]
struct Request {
    who: usize,
    method: &'static str,
    target: String,
    header: Option<(&'static str, String)>,
}

/// Principals, User-Agents and peers. The last one is nobody ARM knows.
const CLIENTS: [(&str, &str, &str); 6] = [
    ("a", AZ, "127.0.0.1:1"),
    ("a", CCM, "127.0.0.1:1"),
    ("b", CCM, "127.0.0.1:1"),
    ("b", CCM, "10.0.0.9:1"),
    ("b", "something/1.0", "127.0.0.1:1"),
    ("stranger", AZ, "10.0.0.66:1"),
];

impl Stage {
    /// Both principals have been let in, in this order: they are `caller-1` and `caller-2`.
    async fn new() -> Self {
        let (arm, log) = (Scripted::default(), Written::default());
        let script = arm.clone();
        let world =
            World::logging(Log::to(log.clone(), Format::Json).unwrap(), move |call| script.answer(call));
        Self::of(world, arm, log).await
    }

    async fn of(world: World, arm: Scripted, log: Written) -> Self {
        let stage = Self { world, arm, log, requests: 0 };
        for (who, label) in [(0, "caller-1"), (2, "caller-2")] {
            stage.client(who).get(&address("SUB/resourceGroups")).await;
            let askers = stage.explain(&Request::get(who, "CMP/virtualMachines/a")).askers;
            assert!(askers.iter().any(|asker| asker.caller == label), "{askers:?}");
        }
        stage
    }

    fn client(&self, who: usize) -> Client {
        let (principal, agent, peer) = CLIENTS[who];
        Client { peer: peer.parse().unwrap(), ..self.world.client(principal).with_agent(agent) }
    }

    fn arm(&self) -> std::sync::MutexGuard<'_, State> {
        self.arm.0.lock().unwrap()
    }

    /// What is said about a request of this client.
    fn explain(&self, request: &Request) -> Explanation {
        let rooms = self.world.proxy.rooms();
        let inquiry = Inquiry::read(&request.inquiry()).unwrap();
        rooms.explain(&inquiry).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// What is said about the caller of a request.
    fn foretold(&self, request: &Request) -> Asker {
        let Explanation { askers, unvouched, .. } = self.explain(request);
        let label = ["caller-1", "caller-1", "caller-2", "caller-2", "caller-2", "nobody"][request.who];
        askers.into_iter().find(|asker| asker.caller == label).unwrap_or(unvouched)
    }

    /// Makes a request and gives back its answer with its line in the log.
    async fn make(&mut self, request: &Request) -> (Answer, Value) {
        self.requests += 1;
        let id = format!("request-{}.", self.requests);
        let client = self.client(request.who);
        let builder = client.request(request.method, &request.target).header("x-ms-client-request-id", &id);
        let builder = match &request.header {
            Some((name, value)) => builder.header(*name, value),
            None => builder,
        };
        let body = if ["PUT", "PATCH", "POST"].contains(&request.method) { "{}" } else { "" };
        let answer = client.send(builder, body).await.unwrap();
        let written = loop {
            let text = self.log.text();
            if let Some(line) = text.lines().find(|line| line.contains(&id)) {
                break serde_json::from_str(line).unwrap();
            }
            yield_now().await;
        };
        (answer, written)
    }

    /// Makes a request that was explained before, and holds what happens to what was said.
    async fn check(&mut self, request: &Request) -> (Asker, Answer) {
        let foretold = self.foretold(request);
        let calls = self.world.arm.calls().len();
        let (answer, line) = self.make(request).await;
        let what = format!("{request:?}\nforetold {foretold:#?}\nanswered {} {line}", answer.status);
        let (outcome, why) = happened(request, &line);
        let same = match foretold.outcome.as_str() {
            // The log does not tell why no entry answered.
            "collapsed" => outcome == "collapsed",
            // What comes of it ARM decides: a token that it lets in is vouched for, another is not any more.
            "miss" if foretold.why == "unvouched" || answer.status == 401 => why == "unvouched",
            told => (told, foretold.why.as_str()) == (outcome, why),
        };
        assert!(same, "{outcome} {why}: {what}");
        if let (true, Some(kept)) = (foretold.outcome == "hit", &foretold.kept) {
            let ttl = format!("armshield; hit; ttl={:.0}", kept.ttl_seconds.unwrap().floor());
            assert_eq!(answer.cache(), ttl, "{what}");
            assert_eq!(answer.header("age"), Some(&*format!("{:.0}", kept.age_seconds.floor())), "{what}");
        }
        if ["hit", "collapsed", "refused"].contains(&foretold.outcome.as_str()) {
            assert_eq!(self.world.arm.calls().len(), calls, "{what}");
        }
        if foretold.outcome == "refused" {
            assert_eq!(
                (answer.status, answer.header("x-ms-failure-cause")),
                (429, Some("armshield")),
                "{what}"
            );
            let seconds = foretold.gate.opens.as_ref().unwrap().seconds;
            assert_eq!(answer.header("retry-after"), Some(&*format!("{:.0}", seconds.ceil())), "{what}");
        }
        if foretold.outcome == "sent" {
            let call = self.world.arm.calls().pop().unwrap();
            check_condition(request, &foretold, &answer, &call, &what);
        }
        (foretold, answer)
    }

    /// Everything that explaining might change.
    fn picture(&self) -> String {
        let rooms = self.world.proxy.rooms();
        format!(
            "{:?} {:?} {:?} {} {} {} {:?} {:?} {}\n{}",
            rooms.admit.status(),
            rooms.fetches(),
            rooms.guard.size(),
            rooms.scopes.len(),
            rooms.store.len(),
            rooms.store.bytes(),
            rooms.identify.splits(),
            rooms.identify.unmatched_agents(),
            rooms.operations.len(),
            rooms.metrics.text(&[]),
        )
    }

    fn switch(&self, mode: Mode, profile: Option<&str>) {
        let rooms = self.world.proxy.rooms();
        let policy = rooms.policy.load().with_mode(mode, profile).unwrap();
        rooms.policy.store(Arc::new(policy));
    }
}

impl Request {
    fn get(who: usize, read: &str) -> Self {
        Self::of(who, "GET", read)
    }

    fn of(who: usize, method: &'static str, read: &str) -> Self {
        let target = if read == POLL { POLL.to_owned() } else { address(read) };
        Self { who, method, target, header: None }
    }

    fn with(self, name: &'static str, value: &str) -> Self {
        Self { header: Some((name, value.to_owned())), ..self }
    }

    /// The query of `/api/explain`.
    fn inquiry(&self) -> String {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let (_, agent, peer) = CLIENTS[self.who];
        let peer = peer.rsplit_once(':').unwrap().0;
        let header = self.header.as_ref().map(|(name, value)| encode(&format!("{name}: {value}")));
        let header = header.map_or_else(String::new, |header| format!("&header={header}"));
        let (url, agent) = (encode(&self.target), encode(agent));
        format!("url={url}&user_agent={agent}&method={}&peer={peer}{header}", self.method)
    }
}

/// What happened to a request, in the words of an explanation, as its line in the log tells it.
fn happened<'a>(request: &Request, line: &'a Value) -> (&'a str, &'a str) {
    let text = |name: &str| line[name].as_str().unwrap_or_default();
    match (text("refused"), text("cache"), text("why")) {
        (cause @ ("gate" | "unvouched"), ..) => ("refused", cause),
        ("", "hit", _) => ("hit", "fresh"),
        ("", "bypass", "discovery") => ("hit", "discovery"),
        ("", "" | "none", _) if text("intent") == "write" => ("sent", "write"),
        ("", "" | "none", _) if request.method != "GET" => ("bypass", "no-rule"),
        ("", cache, why) => (cache, why),
        other => panic!("{other:?}: {line}"),
    }
}

/// Holds a write to the condition that was foretold.
fn check_condition(request: &Request, foretold: &Asker, answer: &Answer, call: &Call, what: &str) {
    let own = request.header.as_ref().filter(|(name, _)| *name == "if-match").map(|(_, value)| &**value);
    let Some(condition) = &foretold.condition else {
        assert_eq!((answer.guard(), call.header("if-match")), ("", own), "{what}");
        return;
    };
    let added = condition.etag.as_deref().filter(|_| condition.sends);
    assert_eq!(call.header("if-match"), own.or(added), "{what}");
    assert_eq!(own.is_some(), condition.source == "client", "{what}");
    let said = answer.guard();
    assert!(said.starts_with(&format!("source={}", condition.source)), "{said} {what}");
    // Whom ARM does not let in is told no version that was shown to anybody.
    let etag = condition.etag.as_ref().map(|etag| format!(r#"etag="{}""#, etag.replace('"', r#"\""#)));
    match etag.filter(|_| condition.source == "client" || answer.status != 401) {
        Some(etag) => assert!(said.contains(&etag), "{said} {what}"),
        None => assert!(!said.contains("etag="), "{said} {what}"),
    }
}
