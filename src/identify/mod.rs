//! Who asks: tokens become callers, and ARM's own answers vouch for them.
//!
//! - A caller is everything a token says except a short list of claims: what nobody thought of splits
//!   callers and never merges them.
//! - What a token says proves nothing. A token is believed while ARM has lately let in this very token.
//! - A forged token changes nothing for the caller it imitates, not even its client or its priority.
//! - Only digests of tokens are kept, under a key that is new in every process; but a connection remembers the
//!   last token that came over it, as long as it lives.

mod agents;
mod canonical;
mod credential;
mod digest;
mod identity;
mod known;
mod lane;
mod memory;
mod proof;
mod refusals;
mod sole;
mod splits;
mod voucher;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::USER_AGENT;
use quick_cache::sync::Cache;

pub use credential::{IGNORABLE, Refused};
pub use digest::{Application, Caller, Client, Principal, Token};
pub use identity::{Identity, Peer, Standing};
pub use known::Known;
pub use lane::{Admitted, UnvouchedLane};
pub use memory::Memory;
pub use proof::vouches;
pub use refusals::Rated;
pub use splits::Split;

use crate::clock::{Clock, Moment};
use crate::policy::{Policy, Priority};
use agents::Agents;
use credential::{Credential, Presented};
use digest::{Key, Purpose};
use memory::Who;
use sole::Sole;
use splits::Splits;
use voucher::{Epoch, Vouchers};

/// What this room can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long a token is believed after ARM last let it in.
    pub vouch_for: Duration,
    /// How many tokens can be vouched for at a time.
    pub vouchers: usize,
    /// How many tokens are remembered as read.
    pub credentials: usize,
    /// How many unvouched calls of a peer are in flight at a time.
    pub in_flight: usize,
    /// How many 401s within `refusal_window` slow a peer's unvouched calls down; 0: none does.
    pub refusals: usize,
    /// How long a 401 counts.
    pub refusal_window: Duration,
    /// The time between the unvouched calls of a peer that was slowed down.
    pub pace: Duration,
    /// How many peers' unvouched calls are told apart.
    pub peers: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            vouch_for: Duration::from_secs(10 * 60),
            vouchers: 16 * 1024,
            credentials: 4 * 1024,
            in_flight: 32,
            refusals: 20,
            refusal_window: Duration::from_secs(60),
            pace: Duration::from_secs(1),
            peers: 1024,
        }
    }
}

