//! Misses: what a call for something new takes longer through armshield than directly.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2::SendRequest;
use serde_json::json;

use super::ask::{Source, request};
use super::bare::What;
use super::load::{Clients, Tally, Until};
use super::origin::calls;
use super::process::Running;
use super::quiet::{Watch, verdict};
use super::record::Table;
use super::stats::{Spread, millis};
use super::token::token;
use super::wire::Connection;
use super::{Bench, Outcome};

/// How a call reaches the origin.
enum Way<'a> {
    Plain { to: &'a Running, through: bool },
    Secure(SendRequest<Empty<Bytes>>),
}

/// How many ask at once, and how long each rests between two calls.
struct Load {
    name: &'static str,
    clients: usize,
    rest: Duration,
    calls: u64,
}

struct Turn {
    p50: f64,
    p99: f64,
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<()> {
    let origin = bench.origin().await?;
    let plain = bench.starter.armshield(&format!("http://{}", origin.address), &[]).await?;
    let file = bench.starter.folder.join("secure.toml");
    std::fs::write(&file, configuration(&bench.identity.certificate))?;
    let words = ["--config", file.to_str().ok_or("a path that is not text")?];
    let secure = bench.starter.armshield(&format!("https://{}", origin.address), &words).await?;

    let token = token(0);
    for server in [&plain, &secure] {
        vouch(server, &token).await?;
    }
    let ways = [
        ("directly, HTTP/1.1", Way::Plain { to: &origin, through: false }),
        ("through armshield, HTTP/1.1 upstream", Way::Plain { to: &plain, through: true }),
        ("directly, HTTP/2 over TLS", Way::Secure(bench.identity.connect(origin.address).await?)),
        ("through armshield, HTTP/2 over TLS upstream", Way::Plain { to: &secure, through: true }),
    ];
    let rest = Duration::from_millis(8);
    let loads = [
        Load {
            name: "one client, call after call",
            clients: 1,
            rest: Duration::ZERO,
            calls: bench.size.of(20, 500, 2000),
        },
        Load {
            name: "16 clients, about 1500 calls a second",
            clients: 16,
            rest,
            calls: bench.size.of(3, 50, 150),
        },
    ];

    let rounds = bench.size.of(1, 3, 9);
    // By load, way and round.
    let mut turns: Vec<Vec<Vec<Turn>>> =
        loads.iter().map(|_| ways.iter().map(|_| Vec::new()).collect()).collect();
    let mut noises = Vec::new();
    for round in 0..rounds {
        let watch = Watch::begin()?;
        for (load, turns) in loads.iter().zip(&mut turns) {
            for (index, ((name, way), turns)) in ways.iter().zip(turns).enumerate() {
                // Numbers nobody has asked for.
                let first = (index as u64 * 1000 + turns.len() as u64) * 1_000_000
                    + load.clients as u64 * 10_000_000_000;
                let turn = turn(way, load, &origin, &token, first)
                    .await
                    .map_err(|failure| format!("{name}, {}: {failure}", load.name))?;
                bench.record.round(
                    "miss",
                    json!({"round": round, "load": load.name, "way": name, "p50": turn.p50, "p99": turn.p99}),
                )?;
                turns.push(turn);
            }
        }
        noises.push(watch.end()?);
    }
    let mut table = Table::new(
        "Misses: 3 KiB that nobody has asked for before",
        &["", "p50", "p99", "added to p50", "added to p99"],
    );
    for (load, turns) in loads.iter().zip(&turns) {
        for (index, ((name, _), of_way)) in ways.iter().zip(turns).enumerate() {
            let median =
                |number: fn(&Turn) -> f64| format!("{:.3} ms", Spread::of(of_way.iter().map(number)).median);
            let added = |number: fn(&Turn) -> f64| {
                if index % 2 == 0 {
                    return String::new();
                }
                let pairs = of_way.iter().zip(&turns[index - 1]);
                format!(
                    "{} ms",
                    Spread::of(pairs.map(|(through, direct)| number(through) - number(direct))).text(3)
                )
            };
            table.row([
                format!("{}: {name}", load.name),
                median(|turn| turn.p50),
                median(|turn| turn.p99),
                added(|turn| turn.p50),
                added(|turn| turn.p99),
            ]);
        }
    }
    table.note(format!("median (least–most) of {rounds} rounds in which the ways take turns"));
    table.note("every call reached the origin once, and was kept");
    let (quiet, words) = verdict(&noises);
    table.note(words);
    bench.record.finish("miss", table, quiet)
}

/// The origin's certificate is trusted; everything else is default.
fn configuration(certificate: &Path) -> String {
    format!("[upstream]\nca = {:?}\n", certificate.display().to_string())
}

/// Lets the origin let the token in.
async fn vouch(server: &Running, token: &str) -> Outcome<()> {
    let mut connection = Connection::open(server.address).await?;
    connection.send(&request(server.address, &What::Point.target(), token, "")).await?;
    let body = What::Point.body();
    connection.answer(&mut vec![0; 16 << 10], true).await?.check(body.len(), || blake3::hash(&body))
}

async fn turn(way: &Way<'_>, load: &Load, origin: &Running, token: &str, first: u64) -> Outcome<Turn> {
    let (mut clients, through) = match way {
        Way::Plain { to, through } => {
            let source = Arc::new(Source::new_sets(to.address, token, first));
            (Clients::plain(load.clients, to.address, &source).await?, *through)
        }
        Way::Secure(sender) => {
            let source = Arc::new(Source::new_sets(origin.address, token, first));
            (Clients::secure(load.clients, sender, &source), false)
        }
    };
    // Connections of their own kind are there before anything is measured.
    clients.run(Until::Answers(3)).await?;
    let before = calls(origin.address).await?;
    let mut clients = clients.resting(load.rest);
    let tally = clients.run(Until::Answers(load.calls)).await?;
    check(&tally, calls(origin.address).await? - before, through)?;
    Ok(Turn { p50: millis(&tally.latencies, 0.5), p99: millis(&tally.latencies, 0.99) })
}

fn check(tally: &Tally, upstream: u64, through: bool) -> Outcome<()> {
    let said = if through { tally.stored } else { tally.silent };
    if upstream == tally.answers() && said == upstream {
        return Ok(());
    }
    Err(format!("{} answers, {upstream} upstream calls, {said} kept, {:?}", tally.answers(), tally.other)
        .into())
}
