//! Which name a request dialled, and why that may be no name of ours.
//!
//! A name that a client made up must never come back in a link, and a page that resolves its own name to
//! our address must get nothing. So the dialled name has to be one that we know.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::{HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::Scheme;
use http::{HeaderMap, Version};

use super::name::Name;
use super::{Connection, Entrance, Settings, Via};

/// The name a request dialled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialled {
    /// A name of our own: links have to lead back to it.
    Ours {
        /// Lower case, with the port the client gave, if any.
        authority: String,
    },
    /// A name of ARM: the client gets everything as ARM wrote it.
    Arm {
        /// Lower case, without port.
        host: String,
    },
}

/// Why a request is not answered under the name it dialled. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Neither `Host` nor `:authority`, or an empty one.
    #[error("the request names no host")]
    NoHost,
    /// More than one `Host` field (RFC 9112 §3.2).
    #[error("the request has more than one Host field")]
    TwoHosts,
    /// Something that is no host name with an optional port.
    #[error("the request's host is not a host name with an optional port")]
    Malformed,
    /// `Host` differs from the host of an absolute target or from `:authority`.
    #[error("the Host field contradicts the host of the request's target")]
    Contradiction,
    /// A body in a transfer coding besides `chunked`, which we would pass on undecoded (RFC 9112 §6.1).
    #[error("the request's body has a transfer coding other than chunked")]
    Coding,
    /// A name that is not ours to answer under.
    #[error("{name} {why}")]
    Misdirected {
        /// The name dialled.
        name: String,
        /// What is wrong with it.
        why: Misdirection,
    },
    /// Plain http on an address that others can listen on.
    #[error(
        "plain http is taken on loopback only, because it carries tokens in the clear: use https, or set `allow_plain = true` in [listen]"
    )]
    Plain,
}

/// What is wrong with a dialled name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misdirection {
    /// It is in no list.
    #[error("is not a name of this proxy: add it to `names` in [listen]")]
    Unlisted,
    /// The TLS handshake asked for another one.
    #[error("is not the name this TLS connection was opened for, {sni}: use a connection of its own")]
    OtherSni {
        /// The name the handshake asked for.
        sni: String,
    },
    /// The tunnel leads to another one.
    #[error("is not the name this tunnel was opened for, {host}: use a tunnel of its own")]
    OtherTunnel {
        /// The name the tunnel was asked for.
        host: String,
    },
}

/// The `Host` by which the last request of a connection dialled, and what it meant.
#[derive(Debug, Default)]
pub(super) struct LastDialled(ArcSwapOption<(Box<[u8]>, Arc<Dialled>)>);

impl<M> Connection<M> {
    /// The same as [`Entrance::dialled`]; most requests of a connection dial the same name.
    ///
    /// # Errors
    /// Why the request cannot be answered as it stands.
    pub fn dialled(&self, settings: &Settings, head: &Parts) -> Result<Arc<Dialled>, Refusal> {
        let host = sole_host(head);
        if let (Some(host), Some(last)) = (host, &*self.dialled.0.load())
            && *last.0 == *host
            && only_chunked(&head.headers)
        {
            return Ok(last.1.clone());
        }
        let dialled = Arc::new(self.entrance.dialled(settings, head)?);
        if let Some(host) = host {
            self.dialled.0.store(Some(Arc::new((host.into(), dialled.clone()))));
        }
        Ok(dialled)
    }
}

impl Entrance {
    /// The name that a request with this head dialled, if we answer under it.
    ///
    /// # Errors
    /// Why the request cannot be answered as it stands.
    pub fn dialled(&self, settings: &Settings, head: &Parts) -> Result<Dialled, Refusal> {
        if !self.secure && !self.loopback && !settings.allow_plain {
            return Err(Refusal::Plain);
        }
        if !only_chunked(&head.headers) {
            return Err(Refusal::Coding);
        }
        let name = name_of(head)?;
        self.opened_for(&name)?;
        if self.is_ours(&name, settings) {
            Ok(Dialled::Ours { authority: name.to_string() })
        } else if settings.arm.contains(&name.host) {
            Ok(Dialled::Arm { host: name.host })
        } else {
            Err(misdirected(&name, Misdirection::Unlisted))
        }
    }

    /// Holds a request to the name its connection was opened for (RFC 9110 §7.4).
    fn opened_for(&self, name: &Name) -> Result<(), Refusal> {
        if let Via::Tunnel { host } = &self.via
            && !name.is_host(host)
        {
            return Err(misdirected(name, Misdirection::OtherTunnel { host: host.clone() }));
        }
        if let Some(sni) = &self.sni
            && !name.is_host(sni)
        {
            return Err(misdirected(name, Misdirection::OtherSni { sni: sni.clone() }));
        }
        Ok(())
    }

