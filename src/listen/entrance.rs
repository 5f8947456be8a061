//! How a connection came in.

use std::net::{Ipv4Addr, SocketAddr};

use super::dialled::LastDialled;

/// What is known of a connection before its first request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrance {
    /// The client's end; an IPv4 address in IPv6 form is given as IPv4.
    pub peer: SocketAddr,
    /// Our end, likewise.
    pub local: SocketAddr,
    /// Whether the requests came through TLS.
    pub secure: bool,
    /// The name the TLS client asked for, in lower case.
    pub sni: Option<String>,
    /// Whether our end is a loopback address: nobody outside the machine (or pod) can listen.
    pub loopback: bool,
    /// Whether the client came straight to us or through a tunnel we opened for it.
    pub via: Via,
}

/// A connection, as those know it who answer on it.
#[derive(Debug)]
pub struct Connection<M> {
    /// How it came in.
    pub entrance: Entrance,
    /// What the handler remembers of it. Ends with the connection.
    pub memory: M,
    /// What its last request dialled.
    pub(super) dialled: LastDialled,
}

impl<M: Default> Connection<M> {
    /// A connection on which nothing was asked yet.
    #[must_use]
    pub fn new(entrance: Entrance) -> Self {
        Self { entrance, memory: M::default(), dialled: LastDialled::default() }
    }
}

/// The way to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// The client dialled us, or believes we are ARM (a host alias).
    Direct,
    /// The client asked us for a tunnel to `host`, without port, and we answer in it.
    Tunnel {
        /// The name the client asked for.
        host: String,
    },
}

impl Entrance {
    /// A connection from `peer` that was accepted on `local`, before anything was read from it.
    #[must_use]
    pub fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        let (peer, local) = (canonical(peer), canonical(local));
        Self { peer, local, secure: false, sni: None, loopback: local.ip().is_loopback(), via: Via::Direct }
    }

    /// A plain loopback connection without a socket, for tests.
    #[must_use]
    pub fn in_memory() -> Self {
        let end = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self::new(end(50_000), end(7788))
    }

    /// The same connection after a TLS handshake that asked for `sni`.
    #[must_use]
    pub fn secured(self, sni: Option<&str>) -> Self {
        Self { secure: true, sni: sni.map(str::to_ascii_lowercase), ..self }
    }

    /// What comes out of a tunnel to `host` that was opened on this connection; not yet secure.
    #[must_use]
    pub fn through(&self, host: &str) -> Self {
        let via = Via::Tunnel { host: host.to_ascii_lowercase() };
        Self { secure: false, sni: None, via, ..self.clone() }
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_v4_client_of_a_v6_socket_is_seen_as_v4() {
        let entrance = Entrance::new(
            "[::ffff:10.0.0.9]:1234".parse().unwrap(),
            "[::ffff:127.0.0.1]:7788".parse().unwrap(),
        );
        assert_eq!(entrance.peer.to_string(), "10.0.0.9:1234");
        assert!(entrance.loopback);
    }
}
