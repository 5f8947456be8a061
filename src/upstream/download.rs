//! A response body on its way in: whole, or an error; never silent for longer than the idle deadline.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use crate::body::BodyError;

/// How a response body broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Nothing came for the idle deadline, though it was asked for. Its stream was reset.
    #[error("no byte of the answer within {0:?}")]
    Stalled(Duration),
    /// The peer ended the stream before the body's end.
    #[error("the answer was cut short")]
    CutShort,
}

/// The body of an answer. The idle deadline runs only while somebody waits for the next piece: a client
/// that does not read is no fault of the upstream.
pub(super) struct Download {
    /// Taken when it has ended, which closes or resets what it came on.
    source: Option<Incoming>,
    over_two: bool,
    idle: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Download {
    pub(super) const fn new(source: Incoming, over_two: bool, idle: Duration) -> Self {
        Self { source: Some(source), over_two, idle, waiting: None }
    }

    fn end(&mut self, how: Broken) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.source = None;
        Poll::Ready(Some(Err(how.into())))
    }
}

impl HttpBody for Download {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let over_two = self.over_two;
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let Poll::Ready(next) = Pin::new(&mut *source).poll_frame(cx) else {
            let idle = self.idle;
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(idle)));
            ready!(waiting.as_mut().poll(cx));
            return self.end(Broken::Stalled(idle));
        };
        // hyper takes a reset with NO_ERROR for the end (RFC 9113 §8.1 means it for answers that are whole).
        let whole = !over_two || source.is_end_stream();
        self.waiting = None;
        match next {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
            None if !whole => self.end(Broken::CutShort),
            None => {
                self.source = None;
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.source = None;
                Poll::Ready(Some(Err(error.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.source.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.source.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}