    /// In a tunnel nothing is ours: the client believes to have left us behind.
    fn is_ours(&self, name: &Name, settings: &Settings) -> bool {
        self.via == Via::Direct
            && (name.is_loopback()
                || name.address() == Some(self.local.ip())
                || settings.names.iter().any(|ours| name.is_host(ours)))
    }
}

fn misdirected(name: &Name, why: Misdirection) -> Refusal {
    Refusal::Misdirected { name: name.to_string(), why }
}

/// `Host`, where nothing else names a host.
fn sole_host(head: &Parts) -> Option<&[u8]> {
    let mut fields = head.headers.get_all(HOST).iter();
    let host = fields.next().filter(|_| head.uri.authority().is_none())?;
    fields.next().is_none().then(|| host.as_bytes())
}

fn name_of(head: &Parts) -> Result<Name, Refusal> {
    let mut fields = head.headers.get_all(HOST).iter().map(http::HeaderValue::as_bytes);
    let field = fields.next().filter(|field| !field.is_empty());
    if fields.next().is_some() {
        return Err(Refusal::TwoHosts);
    }
    let read = |raw: &[u8]| Name::parse(raw).ok_or(Refusal::Malformed);
    match (head.uri.authority(), field) {
        (None, None) => Err(Refusal::NoHost),
        (None, Some(field)) => read(field),
        // HTTP/2 needs no `Host` (RFC 9113 §8.3.1); HTTP/1.1 does even with an absolute target.
        (Some(target), None) if head.version >= Version::HTTP_2 => read(target.as_str().as_bytes()),
        (Some(_), None) => Err(Refusal::NoHost),
        (Some(target), Some(field)) => {
            let (target, field) = (read(target.as_str().as_bytes())?, read(field)?);
            let usual = if head.uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
            let end = |name: &Name| name.port.unwrap_or(usual);
            if target.host == field.host && end(&target) == end(&field) {
                Ok(target)
            } else {
                Err(Refusal::Contradiction)
            }
        }
    }
}

