//! Exchanges recorded with the real ARM, played through armshield: what comes out is what ARM said.
//!
//! One test a recording in the folder named by `ARMSHIELD_RECORDINGS`; reported as ignored where it is not
//! set. Recordings have no times, so each is played twice: with a minute between exchanges, when no answer
//! can come from memory, and with none, when some may and have to say the same all the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, unused_imports, unreachable_pub, reason = "each test uses what it needs")]
mod support;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use armshield::policy::Policy;
use armshield::simulator::{Exchange, Replay};
use http::{HeaderMap, HeaderName, Method};
use libtest_mimic::{Arguments, Failed, Trial};

use support::client::{AZ, CCM};
use support::{Answer, Client, tokens, upstream, world};

fn main() {
    let arguments = Arguments::from_args();
    let trials = match recordings() {
        Some(files) => files.into_iter().map(trial).collect(),
        None => vec![Trial::test("recordings", || Ok(())).with_ignored_flag(true)],
    };
    libtest_mimic::run(&arguments, trials).exit();
}

/// The recordings, where somebody said where they are.
#[expect(clippy::disallowed_methods, reason = "a test reads where its recordings are")]
fn recordings() -> Option<Vec<PathBuf>> {
    let folder = std::env::var_os("ARMSHIELD_RECORDINGS")?;
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    assert!(!files.is_empty(), "{}: no recording in it", folder.display());
    Some(files)
}

fn trial(file: PathBuf) -> Trial {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Trial::test(name, move || play_in_every_way(&file))
}

fn play_in_every_way(file: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(file)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    for host in [OURS, ARM] {
        for agent in [None, Some(CCM), Some(AZ)] {
            for pause in [Duration::from_secs(60), Duration::ZERO] {
                runtime
                    .block_on(play(&text, &Manner { host, agent, pause }))
                    .map_err(|failed| format!("{host}, {agent:?}, {pause:?} between: {failed}"))?;
            }
        }
    }
    Ok(())
}

const OURS: &str = "localhost:7788";
const ARM: &str = "management.azure.com";
/// Where links in recordings lead, and where they have to lead for who dialled armshield by its own name.
const TO_ARM: &str = "https://management.azure.com/";
const TO_US: &str = "http://localhost:7788/";

/// How a recording is played.
struct Manner {
    /// The name dialled.
    host: &'static str,
    /// The User-Agent; `None`: the recorded one.
    agent: Option<&'static str>,
    /// Between exchanges.
    pause: Duration,
}

async fn play(text: &str, manner: &Manner) -> Result<(), String> {
    let replay = Replay::load(text).map_err(|error| error.to_string())?;
    let dialled = replay.clone();
    let world = upstream::world(tokens::EPOCH, Policy::default(), |_| {}, move || dialled.dial());
    let client = world.client("recorder").dialling(manner.host);
    let (mut from_memory, mut written) = (0, HashSet::new());
    for (at, exchange) in replay.exchanges().iter().enumerate() {
        replay.seek(at);
        world::pass(manner.pause).await;
        let answer = ask(&client, exchange, manner).await.map_err(|error| format!("#{at} {error}"))?;
        from_memory += usize::from(answer.is_hit());
        let path = exchange.target().split('?').next().unwrap_or_default().to_lowercase();
        let overtaken = answer.is_hit() && written.contains(&path);
        let compared = match overtaken {
            true => Err("from before it was written".to_owned()),
            false => compare(&answer, exchange, manner),
        };
        compared.map_err(|differs| format!("#{at} {} {}: {differs}", exchange.method, exchange.target()))?;
        match exchange.method {
            Method::GET => written.remove(&path),
            _ => written.insert(path),
        };
    }
    let strangers = replay.strangers();
    if !strangers.is_empty() {
        return Err(format!("ARM was asked what nobody had asked: {strangers:?}"));
    }
    // Every exchange reached ARM but those that were answered from memory.
    let (given, asked) = (replay.given(), replay.exchanges().len());
    if given + from_memory != asked {
        return Err(format!("{asked} asked, {given} reached ARM, {from_memory} answered from memory"));
    }
    if manner.pause > Duration::from_secs(30) && from_memory > 0 {
        return Err(format!("{from_memory} answers from memory that was too old for every profile"));
    }
    Ok(())
}

async fn ask(client: &Client, exchange: &Exchange, manner: &Manner) -> Result<Answer, String> {
    let client = match manner.agent {
        Some(agent) => client.with_agent(agent),
        None => client.with_agent(""),
    };
    let mut request = client.request(exchange.method.as_str(), &exchange.target());
    for (name, value) in &exchange.headers {
        if *name != "host" && !(*name == "user-agent" && manner.agent.is_some()) {
            request = request.header(name, value);
        }
    }
    let body = std::str::from_utf8(&exchange.body).map_err(|error| error.to_string())?;
    client.send(request, body).await.map_err(|broken| broken.0)
}

fn compare(answer: &Answer, exchange: &Exchange, manner: &Manner) -> Result<(), String> {
    if answer.status != exchange.status.as_u16() {
        return Err(format!("status {}, recorded was {}", answer.status, exchange.status));
    }
    let recorded = std::str::from_utf8(&exchange.answer_body).map_err(|error| error.to_string())?;
    let expected = led(recorded, r#""nextLink":""#, manner);
    if answer.body != expected {
        return Err(format!("the body is\n{}\nnot\n{expected}", String::from_utf8_lossy(&answer.body)));
    }
    let is_write = ![Method::GET, Method::HEAD].contains(&exchange.method);
    for name in exchange.answer_headers.keys().chain(answer.headers.keys()) {
        let got = values(&answer.headers, name);
        let mut expected = values(&exchange.answer_headers, name);
        match name.as_str() {
            // What armshield says itself, and what hyper does.
            "age" | "cache-status" | "date" | "content-length" => continue,
            "armshield-guard" if is_write => continue,
            "location" | "azure-asyncoperation" => {
                expected = expected.iter().map(|value| led(value, "", manner)).collect();
            }
            name if answer.is_hit() && is_of_one_exchange(name, manner) => expected.clear(),
            _ => {}
        }
        if got != expected {
            return Err(format!("{name} is {got:?}, not {expected:?}"));
        }
    }
    Ok(())
}

/// The text with the link behind `mark` leading where it has to.
fn led(text: &str, mark: &str, manner: &Manner) -> String {
    if manner.host == ARM {
        return text.to_owned();
    }
    text.replace(&format!("{mark}{TO_ARM}"), &format!("{mark}{TO_US}"))
}

fn values(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

/// What an answer from memory does not repeat.
fn is_of_one_exchange(name: &str, manner: &Manner) -> bool {
    name.starts_with("x-ms-ratelimit-")
        || ["x-ms-operation-identifier", "x-ms-original-request-ids"].contains(&name)
        || (name == "strict-transport-security" && manner.host == OURS)
}
