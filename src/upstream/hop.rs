//! Header fields that belong to one connection and are not handed on (RFC 9110 §7.6.1).
//!
//! Trailers go end to end, so `TE: trailers` is said anew on the next connection and `Trailer` stays.

use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

/// Fields that are always of one connection. `Proxy-Authorization` and `Proxy-Authenticate` are between a
/// client and the proxy it dialled (RFC 9110 §11.7).
static OF_ONE_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// Removes the fields of one connection and those that `Connection` names, from either direction.
///
/// Of `TE` only `trailers` is kept.
pub fn strip(headers: &mut HeaderMap) {
    let trailers = wants_trailers(headers);
    let named: Vec<HeaderName> = tokens(headers, &header::CONNECTION)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .collect();
    for name in named.iter().chain(&OF_ONE_CONNECTION) {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    } else {
        headers.remove(header::TE);
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
