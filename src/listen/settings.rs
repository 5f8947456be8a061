//! What an operator can choose about the entrance.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// How connections are taken, bounded and ended.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub address: SocketAddr,
    /// The names clients dial, besides loopback names and the socket's own address. Any port.
    pub names: Vec<String>,
    /// Whether requests in plain http are taken on an address that is not loopback.
    pub allow_plain: bool,
    /// The names ARM is known by.
    pub arm: HostSet,
    /// From accepting a connection to its first whole request head: first bytes and TLS handshake included.
    /// Later HTTP/1 heads have as long from their first byte.
    pub head_deadline: Duration,
    /// The longest request head in bytes. Above: 431. At least 8 KiB.
    pub head_bytes: usize,
    /// The most fields of an HTTP/1 head. Above: 431. For any number but 100, hyper's own, hyper allocates
    /// and fills a table for every head.
    pub head_fields: usize,
    /// The most concurrent requests on one HTTP/2 connection.
    pub streams: u32,
    /// The most open connections. Above, connecting clients wait in the socket's queue.
    pub connections: usize,
    /// How often an HTTP/2 connection is asked whether its client still lives; it has 20 s to answer.
    pub ping: Option<Duration>,
    /// How long a connection without a request is kept. Some are kept up to twice as long. Above the
    /// 90 s after which Go's clients close theirs, so that it is rarely us who closes first.
    pub idle: Duration,
    /// How long a client may take no byte of an answer that is ready for it.
    pub stall: Duration,
    /// How long, after a stop, an idle loopback connection still counts as a client. At most twice as long.
    pub linger: Duration,
    /// How long, after a stop, loopback is served while a client is left.
    pub drain: Duration,
    /// How long after that requests in flight have to end before they are cut off. Kubernetes kills 30 s
    /// after it asks, so the default of both together is a little less.
    pub grace: Duration,
}

impl Settings {
    /// Takes `host`, and its names with a region in front, for ARM's.
    pub fn know_arm_as(&mut self, host: &str) {
        self.arm = HostSet { exact: vec![host.to_owned()], regional: vec![host.to_owned()] };
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7788),
            names: Vec::new(),
            allow_plain: false,
            arm: HostSet::default(),
            head_deadline: Duration::from_secs(10),
            head_bytes: 128 * 1024,
            head_fields: 100,
            streams: 256,
            connections: 4096,
            ping: Some(Duration::from_secs(30)),
            idle: Duration::from_secs(120),
            stall: Duration::from_secs(60),
            linger: Duration::from_secs(5),
            drain: Duration::from_secs(20),
            grace: Duration::from_secs(8),
        }
    }
}

/// Hosts known by name, and hosts that have regional names below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSet {
    /// Hosts, without port.
    pub exact: Vec<String>,
    /// Hosts whose names with one more label in front belong to the set too, such as
    /// `management.azure.com` for `westeurope.management.azure.com`.
    pub regional: Vec<String>,
}

impl HostSet {
    /// Whether `host`, without port, in any case, belongs to the set.
    #[must_use]
    pub fn contains(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.exact.iter().any(|known| known.eq_ignore_ascii_case(host))
            || host.split_once('.').is_some_and(|(region, rest)| {
                is_label(region) && self.regional.iter().any(|known| known.eq_ignore_ascii_case(rest))
            })
    }
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_hosts_and_one_region_below() {
        let arm = HostSet {
            exact: vec!["management.azure.com".into()],
            regional: vec!["management.azure.com".into()],
        };
        for (host, known) in [
            ("management.azure.com", true),
            ("Management.Azure.COM", true),
            ("management.azure.com.", true),
            ("westeurope.management.azure.com", true),
            ("a.b.management.azure.com", false),
            ("evilmanagement.azure.com", false),
            (".management.azure.com", false),
            ("a%2e.management.azure.com", false),
            ("management.azure.com.evil", false),
            ("", false),
        ] {
            assert_eq!(arm.contains(host), known, "{host}");
        }
    }
}
