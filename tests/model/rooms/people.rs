//! Who asks: three programs of one principal, two of which cannot be told apart, one of another principal,
//! and one that forged a token.

use std::time::Duration;

use armshield::identify::Peer;
use armshield::policy::{Policy, Repeat};
use http::{HeaderMap, header};

use crate::support::client::{AUTOSCALER, AZ, CCM};
use crate::support::tokens::{EPOCH, claims, sealed};

use super::table::Kind;

/// A program, its principal, its name, its address, and the tokens it goes through.
#[derive(Debug, Clone, Copy)]
pub struct Person {
    pub principal: usize,
    agent: &'static str,
    ip: [u8; 4],
    pub tokens: &'static [usize],
    /// Programs with the same number are one client to armshield.
    pub unit: usize,
}

/// The forger says it is the first.
pub const FORGER: usize = 4;

pub const PEOPLE: [Person; 5] = [
    Person { principal: 0, agent: CCM, ip: [10, 0, 0, 1], tokens: &[0, 1, 2], unit: 0 },
    Person { principal: 0, agent: CCM, ip: [10, 0, 0, 1], tokens: &[1, 0], unit: 0 },
    Person { principal: 0, agent: AZ, ip: [10, 0, 0, 2], tokens: &[0, 1], unit: 1 },
    Person { principal: 1, agent: AUTOSCALER, ip: [10, 0, 0, 1], tokens: &[3, 4], unit: 2 },
    Person { principal: 0, agent: CCM, ip: [10, 0, 0, 1], tokens: &[FORGED], unit: 0 },
];

/// A token nobody issued.
const FORGED: usize = 5;
pub const TOKENS: usize = 6;

/// Whether ARM will never let a token in.
pub const fn is_forged(token: usize) -> bool {
    token == FORGED
}

/// When a token ends, in seconds since the Unix epoch.
pub const fn end(token: usize) -> u64 {
    match token {
        2 => EPOCH + 45,
        3 => EPOCH + 1800,
        _ => EPOCH + 3600,
    }
}

fn bearer(token: usize) -> String {
    let (name, n) = [("one", 0), ("one", 1), ("one", 2), ("two", 0), ("two", 1), ("one", 0)][token];
    let mut claims = claims(name, n);
    claims["exp"] = end(token).into();
    let text = sealed(&claims);
    if is_forged(token) { format!("Bearer {text}s") } else { format!("Bearer {text}") }
}

impl Person {
    pub fn headers(&self, token: usize) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, bearer(token).parse().unwrap());
        headers.insert(header::USER_AGENT, self.agent.parse().unwrap());
        headers
    }

    pub fn peer(&self) -> Peer {
        Peer { ip: self.ip.into(), loopback: false }
    }

    /// How old an answer this program takes at most.
    pub fn age(&self, kind: Kind) -> Duration {
        let (compute, network) = [(10, 20), (15, 15), (5, 30)][self.unit];
        Duration::from_secs(if kind.is_network() { network } else { compute })
    }

    /// Whether it asks again for news.
    pub const fn refreshes(&self) -> bool {
        self.unit != 1
    }

    /// Whether the guard sends the conditions it finds.
    pub const fn is_guarded(&self) -> bool {
        self.unit != 2
    }
}

/// How long a version shown may be the base of a write.
pub const WINDOW: Duration = Duration::from_secs(60);

/// The built-in policy, but for ages at which its bounds can be told apart, and a shorter memory.
pub fn policy() -> Policy {
    let mut policy = Policy::default();
    for profile in &mut policy.profiles {
        let mut own = (**profile).clone();
        own.base_window = WINDOW;
        if &*own.name == "ccm" {
            (own.age, own.network_age) = (Duration::from_secs(10), Duration::from_secs(20));
            assert_eq!(own.repeat, Repeat::Refresh);
        }
        *profile = own.into();
    }
    policy
}
