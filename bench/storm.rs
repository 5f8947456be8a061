//! Storms: 200 clients ask for one thing nobody has asked for before, and the upstream takes its time.
//!
//! What counts is how long after the answer was there the clients had it. The server that made them wait says
//! when that was: the origin for armshield; the bare hyper server, in which all wait for the same moment, itself.

use std::sync::Arc;
use std::time::Duration;

use armshield::clock::Clock;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::ask::request;
use super::bare::What;
use super::content::{POINT, Set, Sets};
use super::load::Tally;
use super::origin::calls;
use super::process::Running;
use super::quiet::{Watch, verdict};
use super::record::Table;
use super::stats::{Spread, millis};
use super::token::token;
use super::wire::{Answer, Connection, Said};
use super::{Bench, Outcome};

/// How long after its question the first client leaves.
const LEAVES: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// Which storm it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    All,
    FirstLeaves,
}

/// One client with its connection and its own token.
struct Client {
    connection: Connection,
    token: String,
}

/// What became of a storm.
struct Storm {
    /// From the answer being there to each client having it, in nanoseconds; sorted. Without the client whose
    /// call it was.
    waits: Vec<u64>,
    calls: u64,
}

impl Storm {
    fn p50(&self) -> f64 {
        millis(&self.waits, 0.5)
    }

    fn p99(&self) -> f64 {
        millis(&self.waits, 0.99)
    }
}

pub(crate) async fn measure(bench: &Bench) -> Outcome<()> {
    let origin = bench.origin().await?;
    let bare = bench.starter.bare(&["--what", "point", "--waits"]).await?;
    let armshield = bench.starter.armshield(&format!("http://{}", origin.address), &[]).await?;
    let clients = bench.size.of(40, 200, 200);
    let (rounds, long_rounds) = (bench.size.of(2, 5, 15), bench.size.of(1, 1, 3));
    let long = bench.size.of(300, 7000, 7000);

    let (mut of_bare, mut of_all, mut of_leaving, mut of_long) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut noises = Vec::new();
    let mut number = 1;
    let mut new = |delay| {
        number += 1;
        Set { delay, number }
    };
    for round in 0..rounds {
        let watch = Watch::begin()?;
        of_bare.push(
            storm(&bare, None, clients, new(100), Kind::All)
                .await
                .map_err(|failure| format!("bare hyper: {failure}"))?,
        );
        of_all.push(storm(&armshield, Some(&origin), clients, new(100), Kind::All).await?);
        of_leaving.push(storm(&armshield, Some(&origin), clients, new(100), Kind::FirstLeaves).await?);
        if round < long_rounds {
            of_long.push(storm(&armshield, Some(&origin), clients, new(long), Kind::All).await?);
        }
        let noise = watch.end()?;
        let last = |storms: &[Storm]| {
            storms.last().map(|storm| json!({"calls": storm.calls, "p50": storm.p50(), "p99": storm.p99()}))
        };
        bench.record.round("storm", json!({"noise": noise.json(), "bare": last(&of_bare), "all": last(&of_all), "leaving": last(&of_leaving)}))?;
        noises.push(noise);
    }

    let mut table = Table::new(
        format!("Storms: {clients} clients, one cold key"),
        &["", "upstream calls", "p50 after the fetch's end", "p99", "p99 to bare hyper's"],
    );
    let mut row = |name: String, storms: &[Storm], calls: String, compared: bool| {
        let ratio = Spread::of(storms.iter().zip(&of_bare).map(|(ours, bare)| ours.p99() / bare.p99()));
        let p50 = Spread::of(storms.iter().map(Storm::p50)).median;
        let p99 = Spread::of(storms.iter().map(Storm::p99)).text(1);
        table.row([
            name,
            calls,
            format!("{p50:.1} ms"),
            format!("{p99} ms"),
            if compared { ratio.text(2) } else { "1".to_owned() },
        ]);
    };
    let one = |storms: &[Storm]| format!("1 in each of {}", storms.len());
    row("bare hyper, 100 ms".to_owned(), &of_bare, String::new(), false);
    row("armshield, upstream takes 100 ms".to_owned(), &of_all, one(&of_all), true);
    row(
        format!("armshield, and the first client leaves after {} ms", LEAVES.as_millis()),
        &of_leaving,
        one(&of_leaving),
        true,
    );
    row(format!("armshield, upstream takes {} s", f64::from(long) / 1000.0), &of_long, one(&of_long), true);
    table.note("median (least–most) of all storms; every follower got the whole answer, checked by its hash");
    table.note("in bare hyper all wait for the end of the 100 ms that began with the first of them");
    let (quiet, words) = verdict(&noises);
    table.note(words);
    bench.record.finish("storm", table, quiet)
}

