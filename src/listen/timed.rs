//! A stream that loses patience with its peer: with a head that comes too slowly, with an answer that is
//! not taken.
//!
//! Nothing here reads a clock while bytes flow: a timer is set only when the stream has to wait.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::Activity;

/// A stream under time limits. When one is over, the call that waits fails with `TimedOut`.
#[derive(Debug)]
pub(super) struct Timed<I> {
    io: I,
    activity: Arc<Activity>,
    head: Option<Head>,
    stall: Patience,
}

/// Watches the heads of HTTP/1 requests. (HTTP/2 has many requests on the way at any time.)
#[derive(Debug)]
struct Head {
    patience: Patience,
    /// The number of requests begun when bytes came that belong to none of them.
    begins: Option<u64>,
}

impl<I> Timed<I> {
    /// Limits each wait for the peer to take bytes to `stall`, and from its first byte each head to `head`.
    pub(super) fn new(io: I, activity: Arc<Activity>, head: Option<Duration>, stall: Duration) -> Self {
        let head = head.map(|limit| Head { patience: Patience::new(limit), begins: None });
        Self { io, activity, head, stall: Patience::new(stall) }
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.activity.moved();
            self.stall.rest();
            return poll;
        }
        self.stall.wait(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Timed<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = &mut *self;
        let poll = Pin::new(&mut me.io).poll_read(cx, buf);
        if poll.is_ready() {
            me.activity.moved();
        }
        let Some(head) = &mut me.head else { return poll };
        let now = me.activity.read();
        if poll.is_ready() {
            // The first head is in the time of the whole connection.
            let idle = now.begun == now.ended && now.begun > 0;
            if idle && head.begins != Some(now.begun) {
                head.begins = Some(now.begun);
                head.patience.rest();
            }
            poll
        } else if head.begins == Some(now.begun) {
            head.patience.wait(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
        } else {
            poll
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Timed<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.io).poll_write(cx, buf);
        self.written(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.written(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.io).poll_flush(cx);
        self.written(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.io).poll_shutdown(cx);
        self.written(cx, poll)
    }
}

/// A timer that starts with a wait and is forgotten when the wait has an end.
#[derive(Debug)]
struct Patience {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    running: bool,
}

impl Patience {
    const fn new(limit: Duration) -> Self {
        Self { limit, timer: None, running: false }
    }

    const fn rest(&mut self) {
        self.running = false;
    }

    /// Ready when this wait has lasted for the limit.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Self { limit, timer, running } = self;
        let end = || Instant::now() + *limit;
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(end())));
        if !*running {
            *running = true;
            timer.as_mut().reset(end());
        }
        timer.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const HEAD: Duration = Duration::from_secs(10);
    const STALL: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_time_from_its_first_byte() {
        let (mut near, far) = duplex(64);
        let activity = Arc::new(Activity::default());
        let mut timed = Timed::new(far, activity.clone(), Some(HEAD), STALL);
        let mut buf = [0; 8];
        drop(activity.begin());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(100)).await;
            for _ in 0..100 {
                near.write_all(b"a").await.unwrap();
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
        });
        let start = Instant::now();
        let error = loop {
            if let Err(error) = timed.read(&mut buf).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 110);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_ends_the_time_of_its_head() {
        let (mut near, far) = duplex(64);
        let activity = Arc::new(Activity::default());
        let mut timed = Timed::new(far, activity.clone(), Some(HEAD), STALL);
        let mut buf = [0; 8];
        drop(activity.begin());
        near.write_all(b"head").await.unwrap();
        assert_eq!(timed.read(&mut buf).await.unwrap(), 4);
        let request = activity.begin();
        let wait = tokio::time::timeout(Duration::from_secs(300), timed.read(&mut buf));
        assert!(wait.await.is_err(), "a request may take long");
        drop(request);
        let wait = tokio::time::timeout(Duration::from_secs(300), timed.read(&mut buf));
        assert!(wait.await.is_err(), "the next may come late");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (mut near, far) = duplex(4);
        let mut timed = Timed::new(far, Arc::default(), None, STALL);
        let start = Instant::now();
        timed.write_all(b"full").await.unwrap();
        let taker = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(50)).await;
            near.read_exact(&mut [0; 4]).await.unwrap();
            near
        });
        timed.write_all(b"more").await.unwrap();
        let error = timed.write_all(b"!").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 50 + 60);
        drop(taker);
    }
}
