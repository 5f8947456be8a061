//! Where a call goes: scheme, host and port of an upstream.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// The scheme of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain HTTP/1.1, for tests and simulators.
    Http,
    /// TLS, with HTTP/2 or HTTP/1.1 as the server chooses.
    Https,
}

impl Scheme {
    /// The scheme as it stands in a URL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port a URL of this scheme means when it names none.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// An upstream: what is dialled, and whose certificate is expected.
///
/// Displayed as an authority: the port only where it is not the scheme's own, IPv6 in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// http or https.
    pub scheme: Scheme,
    /// A name in lower case or an address, IPv6 without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

/// Why a text is no URL of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotATarget {
    /// Neither `http://` nor `https://`.
    #[error("the URL must start with http:// or https://")]
    Scheme,
    /// `user@` in front of the host.
    #[error("the URL must not carry a user or a password")]
    User,
    /// No host, or one with characters no host has.
    #[error("the URL has no valid host")]
    Host,
    /// Not a number from 1 to 65535.
    #[error("the port of the URL is not a number from 1 to 65535")]
    Port,
    /// More than a lone `/` behind the host.
    #[error("the URL must end after host and port: ARM's paths begin at the root")]
    Path,
}

impl Target {
    /// Reads `http[s]://host[:port][/]`.
    ///
    /// # Errors
    /// A path other than `/`, a query and a fragment are refused: paths travel byte for byte, so there
    /// is no room for a prefix that a client does not know of.
    pub fn from_url(url: &str) -> Result<Self, NotATarget> {
        let (word, rest) = url.trim().split_once("://").ok_or(NotATarget::Scheme)?;
        let scheme = [Scheme::Https, Scheme::Http]
            .into_iter()
            .find(|scheme| scheme.as_str().eq_ignore_ascii_case(word))
            .ok_or(NotATarget::Scheme)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '\\']) {
            return Err(NotATarget::Path);
        }
        if authority.contains('@') {
            return Err(NotATarget::User);
        }
        let Address { host, port } = Address::bracketed(authority)?;
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()) })
    }
}

impl FromStr for Target {
    type Err = NotATarget;

    fn from_str(url: &str) -> Result<Self, NotATarget> {
        Self::from_url(url)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = (self.port != self.scheme.default_port()).then_some(self.port);
        write_authority(f, &self.host, port)
    }
}

/// A host, with or without a port, that is dialled instead of what DNS says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name in lower case or an address, IPv6 without brackets.
    pub host: String,
    /// Absent: the port of the target.
    pub port: Option<u16>,
}

impl Address {
    fn bracketed(text: &str) -> Result<Self, NotATarget> {
        let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((v6, port))) => {
                let v6: Ipv6Addr = v6.parse().map_err(|_| NotATarget::Host)?;
                (v6.to_string(), port)
            }
            Some(None) => return Err(NotATarget::Host),
            None => {
                let end = text.find(':').unwrap_or(text.len());
                (name(&text[..end])?, &text[end..])
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => Some(number(digits).ok_or(NotATarget::Port)?),
            None if port.is_empty() => None,
            None => return Err(NotATarget::Host),
        };
        Ok(Self { host, port })
    }
}

impl FromStr for Address {
    type Err = NotATarget;

    /// Reads `host`, `host:port`, `[v6]`, `[v6]:port` and a bare IPv6 address.
    fn from_str(text: &str) -> Result<Self, NotATarget> {
        match text.parse::<Ipv6Addr>() {
            Ok(bare) => Ok(Self { host: bare.to_string(), port: None }),
            Err(_) => Self::bracketed(text),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_authority(f, &self.host, self.port)
    }
}

fn write_authority(f: &mut fmt::Formatter<'_>, host: &str, port: Option<u16>) -> fmt::Result {
    if matches!(host.parse(), Ok(IpAddr::V6(_))) {
        write!(f, "[{host}]")?
    } else {
        f.write_str(host)?
    }
    port.map_or(Ok(()), |port| write!(f, ":{port}"))
}

fn name(host: &str) -> Result<String, NotATarget> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if host.is_empty() || !host.bytes().all(fits) {
        Err(NotATarget::Host)
    } else {
        Ok(host.to_ascii_lowercase())
    }
}

fn number(digits: &str) -> Option<u16> {
    let digital = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| digital && *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_scheme_host_and_port() {
        for (url, scheme, host, port, shown) in [
            (
                "https://management.azure.com",
                Scheme::Https,
                "management.azure.com",
                443,
                "management.azure.com",
            ),
            (
                "https://Management.Azure.com/",
                Scheme::Https,
                "management.azure.com",
                443,
                "management.azure.com",
            ),
            ("HTTPS://a.b:443", Scheme::Https, "a.b", 443, "a.b"),
            ("https://a.b:8443/", Scheme::Https, "a.b", 8443, "a.b:8443"),
            ("http://127.0.0.1:9000", Scheme::Http, "127.0.0.1", 9000, "127.0.0.1:9000"),
            ("http://localhost", Scheme::Http, "localhost", 80, "localhost"),
            ("http://[::1]:8080/", Scheme::Http, "::1", 8080, "[::1]:8080"),
            ("https://[2001:db8::1]", Scheme::Https, "2001:db8::1", 443, "[2001:db8::1]"),
        ] {
            let target = Target::from_url(url).unwrap();
            assert_eq!(target, Target { scheme, host: host.to_owned(), port }, "{url}");
            assert_eq!(target.to_string(), shown);
        }
    }

    #[test]
    fn whatever_is_not_scheme_host_and_port_is_refused() {
        for (url, why) in [
            ("management.azure.com", NotATarget::Scheme),
            ("ftp://a.b", NotATarget::Scheme),
            ("https://", NotATarget::Host),
            ("https://a b", NotATarget::Host),
            ("https://::1", NotATarget::Host),
            ("https://[::1", NotATarget::Host),
            ("https://[::1]x", NotATarget::Host),
            ("https://a.b:", NotATarget::Port),
            ("https://a.b:0", NotATarget::Port),
            ("https://a.b:+80", NotATarget::Port),
            ("https://a.b:99999", NotATarget::Port),
            ("https://u:p@a.b", NotATarget::User),
            ("https://a.b/arm", NotATarget::Path),
            ("https://a.b//", NotATarget::Path),
            ("https://a.b?x=1", NotATarget::Path),
        ] {
            assert_eq!(Target::from_url(url), Err(why), "{url}");
        }
    }

    #[test]
    fn an_address_may_lack_its_port() {
        for (text, host, port) in [
            ("10.0.0.4", "10.0.0.4", None),
            ("10.0.0.4:8443", "10.0.0.4", Some(8443)),
            ("Arm.Private", "arm.private", None),
            ("::1", "::1", None),
            ("[::1]:443", "::1", Some(443)),
        ] {
            assert_eq!(text.parse(), Ok(Address { host: host.to_owned(), port }), "{text}");
        }
    }
}
