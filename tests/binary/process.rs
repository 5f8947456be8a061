//! A process of ours that ends with the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The armshield binary.
pub(super) const ARMSHIELD: &str = env!("CARGO_BIN_EXE_armshield");
/// The simulator.
pub(super) const SIMULATOR: &str = env!("CARGO_BIN_EXE_arm-simulator");

/// A process that said where it listens.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
    pub(super) admin: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loopback address nobody listens on at this moment.
pub(super) fn free() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A command without anything of the environment that could change what it does.
pub(super) fn command(program: &str, state: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("STATE_DIRECTORY", state).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Starts armshield in front of `upstream`, with more words and a folder for its state.
pub(super) fn armshield(upstream: &str, words: &[&str], state: &std::path::Path) -> Running {
    let admin = free();
    let mut command = command(ARMSHIELD, state);
    command.args(["serve", "--listen", "127.0.0.1:0", "--upstream", upstream, "--admin"]);
    command.arg(admin.to_string()).args(words);
    let mut child = command.spawn().unwrap();
    let address = ready(&mut child, "armshield listening on ");
    Running { child, address, admin }
}

/// Starts the simulator.
pub(super) fn simulator(words: &[&str], state: &std::path::Path) -> Running {
    let mut command = command(SIMULATOR, state);
    let mut child = command.args(["--listen", "127.0.0.1:0"]).args(words).spawn().unwrap();
    let address = ready(&mut child, "arm-simulator listening on ");
    Running { child, address, admin: address }
}

/// Waits for the ready line and keeps standard error flowing after it.
fn ready(child: &mut Child, begins: &str) -> SocketAddr {
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it ended without being ready: {said}");
        if let Some(address) = line.strip_prefix(begins) {
            let address = address.trim().parse().unwrap();
            std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            return address;
        }
        said.push_str(&line);
    }
}

/// Sends a request in plain HTTP/1.1 and reads the answer to its end: head and body as text.
pub(super) fn ask(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    write!(stream, "{head}\r\n{length}connection: close\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A GET with a host and more fields.
pub(super) fn get(address: SocketAddr, target: &str, fields: &str) -> String {
    ask(address, &format!("GET {target} HTTP/1.1\r\nhost: {address}{fields}"), "")
}
