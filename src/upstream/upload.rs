//! A request body on its way out: handed on piece by piece, and seen to move.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use crate::body::{Body, BodyError};

/// When a call last moved on its way out. The deadline of its answer counts from there, or an upload that
/// takes minutes would have none left.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    pub(super) fn begin() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn mark(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// `body`, marking this whenever a piece of it is taken.
    pub(super) fn watch(&self, body: Body) -> Body {
        if body.is_end_stream() { body } else { Body::stream(Upload { body, progress: self.clone() }) }
    }
}

struct Upload {
    body: Body,
    progress: Progress,
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.progress.mark();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
