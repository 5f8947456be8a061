//! Who asks, as far as a request shows it and ARM has confirmed it.

use std::net::IpAddr;
use std::sync::Arc;

use super::credential::Credential;
use super::digest::{Caller, Client, Principal, Token};
use super::voucher::Epoch;
use crate::policy::{Priority, Profile};

/// The other end of the connection a request came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its address, without the port: a client opens many connections.
    pub ip: IpAddr,
    /// Whether it came over loopback.
    pub loopback: bool,
}

/// What ARM has said about a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It let this very token in a short while ago.
    Vouched,
    /// Nothing, nothing lately, or that it will not have it.
    Unvouched,
    /// There is no token.
    Anonymous,
}

impl Standing {
    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vouched => "vouched",
            Self::Unvouched => "unvouched",
            Self::Anonymous => "anonymous",
        }
    }
}

/// Who asks. Only [`Identify`](super::Identify) makes one.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The very token.
    pub token: Token,
    /// Whose entries these are. Proven only with a voucher.
    pub caller: Caller,
    /// Whom ARM charges. Proven only with a voucher.
    pub principal: Principal,
    /// The unit of behaviour. Without a voucher one of this token's own, so that nobody speaks for another.
    pub client: Client,
    /// What this kind of client tolerates.
    pub profile: Arc<Profile>,
    /// Who goes first.
    pub priority: Priority,
    /// What ARM has said about the token.
    pub standing: Standing,
    /// When the first of its tokens ends, in seconds since the Unix epoch, if one says so.
    pub expires: Option<u64>,
    /// The peer's address; an IPv4 one is never in IPv6 notation.
    pub peer: IpAddr,
    pub(super) loopback: bool,
    pub(super) proven_client: Client,
    pub(super) credential: Arc<Credential>,
    pub(super) asked: Epoch,
}

impl Identity {
    /// Whether ARM let this very token in a short while ago, when the request came.
    #[must_use]
    pub const fn is_vouched(&self) -> bool {
        matches!(self.standing, Standing::Vouched)
    }

    /// The client this is if its claims are true: for what takes effect only if ARM lets the token in.
    #[must_use]
    pub const fn claimed_client(&self) -> Client {
        self.proven_client
    }

    /// Whether the profile's configuration names the principal.
    pub(super) fn is_named(&self) -> bool {
        let Some((tid, oid)) = &self.credential.names else { return false };
        self.profile.principals.iter().any(|principal| principal.tid == *tid && principal.oid == *oid)
    }
}
