//! Writes: sent, followed to the end of what they began, and written down for what they meant to change.

use std::time::Duration;

use http::Method;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::caller::{Answer, Caller};
use super::lost::{Change, Fate, Field};
use super::scale::seconds;

/// How long after the end of a phase what is under way may be brought to its end.
const GRACE: Duration = seconds(40);

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
    /// The resource's id.
    pub(super) resource: &'a str,
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

/// A write that was accepted.
#[derive(Debug)]
pub(super) struct Accepted {
    answer: Answer,
    /// Where its change is written down.
    change: Option<usize>,
}

impl Caller {
    /// Writes, and follows what that began to its end.
    pub(super) async fn write(&self, write: Write<'_>) -> Outcome {
        match self.begin(&write).await {
            Ok(accepted) => self.finish(write, accepted).await,
            Err(outcome) => outcome,
        }
    }

    /// Sends a write, and says whether it was accepted.
    pub(super) async fn begin(&self, write: &Write<'_>) -> Result<Accepted, Outcome> {
        let Write { method, target, body, condition, meant, .. } = write;
        // Before it is sent: from then on it may be seen in ARM.
        let change = meant.as_ref().map(|meant| self.sent(meant));
        let answer = self.ask(method.clone(), target, body.as_ref(), *condition).await;
        if answer.is_good() {
            if *method == Method::DELETE {
                self.witness(|witness, now| witness.deleted(path_of(target), now));
            }
            return Ok(Accepted { answer, change });
        }
        if answer.status.is_some() {
            self.came_to(change, Fate::Refused);
        }
        Err(if answer.status == Some(412) { Outcome::Conflict } else { Outcome::Refused })
    }

    /// Follows what an accepted write began to its end, as the SDKs do: polls, then a last GET after a PUT.
    pub(super) async fn finish(&self, write: Write<'_>, accepted: Accepted) -> Outcome {
        let Accepted { answer, change } = accepted;
        if !self.follow(&answer, write.poll).await {
            return Outcome::Failed;
        }
        self.came_to(change, Fate::Acknowledged);
        if write.method == Method::PUT {
            return self.get(write.target).await.map_or(Outcome::Failed, Outcome::Done);
        }
        Outcome::Done(Value::Null)
    }

    /// Writes a change down; its place.
    fn sent(&self, meant: &Meant<'_>) -> usize {
        let change = Change {
            writer: self.who().as_str(),
            resource: meant.resource.to_owned(),
            field: meant.field.clone(),
            saw: meant.field.of(meant.from),
            wrote: meant.wrote.clone(),
            fate: Fate::Sent,
        };
        let mut book = self.book();
        book.changes.push(change);
        book.changes.len() - 1
    }

    fn came_to(&self, change: Option<usize>, fate: Fate) {
        let Some(at) = change else { return };
        if let Some(change) = self.book().changes.get_mut(at) {
            change.fate = fate;
        }
    }

    /// Polls until an operation ends; whether it ended well.
    async fn follow(&self, begun: &Answer, pace: Duration) -> bool {
        let link = begun.header("azure-asyncoperation").or_else(|| begun.header("location"));
        // No link: it is over.
        let Some(target) = link.map(|link| target_of(link).to_owned()) else { return true };
        while Instant::now() < self.span().until + GRACE {
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
}
