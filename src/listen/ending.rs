//! The ways a connection can end.

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Closed by either side between requests, or with the answer to the last one.
    Closed,
    /// The client left before it had asked for anything.
    Nothing,
    /// No whole request came within the deadline.
    Silent,
    /// The TLS handshake failed.
    Handshake,
    /// A TLS handshake came, but there is no certificate.
    NoTls,
    /// A head that hyper cannot read, and has answered.
    Refused,
    /// A client that left in the middle, a slow head, an answer that was not taken, a body that broke off.
    Broken,
    /// Nothing moved any more after the connection was asked to end.
    Stuck,
    /// Cut off at the deadline of a stop.
    Cut,
}

impl Ending {
    /// The word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Nothing => "nothing",
            Self::Silent => "silent",
            Self::Handshake => "handshake",
            Self::NoTls => "no-tls",
            Self::Refused => "refused",
            Self::Broken => "broken",
            Self::Stuck => "stuck",
            Self::Cut => "cut",
        }
    }
}
