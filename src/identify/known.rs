//! Who is known, for those who want to know what a caller would be told: nobody has to show a token for that.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::credential::Credential;
use super::digest::Purpose;
use super::{Caller, Identify, Identity, Peer, Spoken, Standing, Token};
use crate::policy::Policy;

/// An asker that can be met without being there.
#[derive(Debug, Clone)]
pub struct Known {
    spoken: Spoken,
    /// For how long its token is vouched for, if it is.
    pub vouched_for: Option<Duration>,
}

impl Known {
    /// Whose entries it may see, if it is vouched for.
    #[must_use]
    pub fn caller(&self) -> Caller {
        self.spoken.credential.caller
    }
}

impl Identify {
    /// Every caller of which a token is remembered, each once: with the token that is vouched for longest.
    /// Bounded by [`Settings::credentials`](super::Settings::credentials). No effects.
    #[must_use]
    pub fn known(&self, policy: &Policy) -> Vec<Known> {
        let mut callers: HashMap<Caller, Known> = HashMap::new();
        for (token, credential) in self.credentials.iter() {
            // Read under another list of claims, it is somebody else from now on.
            if *credential.ignored != *policy.ignorable_claims {
                continue;
            }
            let vouched_for = self.vouchers.left(token);
            let standing = if vouched_for.is_some() { Standing::Vouched } else { Standing::Unvouched };
            let spoken = Spoken { token, credential, standing, asked: self.vouchers.epoch() };
            let known = Known { spoken, vouched_for };
            match callers.entry(known.caller()) {
                Entry::Vacant(place) => drop(place.insert(known)),
                Entry::Occupied(mut place) if place.get().vouched_for < known.vouched_for => {
                    place.insert(known);
                }
                Entry::Occupied(_) => {}
            }
        }
        callers.into_values().collect()
    }

    /// Somebody nobody has met, with a token that ARM has let in or not. No request can be this one.
    #[must_use]
    pub fn stranger(&self, vouched: bool, policy: &Policy) -> Known {
        let standing = if vouched { Standing::Vouched } else { Standing::Unvouched };
        // Digests of real tokens begin with another mark.
        let token = Token::of(self.key.absorb(Purpose::Token).mark(2).finish());
        let credential = Arc::new(Credential::exact(&self.key, token, &policy.ignorable_claims));
        let spoken = Spoken { token, credential, standing, asked: self.vouchers.epoch() };
        Known { spoken, vouched_for: None }
    }

    /// Who this asker is if it comes with this User-Agent over this connection. No effects.
    #[must_use]
    pub fn meet(&self, known: &Known, agent: &[u8], peer: Peer, policy: &Policy) -> Identity {
        let Spoken { token, credential, standing, asked } = known.spoken.clone();
        self.identity(self.who(token, credential, agent, peer, policy), standing, asked, peer)
    }
}
