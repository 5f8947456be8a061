//! Asks the admin port of an armshield that runs, in plain HTTP.

use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// What was answered.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The first line, for people.
    pub(super) line: String,
    pub(super) body: String,
}

/// Gets `target` from a door, with more header fields, each ended by a line break. `most` bytes are read.
///
/// # Errors
/// When nobody answers in time, or what answers speaks no HTTP.
pub(super) fn get(
    door: SocketAddr,
    target: &str,
    fields: &str,
    patience: Duration,
    most: u64,
) -> io::Result<Answer> {
    let address = reachable(door);
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\n{fields}Connection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(most).read_to_string(&mut answer)?;
    let none = || io::Error::new(io::ErrorKind::InvalidData, "what answers there is no admin port");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(none)?;
    let line = head.lines().next().unwrap_or_default();
    let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    Ok(Answer { status: status.ok_or_else(none)?, line: line.to_owned(), body: body.to_owned() })
}

/// An address that listens on everything is asked over loopback.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let loopback = match address {
        SocketAddr::V4(_) => SocketAddr::from(([127, 0, 0, 1], address.port())),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::LOCALHOST, address.port())),
    };
    if address.ip().is_unspecified() { loopback } else { address }
}
