//! `probe`: asks a running armshield whether it is ready, for images without a shell.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use crate::config::Configuration;

use super::say;

/// Kubernetes gives an exec probe one second unless told otherwise.
const PATIENCE: Duration = Duration::from_millis(900);

pub(super) fn run(configuration: &Configuration) -> ExitCode {
    let address = configuration.health.unwrap_or(configuration.admin.address);
    match ask(reachable(address)) {
        Ok(answer) if answer.starts_with("HTTP/1.1 200") => ExitCode::SUCCESS,
        Ok(answer) => {
            say(&format!(
                "armshield at {address} is not ready: {}",
                answer.lines().next().unwrap_or_default()
            ));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("armshield at {address} does not answer: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// An address that listens on everything is asked over loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let loopback = match address {
        SocketAddr::V4(_) => SocketAddr::from(([127, 0, 0, 1], address.port())),
        SocketAddr::V6(_) => SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, address.port())),
    };
    if address.ip().is_unspecified() { loopback } else { address }
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(4096).read_to_string(&mut answer)?;
    Ok(answer)
}
