//! What happens on one connection, counted so that nobody reads a clock on the way of a request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::body::{Body, BodyError};

/// Counts of one connection. A connection is quiet when nothing is in flight and two readings, some time
/// apart, show the same.
#[derive(Debug, Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    moved: AtomicU64,
    leaving: AtomicBool,
}

/// The counts at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// Requests whose head was read.
    pub(super) begun: u64,
    /// Requests whose answer has been handed on to its end, or dropped.
    pub(super) ended: u64,
    /// Times that bytes were read or written.
    pub(super) moved: u64,
}

impl Reading {
    /// Whether no request was answered since `earlier`, and none is being answered.
    pub(super) const fn is_quiet_since(self, earlier: Self) -> bool {
        self.begun == self.ended && self.ended == earlier.ended
    }
}

impl Activity {
    /// Counts a request that lasts until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        self.begun.fetch_add(1, Relaxed);
        InFlight(self.clone())
    }

    /// Counts bytes that came or went.
    pub(super) fn moved(&self) {
        self.moved.fetch_add(1, Relaxed);
    }

    /// Makes every answer from now on the last of its connection.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Relaxed);
    }

    /// How many requests have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }

    /// All counts. `ended` is read first, so a request can look in flight too long but never too short.
    pub(super) fn read(&self) -> Reading {
        let ended = self.ended.load(Relaxed);
        Reading { begun: self.begun(), ended, moved: self.moved.load(Relaxed) }
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

impl InFlight {
    /// Whether the connection should end with this answer.
    pub(super) fn is_last(&self) -> bool {
        self.0.leaving.load(Relaxed)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

/// An answer's body, in flight until it has ended or is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    body: Body,
    _in_flight: InFlight,
}

impl Counted {
    pub(super) const fn new(body: Body, in_flight: InFlight) -> Self {
        Self { body, _in_flight: in_flight }
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_quiet_when_nothing_began_or_ended() {
        let activity = Arc::new(Activity::default());
        let first = activity.read();
        assert!(activity.read().is_quiet_since(first));
        let request = activity.begin();
        assert!(!activity.read().is_quiet_since(first), "one in flight");
        drop(request);
        assert!(!activity.read().is_quiet_since(first), "one ended since");
        assert!(activity.read().is_quiet_since(activity.read()));
    }
}
