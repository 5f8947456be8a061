//! What somebody wants to have explained, read from the query of `/api/explain`.

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use percent_encoding::percent_decode_str;

/// What somebody wants to have explained. Debug output shows neither query nor headers.
#[derive(Clone)]
pub struct Inquiry {
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: Uri,
    /// The authority, where the URL has one.
    pub(super) host: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) peer: IpAddr,
}

impl std::fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inquiry")
            .field("method", &self.method)
            .field("path", &self.target.path())
            .finish_non_exhaustive()
    }
}

/// Why there is nothing to explain. The text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotExplained {
    /// A parameter that is missing.
    #[error("say which request: ?url=…, an absolute URL of ARM or of armshield, or a path with its query")]
    NoUrl,
    /// A parameter there is none of.
    #[error(
        "there is no parameter '{0}'; url, user_agent, method, header and peer are known, and what stands in a url has to be percent-encoded (curl -G --data-urlencode url=…)"
    )]
    Parameter(String),
    /// The same parameter twice.
    #[error("the parameter '{0}' is given twice")]
    Twice(&'static str),
    /// Bytes that are no text.
    #[error("the parameter '{0}' is no UTF-8 when its percent-encoding is undone")]
    NoText(&'static str),
    /// The URL is none.
    #[error("this is no URL: {0}")]
    Url(String),
    /// Neither `http` nor `https`.
    #[error("a URL of ARM begins with https://, one of armshield with http:// or https://")]
    Scheme,
    /// A path that begins with a host.
    #[error("'{0}' looks like a host: begin with https:// or, for a path, with /subscriptions/…")]
    LooksLikeHost(String),
    /// A user or a password.
    #[error("a URL of ARM carries no user and no password")]
    User,
    /// A host that no field can carry.
    #[error("this is no host name with an optional port")]
    Host,
    /// A host that armshield does not answer under.
    #[error("armshield would turn this request away: {0}. A path alone is explained as well")]
    Dialled(String),
    /// A method that is none, or that never gets here.
    #[error("'{0}' is no method of ARM: GET, HEAD, PUT, PATCH, POST, DELETE")]
    Method(String),
    /// A header that is none.
    #[error("'{0}' is no header field: write 'Name: value'")]
    Header(String),
    /// A header that says who asks.
    #[error("no header '{0}' here: armshield explains for every caller it knows, and wants to see no token")]
    Token(String),
    /// A header that the URL says.
    #[error("no header '{0}' here: it follows from the url")]
    Framing(String),
    /// An address that is none.
    #[error("'{0}' is no IP address")]
    Peer(String),
}

impl Inquiry {
    /// Reads the query of `/api/explain`, without its question mark: `url`, and optionally `user_agent`, `method`
    /// (GET), `peer` (127.0.0.1) and any number of `header`.
    ///
    /// # Errors
    /// When it names no request.
    pub fn read(query: &str) -> Result<Self, NotExplained> {
        let (mut url, mut agent, mut method, mut peer) = (None, None, None, None);
        let mut headers = HeaderMap::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, place) = match name {
                "url" => ("url", &mut url),
                "user_agent" => ("user_agent", &mut agent),
                "method" => ("method", &mut method),
                "peer" => ("peer", &mut peer),
                "header" => {
                    field(&mut headers, &decode("header", value)?)?;
                    continue;
                }
                other => return Err(NotExplained::Parameter(short(other))),
            };
            if place.replace(decode(name, value)?).is_some() {
                return Err(NotExplained::Twice(name));
            }
        }
        let (target, host) = url_of(url.as_deref().unwrap_or_default().trim())?;
        let method = method.unwrap_or_else(|| "GET".to_owned());
        if let Some(agent) = agent.filter(|agent| !agent.is_empty()) {
            let value = HeaderValue::from_bytes(agent.as_bytes());
            headers.insert(header::USER_AGENT, value.map_err(|_| NotExplained::Header("User-Agent".into()))?);
        }
        let peer = match peer {
            None => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(peer) => peer.trim().parse().map_err(|_| NotExplained::Peer(short(&peer)))?,
        };
        Ok(Self { method: method_of(method.trim())?, target, host, headers, peer })
    }
}

/// Percent-encoding undone, `+` being a space, as forms send it.
fn decode(name: &'static str, value: &str) -> Result<String, NotExplained> {
    let spaced = value.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8().map_err(|_| NotExplained::NoText(name))?;
    Ok(text.into_owned())
}

fn method_of(text: &str) -> Result<Method, NotExplained> {
    let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes());
    method.ok().filter(|method| *method != Method::CONNECT).ok_or_else(|| NotExplained::Method(short(text)))
}

fn field(headers: &mut HeaderMap, text: &str) -> Result<(), NotExplained> {
    let none = || NotExplained::Header(short(text.split(':').next().unwrap_or_default()));
    let (name, value) = text.split_once(':').ok_or_else(none)?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| none())?;
    let value = HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| none())?;
    match name.as_str() {
        "authorization" | "x-ms-authorization-auxiliary" | "cookie" | "proxy-authorization" => {
            Err(NotExplained::Token(name.to_string()))
        }
        "host" | "content-length" | "transfer-encoding" => Err(NotExplained::Framing(name.to_string())),
        _ => {
            headers.try_append(name, value).map_err(|_| none())?;
            Ok(())
        }
    }
}

