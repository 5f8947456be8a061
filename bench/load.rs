//! The load generator: many clients on one thread, each asking again when it has its answer.
//!
//! Every status and every length is checked; bodies are hashed at the beginning and at the end of what a
//! client does, and once in [`SAMPLE`] answers between.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2::SendRequest;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::Outcome;
use super::ask::Source;
use super::secure;
use super::wire::{Answer, Connection, Said};

/// One answer in so many is hashed.
const SAMPLE: u64 = 64;
/// How long whatever is under way may take after the end of a round.
const PATIENCE: Duration = Duration::from_secs(60);

/// What clients have been told.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// From sending a request to the last byte of its answer, in nanoseconds; sorted.
    pub(crate) latencies: Vec<u64>,
    pub(crate) elapsed: Duration,
    pub(crate) hashed: u64,
    pub(crate) hits: u64,
    pub(crate) stored: u64,
    pub(crate) collapsed: u64,
    pub(crate) silent: u64,
    /// The first words of armshield's that were something else.
    pub(crate) other: Option<String>,
}

impl Tally {
    pub(crate) const fn answers(&self) -> u64 {
        self.latencies.len() as u64
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.answers() as f64 / self.elapsed.as_secs_f64()
    }

    pub(crate) fn count(&mut self, said: Said) {
        match said {
            Said::Nothing => self.silent += 1,
            Said::Hit => self.hits += 1,
            Said::Stored => self.stored += 1,
            Said::Collapsed => self.collapsed += 1,
            Said::Other(words) => drop(self.other.get_or_insert(words)),
        }
    }

    fn add(&mut self, mut other: Self) {
        self.latencies.append(&mut other.latencies);
        self.hashed += other.hashed;
        self.hits += other.hits;
        self.stored += other.stored;
        self.collapsed += other.collapsed;
        self.silent += other.silent;
        self.other = self.other.take().or(other.other);
    }
}

/// When clients stop asking.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// After this time, and one more answer each.
    Elapsed(Duration),
    /// After so many answers each.
    Answers(u64),
}

/// How a client reaches its server.
#[derive(Debug)]
enum Way {
    Plain(Connection),
    Secure(SendRequest<Empty<Bytes>>),
}

/// One client.
#[derive(Debug)]
struct Client {
    way: Way,
    source: Arc<Source>,
    request: Vec<u8>,
    scratch: Vec<u8>,
    /// About how long it rests between an answer and the next question.
    rest: Duration,
    seed: u64,
}

impl Client {
    async fn exchange(&mut self, number: u64, digest: bool) -> Outcome<(u64, Answer)> {
        let (began, answer) = match &mut self.way {
            Way::Plain(connection) => {
                self.source.write(number, &mut self.request);
                let began = Instant::now();
                connection.send(&self.request).await?;
                (began, connection.answer(&mut self.scratch, digest).await?)
            }
            Way::Secure(sender) => {
                let message = self.source.message(number)?;
                let began = Instant::now();
                (began, secure::exchange(sender, message, digest).await?)
            }
        };
        let nanos = u64::try_from(began.elapsed().as_nanos())?;
        answer.check(self.source.length(), || self.source.digest(number))?;
        Ok((nanos, answer))
    }

    async fn run(mut self, until: Until) -> Outcome<(Self, Tally)> {
        let mut tally = Tally::default();
        let began = Instant::now();
        let mut asked = 0;
        loop {
            let last = match until {
                Until::Elapsed(time) => began.elapsed() >= time,
                Until::Answers(count) => asked + 1 >= count,
            };
            let digest = last || asked % SAMPLE == 0;
            let number = self.source.take();
            let (nanos, answer) = self.exchange(number, digest).await?;
            asked += 1;
            tally.hashed += u64::from(digest);
            tally.latencies.push(nanos);
            tally.count(answer.said);
            if last {
                return Ok((self, tally));
            }
            if !self.rest.is_zero() {
                sleep(self.rest.mul_f64(0.5 + self.random())).await;
            }
        }
    }

    /// Between 0 and 1 (xorshift64, Marsaglia 2003).
    fn random(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Clients that are connected.
#[derive(Debug)]
pub(crate) struct Clients(Vec<Client>);

impl Clients {
    /// `count` clients with a connection each.
    pub(crate) async fn plain(count: usize, address: SocketAddr, source: &Arc<Source>) -> Outcome<Self> {
        let mut ways = Vec::new();
        for _ in 0..count {
            ways.push(Way::Plain(Connection::open(address).await?));
        }
        Ok(Self::new(ways, source))
    }

    /// `count` clients that share a connection, as those of one process do over HTTP/2.
    pub(crate) fn secure(count: usize, sender: &SendRequest<Empty<Bytes>>, source: &Arc<Source>) -> Self {
        Self::new((0..count).map(|_| Way::Secure(sender.clone())).collect(), source)
    }

    fn new(ways: Vec<Way>, source: &Arc<Source>) -> Self {
        let scratch = if source.length() > 1 << 20 { 256 << 10 } else { 16 << 10 };
        let client = |(way, seed): (Way, u64)| Client {
            way,
            source: source.clone(),
            request: Vec::new(),
            scratch: vec![0; scratch],
            rest: Duration::ZERO,
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        Self(ways.into_iter().zip(1..).map(client).collect())
    }

    /// The same clients, resting about so long after every answer.
    pub(crate) fn resting(mut self, rest: Duration) -> Self {
        for client in &mut self.0 {
            client.rest = rest;
        }
        self
    }

    /// Lets all ask at once until then.
    pub(crate) async fn run(&mut self, until: Until) -> Outcome<Tally> {
        let began = Instant::now();
        let mut under_way: JoinSet<_> = self.0.drain(..).map(|client| client.run(until)).collect();
        let mut total = Tally::default();
        let patience = match until {
            Until::Elapsed(time) => time + PATIENCE,
            Until::Answers(_) => 10 * PATIENCE,
        };
        while let Some(ended) =
            timeout(patience, under_way.join_next()).await.map_err(|_| "clients were not answered in time")?
        {
            let (client, tally) = ended??;
            self.0.push(client);
            total.add(tally);
        }
        total.elapsed = began.elapsed();
        total.latencies.sort_unstable();
        Ok(total)
    }
}