/// One storm. With an `origin` it is armshield's, and exactly one call must reach that.
async fn storm(
    server: &Running,
    origin: Option<&Running>,
    count: usize,
    set: Set,
    kind: Kind,
) -> Outcome<Storm> {
    let crowd = gather(server, count).await?;
    let upstream = async || match origin {
        Some(origin) => calls(origin.address).await,
        None => Ok(0),
    };
    let before = upstream().await?;
    let (open, gate) = watch::channel(false);
    let mut asking = JoinSet::new();
    for (place, client) in crowd.into_iter().enumerate() {
        let question = request(server.address, &set.target(), &client.token, "");
        let leaves = place == 0 && kind == Kind::FirstLeaves;
        asking.spawn(ask(client, question, gate.clone(), leaves));
    }
    // The others ask when the first one's call is on its way.
    while kind == Kind::FirstLeaves && upstream().await? == before {
        sleep(Duration::from_millis(1)).await;
    }
    open.send(true)?;

    let digest = Sets::new().digest(if origin.is_some() { set } else { Set::WARM });
    let (mut tally, mut ends, mut answered) = (Tally::default(), Vec::new(), u64::MAX);
    while let Some(ended) =
        timeout(PATIENCE, asking.join_next()).await.map_err(|_| "clients were not answered in time")?
    {
        let Some((end, answer)) = ended?? else { continue };
        answer.check(POINT, || digest)?;
        answered = answered.min(answer.answered.ok_or("an answer does not say when it was there")?);
        if answer.said != Said::Stored {
            ends.push(end);
        }
        tally.count(answer.said);
    }
    let upstream = upstream().await? - before;
    check(&tally, upstream, count, kind, origin.is_some())?;
    let mut waits: Vec<_> = ends.into_iter().map(|end| end.saturating_sub(answered)).collect();
    waits.sort_unstable();
    Ok(Storm { waits, calls: upstream })
}

fn check(tally: &Tally, upstream: u64, count: usize, kind: Kind, is_ours: bool) -> Outcome<()> {
    let Tally { hits, stored, collapsed, silent, .. } = tally;
    let followers = count as u64 - 1;
    let right = match (is_ours, kind) {
        (false, _) => *silent == count as u64,
        // Who comes when the answer is there has a hit.
        (true, Kind::All) => *stored == 1 && hits + collapsed == followers && upstream == 1,
        (true, Kind::FirstLeaves) => *stored == 0 && hits + collapsed == followers && upstream == 1,
    };
    if right {
        return Ok(());
    }
    Err(format!("{kind:?}: {upstream} upstream calls for {count} clients; {stored} stored, {collapsed} collapsed, {hits} hits, {:?}", tally.other).into())
}

/// Connects clients, each with a token of its own that ARM has let in.
async fn gather(server: &Running, count: usize) -> Outcome<Vec<Client>> {
    let address = server.address;
    let (body, target) = (Arc::new(What::Point.body()), What::Point.target());
    let mut coming = JoinSet::new();
    for number in 0..count {
        let (body, target) = (body.clone(), target.clone());
        coming.spawn(async move {
            let token = token(number);
            let mut connection = Connection::open(address).await?;
            connection.send(&request(address, &target, &token, "")).await?;
            let answer = connection.answer(&mut vec![0; 16 << 10], true).await?;
            answer.check(body.len(), || blake3::hash(&body))?;
            Outcome::Ok(Client { connection, token })
        });
    }
    let mut crowd = Vec::new();
    while let Some(come) = coming.join_next().await {
        crowd.push(come??);
    }
    Ok(crowd)
}

/// Asks when the gate opens, and tells when the answer was whole. One that leaves asks at once, and leaves, with
/// nothing to tell, when the gate is open.
async fn ask(
    client: Client,
    question: Vec<u8>,
    mut gate: watch::Receiver<bool>,
    leaves: bool,
) -> Outcome<Option<(u64, Answer)>> {
    let Client { mut connection, .. } = client;
    let mut scratch = vec![0; 16 << 10];
    if leaves {
        connection.send(&question).await?;
        sleep(LEAVES).await;
        gate.wait_for(|open| *open).await?;
        return Ok(None);
    }
    gate.wait_for(|open| *open).await?;
    connection.send(&question).await?;
    let answer = connection.answer(&mut scratch, true).await?;
    Ok(Some((Clock::boot().now().nanos(), answer)))
}
