//! A request body on its way out: handed on piece by piece, and seen to move.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use crate::body::{Body, BodyError};

/// When a call last moved on its way out, and whether its body broke off. The deadline of its answer counts
/// from there, or an upload that takes minutes would have none left.
#[derive(Debug, Clone)]
pub(super) struct Progress(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    last: Instant,
    broken: Option<String>,
}

impl Progress {
    pub(super) fn begin() -> Self {
        Self(Arc::new(Mutex::new(State { last: Instant::now(), broken: None })))
    }

    pub(super) fn last(&self) -> Instant {
        self.state().last
    }

    pub(super) fn mark(&self) {
        self.state().last = Instant::now();
    }

    /// Why the body broke off, if it did: then its exchange failed for nothing the upstream did.
    pub(super) fn broken(&self) -> Option<String> {
        self.state().broken.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        if let Some(Err(error)) = &frame {
            self.progress.state().broken = Some(error.to_string());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
