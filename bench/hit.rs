//! Hits: 3 KiB in plain HTTP/1.1 for 64 clients, beside a bare hyper server and two caches, in turns.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::ask::{Source, request};
use super::bare::What;
use super::load::{Clients, Until};
use super::origin::calls;
use super::peers;
use super::process::{Cost, Running, own_cpu};
use super::quiet::{Noise, Watch, verdict};
use super::record::Table;
use super::size::Size;
use super::stats::{Spread, millis};
use super::token::token;
use super::wire::{Connection, Said};
use super::{Bench, Outcome};

const CLIENTS: usize = 64;

/// Somebody who answers the same question.
struct Contender<'a> {
    name: &'static str,
    server: &'a Running,
    source: Arc<Source>,
    /// Makes what it remembers fresh.
    renew: Vec<u8>,
    /// Whether it is armshield, which says where its answers come from.
    says: bool,
}

impl<'a> Contender<'a> {
    fn new(name: &'static str, server: &'a Running, says: bool) -> Self {
        let (token, target) = (token(0), What::Point.target());
        let ask = |more| request(server.address, &target, &token, more);
        let renew = ask(if says { "cache-control: no-cache\r\n" } else { "" });
        Self { name, server, source: Arc::new(Source::same(ask(""), &What::Point.body())), renew, says }
    }
}

/// What one contender did in one round.
struct Turn {
    cost: Cost,
    p50: f64,
    p99: f64,
    per_second: f64,
    loader: f64,
}

