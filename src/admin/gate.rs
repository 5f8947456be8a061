//! Who may come in: by the name they dialled, the page they come from, the token they show.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Method, StatusCode, header};

use super::token::Token;

/// Lets requests in.
#[derive(Debug, Clone)]
pub struct Gate {
    /// What has to be shown; `None`: nothing.
    pub token: Option<Token>,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// It dialled a name that is not this door's: a page may have resolved its own name to our address.
    Host,
    /// It comes from a page of another origin.
    Origin,
    /// It shows no token, or another one.
    Token,
}

impl Refused {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Host => "dial the admin port by its address or as localhost",
            Self::Origin => "this page may not use the admin port",
            Self::Token => {
                "show the admin token: Authorization: Bearer $(cat TOKEN-FILE); its path is [admin] token"
            }
        }
    }
}

impl Gate {
    /// Whether a request may come in at all.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn host(
        headers: &HeaderMap,
        authority: Option<&str>,
        local: SocketAddr,
    ) -> Result<(), Refused> {
        let host = authority.or_else(|| headers.get(header::HOST)?.to_str().ok()).ok_or(Refused::Host)?;
        if is_ours(host, local) { Ok(()) } else { Err(Refused::Host) }
    }

    /// Whether it may see and do what needs a token.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn pass(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
        // A browser sends the origin with whatever a page posts; nothing of ours runs in another one's page.
        if let Some(origin) = headers.get(header::ORIGIN) {
            let host = headers.get(header::HOST).map_or(&b""[..], |host| host.as_bytes());
            let own = origin.as_bytes().strip_prefix(b"http://").is_some_and(|origin| origin == host);
            if !own {
                return Err(Refused::Origin);
            }
        }
        let cross = headers
            .get("sec-fetch-site")
            .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
        if cross && method != Method::GET {
            return Err(Refused::Origin);
        }
        let Some(token) = &self.token else { return Ok(()) };
        let shown =
            headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        if shown.is_some_and(|shown| token.is(shown)) { Ok(()) } else { Err(Refused::Token) }
    }
}

fn is_ours(host: &str, local: SocketAddr) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || ip == local.ip(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_door_are_dialled() {
        let local = SocketAddr::from(([10, 0, 0, 7], 7789));
        let check = |host: &str, ours| {
            assert_eq!(Gate::host(&HeaderMap::new(), Some(host), local).is_ok(), ours, "{host}");
        };
        check("localhost:7789", true);
        check("127.0.0.1:7789", true);
        check("[::1]:7789", true);
        check("10.0.0.7", true);
        check("10.0.0.8", false);
        check("rebound.example", false);
        assert_eq!(Gate::host(&HeaderMap::new(), None, local), Err(Refused::Host));
    }

    #[test]
    fn pages_of_others_and_wrong_tokens_stay_out() {
        let gate = Gate { token: Some(Token::of("0123456789abcdef".into())) };
        let check = |fields: &[(&'static str, &str)], expected| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "localhost:7789".parse().unwrap());
            for (name, value) in fields {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(gate.pass(&Method::POST, &headers), expected, "{fields:?}");
        };
        let token = ("authorization", "Bearer 0123456789abcdef");
        check(&[token], Ok(()));
        check(&[], Err(Refused::Token));
        check(&[("authorization", "Bearer 0123456789abcdee")], Err(Refused::Token));
        check(&[token, ("origin", "http://localhost:7789")], Ok(()));
        check(&[token, ("origin", "http://evil.example")], Err(Refused::Origin));
        check(&[token, ("origin", "null")], Err(Refused::Origin));
        check(&[token, ("sec-fetch-site", "cross-site")], Err(Refused::Origin));
    }
}
