//! The 429s of both schemes, and of what is none.
//!
//! Bodies: `MicrosoftDocs/SupportArticles-docs` `troubleshooting-throttling-errors.md` for Compute; public issues
//! (velero-io/velero 9171, webdevops/azure-metrics-exporter 36) for ARM.

use http::Method;
use serde_json::json;

use super::answers::{self, Answer, Author};
use super::throttle::Charge;

/// The sort of a 429.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Throttled {
    /// ARM: subscription and principal (`SubscriptionRequestsThrottled`).
    Subscription,
    /// ARM: tenant and principal.
    Tenant,
    /// ARM: one resource (`ResourceRequestsThrottled`).
    Resource,
    /// ARM: one collection (`ResourceCollectionRequestsThrottled`).
    Collection,
    /// Compute, naming this policy.
    Compute(String),
    /// Compute, in the form of its documentation, not wrapped in `error`.
    ComputeBare(String),
    /// Network's lock, which is no throttle.
    NetworkLock,
}

/// ARM's three sorts of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Reads,
    Writes,
    Deletes,
}

impl Word {
    pub(crate) fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD | Method::OPTIONS => Self::Reads,
            Method::DELETE => Self::Deletes,
            _ => Self::Writes,
        }
    }

    pub(crate) const fn header(self, global: bool) -> &'static str {
        match (self, global) {
            (Self::Reads, false) => "x-ms-ratelimit-remaining-subscription-reads",
            (Self::Writes, false) => "x-ms-ratelimit-remaining-subscription-writes",
            (Self::Deletes, false) => "x-ms-ratelimit-remaining-subscription-deletes",
            (Self::Reads, true) => "x-ms-ratelimit-remaining-subscription-global-reads",
            (Self::Writes, true) => "x-ms-ratelimit-remaining-subscription-global-writes",
            (Self::Deletes, true) => "x-ms-ratelimit-remaining-subscription-global-deletes",
        }
    }

    pub(crate) const fn tenant(self) -> &'static str {
        match self {
            Self::Reads => "x-ms-ratelimit-remaining-tenant-reads",
            Self::Writes | Self::Deletes => "x-ms-ratelimit-remaining-tenant-writes",
        }
    }
}

/// The 429 of a scheme.
pub(crate) fn refuse(
    throttled: &Throttled,
    retry_after: Option<u64>,
    call: &Charge<'_>,
    stamp: &str,
) -> Answer {
    let after = retry_after.unwrap_or(0);
    let subscription = call.address.subscription.as_deref().unwrap_or("");
    let word = match Word::of(call.method) {
        Word::Reads => "read",
        Word::Writes => "write",
        Word::Deletes => "delete",
    };
    let action = format!("{}/{word}", call.address.kind());
    let answer = match throttled {
        Throttled::Subscription => answers::gateway(
            429,
            "SubscriptionRequestsThrottled",
            &format!(
                "Number of '{word}' requests for subscription '{subscription}' actor '{}' exceeded. Please try again \
                 after '{after}' seconds after additional tokens are available. Refer to \
                 https://aka.ms/arm-throttling for additional information.",
                call.principal
            ),
        ),
        Throttled::Tenant => answers::gateway(
            429,
            "TenantRequestsThrottled",
            &format!(
                "Number of '{word}' requests for tenant actor '{}' exceeded. Please try again after '{after}' seconds \
                 after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional \
                 information.",
                call.principal
            ),
        ),
        Throttled::Resource | Throttled::Collection => {
            let code = match throttled {
                Throttled::Resource => "ResourceRequestsThrottled",
                _ => "ResourceCollectionRequestsThrottled",
            };
            let message = format!(
                "Operation '{action}' failed as server encountered too many requests. Please try after '{after}' \
                 seconds. Tracking Id is '00000000-0000-0000-0000-000000000000'."
            );
            answers::gateway(429, code, &message)
        }
        Throttled::Compute(policy) => {
            Answer::json(429, Author::Compute, &json!({"error": compute_refusal(policy, stamp)}))
        }
        Throttled::ComputeBare(policy) => Answer::json(429, Author::Compute, &compute_refusal(policy, stamp)),
        Throttled::NetworkLock => {
            let message = "Cannot proceed with operation because resource is locked by another operation.";
            let body = json!({"error": {"code": "RetryableErrorDueToAnotherOperation", "message": message, "details": []}});
            Answer::json(429, Author::Network, &body)
        }
    };
    match retry_after {
        Some(after) => answer.with("retry-after", &after.to_string()),
        None => answer,
    }
}

fn compute_refusal(policy: &str, stamp: &str) -> serde_json::Value {
    let detail = json!({"operationGroup": policy, "startTime": stamp, "endTime": stamp,
        "allowedRequestCount": 1080, "measuredRequestCount": 1081});
    json!({
        "code": "OperationNotAllowed",
        "message": "The server rejected the request because too many requests have been received for this subscription.",
        "details": [{"code": "TooManyRequests", "target": policy, "message": detail.to_string()}],
    })
}
