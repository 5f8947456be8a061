//! The bodies the simulator sends: plain bytes, or a script of pieces, pauses and ends.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// A step of a scripted body.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Data(Bytes),
    Pause(Duration),
    /// Nothing more ever comes.
    Hang,
    /// The connection breaks here.
    Break,
    Trailers(HeaderMap),
}

/// A response body of the simulator.
pub struct Payload {
    steps: VecDeque<Step>,
    pause: Option<Pin<Box<Sleep>>>,
}

/// The body ended before its end, because a test asked for it.
#[derive(Debug, thiserror::Error)]
#[error("the simulator broke the connection off")]
pub struct BrokenOff;

impl Payload {
    /// No bytes.
    #[must_use]
    pub const fn empty() -> Self {
        Self { steps: VecDeque::new(), pause: None }
    }

    /// These bytes and their length.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::scripted(if bytes.is_empty() { vec![] } else { vec![Step::Data(bytes)] })
    }

    pub(crate) fn scripted(steps: Vec<Step>) -> Self {
        Self { steps: steps.into(), pause: None }
    }

    /// All bytes, if this body has nothing but bytes.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        match self.steps.len() {
            0 => Some(Bytes::new()),
            1 => match &self.steps[0] {
                Step::Data(bytes) => Some(bytes.clone()),
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        loop {
            if let Some(pause) = &mut self.pause {
                if pause.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.pause = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Data(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Step::Trailers(map)) => return Poll::Ready(Some(Ok(Frame::trailers(map)))),
                Some(Step::Pause(time)) => self.pause = Some(Box::pin(sleep(time))),
                Some(Step::Break) => return Poll::Ready(Some(Err(BrokenOff))),
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty() && self.pause.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes().map_or_else(SizeHint::default, |bytes| SizeHint::with_exact(bytes.len() as u64))
    }
}
