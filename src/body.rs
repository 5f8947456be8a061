//! The one body type: what is answered to a client and what is sent upstream.
//!
//! A body carries closures that run exactly once when it ends, however it ends: a place in a budget, a
//! log line, a drain guard all end with the body they belong to.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// The error of a body that broke off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// How a body ended, and after how many bytes of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Bytes of data handed on.
    pub bytes: u64,
    /// In which way it ended.
    pub how: How,
}

/// The ways a body can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Everything was read.
    Complete,
    /// The source broke off.
    Failed,
    /// The reader went away before the end.
    Left,
}

type Source = Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError> + Send>>;
type Tail = Box<dyn FnOnce(End) + Send>;

enum Kind {
    Empty,
    Full(Bytes),
    Spliced([Bytes; 3]),
    Stream(Source),
    Broken(Option<BodyError>),
}

/// A request or response body.
pub struct Body {
    kind: Kind,
    sent: u64,
    tail: Option<Tail>,
}

impl Body {
    /// No bytes at all.
    #[must_use]
    pub const fn empty() -> Self {
        Self::of(Kind::Empty)
    }

    /// One piece, handed on without copying.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        if bytes.is_empty() { Self::empty() } else { Self::of(Kind::Full(bytes)) }
    }

    /// Three pieces handed on one after the other: what stands before a link, the link, what follows it.
    #[must_use]
    pub const fn spliced(parts: [Bytes; 3]) -> Self {
        Self::of(Kind::Spliced(parts))
    }

    /// A body that is read as it comes.
    pub fn stream<B>(source: B) -> Self
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BodyError>,
    {
        if source.is_end_stream() {
            return Self::empty();
        }
        Self::of(Kind::Stream(Box::pin(http_body_util::BodyExt::map_err(source, Into::into))))
    }

    /// A body that breaks off at once.
    #[must_use]
    pub fn broken(error: BodyError) -> Self {
        Self::of(Kind::Broken(Some(error)))
    }

    const fn of(kind: Kind) -> Self {
        Self { kind, sent: 0, tail: None }
    }

    /// Runs `tail` once when this body has ended or is dropped, after those given before.
    #[must_use]
    pub fn then(mut self, tail: impl FnOnce(End) + Send + 'static) -> Self {
        self.tail = Some(match self.tail.take() {
            None => Box::new(tail),
            Some(earlier) => Box::new(|end| {
                earlier(end);
                tail(end);
            }),
        });
        self
    }

    /// Keeps `held` until this body has ended or is dropped.
    #[must_use]
    pub fn holding(self, held: impl Send + 'static) -> Self {
        self.then(move |_| drop(held))
    }

    fn end(&mut self, how: How) {
        self.kind = Kind::Empty;
        let end = End { bytes: self.sent, how };
        if let Some(tail) = self.tail.take() {
            tail(end);
        }
    }

    fn next_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.kind {
            Kind::Empty => Poll::Ready(None),
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                self.kind = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Kind::Spliced(parts) => {
                let piece = parts.iter_mut().find(|part| !part.is_empty()).map(std::mem::take);
                Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
            }
            Kind::Stream(source) => source.as_mut().poll_frame(cx),
            Kind::Broken(error) => Poll::Ready(error.take().map(Err)),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let next = std::task::ready!(self.next_piece(cx));
        match &next {
            Some(Ok(frame)) => {
                self.sent += frame.data_ref().map_or(0, |data| data.len() as u64);
                // hyper does not ask again after the last piece, so a body that has ended ends here.
                if self.is_end_stream() {
                    self.end(How::Complete);
                }
            }
            Some(Err(_)) => self.end(How::Failed),
            None => self.end(How::Complete),
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Empty => true,
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Spliced(parts) => parts.iter().all(Bytes::is_empty),
            Kind::Stream(source) => source.is_end_stream(),
            Kind::Broken(error) => error.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Spliced(parts) => SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum()),
            Kind::Stream(source) => source.size_hint(),
            Kind::Broken(_) => SizeHint::default(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        let how = if self.is_end_stream() { How::Complete } else { How::Left };
        self.end(how);
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Empty => "empty",
            Kind::Full(_) => "full",
            Kind::Spliced(_) => "spliced",
            Kind::Stream(_) => "stream",
            Kind::Broken(_) => "broken",
        };
        f.debug_struct("Body")
            .field("kind", &kind)
            .field("has_tail", &self.tail.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};
    use std::sync::{Arc, Mutex};

    fn watched(body: Body) -> (Body, Arc<Mutex<Vec<End>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        (body.then(move |end| sink.lock().unwrap().push(end)), seen)
    }

    #[tokio::test]
    async fn a_tail_runs_once_when_the_last_piece_is_taken() {
        for body in [
            Body::full("abc"),
            Body::spliced(["a".into(), "b".into(), "c".into()]),
            Body::stream(Full::new(Bytes::from("abc"))),
        ] {
            let (body, seen) = watched(body);
            assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
            assert_eq!(*seen.lock().unwrap(), [End { bytes: 3, how: How::Complete }]);
        }
    }

    #[tokio::test]
    async fn a_tail_learns_that_the_reader_left() {
        let (mut body, seen) = watched(Body::spliced(["a".into(), "b".into(), "c".into()]));
        body.frame().await.unwrap().unwrap();
        drop(body);
        assert_eq!(*seen.lock().unwrap(), [End { bytes: 1, how: How::Left }]);
    }

    #[test]
    fn sizes_are_exact_so_that_lengths_can_be_sent() {
        assert_eq!(Body::spliced(["ab".into(), "c".into(), "".into()]).size_hint().exact(), Some(3));
        assert_eq!(Body::empty().size_hint().exact(), Some(0));
    }
}
