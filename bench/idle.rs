//! Connections that ask once and then do nothing: what they take of memory.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::ask::request;
use super::bare::What;
use super::process::Running;
use super::quiet::{Watch, verdict};
use super::record::Table;
use super::token::token;
use super::wire::{Connection, Said};
use super::{Bench, Outcome};

/// Files a process needs besides its connections.
const SPARE: usize = 200;

pub(crate) async fn measure(bench: &Bench) -> Outcome<()> {
    let wanted = bench.size.of(200, 10_000, 10_000);
    let allowed = open_files().map_or(wanted, |most| most.saturating_sub(SPARE));
    let connections = wanted.min(allowed);

    let origin = bench.origin().await?;
    let bare = bench.starter.bare(&["--what", "point"]).await?;
    let file = bench.starter.folder.join("idle.toml");
    fs::write(&file, format!("[listen]\nconnections = {}\n", connections + SPARE))?;
    let words = ["--config", file.to_str().ok_or("a path that is not text")?];
    let armshield = bench.starter.armshield(&format!("http://{}", origin.address), &words).await?;

    let watch = Watch::begin()?;
    let title = format!("Idle: {connections} connections in plain HTTP/1.1 after one request each");
    let mut table = Table::new(title, &["", "RSS before", "RSS with them", "for each"]);
    for (name, server, says) in [("bare hyper", &bare, false), ("armshield", &armshield, true)] {
        let settle = Duration::from_millis(bench.size.of(100, 1000, 5000));
        let (before, after) =
            hold(server, connections, says, settle).await.map_err(|failure| format!("{name}: {failure}"))?;
        let each = after.saturating_sub(before) as f64 / connections as f64;
        bench.record.round(
            "idle",
            json!({"name": name, "connections": connections, "before": before, "after": after}),
        )?;
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        table.row([name.to_owned(), mib(before), mib(after), format!("{:.1} KiB", each / 1024.0)]);
    }
    if connections < wanted {
        table.note(format!("{wanted} were wanted; the limit of open files allows {connections}"));
    }
    table
        .note("every connection was answered again afterwards; memory of the kernel is not in these numbers");
    table.note(verdict(&[watch.end()?]).1);
    // Memory does not depend on how quiet it is.
    bench.record.finish("idle", table, true)
}

/// Memory before connections come, and when they have been idle for a moment.
async fn hold(server: &Running, count: usize, says: bool, settle: Duration) -> Outcome<(u64, u64)> {
    let (body, mut scratch) = (What::Point.body(), vec![0; 16 << 10]);
    let digest = blake3::hash(&body);
    let question = request(server.address, &What::Point.target(), &token(0), "");
    let mut ask = async |connection: &mut Connection| {
        connection.send(&question).await?;
        let answer = connection.answer(&mut scratch, true).await?;
        answer.check(body.len(), || digest)?;
        let told = matches!(answer.said, Said::Hit | Said::Stored);
        if told == says { Outcome::Ok(()) } else { Err(format!("armshield says {:?}", answer.said).into()) }
    };
    for _ in 0..20 {
        ask(&mut Connection::open(server.address).await?).await?;
    }
    sleep(settle).await;
    let before = server.memory()?;
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        let mut connection = Connection::open(server.address).await?;
        ask(&mut connection).await?;
        connections.push(connection);
    }
    sleep(settle).await;
    let after = server.memory()?;
    for connection in &mut connections {
        ask(connection).await?;
    }
    Outcome::Ok((before, after))
}

/// How many files this process, and each it starts, may have open.
fn open_files() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
