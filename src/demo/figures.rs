//! The figures of a phase: from what the clients wrote down, ARM's journal, and ARM's state.
//!
//! What armshield says of itself only puts a name to what the journal shows: a read that is not in the journal
//! was answered without a call of its own, whatever its headers say, and one that is was not.

use std::collections::HashMap;
use std::time::Duration;

use http::Method;

use crate::simulator::{Call, Simulator};

use super::book::{Book, Exchange, Said};
use super::call::Kind;
use super::lost::{Fate, lost};
use super::percentile::percentile;

/// The figures of one phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) points: usize,
    pub(super) lists: usize,
    pub(super) writes: usize,
    pub(super) polls: usize,
    /// Calls ARM answered with 429.
    pub(super) throttled: usize,
    /// Answers of 429 that clients got, from whomever.
    pub(super) refused: usize,
    /// Time clients waited because of them.
    pub(super) waited: Duration,
    /// Requests of the clients, each counted once however often it was sent.
    pub(super) requests: usize,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    /// Pieces of work the clients brought to their end.
    pub(super) done: usize,
    /// Changes acknowledged to their writers.
    pub(super) changes: usize,
    /// Lost ones: who wrote what.
    pub(super) lost: Vec<String>,
    /// Resources shown to a client as they were before its own write.
    pub(super) stale: usize,
    /// Reads answered without a call to ARM of their own, by what armshield says of them.
    pub(super) memory: usize,
    pub(super) memory_p50: Duration,
    pub(super) memory_max: Duration,
    pub(super) merged: usize,
    /// Writes that reached ARM with a condition their client had not set, and what became of them.
    pub(super) guarded: usize,
    pub(super) guarded_conflicts: usize,
    /// Answers of 412, to people and to programs.
    pub(super) people_conflicts: usize,
    pub(super) program_conflicts: usize,
    /// Requests that got no answer, or an error that is not part of the play.
    pub(super) failures: usize,
}

impl Figures {
    /// All calls ARM saw.
    pub(super) const fn calls(&self) -> usize {
        self.points + self.lists + self.writes + self.polls
    }

    /// Draws them up; `offset` is how old the simulator was when the phase began.
    pub(super) fn of(book: &Book, simulator: &Simulator, offset: Duration) -> Self {
        let journal = simulator.journal();
        let seen = Seen::of(&journal, offset);
        let mut figures = Self {
            waited: book.waited,
            requests: book.took.len(),
            p50: percentile(&book.took, 50),
            p99: percentile(&book.took, 99),
            done: book.done,
            changes: book.changes.iter().filter(|change| change.fate == Fate::Acknowledged).count(),
            stale: book.stale,
            throttled: journal.iter().filter(|call| call.status == Some(429)).count(),
            ..Self::default()
        };
        for call in &journal {
            *match Kind::of(&call.method, &call.target) {
                Kind::Point => &mut figures.points,
                Kind::List => &mut figures.lists,
                Kind::Write => &mut figures.writes,
                Kind::Poll => &mut figures.polls,
            } += 1;
        }
        let mut ages = Vec::new();
        for exchange in &book.exchanges {
            figures.count(exchange, &seen, &mut ages);
        }
        figures.memory = ages.len();
        figures.memory_p50 = percentile(&ages, 50);
        figures.memory_max = percentile(&ages, 100);
        figures.lost = lost(&book.changes, &|id| simulator.read(id))
            .into_iter()
            .map(|change| {
                // Types and names, without group and provider.
                let name = change.resource.rsplit_once("/providers/").map_or("", |(_, name)| name);
                let name = name.split_once('/').map_or(name, |(_, name)| name);
                format!("{}: {} of {name}", change.writer, change.field)
            })
            .collect();
        figures
    }

    fn count(&mut self, exchange: &Exchange, seen: &Seen<'_>, ages: &mut Vec<Duration>) {
        let call = seen.call(exchange);
        match exchange.status {
            Some(429) => self.refused += 1,
            Some(412) if exchange.who.is_person() => self.people_conflicts += 1,
            Some(412) => self.program_conflicts += 1,
            Some(200..300) => {}
            _ => self.failures += 1,
        }
        if let Some(call) = call.filter(|call| !exchange.conditional && call.if_match().is_some()) {
            self.guarded += 1;
            self.guarded_conflicts += usize::from(call.status == Some(412));
        }
        let read = exchange.method == Method::GET && exchange.status == Some(200) && call.is_none();
        match (read, exchange.said) {
            (true, Said::Memory(told)) => ages.push(told.max(seen.age(exchange))),
            (true, Said::Merged) => self.merged += 1,
            _ => {}
        }
    }
}

