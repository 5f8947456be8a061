//! A client at work: asks, waits when told to, and writes everything down.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::Full;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::book::{Book, Exchange, Said};
use super::span::Span;
use super::who::Who;
use super::wire::{Road, Wire};
use super::witness::Witness;

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

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
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

    pub(super) fn who(&self) -> Who {
        self.0.who
    }

    pub(super) fn span(&self) -> Span {
        self.0.span
    }

    fn now(&self) -> Duration {
        self.0.span.began.elapsed()
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
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
    pub(super) async fn ask(
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
}
