//! Header fields that belong to one connection and are not handed on (RFC 9110 §7.6.1).
//!
//! Trailers go end to end, so `TE: trailers` is said anew on the next connection and `Trailer` stays.

use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

/// Whether a field is always of one connection. `Proxy-Authorization` and `Proxy-Authenticate` are between a
/// client and the proxy it dialled (RFC 9110 §11.7).
fn is_of_one_connection(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "http2-settings"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Removes the fields of one connection and those that `Connection` names, from either direction.
///
/// Of `TE` only `trailers` is kept.
pub fn strip(headers: &mut HeaderMap) {
    let trailers = wants_trailers(headers);
    let named: Vec<HeaderName> = tokens(headers, &header::CONNECTION)
        // What nearly everybody says; that field goes anyway.
        .filter(|token| !token.eq_ignore_ascii_case("keep-alive"))
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .collect();
    let goes = |name: &&HeaderName| is_of_one_connection(name) || named.contains(name);
    let gone: Vec<HeaderName> = headers.keys().filter(goes).cloned().collect();
    for name in &gone {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Whether the sender of these headers reads trailers.
pub(super) fn wants_trailers(headers: &HeaderMap) -> bool {
    tokens(headers, &header::TE).any(|token| token.eq_ignore_ascii_case("trailers"))
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &[(&str, &str)], kept: &[(&str, &str)]) {
        let map = |fields: &[(&str, &str)]| -> HeaderMap {
            let field = |&(name, value): &(&str, &str)| {
                (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
            };
            fields.iter().map(field).collect()
        };
        let mut headers = map(given);
        strip(&mut headers);
        assert_eq!(headers, map(kept));
    }

    #[test]
    fn fields_of_one_connection_are_not_handed_on() {
        check(
            &[
                ("connection", "keep-alive, Upgrade"),
                ("keep-alive", "timeout=5"),
                ("proxy-connection", "keep-alive"),
                ("proxy-authorization", "Basic c2VjcmV0"),
                ("transfer-encoding", "chunked"),
                ("upgrade", "h2c"),
                ("http2-settings", "AAMAAABk"),
                ("trailer", "x-checksum"),
                ("etag", "\"3\""),
            ],
            &[("trailer", "x-checksum"), ("etag", "\"3\"")],
        );
    }

    #[test]
    fn fields_that_connection_names_are_not_handed_on() {
        check(
            &[
                ("connection", "X-One"),
                ("connection", " x-two ,close,, b@d"),
                ("x-one", "1"),
                ("x-two", "2"),
                ("x-three", "3"),
            ],
            &[("x-three", "3")],
        );
    }

    #[test]
    fn of_te_only_trailers_stays() {
        check(&[("te", "gzip;q=0.5, Trailers"), ("connection", "te")], &[("te", "trailers")]);
        check(&[("te", "gzip")], &[]);
    }
}