/// The journal, by request and by question.
struct Seen<'a> {
    calls: HashMap<&'a str, &'a Call>,
    /// When each question was asked of ARM.
    questions: HashMap<(&'a str, String), Vec<Duration>>,
    offset: Duration,
}

impl<'a> Seen<'a> {
    fn of(journal: &'a [Call], offset: Duration) -> Self {
        let named = |call: &'a Call| Some((call.header("x-ms-client-request-id")?, call));
        let mut questions: HashMap<_, Vec<_>> = HashMap::new();
        for call in journal.iter().filter(|call| call.status == Some(200)) {
            let who = call.principal.clone().unwrap_or_default();
            questions.entry((&*call.target, who)).or_default().push(call.at);
        }
        Self { calls: journal.iter().filter_map(named).collect(), questions, offset }
    }

    /// The call that a client's request became, if it reached ARM.
    fn call(&self, exchange: &Exchange) -> Option<&'a Call> {
        self.calls.get(&*exchange.id).copied()
    }

    /// How old an answer from memory was at least: the time since its client's principal last asked ARM the same.
    fn age(&self, exchange: &Exchange) -> Duration {
        let asked = self.questions.get(&(&*exchange.target, exchange.who.principal().object));
        let ended = exchange.ended + self.offset;
        let last = asked.and_then(|asked| asked.iter().rev().find(|at| **at <= ended));
        last.map_or(Duration::ZERO, |at| ended - *at)
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::super::who::Who;
    use super::*;
    use crate::simulator::Options;

    const VM: &str = "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/nodes/providers/\
                      Microsoft.Compute/virtualMachines/a";

    fn exchange(id: &str, method: Method, status: u16, ended: u64, said: Said) -> Exchange {
        Exchange {
            id: id.into(),
            who: Who::Ann,
            method,
            target: format!("{VM}?api-version=2025-04-01"),
            ended: Duration::from_secs(ended),
            status: Some(status),
            said,
            conditional: false,
        }
    }

    async fn call(simulator: &Simulator, id: &str, method: Method, condition: Option<&str>) {
        let token = simulator.token(&Who::Ann.principal());
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{VM}?api-version=2025-04-01"))
            .header("authorization", format!("Bearer {token}"))
            .header("x-ms-client-request-id", id);
        if let Some(condition) = condition {
            request = request.header("if-match", condition);
        }
        simulator.handle(request.body(String::new()).unwrap()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_journal_decides_what_was_answered_without_arm() {
        let simulator = Simulator::new(Options::default());
        simulator.add_vm("a");
        let offset = Duration::from_secs(100);
        tokio::time::advance(offset).await;
        call(&simulator, "asked", Method::GET, None).await;
        let told = |seconds| Said::Memory(Duration::from_secs(seconds));
        let book = Book {
            exchanges: vec![
                exchange("asked", Method::GET, 200, 0, told(9)),
                exchange("younger than said", Method::GET, 200, 2, told(4)),
                exchange("older than said", Method::GET, 200, 7, told(6)),
                exchange("merged", Method::GET, 200, 1, Said::Merged),
                exchange("said nothing", Method::GET, 200, 1, Said::Asked),
                exchange("refused", Method::GET, 429, 1, Said::Asked),
            ],
            ..Book::default()
        };
        let figures = Figures::of(&book, &simulator, offset);
        assert_eq!((figures.points, figures.calls()), (1, 1));
        assert_eq!((figures.memory, figures.merged, figures.refused), (2, 1, 1));
        assert_eq!(
            (figures.memory_p50, figures.memory_max),
            (Duration::from_secs(4), Duration::from_secs(7))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_guarded_if_arm_saw_a_condition_that_its_client_had_not_set() {
        let simulator = Simulator::new(Options::default());
        simulator.add_vm("a");
        for (id, condition) in
            [("plain", None), ("passes", Some("\"3\"")), ("meets", Some("\"1\"")), ("own", Some("\"1\""))]
        {
            call(&simulator, id, Method::PUT, condition).await;
        }
        let own = Exchange { conditional: true, ..exchange("own", Method::PUT, 412, 1, Said::Asked) };
        let exchanges = vec![
            exchange("plain", Method::PUT, 200, 1, Said::Asked),
            exchange("passes", Method::PUT, 200, 1, Said::Asked),
            exchange("meets", Method::PUT, 412, 1, Said::Asked),
            Exchange { who: Who::Ccm, ..own },
        ];
        let figures = Figures::of(&Book { exchanges, ..Book::default() }, &simulator, Duration::ZERO);
        assert_eq!((figures.writes, figures.guarded, figures.guarded_conflicts), (4, 2, 1));
        assert_eq!((figures.people_conflicts, figures.program_conflicts), (1, 1));
    }
}
