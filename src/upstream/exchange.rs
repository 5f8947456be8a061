//! One request on one connection: its answer, or how far it came.

use std::error::Error as _;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::uri::Authority;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::time::{Instant, sleep_until};

use super::download::Download;
use super::error::{Kind, SendError, TooLate};
use super::hop;
use super::origin::{Line, Origin};
use super::target::Scheme;
use super::upload::Progress;
use super::wire;
use crate::body::Body;

/// How far a request came that got no answer.
pub(super) enum Fate {
    /// Not a byte of it left; here it is again.
    Unsent(Box<Request<Body>>),
    /// The peer said that it did not look at it.
    Refused,
    /// Its connection ended.
    Died,
    /// Its connection lives, or spoke no HTTP.
    Broken,
    /// No answer began in time.
    Late,
    /// Its own body broke off.
    Unread,
}

pub(super) struct Failure {
    pub(super) fate: Fate,
    reason: crate::body::BodyError,
}

impl Failure {
    pub(super) fn into_error(self, origin: &Origin) -> SendError {
        let kind = match self.fate {
            Fate::Unsent(_) | Fate::Refused => Kind::NeverSent,
            Fate::Died | Fate::Broken => Kind::Lost,
            Fate::Late => Kind::HeadTimeout,
            Fate::Unread => Kind::Unread,
        };
        SendError::new(kind, origin.target(), self.reason)
    }
}

impl From<TrySendError<Request<Body>>> for Failure {
    fn from(mut error: TrySendError<Request<Body>>) -> Self {
        let unsent = error.take_message();
        let reason = error.into_error();
        let fate = match (unsent, h2_cause(&reason)) {
            (Some(request), _) => Fate::Unsent(Box::new(request)),
            // Streams behind the last one a GOAWAY names have seen this error, and no others
            // (RFC 9113 §6.8); a refused stream was not looked at either (§8.7).
            (None, Some(h2)) if h2.is_remote() && h2.is_go_away() => Fate::Refused,
            (None, Some(h2)) if h2.is_remote() && h2.reason() == Some(h2::Reason::REFUSED_STREAM) => {
                Fate::Refused
            }
            (None, Some(h2)) if h2.is_reset() => Fate::Broken,
            (None, None) if reason.is_parse() => Fate::Broken,
            (None, _) => Fate::Died,
        };
        Self { fate, reason: reason.into() }
    }
}

fn h2_cause(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// The deadlines of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) head: Duration,
    pub(super) idle: Duration,
}

/// Sends `request` on `line`. Dropped before its end, it aborts the exchange: the stream is reset, or the
/// connection closed.
pub(super) async fn exchange(
    line: Line,
    mut request: Request<Body>,
    authority: &Authority,
    progress: &Progress,
    patience: Patience,
    origin: &Origin,
) -> Result<Response<Body>, Failure> {
    progress.mark();
    match line {
        Line::One(mut sender) => {
            wire::as_one(&mut request, authority);
            let sending = Box::pin(sender.try_send_request(request));
            let answer = in_time(sending, progress, patience.head).await?;
            origin.pool.put_when_ready(sender);
            Ok(received(answer, patience, false))
        }
        Line::Two(mut sender, claim) => {
            wire::as_two(&mut request, Scheme::Https, authority);
            let sending = Box::pin(sender.try_send_request(request));
            let answer = in_time(sending, progress, patience.head).await?;
            // The sender stays as well: one that no lane keeps closes its connection when it is dropped.
            Ok(received(answer, patience, true).map(|body| body.holding((claim, sender))))
        }
    }
}

type Sent = Result<Response<Incoming>, TrySendError<Request<Body>>>;

async fn in_time(
    mut sending: Pin<Box<impl Future<Output = Sent>>>,
    progress: &Progress,
    within: Duration,
) -> Result<Response<Incoming>, Failure> {
    loop {
        let deadline = progress.last() + within;
        tokio::select! {
            biased;
            sent = &mut sending => return match sent {
                // Nobody had asked for another protocol (RFC 9110 §15.2.2); hyper takes other 1xx itself.
                Ok(answer) if answer.status().is_informational() => {
                    Err(Failure { fate: Fate::Broken, reason: "it switched protocols unasked".into() })
                }
                Ok(answer) => Ok(answer),
                Err(error) => Err(match progress.broken() {
                    Some(reason) => Failure { fate: Fate::Unread, reason: reason.into() },
                    None => Failure::from(error),
                }),
            },
            () = sleep_until(deadline) => if progress.last() + within <= Instant::now() {
                let late = TooLate { what: "head of an answer", within };
                return Err(Failure { fate: Fate::Late, reason: late.into() });
            }
        }
    }
}

fn received(answer: Response<Incoming>, patience: Patience, over_two: bool) -> Response<Body> {
    let mut answer = answer.map(|body| Body::stream(Download::new(body, over_two, patience.idle)));
    *answer.version_mut() = Version::HTTP_11;
    hop::strip(answer.headers_mut());
    answer
}
