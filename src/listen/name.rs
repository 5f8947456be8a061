//! A host and a port, as they stand in `Host`, `:authority` and absolute targets.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A host in lower case with the port it was given, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// Without the brackets of an IPv6 address and without a dot at the end.
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

impl Name {
    /// Reads `host[:port]`. Stricter than RFC 3986: no user, and only the characters host names have.
    pub(super) fn parse(raw: &[u8]) -> Option<Self> {
        let raw = std::str::from_utf8(raw).ok()?;
        let (host, port) = match raw.strip_prefix('[') {
            Some(rest) => {
                let (inside, after) = rest.split_once(']')?;
                (inside.parse::<Ipv6Addr>().ok()?.to_string(), after)
            }
            None => {
                let (host, port) = raw.split_at(raw.find(':').unwrap_or(raw.len()));
                (fold(host)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some("") => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
            None if port.is_empty() => None,
            None => return None,
        };
        Some(Self { host, port })
    }

    /// The address, if the host is one; an IPv4 address in IPv6 form as IPv4.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
    }

    /// Whether this is a name of the machine it is used on (RFC 6761 §6.3).
    pub(super) fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.ends_with(".localhost")
            || self.address().is_some_and(|address| address.is_loopback())
    }

    /// Whether the host is `other`, which may have brackets, a last dot and any case.
    pub(super) fn is_host(&self, other: &str) -> bool {
        let other = other.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(other);
        self.host.eq_ignore_ascii_case(other.strip_suffix('.').unwrap_or(other))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') { write!(f, "[{}]", self.host) } else { f.write_str(&self.host) }?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn fold(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (!host.is_empty() && host.bytes().all(valid)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_strictly_and_written_alike() {
        for (raw, read) in [
            ("LocalHost:7788", Some("localhost:7788")),
            ("localhost.:7788", Some("localhost:7788")),
            ("localhost:", Some("localhost")),
            ("my_proxy", Some("my_proxy")),
            ("[0:0::1]:80", Some("[::1]:80")),
            ("[::1]", Some("[::1]")),
            ("::1", None),
            ("[::1", None),
            ("[::1]80", None),
            ("[localhost]", None),
            ("user@localhost", None),
            ("localhost:7788:1", None),
            ("localhost:+80", None),
            ("localhost:65536", None),
            ("local host", None),
            ("a,b", None),
            ("a/b", None),
            ("h%6fst", None),
            (".", None),
            ("", None),
            (":80", None),
        ] {
            let name = Name::parse(raw.as_bytes()).map(|name| name.to_string());
            assert_eq!(name.as_deref(), read, "{raw}");
        }
        assert_eq!(Name::parse(b"caf\xc3\xa9"), None);
    }

    #[test]
    fn loopback_has_many_names() {
        for (raw, loopback) in [
            ("localhost", true),
            ("a.localhost", true),
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("127.1", false),
            ("localhost.evil.com", false),
            ("notlocalhost", false),
            ("10.0.0.1", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(Name::parse(raw.as_bytes()).unwrap().is_loopback(), loopback, "{raw}");
        }
    }
}
