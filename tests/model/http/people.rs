//! Who asks: clients, the tokens they hold, the places they have rights to.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use super::places::{A, SUBSCRIPTION, THINGS};
use crate::support::client::{AUTOSCALER, AZ, CCM};
use crate::support::tokens::{claims, sealed};

/// The callers. The last one is the principal of the first with other rights.
pub const CALLERS: usize = 3;

/// What a client tolerates, by its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Az,
    Ccm,
    Autoscaler,
    Other,
}

impl Profile {
    fn agent(self) -> &'static str {
        match self {
            Self::Az => AZ,
            Self::Ccm => CCM,
            Self::Autoscaler => AUTOSCALER,
            Self::Other => "azsdk-go-armcompute/v7.3.0 (go1.25.5; linux)",
        }
    }

    /// The oldest answer it takes, of Compute or of Network.
    pub fn age(self, network: bool) -> Duration {
        Duration::from_secs(match (self, network) {
            (Self::Az, _) => 15,
            (Self::Ccm | Self::Other, false) => 2,
            (Self::Autoscaler, true) => 30,
            (Self::Autoscaler, false) | (Self::Ccm | Self::Other, true) => 5,
        })
    }

    /// Whether asking again means asking for news.
    pub fn refreshes(self) -> bool {
        self != Self::Az
    }

    /// Whether its writes are guarded, or only observed.
    pub fn enforces(self) -> bool {
        self != Self::Autoscaler
    }
}

/// A program that asks.
#[derive(Debug)]
pub struct Person {
    pub caller: usize,
    pub profile: Profile,
}

const fn person(caller: usize, profile: Profile) -> Person {
    Person { caller, profile }
}

/// Everybody. The fifth shares token, name and address with the first, and is another process.
pub const PEOPLE: [Person; 7] = [
    person(0, Profile::Az),
    person(0, Profile::Ccm),
    person(1, Profile::Az),
    person(1, Profile::Autoscaler),
    person(0, Profile::Az),
    person(0, Profile::Other),
    person(2, Profile::Az),
];

impl Person {
    pub fn agent(&self) -> &'static str {
        self.profile.agent()
    }

    /// Whether armshield cannot tell them apart: the unit of behaviour, never of rights.
    pub fn is_one_with(&self, other: &Self) -> bool {
        principal_of(self.caller) == principal_of(other.caller) && self.profile == other.profile
    }
}

/// Whom ARM charges for a caller's calls.
pub fn principal_of(caller: usize) -> usize {
    caller % 2
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    pub caller: usize,
    /// How often the caller had got a new one before.
    pub generation: u32,
    /// Whether somebody made it up who knows all that it says.
    pub forged: bool,
}

impl Token {
    pub fn text(&self) -> String {
        let principal = ["one", "two"][principal_of(self.caller)];
        let mut claims = claims(principal, self.generation);
        if self.caller == 2 {
            claims["groups"] = json!(["everybody"]);
        }
        let genuine = sealed(&claims);
        if self.forged { genuine.replace(".signature", ".forged") } else { genuine }
    }

    /// Until when it is good, from the beginning of the world.
    pub fn lasts(&self) -> Duration {
        Duration::from_secs(3600 + u64::from(self.generation))
    }
}

/// Where rights can be taken from a caller, everything below included.
pub fn closable(place: usize) -> String {
    match place % 3 {
        0 => THINGS[A].id(),
        1 => format!("{SUBSCRIPTION}/resourceGroups/h"),
        _ => format!("{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Network"),
    }
}

/// Where clients come from, and where those who forge tokens do.
pub fn peer(stranger: bool) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, if stranger { 66 } else { 1 }], 50_000))
}
