//! Looking at what clients were shown: who was shown which versions of a resource.

use std::sync::PoisonError;

use crate::arm::{ArmPath, ETag};
use crate::clock::Moment;
use crate::policy::Profile;

use super::{Guard, Present};

/// A version that may be the base of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The version.
    pub etag: ETag,
    /// When it was last shown.
    pub last: Moment,
    /// Whether a newer answer to the same question replaced it.
    pub superseded: bool,
}

/// What one client was shown of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The client.
    pub client: u128,
    /// The caller that was last shown something through this client.
    pub caller: u128,
    /// The versions that may be the base of a write, in the order of their tags. `None` where what could have
    /// shown one was forgotten for space.
    pub versions: Option<Vec<Version>>,
}

impl Guard {
    /// What the clients of a profile were shown of a resource; who was shown nothing of it is left out.
    #[must_use]
    pub fn look(&self, path: &ArmPath, profile: &Profile, present: Option<Present<'_>>) -> Vec<Seen> {
        let memories: Vec<_> = self.clients.iter().map(|memory| (*memory.key(), memory.clone())).collect();
        let now = self.clock.now();
        let seen = memories.into_iter().filter_map(|(client, memory)| {
            let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            let versions = memory.candidates(path, now, profile.base_window, present);
            let says =
                memory.profile == profile.name && versions.as_ref().is_none_or(|some| !some.is_empty());
            says.then(|| Seen { client, caller: memory.caller, versions })
        });
        let mut seen: Vec<_> = seen.collect();
        seen.sort_unstable_by_key(|seen| (seen.caller, seen.client));
        seen
    }
}
