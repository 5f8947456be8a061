//! Every call that arrived, in order, with what became of it. Never a token.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};

/// One call as the simulator saw it.
#[derive(Debug, Clone)]
pub struct Call {
    /// Counts from 1.
    pub number: u64,
    /// When it arrived, since the simulator started.
    pub at: Duration,
    /// When its answer was ready to be sent.
    pub answered: Option<Duration>,
    /// The method.
    pub method: Method,
    /// Path and query as they came.
    pub target: String,
    /// `Host` or `:authority`.
    pub host: String,
    /// All headers; tokens are left out.
    pub headers: HeaderMap,
    /// The request body.
    pub body: Bytes,
    /// The HTTP version.
    pub version: Version,
    /// Which connection it came on, counted from 1; 0 in process.
    pub connection: u64,
    /// Object id of the principal, if the token was good.
    pub principal: Option<String>,
    /// Which of the issued tokens it carried.
    pub token: Option<u64>,
    /// The status, unless the connection was cut before the head.
    pub status: Option<u16>,
    /// Whether it changed anything.
    pub applied: bool,
    /// The fault that was injected, by its name.
    pub fault: Option<&'static str>,
    /// The budget that refused it.
    pub throttled: Option<String>,
    /// The seconds it was then told to wait, if it was told.
    pub retry_after: Option<u64>,
}

impl Call {
    /// The value of a request header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The condition of a write.
    #[must_use]
    pub fn if_match(&self) -> Option<&str> {
        self.header("if-match")
    }

    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }

    /// Whether it asked for something to change: not a GET, HEAD or OPTIONS.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }
}

/// The calls, the oldest given up first.
#[derive(Debug)]
pub(crate) struct Journal {
    calls: VecDeque<Call>,
    count: u64,
    room: usize,
}

impl Journal {
    pub(crate) fn new(room: usize) -> Self {
        Self { calls: VecDeque::new(), count: 0, room }
    }

    pub(crate) fn open(&mut self, mut call: Call) -> u64 {
        self.count += 1;
        call.number = self.count;
        if self.calls.len() >= self.room {
            self.calls.pop_front();
        }
        if self.room > 0 {
            self.calls.push_back(call);
        }
        self.count
    }

    pub(crate) fn note(&mut self, number: u64, write: impl FnOnce(&mut Call)) {
        let Some(first) = self.calls.front().map(|call| call.number) else { return };
        let Some(at) = number.checked_sub(first).and_then(|at| usize::try_from(at).ok()) else { return };
        if let Some(call) = self.calls.get_mut(at) {
            write(call);
        }
    }

    pub(crate) fn all(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

/// The headers without what must not be kept.
pub(crate) fn redacted(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [AUTHORIZATION, HeaderName::from_static("x-ms-authorization-auxiliary")] {
        if headers.remove(&name).is_some() {
            headers.insert(name, HeaderValue::from_static("redacted"));
        }
    }
    headers
}
