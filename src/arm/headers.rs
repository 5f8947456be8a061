//! Headers ARM and its clients use, and what they say.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, header};

use super::error::Kind;
use crate::clock::Wall;

/// Where an operation's status is polled.
pub const AZURE_ASYNC_OPERATION: HeaderName = HeaderName::from_static("azure-asyncoperation");
/// Tokens for other tenants, which change what a call may see.
pub const AUXILIARY: HeaderName = HeaderName::from_static("x-ms-authorization-auxiliary");
/// One id for all calls that belong together.
pub const CORRELATION_ID: HeaderName = HeaderName::from_static("x-ms-correlation-request-id");
/// The client's own id of a request, echoed when it asks for that.
pub const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
/// Asks that [`CLIENT_REQUEST_ID`] be echoed.
pub const RETURN_CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-return-client-request-id");
/// ARM's id of a request.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
/// ARM's id of a request, with the region that served it.
pub const ROUTING_ID: HeaderName = HeaderName::from_static("x-ms-routing-request-id");
/// Who made an error: `gateway` for ARM itself.
pub const FAILURE_CAUSE: HeaderName = HeaderName::from_static("x-ms-failure-cause");
/// What is left of a provider's budgets.
pub const REMAINING_RESOURCE: HeaderName = HeaderName::from_static("x-ms-ratelimit-remaining-resource");
/// What a call cost (Microsoft.Compute).
pub const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");
/// How answers came about (RFC 9211).
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
/// What the guard did with a write.
pub const GUARD: HeaderName = HeaderName::from_static("armshield-guard");

const RETRY_AFTER_MS: [&str; 2] = ["retry-after-ms", "x-ms-retry-after-ms"];

/// How long the answer asks to wait: milliseconds first, as azcore reads them, then `Retry-After` in
/// seconds or as a date (RFC 9110 §10.2.3). Zero is an answer; what cannot be read is none.
#[must_use]
pub fn retry_after(headers: &HeaderMap, wall: Wall) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    RETRY_AFTER_MS.into_iter().filter_map(text).find_map(number).map(Duration::from_millis).or_else(|| {
        let text = text("retry-after")?;
        number(text).map(Duration::from_secs).or_else(|| until(text, wall))
    })
}

fn until(date: &str, wall: Wall) -> Option<Duration> {
    let then = httpdate::parse_http_date(date).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(then.saturating_sub(wall.since_epoch()))
}

/// Whether a header asks to wait, in any of the forms [`retry_after`] reads.
#[must_use]
pub fn is_retry_after(name: &HeaderName) -> bool {
    name == header::RETRY_AFTER || RETRY_AFTER_MS.iter().any(|known| name == known)
}

/// What `x-ms-ratelimit-remaining-resource` says: names of policies without their provider, and calls
/// left. Comes as several headers or as one with commas (Compute throttling documentation).
pub fn remaining(headers: &HeaderMap) -> impl Iterator<Item = (&str, u64)> {
    headers
        .get_all(REMAINING_RESOURCE)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .filter_map(|entry| {
            let (policy, count) = entry.split_once(';')?;
            let policy = bare_policy(policy.trim());
            (!policy.is_empty()).then_some((policy, count.trim().parse().ok()?))
        })
}

/// A policy's name as the bodies of 429s write it: `Microsoft.Compute/HighCostGet30Min` without the provider.
#[must_use]
pub fn bare_policy(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Who shares a budget of ARM's front door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharers {
    /// One principal in one subscription.
    Principal,
    /// All principals of one subscription.
    Subscription,
    /// One principal in one tenant.
    Tenant,
}

const FRONT_DOOR: [(&str, Sharers, Kind); 9] = [
    ("x-ms-ratelimit-remaining-subscription-reads", Sharers::Principal, Kind::Read),
    ("x-ms-ratelimit-remaining-subscription-writes", Sharers::Principal, Kind::Write),
    ("x-ms-ratelimit-remaining-subscription-deletes", Sharers::Principal, Kind::Delete),
    ("x-ms-ratelimit-remaining-subscription-global-reads", Sharers::Subscription, Kind::Read),
    ("x-ms-ratelimit-remaining-subscription-global-writes", Sharers::Subscription, Kind::Write),
    ("x-ms-ratelimit-remaining-subscription-global-deletes", Sharers::Subscription, Kind::Delete),
    ("x-ms-ratelimit-remaining-tenant-reads", Sharers::Tenant, Kind::Read),
    ("x-ms-ratelimit-remaining-tenant-writes", Sharers::Tenant, Kind::Write),
    ("x-ms-ratelimit-remaining-tenant-deletes", Sharers::Tenant, Kind::Delete),
];

