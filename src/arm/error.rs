//! Error bodies: ARM's shape of them, and what a 429 says about the budget that is used up.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::headers::bare_policy;

/// An error in ARM's shape: `{"error": {"code", "message"}}`.
#[must_use]
pub fn arm_error(code: &str, message: &str) -> Bytes {
    json!({ "error": { "code": code, "message": message } }).to_string().into()
}

/// Whether a 404 says that the resource is not there. `SubscriptionNotFound` is what ARM tells callers of
/// another tenant, whatever the subscription holds (ARM troubleshooting documentation).
#[must_use]
pub fn tells_of_resource(body: &[u8]) -> bool {
    let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let error = body.as_object().and_then(|outer| field(outer, "error")?.as_object());
    let code = error.map_or("", |error| text(error, "code")).to_ascii_lowercase();
    !matches!(code.as_str(), "subscriptionnotfound" | "invalidsubscriptionid")
}

/// What ARM counts separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// GET and HEAD.
    Read,
    /// PUT, PATCH and POST.
    Write,
    /// DELETE.
    Delete,
}

/// Which budget a 429 comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThrottleKind {
    /// ARM's budget of a principal in a subscription, for the kind of calls it names.
    ArmSubscription(Option<Kind>),
    /// ARM's budget of a principal in a tenant.
    ArmTenant(Option<Kind>),
    /// ARM's budget for one kind of calls on one type or one resource.
    ArmResource,
    /// A provider's: see [`Throttle::policies`].
    Provider,
    /// No throttle: another operation holds the resource (Microsoft.Network).
    Lock,
    /// The body does not tell.
    Unknown,
}

/// What the body of a 429 says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// The error's code; empty if there is none.
    pub code: String,
    /// The policies named as used up, without their provider, in the order of the body.
    pub policies: Vec<String>,
    /// How long the message asks to wait. The header comes first, if there is one.
    pub retry_after: Option<Duration>,
    /// Whose budget it is.
    pub kind: ThrottleKind,
}

