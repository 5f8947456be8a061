//! The Go SDK as `azclient` sets it up for the cloud-controller-manager, the autoscaler and the disk driver.
//!
//! Sources: kubernetes-sigs/cloud-provider-azure `pkg/azclient/utils/options.go` (three retries, 5 s doubled,
//! 429 not among the statuses that are retried), `pkg/azclient/policy/retryrepectthrottled` (a 429 becomes an
//! error, and until its `Retry-After` no call of that sort leaves the process), azcore's
//! `internal/pollers/async` and `runtime/pager.go`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::support::{Answer, Client, world};

/// Why there is no answer to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// 429, in the end.
    Throttled,
    /// Another status than hoped for, with ARM's code.
    Refused(u16, String),
    /// The operation ended badly, with this code.
    Failed(String),
}

impl Trouble {
    fn of(answer: &Answer) -> Self {
        let code = answer.json()["error"]["code"].as_str().unwrap_or("").to_owned();
        Self::Refused(answer.status, code)
    }

    /// Somebody else changed what the write was built on, or went first.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Refused(status, _) => *status == 412,
            Self::Failed(code) => code.eq_ignore_ascii_case("CanceledAndSupersededDueToAnotherOperation"),
            Self::Throttled => false,
        }
    }
}

/// One exchange as the client saw it.
#[derive(Debug, Clone)]
pub struct Line {
    pub method: String,
    pub path: String,
    pub query: String,
    pub asked: Instant,
    /// When the whole answer was there.
    pub answered: Instant,
    pub answer: Answer,
}

impl Line {
    pub fn is(&self, method: &str, path_end: &str) -> bool {
        self.method == method && self.path.ends_with(path_end)
    }

    /// Whether it was answered from memory, or by somebody else's call.
    pub fn cost_no_call(&self) -> bool {
        self.answer.is_hit() || self.answer.cache().ends_with("collapsed")
    }
}

/// A client of ARM in one process. Clones are that same process.
#[derive(Debug, Clone)]
pub struct Sdk {
    client: Client,
    /// How often it polls where ARM does not say.
    pace: Duration,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    diary: Vec<Line>,
    /// Until when no call to a type leaves: reads and writes apart.
    blocked: HashMap<(String, bool), Instant>,
}

/// A write that was accepted, and where it goes on.
#[derive(Debug)]
pub struct Begun {
    target: String,
    method: String,
    first: Answer,
}

const RETRIES: [u64; 4] = [5, 15, 35, 0];
/// A longer `Retry-After` is not waited for (azcore's `MaxRetryDelay`).
const PATIENCE: Duration = Duration::from_secs(60);

impl Sdk {
    pub fn new(client: Client, pace: u64) -> Self {
        Self { client, pace: Duration::from_secs(pace), shared: Arc::default() }
    }

    /// The process was killed and started again: it knows nothing, its token is kept by the platform.
    pub fn restarted(&self) -> Self {
        Self { shared: Arc::default(), ..self.clone() }
    }

    /// All that was asked and answered so far.
    pub fn diary(&self) -> Vec<Line> {
        self.shared.lock().unwrap().diary.clone()
    }

    /// What the guard said about the writes to a resource, in order.
    pub fn guarded(&self, method: &str, path_end: &str) -> Vec<(u16, String)> {
        let lines = self.diary().into_iter().filter(|line| line.is(method, path_end));
        lines.map(|line| (line.answer.status, line.answer.guard().to_owned())).collect()
    }

    pub async fn get(&self, target: &str) -> Result<Answer, Trouble> {
        let answer = self.send("GET", target, None, None).await?;
        if answer.status == 200 { Ok(answer) } else { Err(Trouble::of(&answer)) }
    }

    /// All items of a list, its pages one after another.
    pub async fn list(&self, target: &str) -> Result<Vec<Value>, Trouble> {
        let (mut items, mut next) = (Vec::new(), Some(target.to_owned()));
        while let Some(target) = next {
            let page = self.get(&target).await?.json();
            items.extend(page["value"].as_array().unwrap().iter().cloned());
            next = page["nextLink"].as_str().map(|link| self.led(link));
        }
        Ok(items)
    }

    /// A PUT to its end: what the resource is then.
    pub async fn put(&self, target: &str, body: &Value, if_match: Option<&str>) -> Result<Value, Trouble> {
        let begun = self.begin("PUT", target, Some(body), if_match).await?;
        Ok(self.finish(begun).await?.json())
    }