struct Round {
    noise: Noise,
    turns: Vec<Turn>,
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<()> {
    let origin = bench.origin().await?;
    let bare = bench.starter.bare(&["--what", "point"]).await?;
    let armshield = bench.starter.armshield(&format!("http://{}", origin.address), &[]).await?;
    let peers = match bench.size {
        Size::Smoke => Vec::new(),
        Size::Quick | Size::Full => peers::start(&bench.starter, origin.address).await?,
    };

    let mut contenders =
        vec![Contender::new("bare hyper", &bare, false), Contender::new("armshield", &armshield, true)];
    contenders.extend(peers.iter().map(|peer| Contender::new(peer.name, &peer.running, false)));

    let wanted = bench.size.of(2, 7, 9);
    let time = Duration::from_millis(bench.size.of(100, 700, 3000));
    // Where others disturb, there are more rounds to choose from.
    let most = bench.size.of(wanted, wanted, 3 * wanted);
    let mut rounds: Vec<Round> = Vec::new();
    while rounds.len() < most && rounds.iter().filter(|round| round.noise.is_quiet()).count() < wanted {
        let round = round(&contenders, &origin, time, rounds.len()).await?;
        let turns = contenders.iter().zip(&round.turns).map(|(contender, turn)| {
            json!({"name": contender.name, "micros": turn.cost.micros, "busy": turn.cost.busy, "p50": turn.p50,
                "p99": turn.p99, "per_second": turn.per_second, "loader_micros": turn.loader})
        });
        bench
            .record
            .round("hit", json!({"noise": round.noise.json(), "turns": turns.collect::<Vec<_>>()}))?;
        rounds.push(round);
    }
    // Which rounds count is decided by what others did, not by what was measured.
    rounds.sort_by(|one, other| one.noise.sum().total_cmp(&other.noise.sum()));
    rounds.truncate(wanted);
    let (quiet, words) = verdict(&rounds.iter().map(|round| round.noise).collect::<Vec<_>>());
    let mut table = table(&contenders, &rounds);
    table.note(words);
    bench.record.finish("hit", table, quiet)
}

/// One turn for each, beginning with another one every time.
async fn round(
    contenders: &[Contender<'_>],
    origin: &Running,
    time: Duration,
    number: usize,
) -> Outcome<Round> {
    let watch = Watch::begin()?;
    let mut turns: Vec<Option<Turn>> = contenders.iter().map(|_| None).collect();
    for place in 0..contenders.len() {
        let index = (place + number) % contenders.len();
        let contender = &contenders[index];
        let turn = turn(contender, origin, time)
            .await
            .map_err(|failure| format!("{}: {failure}", contender.name))?;
        turns[index] = Some(turn);
    }
    Ok(Round { noise: watch.end()?, turns: turns.into_iter().flatten().collect() })
}

async fn turn(contender: &Contender<'_>, origin: &Running, time: Duration) -> Outcome<Turn> {
    let (server, source) = (contender.server, &contender.source);
    let mut first = Connection::open(server.address).await?;
    first.send(&contender.renew).await?;
    let answer = first.answer(&mut vec![0; 16 << 10], true).await?;
    answer.check(source.length(), || source.digest(0))?;
    if contender.says && answer.said != Said::Stored {
        return Err(format!("what was asked for afresh was not kept: {:?}", answer.said).into());
    }

    let mut clients = Clients::plain(CLIENTS, server.address, source).await?;
    clients.run(Until::Elapsed(time / 10)).await?;
    let (calls_before, before, loader_before) = (calls(origin.address).await?, server.cpu()?, own_cpu()?);
    let tally = clients.run(Until::Elapsed(time)).await?;
    let (loader, after) = (own_cpu()?.saturating_sub(loader_before), server.cpu()?);
    let upstream = calls(origin.address).await? - calls_before;

    let hits = if contender.says { tally.hits } else { tally.silent };
    if upstream != 0 || hits != tally.answers() {
        let (answers, other) = (tally.answers(), tally.other);
        return Err(format!(
            "{hits} of {answers} answers were hits, {upstream} calls went upstream, {other:?}"
        )
        .into());
    }
    if tally.hashed < tally.answers() / 64 {
        return Err(format!("only {} of {} bodies were hashed", tally.hashed, tally.answers()).into());
    }
    Ok(Turn {
        cost: Cost::of(&tally, before, after),
        p50: millis(&tally.latencies, 0.5),
        p99: millis(&tally.latencies, 0.99),
        per_second: tally.per_second(),
        loader: loader.as_secs_f64() * 1e6 / tally.answers() as f64,
    })
}

fn table(contenders: &[Contender<'_>], rounds: &[Round]) -> Table {
    let of = |index: usize, number: fn(&Turn) -> f64| {
        Spread::of(rounds.iter().map(|round| number(&round.turns[index])))
    };
    let ratio = |index: usize, to: usize| {
        Spread::of(rounds.iter().map(|round| round.turns[index].cost.micros / round.turns[to].cost.micros))
    };
    let title = format!("Hits: 3 KiB, plain HTTP/1.1, {CLIENTS} connections, a token of 1.5 KiB");
    let columns =
        ["", "CPU of the server to bare hyper's", "CPU per request", "requests/s", "core busy", "p50", "p99"];
    let mut table = Table::new(title, &columns);
    for (index, contender) in contenders.iter().enumerate() {
        table.row([
            contender.name.to_owned(),
            ratio(index, 0).text(2),
            format!("{:.1} µs", of(index, |turn| turn.cost.micros).median),
            format!("{:.0}", of(index, |turn| turn.per_second).median),
            format!("{:.0} %", 100.0 * of(index, |turn| turn.cost.busy).median),
            format!("{:.2} ms", of(index, |turn| turn.p50).median),
            format!("{:.2} ms", of(index, |turn| turn.p99).median),
        ]);
    }
    table.note(format!("median (least–most) of {} rounds in which all take turns", rounds.len()));
    for (index, peer) in contenders.iter().enumerate().skip(2) {
        table.note(format!("armshield to {}: {}", peer.name, ratio(1, index).text(2)));
    }
    table.note("no call went upstream; every answer of armshield's said `hit`");
    let loader = (0..contenders.len()).map(|index| of(index, |turn| turn.loader).median).fold(0.0, f64::max);
    table.note(format!("the loader took {loader:.1} µs per request at most"));
    table
}
