//! Collects a body that has to be read before it can be passed on, within bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use http_body::{Body as HttpBody, Frame};
use http_body_util::BodyExt;

use crate::body::{Body, BodyError};

use super::gunzip::{decode, is_gzip};

/// How much is set aside for a body before anything of it has come: who only announces a large one takes
/// no more.
const FIRST: usize = 16 << 10;

/// Bytes of bodies being collected, all together.
#[derive(Debug)]
pub(super) struct Fills {
    most: usize,
    taken: AtomicUsize,
}

impl Fills {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, taken: AtomicUsize::new(0) }
    }
}

/// A part of the bytes that may be collected, given back when dropped.
struct Share {
    fills: Arc<Fills>,
    taken: usize,
}

impl Share {
    fn grow(&mut self, by: usize) -> bool {
        let before = self.fills.taken.fetch_add(by, Ordering::Relaxed);
        self.taken += by;
        before + by <= self.fills.most
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.fills.taken.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

/// A body that was read, or turned out to be too large for that.
#[derive(Debug)]
pub(super) enum Collected {
    /// All of it, in one allocation of its size.
    Whole(Bytes),
    /// What was read and what is still to come, to be streamed.
    Large(Body),
}

/// Reads a body of at most `most` bytes. What is read is copied at once: pieces are slices of read
/// buffers, which they would pin.
///
/// # Errors
/// When it breaks off.
pub(super) async fn collect(mut body: Body, most: usize, fills: &Arc<Fills>) -> Result<Collected, BodyError> {
    let mut share = Share { fills: fills.clone(), taken: 0 };
    let told = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
    let mut read = Vec::with_capacity(told.unwrap_or(0).min(FIRST));
    let mut fits = share.grow(read.capacity());
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        let before = read.capacity();
        let needed = read.len() + piece.len();
        if before < needed {
            // By doubling, and not beyond the length it is said to have.
            let wanted = (2 * before).min(told.unwrap_or(usize::MAX)).max(needed);
            read.reserve_exact(wanted - read.len());
        }
        read.extend_from_slice(&piece);
        fits &= share.grow(read.capacity() - before);
        if read.len() > most || !fits {
            return Ok(Collected::Large(Body::stream(Resumed { read: read.into(), rest: body })));
        }
    }
    read.shrink_to_fit();
    Ok(Collected::Whole(read.into()))
}

/// Reads the body of an answer and puts it back as it came. Gives it decoded; `None` if it is too large to
/// be read, or not what it says.
///
/// # Errors
/// When it breaks off; the answer is left without a body then.
pub(super) async fn peek(
    response: &mut Response<Body>,
    most: usize,
    fills: &Arc<Fills>,
) -> Result<Option<Bytes>, BodyError> {
    let body = std::mem::replace(response.body_mut(), Body::empty());
    let (body, read) = match collect(body, most, fills).await? {
        Collected::Whole(bytes) => (Body::full(bytes.clone()), Some(bytes)),
        Collected::Large(body) => (body, None),
    };
    *response.body_mut() = body;
    if !is_gzip(response.headers()) {
        return Ok(read);
    }
    Ok(read.and_then(|coded| match decode(coded, most) {
        Ok(Collected::Whole(plain)) => Some(plain),
        Ok(Collected::Large(_)) | Err(_) => None,
    }))
}

/// Whether an answer says that its body is JSON, by whatever name.
pub(super) fn says_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().contains("json"))
}

/// What was read already, then the rest.
struct Resumed {
    read: Bytes,
    rest: Body,
}

impl HttpBody for Resumed {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match std::mem::take(&mut self.read) {
            read if read.is_empty() => Pin::new(&mut self.rest).poll_frame(cx),
            read => Poll::Ready(Some(Ok(Frame::data(read)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn whole(body: Body) -> Result<Bytes, BodyError> {
        Ok(body.collect().await?.to_bytes())
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_streamed_from_its_beginning() {
        let fills = Arc::new(Fills::new(1 << 20));
        let body = || Body::spliced(["one ".into(), "two ".into(), "three".into()]);
        let Collected::Whole(bytes) = collect(body(), 13, &fills).await.unwrap() else { panic!() };
        assert_eq!(bytes, "one two three");
        let Collected::Large(rest) = collect(body(), 5, &fills).await.unwrap() else { panic!() };
        assert_eq!(whole(rest).await.unwrap(), "one two three");
        assert_eq!(fills.taken.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn too_much_collected_at_once_streams_as_well() {
        let fills = Arc::new(Fills::new(3));
        assert!(matches!(collect(Body::full("four"), 100, &fills).await.unwrap(), Collected::Large(_)));
    }
}