/// The system gave no random bytes for the key of the digests.
#[derive(Debug, thiserror::Error)]
#[error("the system has no random bytes to make a key of: {0}")]
pub struct NoRandomness(#[from] getrandom::Error);

/// A token with what it says and what ARM has said about it.
#[derive(Debug, Clone)]
struct Spoken {
    token: Token,
    credential: Arc<Credential>,
    standing: Standing,
    asked: Epoch,
}

/// Knows who asks.
#[derive(Debug)]
pub struct Identify {
    clock: Clock,
    key: Key,
    vouch_for: Duration,
    credentials: Cache<Token, Arc<Credential>>,
    vouchers: Vouchers,
    sole: Sole,
    splits: Splits,
    agents: Agents,
}

impl Identify {
    /// Knows nobody yet, and digests under a key of its own.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new(settings: &Settings, clock: Clock) -> Result<Self, NoRandomness> {
        Ok(Self::make(settings, clock, Key::random()?))
    }

    /// The same under a key that is known. For tests: whoever knows the key can test guesses of tokens.
    #[must_use]
    pub fn with_key(settings: &Settings, clock: Clock, key: [u8; 32]) -> Self {
        Self::make(settings, clock, Key::fixed(key))
    }

    fn make(settings: &Settings, clock: Clock, key: Key) -> Self {
        Self {
            clock,
            key,
            vouch_for: settings.vouch_for,
            credentials: Cache::new(settings.credentials),
            vouchers: Vouchers::new(settings.vouch_for, settings.vouchers, clock),
            sole: Sole::default(),
            splits: Splits::default(),
            agents: Agents::default(),
        }
    }

    /// Who asks, over a connection that remembers this.
    ///
    /// # Errors
    /// When the request cannot be said to come from anybody.
    pub fn identify(
        &self,
        headers: &HeaderMap,
        peer: Peer,
        policy: &Arc<Policy>,
        memory: &Memory,
    ) -> Result<Identity, Refused> {
        let presented = Presented::of(headers)?;
        let agent = headers.get(USER_AGENT).map_or(&b""[..], |value| value.as_bytes());
        // Before the voucher is looked up: a refusal in between must outweigh what this call will be answered.
        let asked = self.vouchers.epoch();
        let who = memory.recall(&presented, agent, policy).unwrap_or_else(|| {
            let token = presented.token(&self.key);
            let who = self.who(token, self.credential(token, &presented, policy), agent, peer, policy);
            memory.keep(&presented, agent, policy, &who);
            who
        });
        let standing = match presented.is_anonymous() {
            true => Standing::Anonymous,
            false if self.vouchers.has(who.token) => Standing::Vouched,
            false => Standing::Unvouched,
        };
        if Arc::ptr_eq(&who.profile, &policy.other) && standing != Standing::Anonymous {
            self.agents.count(&String::from_utf8_lossy(agent));
        }
        Ok(self.identity(who, standing, asked, peer))
    }

    /// Who it is that has this token, comes with this User-Agent and over this connection. No effects.
    fn who(
        &self,
        token: Token,
        credential: Arc<Credential>,
        agent: &[u8],
        peer: Peer,
        policy: &Policy,
    ) -> Who {
        let ip = peer.ip.to_canonical();
        Who {
            token,
            profile: policy.profile(&String::from_utf8_lossy(agent)).clone(),
            proven: self.client(Purpose::Client, credential.application.bits(), agent, ip),
            unproven: self.client(Purpose::UnprovenClient, token.bits(), agent, ip),
            credential,
        }
    }

    /// The same with what ARM has said about the token. No effects.
    fn identity(&self, who: Who, standing: Standing, asked: Epoch, peer: Peer) -> Identity {
        let Who { token, credential, profile, proven, unproven } = who;
        let client = match standing {
            Standing::Vouched => proven,
            Standing::Unvouched | Standing::Anonymous => unproven,
        };
        let mut identity = Identity {
            token,
            caller: credential.caller,
            principal: credential.principal,
            client,
            priority: profile.priority,
            profile,
            standing,
            expires: credential.expires,
            peer: peer.ip.to_canonical(),
            loopback: peer.loopback,
            proven_client: proven,
            credential,
            asked,
        };
        identity.priority = self.priority(&identity);
        identity
    }

    /// Vouches for the token of a call that ARM answered, if [`vouches`] says that the answer does, and gives
    /// the identity it has from now on. `None` for an expired token, for one that was refused since it was
    /// identified, and where there is none.
    pub async fn vouch(&self, identity: &Identity) -> Option<Identity> {
        let Identity { token, expires, asked, .. } = *identity;
        if identity.standing == Standing::Anonymous || !self.vouchers.vouch(token, expires, asked) {
            return None;
        }
        let now = self.clock.now();
        self.splits.note(&identity.credential, now);
        if identity.loopback {
            self.sole.note(identity.caller, now);
        }
        let client = identity.proven_client;
        let mut proven = Identity { standing: Standing::Vouched, client, ..identity.clone() };
        proven.priority = self.priority(&proven);
        Some(proven)
    }

    /// Ends the voucher of a token that ARM answered with 401; its caller's other tokens keep theirs.
    pub async fn revoke(&self, token: Token) {
        self.vouchers.revoke(token);
    }

    /// Lets a voucher in force last until a gate opens that keeps its token from being vouched for again,
    /// but not longer than the token.
    pub async fn hold(&self, identity: &Identity, until: Moment) {
        self.vouchers.hold(identity.token, until);
    }

    /// Whether the token is vouched for at this moment.
    #[must_use]
    pub fn is_vouched(&self, token: Token) -> bool {
        self.vouchers.has(token)
    }

    /// The claims in which callers of one tenant, object and application differ, for the operator.
    #[must_use]
    pub fn splits(&self) -> Vec<Split> {
        self.splits.list()
    }

    /// The commonest User-Agents that no profile matches, and how many calls they made.
    #[must_use]
    pub fn unmatched_agents(&self) -> Vec<(Box<str>, u64)> {
        self.agents.commonest()
    }

    fn credential(&self, token: Token, presented: &Presented<'_>, policy: &Policy) -> Arc<Credential> {
        if let Some(known) = self.credentials.get(&token)
            && *known.ignored == *policy.ignorable_claims
        {
            return known;
        }
        let read = Credential::read(&self.key, token, presented, &policy.ignorable_claims);
        let read = Arc::new(read);
        self.credentials.insert(token, read.clone());
        read
    }

    fn client(&self, purpose: Purpose, speaker: u128, agent: &[u8], ip: IpAddr) -> Client {
        let mut absorb = self.key.absorb(purpose);
        absorb.bits(speaker).bytes(agent);
        match ip {
            IpAddr::V4(ip) => absorb.bytes(&ip.octets()),
            IpAddr::V6(ip) => absorb.bytes(&ip.octets()),
        };
        Client::of(absorb.finish())
    }

    /// The profile's priority. A User-Agent alone puts nobody above normal.
    fn priority(&self, identity: &Identity) -> Priority {
        let stated = identity.profile.priority;
        let proven = || {
            let alone = || self.sole.is(identity.caller, self.clock.now(), self.vouch_for);
            identity.is_vouched() && (identity.is_named() || identity.loopback && alone())
        };
        if stated <= Priority::Normal || proven() { stated } else { Priority::Normal }
    }
}
