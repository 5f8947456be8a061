//! The ways a call can end without an answer, and what each says about whether ARM saw it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::target::Target;

/// Which way a call ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A name did not resolve.
    Dns,
    /// Nobody took the connection, or not in time.
    Connect,
    /// No TLS with whoever took it.
    Tls,
    /// There was a connection, but the call did not leave on it or was provably not looked at
    /// (`REFUSED_STREAM`, or behind the last stream of a GOAWAY: RFC 9113 §8.7 and §6.8).
    NeverSent,
    /// The call left, or may have, and the connection or stream broke before an answer.
    Lost,
    /// The call left, and no answer began in time.
    HeadTimeout,
    /// The request's own body broke off: its client left, or sent what is no body.
    Unread,
}

impl Kind {
    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::NeverSent => "never_sent",
            Self::Lost => "lost",
            Self::HeadTimeout => "head_timeout",
            Self::Unread => "unread",
        }
    }
}

/// A call that got no answer. Its text is for the operator and names the target and the reason.
#[derive(Clone)]
pub struct SendError {
    /// Which way it ended.
    pub kind: Kind,
    /// Whom it was for.
    pub target: Target,
    source: Arc<dyn Error + Send + Sync>,
}

impl SendError {
    pub(super) fn new(kind: Kind, target: &Target, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, target: target.clone(), source: Arc::from(source.into()) }
    }

    /// Whether ARM may have carried the call out.
    #[must_use]
    pub const fn may_have_reached(&self) -> bool {
        match self.kind {
            Kind::Dns | Kind::Connect | Kind::Tls | Kind::NeverSent => false,
            Kind::Lost | Kind::HeadTimeout | Kind::Unread => true,
        }
    }

    /// The reason with its causes, outermost first.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut text = self.source.to_string();
        let mut next = self.source.source();
        while let Some(cause) = next {
            let cause_text = cause.to_string();
            // Wrappers such as io::Error repeat what they wrap.
            if !text.ends_with(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            next = cause.source();
        }
        text
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, reason) = (&self.target, self.reason());
        match self.kind {
            Kind::Dns => f.write_str(&reason),
            Kind::Connect => write!(f, "cannot connect to {target}: {reason}"),
            Kind::Tls => write!(f, "no TLS with {target}: {reason}"),
            Kind::NeverSent => write!(f, "the call to {target} was not sent: {reason}"),
            Kind::Lost => {
                write!(f, "{target} may have got the call, but it was lost before an answer: {reason}")
            }
            Kind::Unread => write!(f, "the request's body broke off: {reason}"),
            Kind::HeadTimeout => write!(f, "{target} got the call and did not answer: {reason}"),
        }
    }
}

impl fmt::Debug for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").field("kind", &self.kind).field("text", &self.to_string()).finish()
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// A name that did not resolve. A [`Connect`](super::Connect) wraps it in its `io::Error`, so that the
/// end of the call can be told from a refused connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot resolve {host}: {reason}")]
pub struct Unresolved {
    /// The name.
    pub host: String,
    /// What the resolver said.
    pub reason: String,
}

/// Something that did not happen in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no {what} within {within:?}")]
pub(super) struct TooLate {
    pub(super) what: &'static str,
    pub(super) within: Duration,
}