    /// A DELETE or a POST to its end.
    pub async fn act(&self, method: &str, target: &str, body: Option<&Value>) -> Result<(), Trouble> {
        let begun = self.begin(method, target, body, None).await?;
        self.finish(begun).await.map(drop)
    }

    /// A write, up to ARM's first answer.
    pub async fn begin(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<Begun, Trouble> {
        let first = self.send(method, target, body, if_match).await?;
        if !(200..300).contains(&first.status) {
            return Err(Trouble::of(&first));
        }
        Ok(Begun { target: target.to_owned(), method: method.to_owned(), first })
    }

    /// Polls what a write began. A PUT ends with a read of the resource at the address it was written to.
    pub async fn finish(&self, begun: Begun) -> Result<Answer, Trouble> {
        let Begun { target, method, first } = begun;
        let puts = method == "PUT";
        let link = first.header("azure-asyncoperation").or(first.header("location"));
        let link = link.map(|link| self.led(link));
        let Some(poll) = link.or_else(|| (puts && is_under_way(&first.json())).then(|| target.clone()))
        else {
            return Ok(first);
        };
        let mut wait = retry_after(&first);
        loop {
            world::pass(wait.unwrap_or(self.pace)).await;
            let status = self.send("GET", &poll, None, None).await?;
            wait = retry_after(&status);
            if status.status == 202 {
                continue;
            }
            if !(200..300).contains(&status.status) {
                return Err(Trouble::of(&status));
            }
            if poll == target {
                if is_under_way(&status.json()) {
                    continue;
                }
                return Ok(status);
            }
            if status.body.is_empty() {
                return Ok(status);
            }
            match status.json()["status"].as_str() {
                Some("InProgress") => {}
                Some("Succeeded") if puts => return self.get(&target).await,
                Some("Succeeded") => return Ok(status),
                _ => {
                    let code = status.json()["error"]["code"].as_str().unwrap_or("").to_owned();
                    return Err(Trouble::Failed(code));
                }
            }
        }
    }

    /// Where a link leads, which is where this client dials anyway.
    fn led(&self, link: &str) -> String {
        let (_, rest) = link.split_once("://").unwrap();
        let (authority, _) = rest.split_once('/').unwrap();
        assert_eq!(authority, self.client.host, "led elsewhere: {link}");
        rest[authority.len()..].to_owned()
    }

    async fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<Answer, Trouble> {
        let sort = (kind_of(target), method != "GET");
        for retry in RETRIES {
            let blocked = self.shared.lock().unwrap().blocked.get(&sort).copied();
            if blocked.is_none_or(|until| until <= Instant::now()) {
                let answer = self.exchange(method, target, body, if_match).await;
                match (answer.status, retry_after(&answer)) {
                    (429, Some(wait)) => {
                        let until = Instant::now() + wait;
                        self.shared.lock().unwrap().blocked.insert(sort.clone(), until);
                        if wait > PATIENCE || retry == 0 {
                            return Err(Trouble::Throttled);
                        }
                        world::pass(wait).await;
                        continue;
                    }
                    (429, None) => return Err(Trouble::Throttled),
                    (408 | 500 | 502..=504, _) if retry > 0 => {}
                    _ => return Ok(answer),
                }
            }
            world::seconds(retry).await;
        }
        Err(Trouble::Throttled)
    }

    async fn exchange(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Answer {
        let asked = Instant::now();
        let mut request = self.client.request(method, target);
        if let Some(etag) = if_match {
            request = request.header("if-match", etag);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let text = body.map_or_else(String::new, Value::to_string);
        let answer = self.client.send(request, &text).await.unwrap();
        let (path, query) = target.split_once('?').unwrap();
        let line = Line {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            asked,
            answered: Instant::now(),
            answer: answer.clone(),
        };
        self.shared.lock().unwrap().diary.push(line);
        answer
    }
}

fn retry_after(answer: &Answer) -> Option<Duration> {
    answer.header("retry-after").map(|value| Duration::from_secs(value.parse().unwrap()))
}

fn is_under_way(body: &Value) -> bool {
    let state = body["properties"]["provisioningState"].as_str().unwrap_or("Succeeded");
    !["Succeeded", "Failed", "Canceled"].contains(&state)
}

/// The type a path is about, which is what SDKs have a client for.
fn kind_of(target: &str) -> String {
    let path = target.split('?').next().unwrap();
    let (_, tail) = path.rsplit_once("/providers/").unwrap_or(("", path));
    tail.split('/').skip(1).step_by(2).collect::<Vec<_>>().join("/")
}
