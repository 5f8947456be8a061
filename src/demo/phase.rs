//! One phase: all clients at work for a while, on one road to ARM.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::book::Book;
use super::caller::Caller;
use super::clients;
use super::figures::Figures;
use super::span::Span;
use super::stage::{Plan, Stage};
use super::wire::Road;

/// How long after the end of a phase the last client may take; calls have bounds of their own before that.
const LAST: Duration = Duration::from_secs(15);

/// A phase that runs.
#[derive(Debug)]
pub(super) struct Phase<'a> {
    stage: &'a Stage,
    span: Span,
    /// How old the simulator was at the beginning.
    offset: Duration,
    book: Arc<Mutex<Book>>,
    clients: JoinSet<()>,
}

impl<'a> Phase<'a> {
    /// Lets the clients begin.
    pub(super) fn begin(plan: &Plan, stage: &'a Stage, road: &Road) -> Self {
        let book = Arc::<Mutex<Book>>::default();
        let (span, offset) = (Span::of(plan.length), stage.simulator.elapsed());
        let places = Arc::new(stage.places.clone());
        let clients = clients::start(plan, &places, |who| {
            let token = stage.simulator.token(&who.principal());
            Caller::new(who, token, road.clone(), span, book.clone())
        });
        Self { stage, span, offset, book, clients }
    }

    /// How much of it is over.
    pub(super) fn passed(&self) -> Duration {
        self.span.began.elapsed().min(self.span.until - self.span.began)
    }

    /// The figures so far.
    pub(super) fn figures(&self) -> Figures {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Figures::of(&book, &self.stage.simulator, self.offset)
    }

    /// Waits until the clients are done, at most until `moment`; whether they are.
    pub(super) async fn run_until(&mut self, moment: Instant) -> bool {
        let all = async { while self.clients.join_next().await.is_some() {} };
        if timeout_at(moment, all).await.is_ok() {
            return true;
        }
        if Instant::now() > self.span.until + LAST {
            self.clients.abort_all();
        }
        false
    }
}
