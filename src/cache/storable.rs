//! Which answers may be kept at all, judged by the exchange that brought them.

use http::{HeaderMap, StatusCode, header};

/// Why an answer is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotStored {
    /// Its status is not 200.
    Status,
    /// Client or ARM said `no-store`.
    NoStore,
    /// It varies by something other than the encoding.
    Vary,
    /// Its body is not JSON, or does not parse.
    NotJson,
    /// It is one page of several, and pages of different ages lose resources.
    Page,
    /// It shows less than is known.
    Lag,
    /// Something it depends on was written while it was fetched.
    Overtaken,
    /// It is larger than an entry may be, or too much is being collected.
    Large,
    /// Its question has too many variants.
    Variants,
}

impl NotStored {
    /// The word used in `Cache-Status`, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::NoStore => "no-store",
            Self::Vary => "vary",
            Self::NotJson => "not-json",
            Self::Page => "page",
            Self::Lag => "lag",
            Self::Overtaken => "overtaken",
            Self::Large => "large",
            Self::Variants => "variants",
        }
    }
}

/// Whether an answer may be kept, judged by its status and headers. ARM's `no-cache` and `Expires: -1`
/// are on every answer of ARM and are ignored on purpose: who may see an answer, and for how long, is
/// decided here (outside of RFC 9111 §3.5, and documented as such).
///
/// # Errors
/// Why it may not be kept.
pub fn storable(status: StatusCode, headers: &HeaderMap) -> Result<(), NotStored> {
    if status != StatusCode::OK {
        return Err(NotStored::Status);
    }
    if has_directive(headers, "no-store") {
        return Err(NotStored::NoStore);
    }
    if varies(headers) {
        return Err(NotStored::Vary);
    }
    let json = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_json);
    if json { Ok(()) } else { Err(NotStored::NotJson) }
}

/// Whether an answer depends on more of its request than a key holds: then it is for its asker only.
#[must_use]
pub fn varies(headers: &HeaderMap) -> bool {
    let names = headers.get_all(header::VARY).iter();
    names
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"accept-encoding"))
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

/// Whether `Cache-Control` carries a directive without a value.
pub(super) fn has_directive(headers: &HeaderMap, directive: &str) -> bool {
    directives(headers).any(|(name, _)| name.eq_ignore_ascii_case(directive))
}

/// The directives of `Cache-Control` with their values.
pub(super) fn directives(headers: &HeaderMap) -> impl Iterator<Item = (&str, Option<&str>)> {
    headers
        .get_all(header::CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|part| match part.trim().split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
            None => (part.trim(), None),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_json_200_that_varies_by_nothing_is_kept() {
        let check = |status: u16, headers: &[(&'static str, &str)], expected: Result<(), NotStored>| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            assert_eq!(storable(StatusCode::from_u16(status).unwrap(), &map), expected, "{headers:?}");
        };
        let json = ("content-type", "application/json; charset=utf-8");
        check(200, &[json, ("cache-control", "no-cache"), ("expires", "-1")], Ok(()));
        check(200, &[json, ("vary", "Accept-Encoding")], Ok(()));
        check(200, &[json, ("vary", "Accept-Encoding, Origin")], Err(NotStored::Vary));
        check(200, &[json, ("vary", "*")], Err(NotStored::Vary));
        check(200, &[json, ("cache-control", "private, No-Store")], Err(NotStored::NoStore));
        check(200, &[("content-type", "text/html")], Err(NotStored::NotJson));
        check(200, &[], Err(NotStored::NotJson));
        check(404, &[json], Err(NotStored::Status));
        check(206, &[json], Err(NotStored::Status));
    }
}