/// Path and query, and the authority in front of them.
fn url_of(url: &str) -> Result<(Uri, Option<String>), NotExplained> {
    if url.is_empty() {
        return Err(NotExplained::NoUrl);
    }
    let (path, host) = match url.split_once("://") {
        // In a query it is no scheme.
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => {
            if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                return Err(NotExplained::Scheme);
            }
            let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
            (path, Some(host))
        }
        _ => (url, None),
    };
    match host {
        Some(host) if host.contains('@') => return Err(NotExplained::User),
        Some("") => return Err(NotExplained::Host),
        _ => {}
    }
    let path = path.split('#').next().unwrap_or_default();
    let first = path.split(['/', '?']).next().unwrap_or_default();
    if first.contains(['.', ':']) {
        return Err(NotExplained::LooksLikeHost(short(first)));
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    let target = format!("{slash}{path}").parse::<Uri>();
    let target = target.map_err(|error| NotExplained::Url(error.to_string()))?;
    Ok((target, host.map(str::to_owned)))
}

/// The beginning of what somebody wrote, printable.
fn short(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(query: &str) -> (String, Option<String>) {
        let inquiry = Inquiry::read(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        (inquiry.target.to_string(), inquiry.host)
    }

    #[test]
    fn urls_and_paths_are_understood_however_they_are_written() {
        let check = |query: &str, path: &str, host: Option<&str>| {
            assert_eq!(target(query), (path.to_owned(), host.map(str::to_owned)), "{query}");
        };
        check("url=/subscriptions/s/x%3Fapi-version%3D1", "/subscriptions/s/x?api-version=1", None);
        check(
            "url=subscriptions/s%3Fapi-version%3D1%26%24expand%3Da",
            "/subscriptions/s?api-version=1&$expand=a",
            None,
        );
        check("url=%20/subscriptions/s%20", "/subscriptions/s", None);
        check("url=/a?b=c", "/a?b=c", None);
        check("url=/a%3Fnext=https://x.y/", "/a?next=https://x.y/", None);
        check("url=https://management.azure.com/a%3Fb%23c", "/a?b", Some("management.azure.com"));
        check("url=HTTP://localhost:7788", "/", Some("localhost:7788"));
        check("url=https://[::1]:7788?a=b", "/?a=b", Some("[::1]:7788"));
        check("url=//a//b", "//a//b", None);
        check("url=/subscriptions/s/a%2520b", "/subscriptions/s/a%20b", None);
    }

    #[test]
    fn what_is_no_request_says_why() {
        let check =
            |query: &str, why: NotExplained| assert_eq!(Inquiry::read(query).unwrap_err(), why, "{query}");
        check("", NotExplained::NoUrl);
        check("url=", NotExplained::NoUrl);
        check("user_agent=a", NotExplained::NoUrl);
        check("url=/a&url=/b", NotExplained::Twice("url"));
        check("url=/a&%24expand=b", NotExplained::Parameter("%24expand".into()));
        check("url=/a&user_agent=%ff", NotExplained::NoText("user_agent"));
        check("url=/a&user_agent=a%0d%0ab", NotExplained::Header("User-Agent".into()));
        check("url=ftp://x/y", NotExplained::Scheme);
        check("url=https:///y", NotExplained::Host);
        check("url=https://me:secret@management.azure.com/", NotExplained::User);
        check(
            "url=management.azure.com/subscriptions/s",
            NotExplained::LooksLikeHost("management.azure.com".into()),
        );
        check("url=/a&method=CONNECT", NotExplained::Method("CONNECT".into()));
        check("url=/a&method=a%20b", NotExplained::Method("a b".into()));
        check("url=/a&header=nonsense", NotExplained::Header("nonsense".into()));
        check("url=/a&header=Authorization:Bearer%20x", NotExplained::Token("authorization".into()));
        check("url=/a&header=host:x", NotExplained::Framing("host".into()));
        check("url=/a&peer=nobody", NotExplained::Peer("nobody".into()));
        assert!(matches!(Inquiry::read("url=/a%20b"), Err(NotExplained::Url(_))));
        assert!(matches!(Inquiry::read("url=/a%00"), Err(NotExplained::Url(_))));
        for length in [65_533, 65_534, 65_535, 65_536, 200_000] {
            let read = Inquiry::read(&format!("url=/{}", "a".repeat(length - 1)));
            assert_eq!(read.is_ok(), length <= 65_534, "{length}");
            let _ = Inquiry::read(&format!("url=/{}?b", "a".repeat(length - 1)));
        }
    }

    #[test]
    fn method_agent_peer_and_headers_are_taken() {
        let inquiry = Inquiry::read(
            "url=/a&method=put&user_agent=AZURECLI/2+x&peer=10.0.0.7&header=Cache-Control:no-cache&header=x-a:+1",
        )
        .unwrap();
        assert_eq!((inquiry.method, inquiry.peer), (Method::PUT, "10.0.0.7".parse().unwrap()));
        let fields: Vec<_> =
            inquiry.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(fields, [("cache-control", "no-cache"), ("x-a", "1"), ("user-agent", "AZURECLI/2 x")]);
    }

    proptest! {
        #[test]
        fn nothing_that_is_asked_is_fatal(query in any::<String>(), url in any::<String>(), bytes in "[ -~]{0,60}") {
            let _ = Inquiry::read(&query);
            let _ = Inquiry::read(&bytes);
            let encode = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
            let _ = Inquiry::read(&format!("url={}&header={}", encode(&url), encode(&query)));
            let _ = Inquiry::read(&format!("url=https%3A%2F%2F{}&method={}", encode(&url), encode(&query)));
        }
    }
}
