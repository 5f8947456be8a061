//! User-Agents no profile matches: the commonest are worth one.
//!
//! A bounded table in the manner of "space saving" (Metwally, Agrawal, El Abbadi 2005): a newcomer takes the
//! place and the count of the rarest, so whatever makes up more than 1/64 of the calls is in it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

const KEPT: usize = 64;
const TOLD: usize = 10;
const LONGEST: usize = 64;

/// How often each was met.
#[derive(Debug, Default)]
pub(super) struct Agents(Mutex<HashMap<Box<str>, u64>>);

impl Agents {
    pub(super) fn count(&self, user_agent: &str) {
        let name = product(user_agent);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(name) {
            *count += 1;
            return;
        }
        let mut before = 0;
        if counts.len() >= KEPT
            && let Some((rarest, count)) = counts.iter().min_by_key(|(_, count)| **count)
        {
            let rarest = rarest.clone();
            before = *count;
            counts.remove(&rarest);
        }
        counts.insert(name.into(), before + 1);
    }

    /// The commonest, most frequent first.
    pub(super) fn commonest(&self) -> Vec<(Box<str>, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<_> = counts.iter().map(|(name, count)| (name.clone(), *count)).collect();
        list.sort_by(|(one, many), (other, more)| more.cmp(many).then_with(|| one.cmp(other)));
        list.truncate(TOLD);
        list
    }
}

/// The name in front of a version or a comment, if it is printable: what follows may be anything.
fn product(user_agent: &str) -> &str {
    let end = user_agent.find(|c: char| c == '/' || !c.is_ascii_graphic()).unwrap_or(user_agent.len());
    let name = &user_agent[..end];
    if name.is_empty() { "-" } else { &name[..name.len().min(LONGEST)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_printable_beginning_is_kept() {
        let check = |agent: &str, expected: &str| assert_eq!(product(agent), expected, "{agent:?}");
        check("azsdk-go-armcompute/v7.3.0 (go1.25; linux)", "azsdk-go-armcompute");
        check("curl 8", "curl");
        check("a\u{7}b", "a");
        check("\u{1f600}", "-");
        check("", "-");
        check("/x", "-");
        check(&"x".repeat(300), &"x".repeat(64));
    }

    #[test]
    fn a_flood_of_names_does_not_hide_the_commonest() {
        let agents = Agents::default();
        for round in 0..2000 {
            agents.count(&format!("noise{round}/1"));
            for _ in 0..4 {
                agents.count("velero/1");
            }
            agents.count("crossplane");
        }
        let commonest = agents.commonest();
        assert_eq!(commonest.len(), 10);
        assert_eq!(&*commonest[0].0, "velero");
        assert_eq!(&*commonest[1].0, "crossplane");
        assert_eq!(agents.0.lock().unwrap().len(), KEPT);
    }
}
