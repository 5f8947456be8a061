//! Turns back the link to the next page while a body streams through, in constant memory.
//!
//! What is no JSON object, or stops being one, passes byte for byte. A link is held until it is complete or
//! its beginning is known, so the bytes that come out do not depend on how those that went in were cut.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};

use super::beginning::Beginning;
use super::unescape::{Step, Unescape};
use super::{Links, Way};

const KEY: &[u8] = b"nextLink";
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A body whose top-level `nextLink` leads to the name the client dialled.
///
/// Its length is not known, so an answer with it must not keep its `Content-Length`. A body in a content
/// coding passes unchanged: decode it first. Debug output shows no byte of it.
pub struct NextLinkBody<B> {
    source: B,
    scanner: Scanner,
    ready: VecDeque<Bytes>,
    trailers: Option<Frame<Bytes>>,
    ended: bool,
}

impl<B> fmt::Debug for NextLinkBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextLinkBody").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl<B> NextLinkBody<B> {
    /// Wraps a body.
    #[must_use]
    pub fn new(source: B, links: Arc<Links>, dialled: Way<'_>) -> Self {
        let scanner = Scanner::new(links, dialled);
        Self { source, scanner, ready: VecDeque::new(), trailers: None, ended: false }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for NextLinkBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if let Some(trailers) = this.trailers.take() {
                return Poll::Ready(Some(Ok(trailers)));
            }
            if this.ended {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut this.source).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.scanner.feed(&data, &mut this.ready),
                    Err(trailers) => {
                        this.scanner.finish(&mut this.ready);
                        this.trailers = Some(trailers);
                    }
                },
                Some(Err(error)) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    this.scanner.finish(&mut this.ready);
                    this.ended = true;
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty()
            && self.trailers.is_none()
            && !self.scanner.is_holding()
            && (self.ended || self.source.is_end_stream())
    }
}

/// Where in the text the next byte stands.
#[derive(Debug, Clone, Copy)]
enum State {
    /// Before the object, after so many bytes of a byte order mark.
    Before(usize),
    /// Where a key may begin.
    Key,
    /// In a key, of which so many bytes agree with [`KEY`] (`None`: it is another).
    InKey(Unescape, Option<usize>),
    /// After a key; whether it is ours.
    Colon(bool),
    /// Before a value.
    Value(bool),
    /// In the value that is a link.
    InLink(Unescape),
    /// In a string, below so many brackets; whether after a backslash.
    InString { depth: usize, escaped: bool },
    /// Inside a value, below so many brackets.
    Nested(usize),
    /// Behind a value, or in one without quotes or brackets.
    After,
    /// Nothing more to be found.
    Passing,
}

struct Scanner {
    links: Arc<Links>,
    secure: bool,
    authority: Box<str>,
    state: State,
    held: Vec<u8>,
}

impl Scanner {
    fn new(links: Arc<Links>, dialled: Way<'_>) -> Self {
        Self {
            links,
            secure: dialled.secure,
            authority: dialled.authority.into(),
            state: State::Before(0),
            held: Vec::new(),
        }
    }

    const fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes bytes in, and puts out those that are decided.
    fn feed(&mut self, chunk: &Bytes, out: &mut VecDeque<Bytes>) {
        let mut from = 0;
        for (at, &byte) in chunk.iter().enumerate() {
            if let State::InLink(mut unescape) = self.state {
                let step = unescape.feed(byte);
                if step == Step::End {
                    self.finish(out);
                    self.state = State::After;
                    from = at;
                } else {
                    self.held.push(byte);
                    self.state = State::InLink(unescape);
                    if self.held.len() == Beginning::ENOUGH {
                        self.finish(out);
                        let escaped = matches!(unescape, Unescape::Escape);
                        self.state = State::InString { depth: 0, escaped };
                        from = at + 1;
                    }
                }
                continue;
            }
            self.state = self.state.after(byte);
            match self.state {
                State::InLink(_) => push(out, chunk.slice(from..=at)),
                State::Passing => break,
                _ => {}
            }
        }
        if !matches!(self.state, State::InLink(_)) {
            push(out, chunk.slice(from..));
        }
    }

    /// Decides on what is held and puts it out.
    fn finish(&mut self, out: &mut VecDeque<Bytes>) {
        let held = Bytes::from(std::mem::take(&mut self.held));
        let dialled = Way { secure: self.secure, authority: &self.authority };
        let rest = match self.links.replace(&held, dialled) {
            Some((len, back)) => {
                push(out, back.into());
                held.slice(len..)
            }
            None => held,
        };
        push(out, rest);
    }
}

fn push(out: &mut VecDeque<Bytes>, piece: Bytes) {
    if !piece.is_empty() {
        out.push_back(piece);
    }
}

impl State {
    /// The state behind `byte`, in any state but [`State::InLink`].
    fn after(self, byte: u8) -> Self {
        if is_space(byte) && !matches!(self, Self::InKey(..) | Self::InString { .. }) {
            return self;
        }
        match (self, byte) {
            (Self::Before(0 | 3), b'{') | (Self::After, b',') => Self::Key,
            (Self::Before(at), _) if BYTE_ORDER_MARK.get(at) == Some(&byte) => Self::Before(at + 1),
            (Self::Key, b'"') => Self::InKey(Unescape::default(), Some(0)),
            (Self::InKey(unescape, agrees), _) => in_key(unescape, agrees, byte),
            (Self::Colon(ours), b':') => Self::Value(ours),
            (Self::Value(true), b'"') => Self::InLink(Unescape::default()),
            (Self::Value(false), b'"') => Self::InString { depth: 0, escaped: false },
            (Self::Value(_), b'{' | b'[') => Self::Nested(1),
            (Self::Value(_), b'}' | b']' | b',' | b':')
            | (Self::After, b'"' | b'}' | b'{' | b'[' | b']' | b':') => Self::Passing,
            (Self::Value(_) | Self::After, _) => Self::After,
            (Self::InString { depth, escaped: false }, b'"') => closed(depth),
            (Self::InString { depth, escaped }, _) => {
                Self::InString { depth, escaped: !escaped && byte == b'\\' }
            }
            (Self::Nested(depth), b'"') => Self::InString { depth, escaped: false },
            (Self::Nested(depth), b'{' | b'[') => Self::Nested(depth + 1),
            (Self::Nested(depth), b'}' | b']') => closed(depth - 1),
            (Self::Nested(_) | Self::InLink(_), _) => self,
            (Self::Before(_) | Self::Key | Self::Colon(_) | Self::Passing, _) => Self::Passing,
        }
    }
}

fn in_key(mut unescape: Unescape, agrees: Option<usize>, byte: u8) -> State {
    match unescape.feed(byte) {
        Step::End => State::Colon(agrees == Some(KEY.len())),
        Step::Within => State::InKey(unescape, agrees),
        Step::Ascii(character) => {
            let agrees = agrees.filter(|&count| KEY.get(count) == Some(&character));
            State::InKey(unescape, agrees.map(|count| count + 1))
        }
        Step::Other => State::InKey(unescape, None),
    }
}

/// What follows the end of a string or a bracket, below so many others.
const fn closed(depth: usize) -> State {
    if depth == 0 { State::After } else { State::Nested(depth) }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests;
