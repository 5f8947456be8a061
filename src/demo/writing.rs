//! Writes: sent, followed to the end of what they began, and written down for what they meant to change.

use std::time::Duration;

use http::Method;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::caller::{Answer, Caller};
use super::lost::{Change, Field};
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

impl Caller {
    /// Writes, and follows what that began to its end.
    pub(super) async fn write(&self, write: Write<'_>) -> Outcome {
        match self.begin(&write).await {
            Ok(accepted) => self.finish(write, accepted).await,
            Err(outcome) => outcome,
        }
    }

    /// Sends a write; its answer, if it was accepted.
    pub(super) async fn begin(&self, write: &Write<'_>) -> Result<Answer, Outcome> {
        let Write { method, target, body, condition, .. } = write;
        let answer = self.ask(method.clone(), target, body.as_ref(), *condition).await;
        match answer.status {
            Some(200..300) => {}
            Some(412) => return Err(Outcome::Conflict),
            _ => return Err(Outcome::Refused),
        }
        if *method == Method::DELETE {
            self.witness(|witness, now| witness.deleted(path_of(target), now));
        }
        Ok(answer)
    }

    /// Follows what an accepted write began to its end, as the SDKs do: polls, then a last GET after a PUT.
    pub(super) async fn finish(&self, write: Write<'_>, accepted: Answer) -> Outcome {
        let Write { method, target, meant, poll, .. } = write;
        let ended = self.follow(&accepted, poll).await;
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
        let (writer, saw) = (self.who().as_str(), field.of(from));
        let change = Change { writer, resource: resource.to_owned(), field, saw, wrote, acknowledged };
        self.book().changes.push(change);
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
