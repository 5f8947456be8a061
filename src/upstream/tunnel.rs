//! A way out through an HTTP proxy: `CONNECT`, then the bytes as they are (RFC 9110 §9.3.6).

use std::fmt;
use std::io;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use http::{Method, Request};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;

use super::connect::Io;
use super::target::{Address, NotATarget, Scheme, Target};
use crate::body::Body;

/// A proxy that all connections go through, with the credentials it wants. Debug output hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    at: Target,
    authorization: Option<HeaderValue>,
}

impl Proxy {
    /// The proxy's name or address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.at.host
    }

    /// The proxy's port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.at.port
    }

    pub(super) async fn tunnel(self, io: Io, to: &Address) -> io::Result<Io> {
        let failed = |reason: String| io::Error::other(format!("proxy {}: {reason}", self.at));
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(io)).await.map_err(|error| failed(error.to_string()))?;
        // Ends with the tunnel: hyper gives the byte stream away when the proxy has agreed.
        tokio::spawn(connection.with_upgrades());
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::CONNECT;
        *request.uri_mut() = to.to_string().parse().map_err(io::Error::other)?;
        request.headers_mut().insert(HOST, to.to_string().parse().map_err(io::Error::other)?);
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        let answer = sender.send_request(request).await.map_err(|error| failed(error.to_string()))?;
        if !answer.status().is_success() {
            return Err(failed(format!("refused a tunnel to {to} with {}", answer.status())));
        }
        let upgraded = hyper::upgrade::on(answer).await.map_err(|error| failed(error.to_string()))?;
        Ok(Box::new(TokioIo::new(upgraded)))
    }
}

impl FromStr for Proxy {
    type Err = NotATarget;

    /// Reads `http://[user:password@]host[:port][/]`; user and password may be percent-encoded.
    fn from_str(url: &str) -> Result<Self, NotATarget> {
        let (credentials, rest) = match url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')) {
            Some((credentials, rest)) => (Some(credentials), format!("http://{rest}")),
            None => (None, url.to_owned()),
        };
        let at = Target::from_url(&rest)?;
        if at.scheme != Scheme::Http || !url.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("http://"))
        {
            return Err(NotATarget::Scheme);
        }
        let authorization = credentials.map(basic).transpose()?;
        Ok(Self { at, authorization })
    }
}

fn basic(credentials: &str) -> Result<HeaderValue, NotATarget> {
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let mut plain: Vec<u8> = percent_decode_str(user).collect();
    plain.push(b':');
    plain.extend(percent_decode_str(password));
    let text = format!("Basic {}", BASE64_STANDARD.encode(plain));
    let mut value = HeaderValue::from_str(&text).map_err(|_| NotATarget::User)?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn a_proxy_is_a_plain_http_url() {
        for (url, host, port, authorization) in [
            ("http://proxy.corp:3128", "proxy.corp", 3128, None),
            ("http://proxy.corp/", "proxy.corp", 80, None),
            ("http://u:p%40ss@proxy.corp:8080", "proxy.corp", 8080, Some("Basic dTpwQHNz")),
        ] {
            let proxy: Proxy = url.parse().unwrap();
            assert_eq!((proxy.host(), proxy.port()), (host, port));
            let said = proxy.authorization.as_ref().map(|value| value.to_str().unwrap());
            assert_eq!(said, authorization);
            assert!(!format!("{proxy:?}").contains("ss"));
        }
        for url in ["https://proxy.corp", "socks5://u:p@proxy.corp", "proxy.corp:3128"] {
            assert_eq!(url.parse::<Proxy>(), Err(NotATarget::Scheme), "{url}");
        }
    }

    async fn check(answer: &'static str) -> (String, io::Result<Io>) {
        let (near, mut far) = tokio::io::duplex(4096);
        let proxy: Proxy = "http://u:p@proxy.corp".parse().unwrap();
        let to: Address = "management.azure.com:443".parse().unwrap();
        let far = tokio::spawn(async move {
            let mut asked = vec![0; 4096];
            let length = far.read(&mut asked).await.unwrap();
            far.write_all(answer.as_bytes()).await.unwrap();
            let echoed = far.read(&mut asked[length..]).await.unwrap();
            far.write_all(&asked[length..length + echoed]).await.unwrap();
            String::from_utf8(asked[..length].to_vec()).unwrap()
        });
        let mut tunnel = proxy.tunnel(Box::new(near), &to).await;
        if let Ok(io) = &mut tunnel {
            io.write_all(b"ping").await.unwrap();
            let mut back = [0; 4];
            io.read_exact(&mut back).await.unwrap();
            assert_eq!(&back, b"ping");
        }
        (far.await.unwrap(), tunnel)
    }

    #[tokio::test]
    async fn bytes_go_through_a_proxy_that_agrees() {
        let (asked, tunnel) = check("HTTP/1.1 200 Connection established\r\n\r\n").await;
        assert!(
            asked.starts_with(
                "CONNECT management.azure.com:443 HTTP/1.1\r\nhost: management.azure.com:443\r\n"
            )
        );
        assert!(asked.contains("proxy-authorization: Basic dTpw\r\n"));
        assert!(tunnel.is_ok());
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_is_named() {
        let (_, tunnel) =
            check("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
        let error = tunnel.map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            error,
            "proxy proxy.corp: refused a tunnel to management.azure.com:443 with 407 Proxy Authentication Required"
        );
    }
}
