//! Runs a connection that speaks HTTP, and ends it when it is silent, idle or told to stop.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::HttpService;
use hyper_util::rt::TokioExecutor;
use tokio::time::{Instant, sleep_until};

use super::activity::{Activity, Counted, Reading};
use super::{Ending, Guard, Phase};

/// How long a connection may do what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// When the first request must have come.
    pub(super) first: Instant,
    /// How long it is kept without requests.
    pub(super) idle: Duration,
    /// The same during a stop.
    pub(super) linger: Duration,
    /// How long nothing may move once it was asked to end.
    pub(super) stall: Duration,
}

/// Runs `conn` to its end. `loopback`: whether its client is one that a stop still serves.
pub(super) async fn drive<C: Graceful>(
    conn: &mut C,
    activity: &Activity,
    guard: &mut Guard,
    loopback: bool,
    limits: Limits,
) -> Ending {
    let mut course = Course::new(activity, guard.phase(), loopback, limits);
    let mut timer = pin!(sleep_until(limits.first));
    loop {
        let next = tokio::select! {
            biased;
            end = served(conn, activity, course.leaving) => match end {
                Some(end) => return course.ending(end),
                None => Next::AskToEnd,
            },
            phase = guard.beyond(course.phase) => course.enter(phase),
            () = &mut timer => course.look(),
        };
        match next {
            Next::GoOn => continue,
            Next::Wait => {}
            Next::AskToEnd => {
                Pin::new(&mut *conn).graceful_shutdown();
                course.leaving = Leaving::Asked;
            }
            Next::End(ending) => return ending,
        }
        course.seen = activity.read();
        timer.as_mut().reset(Instant::now() + course.wait());
    }
}

/// How far a connection is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leaving {
    Not,
    /// To be asked to end as soon as a request has begun. Not before: a client that has connected may have
    /// its request on the way, and hyper would close in its face.
    AfterOne,
    /// hyper was asked to end it.
    Asked,
}

enum Next {
    /// Everything stays as it is, the timer too.
    GoOn,
    /// Look again after a while.
    Wait,
    AskToEnd,
    End(Ending),
}

/// What is known of a connection between two looks at it.
struct Course<'a> {
    activity: &'a Activity,
    seen: Reading,
    phase: Phase,
    leaving: Leaving,
    loopback: bool,
    limits: Limits,
}

impl<'a> Course<'a> {
    fn new(activity: &'a Activity, phase: Phase, loopback: bool, limits: Limits) -> Self {
        let seen = activity.read();
        let mut course = Self { activity, seen, phase, leaving: Leaving::Not, loopback, limits };
        course.follow(phase);
        course
    }

    fn follow(&mut self, phase: Phase) {
        self.phase = phase;
        let stays = match phase {
            Phase::Serving => true,
            Phase::Draining => self.loopback,
            Phase::Closing | Phase::Cut => false,
        };
        if !stays {
            self.activity.leave();
            self.leaving = self.leaving.max(Leaving::AfterOne);
        }
    }

    /// A stop has come to `phase`.
    fn enter(&mut self, phase: Phase) -> Next {
        self.follow(phase);
        match self.leaving {
            _ if phase == Phase::Cut => Next::End(Ending::Cut),
            // The first request is waited for as long as ever.
            Leaving::Not if self.activity.begun() > 0 => Next::Wait,
            Leaving::Not | Leaving::AfterOne | Leaving::Asked => Next::GoOn,
        }
    }

    /// Some time has passed.
    fn look(&self) -> Next {
        let now = self.activity.read();
        let quiet = now.is_quiet_since(self.seen);
        match self.leaving {
            _ if now.begun == 0 => Next::End(Ending::Silent),
            Leaving::Asked if quiet && now.moved == self.seen.moved => Next::End(Ending::Stuck),
            Leaving::Not if quiet => Next::AskToEnd,
            Leaving::Not | Leaving::AfterOne | Leaving::Asked => Next::Wait,
        }
    }

    fn wait(&self) -> Duration {
        match (self.leaving, self.phase) {
            (Leaving::Not, Phase::Serving) => self.limits.idle,
            (Leaving::Not, _) => self.limits.linger,
            (Leaving::AfterOne | Leaving::Asked, _) => self.limits.stall,
        }
    }

    fn ending(&self, end: hyper::Result<()>) -> Ending {
        let Err(error) = end else { return Ending::Closed };
        tracing::debug!(%error, "connection broke");
        let now = self.activity.read();
        match self.leaving {
            // Whoever is asked to leave may hang up before we do.
            Leaving::Asked if now.begun == now.ended => Ending::Closed,
            _ if error.is_parse() => Ending::Refused,
            _ => Ending::Broken,
        }
    }
}

/// The connection's end; none when it is time to ask it to end. It is polled first, so that a request whose
/// bytes are already here counts as begun.
async fn served<C: Graceful>(
    conn: &mut C,
    activity: &Activity,
    leaving: Leaving,
) -> Option<hyper::Result<()>> {
    poll_fn(|cx| {
        if let Poll::Ready(end) = Pin::new(&mut *conn).poll(cx) {
            return Poll::Ready(Some(end));
        }
        if leaving == Leaving::AfterOne && activity.begun() > 0 { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// What hyper's connections have in common.
pub(super) trait Graceful: Future<Output = hyper::Result<()>> + Unpin {
    fn graceful_shutdown(self: Pin<&mut Self>);
}

impl<I, S> Graceful for http1::UpgradeableConnection<I, S>
where
    S: HttpService<Incoming, ResBody = Counted, Error = Infallible>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    fn graceful_shutdown(self: Pin<&mut Self>) {
        Self::graceful_shutdown(self);
    }
}

impl<I, S> Graceful for http2::Connection<I, S, TokioExecutor>
where
    S: HttpService<Incoming, ResBody = Counted, Error = Infallible>,
    S::Future: Send + 'static,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    fn graceful_shutdown(self: Pin<&mut Self>) {
        Self::graceful_shutdown(self);
    }
}