impl Throttle {
    /// Reads the body of a 429 of ARM, Microsoft.Compute, Microsoft.Network or another provider, with its
    /// keys in any case and wrapped in `error` or not (ARM throttling documentation; Compute throttling
    /// errors; AKS troubleshooting of 429). Whatever it is, there is an answer.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let outer = body.as_object();
        let error = outer.and_then(|outer| field(outer, "error")?.as_object()).or(outer);
        error.map_or_else(Self::untold, Self::of)
    }

    const fn untold() -> Self {
        Self { code: String::new(), policies: Vec::new(), retry_after: None, kind: ThrottleKind::Unknown }
    }

    fn of(error: &Map<String, Value>) -> Self {
        let code = text(error, "code");
        let message = text(error, "message");
        let details: Vec<_> = field(error, "details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .collect();
        let mut policies: Vec<String> = Vec::new();
        for policy in details.iter().filter_map(|detail| policy(detail)) {
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        let messages = std::iter::once(message).chain(details.iter().map(|detail| text(detail, "message")));
        let retry_after = messages.filter_map(waiting_time).max();
        let is_lock = |code: &str| code.eq_ignore_ascii_case("RetryableErrorDueToAnotherOperation");
        let kind = if is_lock(code) || details.iter().any(|detail| is_lock(text(detail, "code"))) {
            ThrottleKind::Lock
        } else {
            kind(code, message, !policies.is_empty())
        };
        Self { code: code.to_owned(), policies, retry_after, kind }
    }
}

fn kind(code: &str, message: &str, names_policies: bool) -> ThrottleKind {
    match code.to_ascii_lowercase().as_str() {
        _ if names_policies => ThrottleKind::Provider,
        // "… for subscription 'x' and operation 'GET/SUBSCRIPTIONS/…' exceeded the backend storage limit"
        "subscriptionrequeststhrottled" if message.contains(" and operation '") => ThrottleKind::ArmResource,
        "subscriptionrequeststhrottled" => ThrottleKind::ArmSubscription(counted(message)),
        "tenantrequeststhrottled" => ThrottleKind::ArmTenant(counted(message)),
        "resourcerequeststhrottled" | "resourcecollectionrequeststhrottled" => ThrottleKind::ArmResource,
        "operationnotallowed" | "toomanyrequests" | "throttled" => ThrottleKind::Provider,
        code if code.starts_with("retryableerrordueto") => ThrottleKind::Provider,
        _ => ThrottleKind::Unknown,
    }
}

/// The kind of calls in "Number of 'read' requests for subscription …", with or without the quotes.
fn counted(message: &str) -> Option<Kind> {
    let message = message.to_ascii_lowercase();
    let word = message.split_once("number of ")?.1.split_whitespace().next()?.trim_matches(['\'', '"']);
    match word {
        "read" | "reads" => Some(Kind::Read),
        "write" | "writes" => Some(Kind::Write),
        "delete" | "deletes" => Some(Kind::Delete),
        _ => None,
    }
}

/// The policy a detail names: `target`, else `operationGroup` in the JSON its message holds. Other errors
/// have targets as well, so the detail's code must be Compute's.
fn policy(detail: &Map<String, Value>) -> Option<String> {
    let inner = serde_json::from_str::<Value>(text(detail, "message")).unwrap_or_default();
    let group = inner.as_object().map_or("", |inner| text(inner, "operationGroup"));
    let is_throttle = text(detail, "code").eq_ignore_ascii_case("TooManyRequests") || !group.is_empty();
    let target = text(detail, "target");
    let name = bare_policy(if target.is_empty() { group } else { target });
    (is_throttle && !name.is_empty()).then(|| name.to_owned())
}

/// The waiting time in "Please try again after '6' seconds", "can be retried in 64 seconds", "retry again
/// in 5 minutes": the number in front of the unit, in a sentence about trying again.
fn waiting_time(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    let sentence = &message[message.rfind("retr").max(message.rfind(" try "))?..];
    let words: Vec<&str> =
        sentence.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.windows(2).find_map(|pair| {
        let number = pair[0].parse::<u64>().ok()?;
        let unit = match pair[1] {
            "second" | "seconds" | "sec" | "s" => 1,
            "minute" | "minutes" | "min" => 60,
            "hour" | "hours" => 3600,
            _ => return None,
        };
        Some(Duration::from_secs(number.saturating_mul(unit)))
    })
}

/// The value of a key in any case: some renderings write them in lower case.
fn field<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    field(object, key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, kind: ThrottleKind, policies: &[&str], seconds: Option<u64>) {
        let throttle = Throttle::read(body.as_bytes());
        assert_eq!(throttle.kind, kind, "{body}");
        assert_eq!(throttle.policies, policies, "{body}");
        assert_eq!(throttle.retry_after, seconds.map(Duration::from_secs), "{body}");
    }

    fn arm(code: &str, message: &str) -> String {
        String::from_utf8(arm_error(code, message).to_vec()).unwrap()
    }

    #[test]
    fn a_404_tells_of_the_resource_unless_the_subscription_is_not_the_callers() {
        let check = |body: &str, tells| assert_eq!(tells_of_resource(body.as_bytes()), tells, "{body}");
        check(r#"{"error":{"code":"ResourceNotFound","message":"x"}}"#, true);
        check(r#"{"error":{"code":"ResourceGroupNotFound","message":"x"}}"#, true);
        check("", true);
        check(r#"{"error":{"code":"SubscriptionNotFound","message":"x"}}"#, false);
        check(r#"{"error":{"code":"subscriptionNotFound"}}"#, false);
        check(r#"{"error":{"code":"InvalidSubscriptionId"}}"#, false);
    }

    #[test]
    fn an_error_of_ours_has_arms_shape() {
        let body = arm_error("TooManyRequests", "say \"please\"");
        assert_eq!(body, r#"{"error":{"code":"TooManyRequests","message":"say \"please\""}}"#);
    }

    #[test]
    fn the_front_door_names_who_is_throttled_and_for_what() {
        let message = |kind| {
            format!(
                "Number of {kind} requests for subscription 's' actor 'a' exceeded. Please try again after '10' seconds."
            )
        };
        let subscription = ThrottleKind::ArmSubscription;
        let check_arm = |code, message: &str, kind, seconds| check(&arm(code, message), kind, &[], seconds);
        let code = "SubscriptionRequestsThrottled";
        check_arm(code, &message("'read'"), subscription(Some(Kind::Read)), Some(10));
        check_arm(code, &message("write"), subscription(Some(Kind::Write)), Some(10));
        check_arm(code, &message("'delete'"), subscription(Some(Kind::Delete)), Some(10));
        check_arm(
            code,
            "Number of read requests for subscription 's' exceeded the limit of '12000' for time interval '01:00:00'. Please try again after '5' minutes.",
            subscription(Some(Kind::Read)),
            Some(300),
        );
        check_arm(code, "slow down", subscription(None), None);
        check_arm(
            "TenantRequestsThrottled",
            &message("'read'"),
            ThrottleKind::ArmTenant(Some(Kind::Read)),
            Some(10),
        );
        check_arm(
            code,
            "Number of requests for subscription 's' and operation 'GET/SUBSCRIPTIONS/RESOURCEGROUPS/PROVIDERS/MICROSOFT.NETWORK/PUBLICIPADDRESSES' exceeded the backend storage limit. Please try again after '6' seconds.",
            ThrottleKind::ArmResource,
            Some(6),
        );
        check_arm(
            "ResourceCollectionRequestsThrottled",
            "Operation 'Microsoft.Storage/storageAccounts/read' failed as server encountered too many requests. Please try after '11' seconds. Tracking Id is 'x'.",
            ThrottleKind::ArmResource,
            Some(11),
        );
        check_arm(
            "ResourceRequestsThrottled",
            "too many. Please try after '0' seconds.",
            ThrottleKind::ArmResource,
            Some(0),
        );
    }

    const COMPUTE: &str = r#"{"code":"OperationNotAllowed","message":"The server rejected the request because too many requests have been received for this subscription.","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{\"operationGroup\":\"HighCostGet30Min\",\"startTime\":\"2018-06-29T19:54:21.0914017+00:00\",\"endTime\":\"2018-06-29T20:14:21.0914017+00:00\",\"allowedRequestCount\":800,\"measuredRequestCount\":1238}"}]}"#;

    #[test]
    fn compute_names_its_policy_in_every_rendering() {
        let check_policy = |body: &str| check(body, ThrottleKind::Provider, &["HighCostGet30Min"], None);
        check_policy(COMPUTE);
        check_policy(&format!(r#"{{"error":{COMPUTE}}}"#));
        check_policy(&format!(r#"{{"Error":{COMPUTE}}}"#));
        check_policy(
            &COMPUTE
                .replace("operationGroup", "operationgroup")
                .replace("allowedRequestCount", "allowedrequestcount"),
        );
        check_policy(&COMPUTE.replace("\"details\"", "\"Details\"").replace("\"target\"", "\"Target\""));
        check_policy(&COMPUTE.replace(r#""target":"HighCostGet30Min","#, ""));
        check_policy(&COMPUTE.replace(r#""target":"HighCost"#, r#""target":"Microsoft.Compute/HighCost"#));
        check_policy(&COMPUTE.replace(r#""message":"{\"op"#, r#""message":"no JSON {\"op"#));
        assert_eq!(Throttle::read(COMPUTE.as_bytes()).code, "OperationNotAllowed");
    }

    #[test]
    fn several_policies_are_all_named() {
        let body = r#"{"error":{"code":"OperationNotAllowed","message":"","details":[
            {"code":"TooManyRequests","target":"A","message":"{}"}, 3,
            {"code":"TooManyRequests","target":"B"},
            {"code":"TooManyRequests","target":"A"},
            {"code":"Other","target":"instanceId"}]}}"#;
        check(body, ThrottleKind::Provider, &["A", "B"], None);
    }

    #[test]
    fn other_providers_are_throttled_without_a_policy() {
        let network = "Subscription 's' was used to perform too many calls within last 5 minutes. The number of calls exceeds Microsoft.Network throttling limit. The call can be retried in 64 seconds.";
        check(&arm("TooManyRequests", network), ThrottleKind::Provider, &[], Some(64));
        check(&arm("RetryableErrorDueToTooManyCalls", network), ThrottleKind::Provider, &[], Some(64));
        let aks = "The PutManagedClusterHandler.PUT request limit has been exceeded for SubID='s', please retry again in 7 seconds. For more information, please visit aka.ms/aks/throttling";
        check(&arm("Throttled", aks), ThrottleKind::Provider, &[], Some(7));
    }

    #[test]
    fn a_lock_is_no_throttle() {
        check(&arm("RetryableErrorDueToAnotherOperation", "busy"), ThrottleKind::Lock, &[], None);
        let inner = r#"{"error":{"code":"TooManyRequests","message":"x","details":[{"code":"RetryableErrorDueToAnotherOperation"}]}}"#;
        check(inner, ThrottleKind::Lock, &[], None);
    }

    #[test]
    fn what_tells_nothing_is_unknown() {
        for body in [
            "",
            "null",
            "[]",
            "{",
            "<html>429</html>",
            r#"{"error":null}"#,
            r#"{"error":{"code":7}}"#,
            "\u{feff}",
        ] {
            check(body, ThrottleKind::Unknown, &[], None);
        }
    }
}