fn only_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    codings.next().is_none_or(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"))
        && codings.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::HostSet;

    fn settings() -> Settings {
        let arm = vec!["management.azure.com".to_owned()];
        Settings {
            names: vec!["Shield.Kube-System.svc".into(), "fd00::7".into()],
            arm: HostSet { exact: arm.clone(), regional: arm },
            ..Settings::default()
        }
    }

    fn remote() -> Entrance {
        Entrance::new("10.0.0.9:1234".parse().unwrap(), "10.0.0.5:7788".parse().unwrap())
    }

    fn head(version: Version, target: &str, fields: &[(&str, &str)]) -> Parts {
        let request = http::Request::builder().version(version).uri(target);
        fields
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value))
            .body(())
            .unwrap()
            .into_parts()
            .0
    }

    /// The outcome in one word, or the name dialled.
    fn said(dialled: &Result<Dialled, Refusal>) -> String {
        match dialled {
            Ok(Dialled::Ours { authority }) => format!("ours {authority}"),
            Ok(Dialled::Arm { host }) => format!("arm {host}"),
            Err(Refusal::Misdirected { why, .. }) => match why {
                Misdirection::Unlisted => "unlisted".into(),
                Misdirection::OtherSni { .. } => "other sni".into(),
                Misdirection::OtherTunnel { .. } => "other tunnel".into(),
            },
            Err(refusal) => format!("{refusal:?}"),
        }
    }

    #[track_caller]
    fn check(entrance: &Entrance, version: Version, target: &str, hosts: &[&str], expected: &str) {
        let fields: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
        let dialled = entrance.dialled(&settings(), &head(version, target, &fields));
        assert_eq!(said(&dialled), expected, "{target} {hosts:?}");
    }

    #[test]
    fn names_that_are_answered_to() {
        for (host, expected) in [
            ("localhost:7788", "ours localhost:7788"),
            ("LOCALHOST", "ours localhost"),
            ("127.0.0.1:7788", "ours 127.0.0.1:7788"),
            ("[::1]:7788", "ours [::1]:7788"),
            ("10.0.0.5:30443", "ours 10.0.0.5:30443"),
            ("shield.kube-system.svc:443", "ours shield.kube-system.svc:443"),
            ("[fd00::7]", "ours [fd00::7]"),
            ("Management.Azure.com:443", "arm management.azure.com"),
            ("westeurope.management.azure.com", "arm westeurope.management.azure.com"),
            ("10.0.0.6:7788", "unlisted"),
            ("evil.example", "unlisted"),
            ("kube-system.svc", "unlisted"),
            ("management.azure.com.evil.example", "unlisted"),
            ("a b", "Malformed"),
            ("root@localhost", "Malformed"),
            ("localhost:99999", "Malformed"),
            ("", "NoHost"),
        ] {
            check(&remote().secured(None), Version::HTTP_11, "/", &[host], expected);
        }
    }

    #[test]
    fn hosts_are_named_once_and_alike() {
        let http1 = Version::HTTP_11;
        for (version, target, hosts, expected) in [
            (http1, "/", &[][..], "NoHost"),
            (http1, "/", &["localhost", "localhost"], "TwoHosts"),
            (http1, "/", &["localhost", "evil.example"], "TwoHosts"),
            (http1, "/", &["", "localhost"], "TwoHosts"),
            (http1, "http://localhost/", &["localhost"], "ours localhost"),
            (http1, "http://localhost:7788/", &["LocalHost:7788"], "ours localhost:7788"),
            (http1, "http://localhost:80/", &["localhost"], "ours localhost:80"),
            (
                http1,
                "https://management.azure.com/",
                &["management.azure.com:443"],
                "arm management.azure.com",
            ),
            (http1, "http://localhost/", &["localhost:81"], "Contradiction"),
            (http1, "http://management.azure.com/", &["localhost"], "Contradiction"),
            (http1, "http://localhost/", &[], "NoHost"),
            (http1, "http://localhost/", &[""], "NoHost"),
            (http1, "http://root@localhost/", &["localhost"], "Malformed"),
            (http1, "*", &["localhost"], "ours localhost"),
            (Version::HTTP_10, "/", &[], "NoHost"),
            (Version::HTTP_2, "https://localhost/", &[], "ours localhost"),
            (Version::HTTP_2, "https://localhost/", &["localhost"], "ours localhost"),
            (Version::HTTP_2, "/", &["localhost"], "ours localhost"),
            (Version::HTTP_2, "https://localhost/", &["evil.example"], "Contradiction"),
            (Version::HTTP_2, "https://localhost/", &["localhost", "localhost"], "TwoHosts"),
            (Version::HTTP_2, "/", &[], "NoHost"),
        ] {
            check(&Entrance::in_memory(), version, target, hosts, expected);
        }
    }

    #[test]
    fn a_connection_serves_the_name_it_was_opened_for() {
        let direct = Entrance::in_memory();
        let aliased = direct.clone().secured(Some("Management.Azure.com"));
        let tunnel = direct.through("management.azure.com").secured(Some("management.azure.com"));
        for (entrance, host, expected) in [
            (&aliased, "management.azure.com", "arm management.azure.com"),
            (&aliased, "localhost", "other sni"),
            (&aliased, "westeurope.management.azure.com", "other sni"),
            (&direct.clone().secured(Some("localhost")), "localhost:7788", "ours localhost:7788"),
            (&direct.clone().secured(Some("localhost")), "127.0.0.1:7788", "other sni"),
            (&tunnel, "management.azure.com:443", "arm management.azure.com"),
            (&tunnel, "localhost", "other tunnel"),
            (&direct.through("management.azure.com"), "management.azure.com", "arm management.azure.com"),
            (&direct.through("localhost"), "localhost", "unlisted"),
        ] {
            check(entrance, Version::HTTP_11, "/", &[host], expected);
            check(entrance, Version::HTTP_2, &format!("https://{host}/"), &[], expected);
        }
    }

    #[test]
    fn plain_requests_are_taken_on_loopback_only_unless_allowed() {
        let head = head(Version::HTTP_11, "/", &[("host", "localhost")]);
        let open = Settings { allow_plain: true, ..settings() };
        for (entrance, settings, taken) in [
            (Entrance::in_memory(), settings(), true),
            (remote(), settings(), false),
            (remote(), open, true),
            (remote().secured(None), settings(), true),
            (remote().through("localhost"), settings(), false),
        ] {
            let plain = entrance.dialled(&settings, &head) == Err(Refusal::Plain);
            assert_eq!(!plain, taken, "{entrance:?}");
        }
    }

    #[test]
    fn bodies_come_plain_or_chunked() {
        for (codings, expected) in [
            (&[][..], "ours localhost"),
            (&["Chunked"], "ours localhost"),
            (&["gzip, chunked"], "Coding"),
            (&["chunked", "chunked"], "Coding"),
            (&["identity"], "Coding"),
        ] {
            let mut fields = vec![("host", "localhost")];
            fields.extend(codings.iter().map(|coding| ("transfer-encoding", *coding)));
            let head = head(Version::HTTP_11, "/", &fields);
            assert_eq!(said(&Entrance::in_memory().dialled(&settings(), &head)), expected, "{codings:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_set() {
        let head = head(Version::HTTP_11, "/", &[("host", "proxy.example:80")]);
        let refusal = Entrance::in_memory().dialled(&settings(), &head).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "proxy.example:80 is not a name of this proxy: add it to `names` in [listen]"
        );
    }
}
