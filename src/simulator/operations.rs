//! Long-running operations: what they do at their end, and the signed URLs at which they are polled.
//!
//! Shapes from the recordings of `kubernetes-sigs/cloud-provider-azure`; statuses and headers from
//! `Azure/azure-resource-manager-rpc`, `async-api-reference.md`. The signature `h` covers path and query,
//! byte for byte; whether ARM's covers the host is not known, so ours does not.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::state::State;
use super::store::Power;

/// What the end of an operation does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The resource is done.
    Settle(String),
    Remove(String),
    Power(String, Power),
    RemoveGroup(String),
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `error.code` of the status.
    pub code: String,
    /// `error.message` of the status.
    pub message: String,
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) began: Duration,
    pub(crate) ended: Option<Duration>,
    pub(crate) failure: Option<Failure>,
    pub(crate) effects: Vec<Effect>,
    /// What the `Location` answers at the end.
    pub(crate) last_status: u16,
}

/// All operations, ended ones included.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    pub(crate) known: HashMap<String, Operation>,
    /// Failures that wait for the operations to come.
    pub(crate) planned: VecDeque<Failure>,
    secret: [u8; 32],
    certificate: String,
}

/// Where the client finds an operation.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    pub(crate) status: String,
    pub(crate) result: String,
}

impl Operations {
    pub(crate) fn new(seed: u64, certificate: String) -> Self {
        let secret = blake3::derive_key("arm-simulator operation urls", &seed.to_le_bytes());
        Self { secret, certificate, ..Self::default() }
    }

    /// The URLs of an operation, without scheme and host.
    pub(crate) fn links(
        &self,
        subscription: &str,
        location: &str,
        operation: &Operation,
        version: &str,
        ticks: u64,
    ) -> Links {
        let (namespace, id) = (&operation.namespace, &operation.id);
        let base = format!("/subscriptions/{subscription}/providers/{namespace}/locations/{location}");
        if namespace.eq_ignore_ascii_case("Microsoft.Resources") {
            let link = self.sign(
                format!("/subscriptions/{subscription}/operationresults/{id}?api-version={version}"),
                ticks,
            );
            return Links { status: link.clone(), result: link };
        }
        if namespace.eq_ignore_ascii_case("Microsoft.Compute") {
            let common = format!("{base}/operations/{id}?p={id}&api-version={version}");
            return Links {
                status: self.sign(common.clone(), ticks),
                result: self.sign(format!("{common}&monitor=true"), ticks),
            };
        }
        Links {
            status: self.sign(format!("{base}/operations/{id}?api-version={version}"), ticks),
            result: self.sign(format!("{base}/operationResults/{id}?api-version={version}"), ticks),
        }
    }

    fn sign(&self, mut link: String, ticks: u64) -> String {
        let digest = blake3::keyed_hash(&self.secret, link.as_bytes()).to_hex();
        link.push_str(&format!("&t={ticks}&c={}&s={digest}{digest}", self.certificate));
        let digest = self.digest(&link);
        link + "&h=" + &digest
    }

    fn digest(&self, link: &str) -> String {
        blake3::keyed_hash(&self.secret, link.as_bytes()).to_hex()[..43].to_owned()
    }

    /// Whether a path and query were made here and nothing was changed in them.
    pub(crate) fn genuine(&self, target: &str) -> bool {
        target.rsplit_once("&h=").is_some_and(|(link, digest)| self.digest(link) == digest)
    }

    /// The answer to a poll; `stamp` writes a time, `retry_after` goes with all that is not over.
    pub(crate) fn poll(
        &self,
        target: &str,
        id: &str,
        result: bool,
        stamp: impl Fn(Duration) -> String,
        retry_after: Option<u64>,
    ) -> Answer {
        if !self.genuine(target) {
            return answers::gateway(403, "Forbidden", "The signature of the operation URL is not valid.");
        }
        let Some(operation) = self.known.get(id) else { return answers::instance_not_found() };
        let author = match operation.namespace.as_str() {
            "Microsoft.Compute" => Author::Compute,
            "Microsoft.Network" => Author::Network,
            _ => Author::Other,
        };
        let waiting = |answer: Answer| match retry_after {
            Some(seconds) => answer.with("retry-after", &seconds.to_string()),
            None => answer,
        };
        if result {
            return match operation.ended {
                Some(_) => Answer::empty(operation.last_status, author),
                None => waiting(Answer::empty(202, author)),
            };
        }
        let status = match (operation.ended, &operation.failure) {
            (None, _) => "InProgress",
            (Some(_), None) => "Succeeded",
            (Some(_), Some(_)) => "Failed",
        };
        let mut body = json!({"status": status});
        if author != Author::Network {
            body["startTime"] = json!(stamp(operation.began));
            body["name"] = json!(operation.id);
            if let Some(ended) = operation.ended {
                body["endTime"] = json!(stamp(ended));
            }
        }
        if let Some(failure) = &operation.failure {
            body["error"] = json!({"code": failure.code, "message": failure.message});
        }
        let answer = Answer::json(200, author, &body);
        if operation.ended.is_none() { waiting(answer) } else { answer }
    }
}

impl State {
    /// Adds to an answer where its operation is found.
    pub(crate) fn announce(&self, ask: &Ask, answer: Answer, operation: &str, accepted: bool) -> Answer {
        let Some(operation) = self.operations.known.get(operation) else { return answer };
        let subscription = ask.address.subscription.as_deref().unwrap_or("");
        let ticks = 621_355_968_000_000_000
            + self.time.unix() * 10_000_000
            + u64::from(self.now.subsec_nanos()) / 100;
        let location = &self.options.location;
        let links = self.operations.links(subscription, location, operation, &ask.version(), ticks);
        let mut answer = answer;
        let is_group = operation.namespace == "Microsoft.Resources";
        if !is_group {
            answer = answer.with("azure-asyncnotification", "Enabled");
            answer = answer.with("azure-asyncoperation", &format!("{}{}", ask.base, links.status));
        }
        if accepted {
            answer = answer.with("location", &format!("{}{}", ask.base, links.result));
        }
        match self.options.retry_after {
            Some(seconds) => answer.with("retry-after", &seconds.to_string()),
            None => answer,
        }
    }
}

/// The end of an operation that a later one on the same resource pushed out of its way.
pub(crate) fn preempted(namespace: &str) -> Failure {
    let (code, message) = if namespace.eq_ignore_ascii_case("Microsoft.Network") {
        (
            "CanceledAndSupersededDueToAnotherOperation",
            "Operation was canceled and superseded due to another operation on the same resource.",
        )
    } else {
        ("OperationPreempted", "Operation execution has been preempted by a more recent operation.")
    };
    Failure { code: code.to_owned(), message: message.to_owned() }
}

/// The states in which nothing goes on.
pub(crate) fn is_terminal(body: &Value) -> bool {
    let state = body["properties"]["provisioningState"].as_str().unwrap_or("Succeeded");
    ["succeeded", "failed", "canceled"].iter().any(|word| state.eq_ignore_ascii_case(word))
}
