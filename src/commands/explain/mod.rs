//! `explain`: asks a running armshield what it would do with a request now, and why.

mod lines;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::admin::{Token, Unusable};
use crate::config::{Configuration, EXIT_CODE};
use crate::proxy::explain::Explanation;

use super::door::{self, Answer};
use super::say;

/// It looks at memory only.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest explanation, in bytes.
const LONGEST: u64 = 16 << 20;

/// What is to be explained.
#[derive(Debug, Args)]
pub(super) struct Wanted {
    /// The request: an absolute URL of ARM or of armshield, or a path with its query.
    url: String,
    /// The User-Agent it comes with, word for word if versions shown are to be known: it chooses the profile.
    #[arg(long, short = 'A', value_name = "UA")]
    user_agent: Option<String>,
    /// The method.
    #[arg(long, short = 'X', value_name = "METHOD", default_value = "GET")]
    method: String,
    /// One more header field, such as 'Cache-Control: no-cache'; may be repeated.
    #[arg(long, short = 'H', value_name = "FIELD")]
    header: Vec<String>,
    /// The address it comes from [default: 127.0.0.1].
    #[arg(long, value_name = "IP")]
    peer: Option<String>,
    /// Print the answer of /api/explain as it is.
    #[arg(long)]
    json: bool,
}

impl Wanted {
    fn target(&self) -> String {
        let mut target = "/api/explain?url=".to_owned();
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        target.push_str(&encoded(&self.url));
        let one = [
            ("user_agent", self.user_agent.as_ref()),
            ("method", Some(&self.method)),
            ("peer", self.peer.as_ref()),
        ];
        let one = one.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for (name, value) in one.chain(self.header.iter().map(|header| ("header", header))) {
            // Writing to a string does not fail.
            let _ = write!(target, "&{name}={}", encoded(value));
        }
        target
    }
}

/// Why nothing is explained.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(
        "armshield at {0} does not answer: {1}; is it running, and is that its admin address? (--admin, --config)"
    )]
    Silent(std::net::SocketAddr, std::io::Error),
    #[error("{0}")]
    Token(#[from] Unusable),
    #[error(
        "armshield at {0} does not take the token in {1}: is that the file its [admin] token names? (--config)"
    )]
    Refused(std::net::SocketAddr, String),
    #[error("{0}")]
    Bad(String),
    #[error("armshield at {0} explains nothing: {1}")]
    Other(std::net::SocketAddr, String),
    #[error("armshield at {0} explains in words this version does not know ({1}); --json shows them")]
    Words(std::net::SocketAddr, serde_json::Error),
}

pub(super) fn run(configuration: &Configuration, wanted: &Wanted) -> ExitCode {
    match explained(configuration, wanted) {
        Ok(text) => {
            // Nobody is left to be told that nobody reads.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say(&format!("armshield: {failure}"));
            match failure {
                Failure::Bad(_) => ExitCode::from(EXIT_CODE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn explained(configuration: &Configuration, wanted: &Wanted) -> Result<String, Failure> {
    let admin = &configuration.admin;
    let door = door::reachable(admin.address);
    let ask = |target: &str, fields: &str| {
        door::get(door, target, fields, PATIENCE, LONGEST).map_err(|error| Failure::Silent(door, error))
    };
    // First whether it runs: where it does not, there may be no token either, and whoever else listens
    // there is not to see it.
    let health = ask("/healthz", "")?;
    if (health.status, &*health.body) != (200, "ok\n") {
        return Err(Failure::Other(door, "that is no admin port (--admin, --config)".into()));
    }
    let fields = match admin.open {
        true => String::new(),
        false => format!("Authorization: {}\r\n", Token::read(&admin.token)?.shown()),
    };
    let Answer { status, line, body } = ask(&wanted.target(), &fields)?;
    match status {
        200 if wanted.json => Ok(body),
        200 => {
            let explanation: Explanation =
                serde_json::from_str(&body).map_err(|error| Failure::Words(door, error))?;
            Ok(lines::of(&explanation))
        }
        400 => Err(Failure::Bad(message(&body).unwrap_or(line))),
        401 => Err(Failure::Refused(door, admin.token.display().to_string())),
        _ => Err(Failure::Other(door, message(&body).unwrap_or(line))),
    }
}

/// What an error of the door says.
fn message(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    Some(body["error"]["message"].as_str()?.to_owned())
}
