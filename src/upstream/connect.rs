//! Getting a byte stream to a target: over TCP, at the addresses DNS gives or at one an operator gives.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::error::Unresolved;
use super::target::{Address, Target};
use super::tunnel::Proxy;

/// How long one address may take before the next is tried beside it (RFC 8305 §5).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// A byte stream in both directions.
pub trait Pipe: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Pipe for T {}

/// A boxed [`Pipe`].
pub type Io = Box<dyn Pipe>;

/// A connection in the making.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Io>> + Send>>;

/// Opens byte streams. TLS is laid on top by the caller; deadlines too.
pub trait Connect: Send + Sync + 'static {
    /// Opens a byte stream to `target`.
    ///
    /// A name that does not resolve is an [`io::Error`] around [`Unresolved`].
    fn connect(&self, target: &Target) -> Connecting;
}

/// Connects over TCP, directly or through a proxy.
#[derive(Debug, Clone, Default)]
pub struct TcpConnect {
    address: Option<Address>,
    proxy: Option<Proxy>,
}

impl TcpConnect {
    /// Connects to `address` instead of the target's own host, through `proxy` if there is one.
    #[must_use]
    pub const fn new(address: Option<Address>, proxy: Option<Proxy>) -> Self {
        Self { address, proxy }
    }
}

impl Connect for TcpConnect {
    fn connect(&self, target: &Target) -> Connecting {
        let (host, port) = match &self.address {
            Some(Address { host, port }) => (host.clone(), port.unwrap_or(target.port)),
            None => (target.host.clone(), target.port),
        };
        match self.proxy.clone() {
            None => Box::pin(async move { Ok(Box::new(tcp(&host, port).await?) as Io) }),
            Some(proxy) => Box::pin(async move {
                let stream = tcp(proxy.host(), proxy.port()).await?;
                proxy.tunnel(Box::new(stream), &Address { host, port: Some(port) }).await
            }),
        }
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = first_of(in_turns(resolve(host, port).await?)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let unresolved = |reason: String| io::Error::other(Unresolved { host: host.to_owned(), reason });
    let found: Vec<_> =
        tokio::net::lookup_host((host, port)).await.map_err(|error| unresolved(error.to_string()))?.collect();
    if found.is_empty() { Err(unresolved("no addresses".to_owned())) } else { Ok(found) }
}

/// Alternates between the address families, beginning with the resolver's first choice, so that one
/// family without a route costs one step (RFC 8305 §4).
fn in_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (mut first, mut second) = (0, 0);
    let mut ranked: Vec<_> = addresses
        .into_iter()
        .map(|address| {
            let of_first = address.is_ipv6() == first_is_v6;
            let count = if of_first { &mut first } else { &mut second };
            *count += 1;
            (*count, !of_first, address)
        })
        .collect();
    ranked.sort_by_key(|&(turn, of_second, _)| (turn, of_second));
    ranked.into_iter().map(|(.., address)| address).collect()
}

/// Tries all addresses, each a moment after the one before it, and takes the first that answers.
async fn first_of(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut tried = JoinSet::new();
    let mut failures = Failures::default();
    loop {
        if let Some(address) = waiting.next() {
            tried.spawn(async move { TcpStream::connect(address).await.map_err(|error| (address, error)) });
        } else if tried.is_empty() {
            return Err(failures.into());
        }
        let patience = async {
            if waiting.len() == 0 {
                std::future::pending().await
            } else {
                tokio::time::sleep(NEXT_ADDRESS).await
            }
        };
        tokio::select! {
            biased;
            Some(ended) = tried.join_next() => match ended {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(failure)) => failures.0.push(failure),
                Err(died) => return Err(died.into()),
            },
            () = patience => {}
        }
    }
}

#[derive(Debug, Default)]
struct Failures(Vec<(SocketAddr, io::Error)>);

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (address, error)) in self.0.iter().enumerate() {
            write!(f, "{}{address}: {error}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Failures {}

impl From<Failures> for io::Error {
    fn from(failures: Failures) -> Self {
        let kind = failures.0.last().map_or(io::ErrorKind::NotFound, |(_, error)| error.kind());
        Self::new(kind, failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_families_take_turns() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let all: Vec<_> = ["[::1]:1", "[::2]:1", "[::3]:1", "1.0.0.1:1", "1.0.0.2:1"].map(at).into();
        let turns: Vec<_> = ["[::1]:1", "1.0.0.1:1", "[::2]:1", "1.0.0.2:1", "[::3]:1"].map(at).into();
        assert_eq!(in_turns(all), turns);
    }

    #[tokio::test]
    async fn a_name_that_cannot_exist_is_unresolved() {
        let host = format!("{}.invalid", "a".repeat(64));
        let error = resolve(&host, 443).await.unwrap_err();
        let unresolved = error.get_ref().and_then(|error| error.downcast_ref::<Unresolved>()).unwrap();
        assert_eq!(unresolved.host, host);
    }
}
