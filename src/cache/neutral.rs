//! Request headers that do not change what ARM answers. Every other one is part of the key.

use http::{HeaderName, HeaderValue, header};

/// Whether a name is on the list. Authorization is part of the caller.
fn is_listed(name: &str) -> bool {
    matches!(
        name,
        "accept-encoding"
            | "authorization"
            | "baggage"
            | "cache-control"
            | "commandname"
            | "connection"
            | "content-length"
            | "content-type"
            | "cookie"
            | "date"
            | "dnt"
            | "expect"
            | "forwarded"
            | "from"
            | "host"
            | "if-modified-since"
            | "if-none-match"
            | "keep-alive"
            | "origin"
            | "parametersetname"
            | "pragma"
            | "priority"
            | "referer"
            | "request-id"
            | "te"
            | "trailer"
            | "traceparent"
            | "tracestate"
            | "transfer-encoding"
            | "upgrade"
            | "user-agent"
            | "via"
            | "x-correlation-id"
            | "x-ms-app"
            | "x-ms-authorization-auxiliary"
            | "x-ms-command-name"
            | "x-ms-return-client-request-id"
            | "x-ms-useragent"
            | "x-request-id"
    ) || ["proxy-", "sec-", "x-forwarded-", "x-ms-client-"].iter().any(|head| name.starts_with(head))
        || (name.starts_with("x-ms-") && name.ends_with("request-id"))
}

/// Whether a header is known not to change the answer. `more` are the operator's own names and patterns, in
/// which `*` stands for any characters.
pub(super) fn is_neutral(name: &HeaderName, value: &HeaderValue, more: &[String]) -> bool {
    let name = name.as_str();
    is_listed(name)
        || more.iter().any(|pattern| matches(pattern, name))
        || (name == header::ACCEPT.as_str() && accepts_json(value))
}

/// ARM answers JSON to whoever does not exclude it; clients name it in several ways.
fn accepts_json(value: &HeaderValue) -> bool {
    let Ok(value) = value.to_str() else { return false };
    value.split(',').map(str::trim).any(|part| {
        let (kind, _) = part.split_once(';').unwrap_or((part, ""));
        part == "*/*" || kind.eq_ignore_ascii_case("application/json")
    })
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern.eq_ignore_ascii_case(name),
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_requests_are_neutral_and_unknown_headers_are_not() {
        let check = |name: &str, value: &str, neutral| {
            let (name, value) =
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value));
            assert_eq!(is_neutral(&name, &value.unwrap(), &["x-mine-*".into()]), neutral, "{name}");
        };
        check("x-ms-client-request-id", "1", true);
        check("x-ms-correlation-request-id", "1", true);
        check("traceparent", "00-1", true);
        check("User-Agent", "az", true);
        check("X-Mine-Trace", "1", true);
        check("batchputmachine", "{}", false);
        check("x-ms-effective-locale", "de", false);
        check("accept", "application/json", true);
        check("accept", "application/json; odata=verbose", true);
        check("accept", "text/html, */*", true);
        check("accept", "application/xml", false);
        check("accept-language", "de", false);
    }
}
