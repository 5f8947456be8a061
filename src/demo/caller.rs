//! A client at work: asks, waits when told to, follows what its writes began, and writes everything down.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::Full;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::book::{Book, Exchange, Said};
use super::lost::{Change, Field};
use super::scale::seconds;
use super::who::Who;
use super::wire::{Road, Wire};
use super::witness::Witness;

/// How long after the end of a phase what is under way may be brought to its end.
const GRACE: Duration = seconds(40);

/// When a phase began and ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) began: Instant,
    pub(super) until: Instant,
}

impl Span {
    /// A phase that begins now.
    pub(super) fn of(length: Duration) -> Self {
        let began = Instant::now();
        Self { began, until: began + length }
    }

    /// Whether it is over.
    pub(super) fn is_over(self) -> bool {
        Instant::now() >= self.until
    }

    /// Waits until so long after the beginning, at most to the end; whether there is time left.
    pub(super) async fn reach(self, after: Duration) -> bool {
        sleep_until((self.began + after).min(self.until)).await;
        !self.is_over()
    }

    /// Waits for so long, at most to the end; whether there is time left.
    pub(super) async fn rest(self, time: Duration) -> bool {
        self.reach(self.began.elapsed() + time).await
    }
}

/// What a request came to.
#[derive(Debug)]
pub(super) struct Answer {
    /// `None`: no answer.
    pub(super) status: Option<u16>,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Answer {
    fn none() -> Self {
        Self { status: None, headers: HeaderMap::new(), body: Value::Null }
    }

    pub(super) fn is_good(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// The body, if the answer is good.
    pub(super) fn shown(self) -> Option<Value> {
        self.is_good().then_some(self.body)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// How a write ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Accepted, and what it began ended well; what a last GET showed.
    Done(Value),
    /// ARM says that the resource is not the one the write was built on.
    Conflict,
    /// Accepted, and what it began failed or was not seen to end.
    Failed,
    /// Refused otherwise, or not answered.
    Refused,
}

/// What a write is to change, for the record.
#[derive(Debug)]
pub(super) struct Meant<'a> {
    pub(super) field: Field,
    /// What the write was built from.
    pub(super) from: &'a Value,
    pub(super) wrote: Option<String>,
}

/// A write.
#[derive(Debug)]
pub(super) struct Write<'a> {
    pub(super) method: Method,
    pub(super) target: &'a str,
    pub(super) body: Option<Value>,
    pub(super) condition: Option<&'a str>,
    pub(super) meant: Option<Meant<'a>>,
    /// How often it is asked whether the operation has ended.
    pub(super) poll: Duration,
}

#[derive(Debug)]
struct Inner {
    who: Who,
    token: String,
    wire: Wire,
    span: Span,
    book: Arc<Mutex<Book>>,
    witness: Mutex<Witness>,
}

/// A client. Cloned handles are the same one.
#[derive(Debug, Clone)]
pub(super) struct Caller(Arc<Inner>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Caller {
    pub(super) fn new(who: Who, token: String, road: Road, span: Span, book: Arc<Mutex<Book>>) -> Self {
        let wire = Wire::new(road);
        Self(Arc::new(Inner { who, token, wire, span, book, witness: Mutex::default() }))
    }

    pub(super) fn span(&self) -> Span {
        self.0.span
    }

    fn now(&self) -> Duration {
        self.0.span.began.elapsed()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.0.book)
    }

    /// What the client knows of its own writes.
    pub(super) fn witness(&self, note: impl FnOnce(&mut Witness, Duration)) {
        note(&mut lock(&self.0.witness), self.now());
    }

    /// A piece of work is done.
    pub(super) fn done(&self) {
        self.book().done += 1;
    }

    /// A GET; the body if the answer is good.
    pub(super) async fn get(&self, target: &str) -> Option<Value> {
        self.ask(Method::GET, target, None, None).await.shown()
    }

    /// The items of a list.
    pub(super) async fn list(&self, target: &str) -> Option<Vec<Value>> {
        match self.get(target).await?["value"].take() {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Asks, and asks again after `Retry-After` when told to wait.
    async fn ask(
        &self,
        method: Method,
        target: &str,
        body: Option<&Value>,
        condition: Option<&str>,
    ) -> Answer {
        let begun = Instant::now();
        let mut tries = 0;
        let answer = loop {
            let answer = self.exchange(&method, target, body, condition).await;
            let wait =
                answer.header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
            let (Some(429), Some(wait)) = (answer.status, wait) else { break answer };
            tries += 1;
            if tries > self.0.who.patience() || !self.wait(wait).await {
                break answer;
            }
        };
        self.book().took.push(begun.elapsed());
        answer
    }

    /// Waits as told; whether it is worth asking again.
    async fn wait(&self, told: Duration) -> bool {
        let left = self.0.span.until.saturating_duration_since(Instant::now());
        self.book().waited += told.min(left);
        sleep_until(Instant::now() + told.min(left)).await;
        told < left
    }

    async fn exchange(
        &self,
        method: &Method,
        target: &str,
        body: Option<&Value>,
        condition: Option<&str>,
    ) -> Answer {
        let (who, begun) = (self.0.who, self.now());
        let id = {
            let mut book = self.book();
            book.next += 1;
            format!("00000000-0000-4000-8000-{:012}", book.next)
        };
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::USER_AGENT, who.agent())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.0.token))
            .header(header::ACCEPT, "application/json")
            .header("x-ms-client-request-id", &id);
        if let Some(condition) = condition {
            request = request.header(header::IF_MATCH, condition);
        }
        let body = body.map(Value::to_string);
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let answer = match request.body(Full::new(Bytes::from(body.unwrap_or_default()))) {
            Ok(request) => self.0.wire.send(request).await.map_or_else(
                |_| Answer::none(),
                |(head, body)| Answer {
                    status: Some(head.status.as_u16()),
                    headers: head.headers,
                    body: serde_json::from_slice(&body).unwrap_or(Value::Null),
                },
            ),
            Err(_) => Answer::none(),
        };
        let ended = self.now();
        let stale = self.judge(method, target, begun, ended, &answer);
        let mut book = self.book();
        book.stale += stale;
        book.exchanges.push(Exchange {
            id,
            who,
            method: method.clone(),
            target: target.to_owned(),
            ended,
            status: answer.status,
            said: Said::of(&answer.headers),
            conditional: condition.is_some(),
        });
        answer
    }

