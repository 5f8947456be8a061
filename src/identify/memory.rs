//! What a connection remembers of who asked last, because most clients show the same token again and again.
//!
//! - Tokens are compared byte for byte, so one is kept as it came, until another one comes or the connection
//!   ends.
//! - Only what follows from what was shown is remembered. What ARM has said about a token is looked up for
//!   every request.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::credential::{Credential, Presented};
use super::digest::{Client, Token};
use crate::policy::{Policy, Profile};

/// What one connection remembers of who asked last. Debug output shows nothing of it.
#[derive(Default)]
pub struct Memory(ArcSwapOption<(Shown, Who)>);

/// What somebody showed, and by which policy it was looked at.
struct Shown {
    authorization: Box<[u8]>,
    agent: Box<[u8]>,
    policy: Arc<Policy>,
}

/// Who somebody is by what was shown.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) token: Token,
    pub(super) credential: Arc<Credential>,
    pub(super) profile: Arc<Profile>,
    /// The client if its claims are true.
    pub(super) proven: Client,
    /// The client of this token alone.
    pub(super) unproven: Client,
}

impl Memory {
    /// Who asked last, if the same was shown then.
    pub(super) fn recall(
        &self,
        presented: &Presented<'_>,
        agent: &[u8],
        policy: &Arc<Policy>,
    ) -> Option<Who> {
        let authorization = presented.sole_authorization()?;
        let last = self.0.load();
        let (shown, who) = &**last.as_ref()?;
        let same = *shown.authorization == *authorization
            && *shown.agent == *agent
            && Arc::ptr_eq(&shown.policy, policy);
        same.then(|| who.clone())
    }

    /// Remembers who asked, instead of who did before.
    pub(super) fn keep(&self, presented: &Presented<'_>, agent: &[u8], policy: &Arc<Policy>, who: &Who) {
        let Some(authorization) = presented.sole_authorization() else { return };
        let shown =
            Shown { authorization: authorization.into(), agent: agent.into(), policy: policy.clone() };
        self.0.store(Some(Arc::new((shown, who.clone()))));
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}
