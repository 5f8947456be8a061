//! A list of 3 MiB from memory, many times: throughput, and whether memory stays as it is.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::ask::{Source, request};
use super::bare::What;
use super::load::{Clients, Tally, Until};
use super::origin::calls;
use super::process::{Cost, Running};
use super::quiet::{Watch, verdict};
use super::record::Table;
use super::stats::Spread;
use super::token::token;
use super::{AZ, Bench, Outcome};

const CLIENTS: usize = 4;
const ROUNDS: usize = 10;
const MIB: f64 = (1 << 20) as f64;

#[derive(Default)]
struct Turn {
    cost: Vec<Cost>,
    per_second: Vec<f64>,
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<()> {
    let origin = bench.origin().await?;
    let bare = bench.starter.bare(&["--what", "list"]).await?;
    let armshield = bench.starter.armshield(&format!("http://{}", origin.address), &[]).await?;
    let (token, body, target) = (token(0), What::List.body(), What::List.target());
    let source =
        |server: &Running| Arc::new(Source::same(request(server.address, &target, &token, ""), &body));

    let hits: u64 = bench.size.of(80, 4000, 100_000);
    let of_each = hits / ROUNDS as u64 / CLIENTS as u64;
    let before = armshield.memory()?;
    let mut of_bare = Turn::default();
    let mut of_ours = Turn::default();
    let (mut answered, mut noises, mut peaks, mut other) = (0, Vec::new(), Vec::new(), 0);
    let (began, calls_before) = (Instant::now(), calls(origin.address).await?);
    for _ in 0..ROUNDS {
        let watch = Watch::begin()?;
        let (tally, cost, _) = turn(&bare, &source(&bare), (of_each / 5).max(1)).await?;
        of_bare.add(&tally, cost);
        let (tally, cost, peak) = turn(&armshield, &source(&armshield), of_each).await?;
        of_ours.add(&tally, cost);
        let noise = watch.end()?;
        bench.record.round("big", json!({"noise": noise.json(), "peak": peak, "micros": cost.micros, "per_second": tally.per_second()}))?;
        answered += tally.answers();
        other += tally.answers() - tally.hits;
        peaks.push(peak);
        noises.push(noise);
        if tally.stored + tally.collapsed + tally.hits != tally.answers() {
            return Err(format!("armshield says something strange: {:?}", tally.other).into());
        }
    }
    let after = armshield.memory()?;
    let upstream = calls(origin.address).await? - calls_before;
    // Everything else about one entry that lives so long.
    let fetches = began.elapsed().as_secs() / AZ.as_secs() + 1;
    if upstream > fetches + 1 || other > (fetches + 1) * CLIENTS as u64 {
        return Err(format!(
            "{upstream} upstream calls where {fetches} were due, {other} of {answered} answers no hits"
        )
        .into());
    }
    let (first, last) = (peaks[0], peaks[ROUNDS - 1]);
    if last as f64 > first as f64 * 1.05 + 8.0 * MIB {
        return Err(format!("memory grew from {first} to {last} bytes over {answered} answers").into());
    }

    let mut table = Table::new(
        format!(
            "A list of {:.1} MiB from memory, {answered} times, {CLIENTS} connections",
            body.len() as f64 / MIB
        ),
        &[
            "",
            "CPU of the server to bare hyper's",
            "answers/s",
            "GiB/s",
            "RSS before",
            "in the 1st tenth",
            "most",
            "after",
        ],
    );
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / MIB);
    let rate = |turn: &Turn| Spread::of(turn.per_second.iter().copied()).median;
    let speed = |turn: &Turn| {
        [format!("{:.0}", rate(turn)), format!("{:.2}", rate(turn) * body.len() as f64 / MIB / 1024.0)]
    };
    let ratio =
        Spread::of(of_ours.cost.iter().zip(&of_bare.cost).map(|(ours, bare)| ours.micros / bare.micros));
    let most = peaks.iter().copied().max().unwrap_or_default();
    let none = || std::iter::repeat_n(String::new(), 4);
    table.row(["bare hyper".to_owned(), "1".to_owned()].into_iter().chain(speed(&of_bare)).chain(none()));
    table.row(["armshield".to_owned(), ratio.text(2)].into_iter().chain(speed(&of_ours)).chain([
        mib(before),
        mib(first),
        mib(most),
        mib(after),
    ]));
    table.note(format!(
        "{upstream} calls went upstream, one for every {} s; {other} answers were theirs, all others hits",
        AZ.as_secs()
    ));
    let (quiet, words) = verdict(&noises);
    table.note(words);
    bench.record.finish("big", table, quiet)
}

impl Turn {
    fn add(&mut self, tally: &Tally, cost: Cost) {
        self.cost.push(cost);
        self.per_second.push(tally.per_second());
    }
}

/// Asks, and looks at the server's memory meanwhile.
async fn turn(server: &Running, source: &Arc<Source>, of_each: u64) -> Outcome<(Tally, Cost, u64)> {
    let mut clients = Clients::plain(CLIENTS, server.address, source).await?;
    let (before, mut peak) = (server.cpu()?, 0);
    let mut asking = pin!(clients.run(Until::Answers(of_each)));
    let tally = loop {
        tokio::select! {
            tally = &mut asking => break tally?,
            () = sleep(Duration::from_millis(100)) => peak = peak.max(server.memory()?),
        }
    };
    let cost = Cost::of(&tally, before, server.cpu()?);
    Ok((tally, cost, peak.max(server.memory()?)))
}