    /// Holds an answer against the client's own writes.
    fn judge(
        &self,
        method: &Method,
        target: &str,
        begun: Duration,
        ended: Duration,
        answer: &Answer,
    ) -> usize {
        let path = target.split('?').next().unwrap_or("");
        let mut witness = lock(&self.0.witness);
        match (method, answer.status) {
            (&Method::GET, Some(200)) => witness.read(path, begun, ended, &answer.body),
            (&Method::GET, Some(404)) => witness.found_nothing(path, begun),
            (&Method::PUT, Some(status @ (200 | 201))) => {
                witness.wrote(begun, ended, status == 201, &answer.body);
                0
            }
            _ => 0,
        }
    }

    /// Writes, and follows what that began to its end, as the SDKs do: polls, then a last GET after a PUT.
    pub(super) async fn write(&self, write: Write<'_>) -> Outcome {
        let Write { method, target, body, condition, meant, poll } = write;
        let answer = self.ask(method.clone(), target, body.as_ref(), condition).await;
        match answer.status {
            Some(200..300) => {}
            Some(412) => return Outcome::Conflict,
            _ => return Outcome::Refused,
        }
        if method == Method::DELETE {
            self.witness(|witness, now| witness.deleted(path_of(target), now));
        }
        let ended = self.follow(&answer, poll).await;
        let last = match (ended, &method) {
            (true, &Method::PUT) => self.get(target).await,
            (true, _) => Some(Value::Null),
            (false, _) => None,
        };
        if let Some(meant) = meant {
            self.changed(path_of(target), meant, ended);
        }
        last.map_or(Outcome::Failed, Outcome::Done)
    }

    /// A change was accepted; `acknowledged` says whether it is also known to be done.
    pub(super) fn changed(&self, resource: &str, meant: Meant<'_>, acknowledged: bool) {
        let Meant { field, from, wrote } = meant;
        let (writer, saw) = (self.0.who.as_str(), field.of(from));
        let change = Change { writer, resource: resource.to_owned(), field, saw, wrote, acknowledged };
        self.book().changes.push(change);
    }

    /// Polls until an operation ends; whether it ended well.
    async fn follow(&self, begun: &Answer, pace: Duration) -> bool {
        let link = begun.header("azure-asyncoperation").or_else(|| begun.header("location"));
        // No link: it is over.
        let Some(target) = link.map(|link| target_of(link).to_owned()) else { return true };
        while Instant::now() < self.0.span.until + GRACE {
            sleep_until(Instant::now() + pace).await;
            let answer = self.ask(Method::GET, &target, None, None).await;
            match (answer.status, answer.body["status"].as_str()) {
                (Some(200), Some("Succeeded")) | (Some(200 | 204), None) => return true,
                (Some(200), Some("InProgress")) | (Some(202 | 429), _) => {}
                _ => return false,
            }
        }
        false
    }
}

/// The path of a target.
fn path_of(target: &str) -> &str {
    target.split('?').next().unwrap_or("")
}

/// Path and query of an absolute link.
fn target_of(link: &str) -> &str {
    let rest = link.split_once("://").map_or(link, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_on_the_own_connection() {
        assert_eq!(target_of("http://127.0.0.1:7788/subscriptions/s?a=b"), "/subscriptions/s?a=b");
        assert_eq!(target_of("https://management.azure.com/x"), "/x");
        assert_eq!(path_of("/x/y?api-version=1"), "/x/y");
    }

    #[tokio::test(start_paused = true)]
    async fn a_span_lets_nobody_wait_beyond_its_end() {
        let span = Span::of(Duration::from_secs(10));
        assert!(span.reach(Duration::from_secs(4)).await);
        assert!(span.rest(Duration::from_secs(4)).await);
        assert!(!span.rest(Duration::from_secs(4)).await);
        assert_eq!(span.began.elapsed(), Duration::from_secs(10));
    }
}
