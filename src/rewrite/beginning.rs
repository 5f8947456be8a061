//! How a link begins: its scheme and authority, and how many bytes they are written in.

use super::unescape::{Step, Unescape};

/// No authority is longer: 255 bytes of a host name, and a port.
const LONGEST: usize = 300;

/// How an absolute link begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beginning {
    pub(super) secure: bool,
    /// The authority, lower case.
    pub(super) authority: String,
    /// The bytes before what follows the authority.
    pub(super) len: usize,
}

impl Beginning {
    /// The beginning of a URL.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        Self::read(url.bytes().zip(1..))
    }

    /// The beginning of a URL in the raw content of a JSON string, complete or cut off behind
    /// [`Beginning::ENOUGH`] bytes.
    pub(super) fn of_json(raw: &[u8]) -> Option<Self> {
        let mut state = Unescape::default();
        let characters = raw.iter().zip(1..).filter_map(move |(&byte, end)| match state.feed(byte) {
            Step::Within => None,
            Step::Ascii(character) => Some((character, end)),
            // No name of ARM's has such characters: any that none can have will do.
            Step::Other | Step::End => Some((b' ', end)),
        });
        Self::read(characters)
    }

    /// So many raw bytes hold scheme and authority, were every character escaped.
    pub(super) const ENOUGH: usize = 6 * (LONGEST + "https://".len()) + 1;

    /// Reads characters, each with the place behind it.
    fn read(characters: impl Iterator<Item = (u8, usize)>) -> Option<Self> {
        let mut text = String::new();
        let mut len = 0;
        let mut start = None;
        for (character, end) in characters {
            if start.is_some() && matches!(character, b'/' | b'?' | b'#') {
                break;
            }
            if text.len() > LONGEST || !character.is_ascii_graphic() {
                return None;
            }
            text.push(character.to_ascii_lowercase() as char);
            len = end;
            if start.is_none() && text.ends_with("://") {
                start = Some(text.len());
            }
        }
        let (scheme, authority) = text.split_at(start?);
        let secure = match scheme {
            "https://" => true,
            "http://" => false,
            _ => return None,
        };
        (!authority.is_empty()).then(|| Self { secure, authority: authority.to_owned(), len })
    }
}

/// The host (lower case, no dot at the end) and the port of an authority; `None` if it has more than those.
pub(super) fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let colon = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at_checked(colon)?;
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty() && !host.contains('@')).then(|| (host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_and_authority_end_where_the_path_begins() {
        let check = |url: &str, wanted: Option<(bool, &str, usize)>| {
            let found = Beginning::of_url(url).map(|it| (it.secure, it.authority, it.len));
            let wanted = wanted.map(|(secure, authority, len)| (secure, authority.to_owned(), len));
            assert_eq!(found, wanted, "{url}");
        };
        check("https://h/x", Some((true, "h", 9)));
        check("HTTP://H:80?x", Some((false, "h:80", 11)));
        check("https://h#x", Some((true, "h", 9)));
        check("https://h", Some((true, "h", 9)));
        check("https://[::1]:8/x", Some((true, "[::1]:8", 15)));
        check("https:///x", None);
        check("https:/h/x", None);
        check("ftp://h/x", None);
        check("/subscriptions/x?to=https://h/", None);
        check("//h/x", None);
        check(" https://h/x", None);
        check("https://h x/", None);
        check("https://ä/", None);
        check("", None);
        check(&format!("https://{}/", "h".repeat(400)), None);
    }

    #[test]
    fn escapes_count_with_their_bytes() {
        let check = |raw: &str, wanted: Option<(&str, usize)>| {
            let found = Beginning::of_json(raw.as_bytes()).map(|it| (it.authority, it.len));
            assert_eq!(found, wanted.map(|(authority, len)| (authority.to_owned(), len)), "{raw}");
        };
        check(r"https:\/\/h\/x", Some(("h", 11)));
        check(r"https\u003a\u002f\u002F\u0068:8\u003fx", Some(("h:8", 31)));
        check(r"https://h\\x/", Some((r"h\x", 12)));
        check(r"https://h\u00e9/", None);
        check(r"https://h\n/", None);
    }

    #[test]
    fn enough_is_enough_for_the_longest_that_is_escaped() {
        let authority = "h".repeat(LONGEST - "https://".len());
        let escaped: String =
            format!("https://{authority}").bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        assert!(escaped.len() < Beginning::ENOUGH);
        assert_eq!(Beginning::of_json(escaped.as_bytes()).unwrap().authority, authority);
    }

    #[test]
    fn authorities_are_a_host_and_a_port() {
        let check = |authority: &str, wanted: Option<(&str, Option<u16>)>| {
            let wanted = wanted.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(host_and_port(authority), wanted, "{authority}");
        };
        check("Host.example", Some(("host.example", None)));
        check("h.:443", Some(("h", Some(443))));
        check("h:", Some(("h", None)));
        check("[::1]:7788", Some(("[::1]", Some(7788))));
        check("[::1]", Some(("[::1]", None)));
        check("[::1", None);
        check("[::1]x", None);
        check("user@h", None);
        check("user:1@h", None);
        check("h:70000", None);
        check("h:+1", None);
        check(":443", None);
        check("", None);
    }
}