/// What is left of the budgets of ARM's front door (ARM throttling documentation).
pub fn remaining_at_front_door(headers: &HeaderMap) -> impl Iterator<Item = (Sharers, Kind, u64)> {
    FRONT_DOOR.into_iter().filter_map(|(name, sharers, kind)| {
        let left = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
        Some((sharers, kind, left))
    })
}

/// Whether a header belongs to one exchange and must not be repeated from a stored answer: ids, counters,
/// cookies, dates, what intermediaries add, and what RFC 9110 §7.6.1 ends at each hop.
#[must_use]
pub fn is_of_one_exchange(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-ms-ratelimit-")
        || is_hop_by_hop(name)
        || matches!(
            name,
            "age"
                | "alt-svc"
                | "armshield-guard"
                | "cache-status"
                | "content-length"
                | "date"
                | "retry-after"
                | "retry-after-ms"
                | "set-cookie"
                | "via"
                | "x-azure-ref"
                | "x-ms-activity-id"
                | "x-ms-arm-service-request-id"
                | "x-ms-client-request-id"
                | "x-ms-correlation-request-id"
                | "x-ms-operation-identifier"
                | "x-ms-original-request-ids"
                | "x-ms-request-charge"
                | "x-ms-request-id"
                | "x-ms-retry-after-ms"
                | "x-ms-return-client-request-id"
                | "x-ms-routing-request-id"
                | "x-ms-served-by"
                | "x-msedge-ref"
        )
}

fn is_hop_by_hop(name: &str) -> bool {
    [
        header::CONNECTION,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ]
    .iter()
    .any(|known| known == name)
        || matches!(name, "keep-alive" | "proxy-connection")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn waiting_times_are_read_in_every_form() {
        let wall = Wall::from_unix(784_111_770);
        let check = |lines: &[(&str, &str)], millis: Option<u64>| {
            assert_eq!(retry_after(&headers(lines), wall), millis.map(Duration::from_millis), "{lines:?}");
        };
        check(&[], None);
        check(&[("retry-after", "17")], Some(17_000));
        check(&[("retry-after", " 0 ")], Some(0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(7_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0));
        check(&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1_500));
        check(&[("x-ms-retry-after-ms", "250"), ("retry-after", "9")], Some(250));
        check(&[("retry-after-ms", "soon"), ("retry-after", "9")], Some(9_000));
        for garbage in ["", "soon", "-1", "+1", "1.5", "99999999999999999999999", "Sun, 06 Nov"] {
            check(&[("retry-after", garbage)], None);
        }
    }

    #[test]
    fn remaining_calls_come_as_several_headers_or_as_one() {
        let many = headers(&[
            ("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/HighCostGet3Min;46"),
            ("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/HighCostGet30Min;0"),
        ]);
        let one = headers(&[(
            "x-ms-ratelimit-remaining-resource",
            "Microsoft.Compute/HighCostGet3Min;46, Microsoft.Compute/HighCostGet30Min;0",
        )]);
        for headers in [many, one] {
            let left: Vec<_> = remaining(&headers).collect();
            assert_eq!(left, [("HighCostGet3Min", 46), ("HighCostGet30Min", 0)]);
        }
    }

    #[test]
    fn what_is_no_count_is_skipped() {
        let odd = headers(&[("x-ms-ratelimit-remaining-resource", "A/B;x,,;3,A/;4,C,A/D;-1, E ; 5 ")]);
        assert_eq!(remaining(&odd).collect::<Vec<_>>(), [("E", 5)]);
    }

    #[test]
    fn the_front_door_tells_three_budgets_apart() {
        let all = headers(&[
            ("x-ms-ratelimit-remaining-subscription-reads", "249"),
            ("x-ms-ratelimit-remaining-subscription-global-reads", "3749"),
            ("x-ms-ratelimit-remaining-tenant-writes", "none"),
        ]);
        let left: Vec<_> = remaining_at_front_door(&all).collect();
        assert_eq!(left, [(Sharers::Principal, Kind::Read, 249), (Sharers::Subscription, Kind::Read, 3749)]);
    }

    #[test]
    fn a_stored_answer_repeats_only_what_is_of_the_resource() {
        let check = |name: &str, once| {
            assert_eq!(is_of_one_exchange(&name.parse().unwrap()), once, "{name}");
        };
        for name in ["Content-Type", "ETag", "Cache-Control", "x-cache", "x-ms-failure-cause", "vary"] {
            check(name, false);
        }
        for name in [
            "x-ms-ratelimit-remaining-subscription-global-reads",
            "x-ms-operation-identifier",
            "X-MSEdge-Ref",
            "Set-Cookie",
            "Date",
            "Connection",
            "Keep-Alive",
            "Transfer-Encoding",
            "Content-Length",
            "Retry-After",
            "Age",
        ] {
            check(name, true);
        }
    }
}
