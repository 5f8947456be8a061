//! What makes callers of one principal and application differ: a claim that should perhaps be ignorable.
//!
//! Only vouched tokens are looked at, and only names of claims are told, never values.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::credential::Credential;
use super::digest::{Application, Caller, Principal};
use crate::clock::Moment;

/// Applications remembered.
const APPLICATIONS: usize = 256;
/// Callers remembered of one application.
const CALLERS: usize = 8;
/// Claims named for one application.
const CLAIMS: usize = 32;

/// An application of a principal that is more than one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The principal.
    pub principal: Principal,
    /// The principal through this application.
    pub application: Application,
    /// How many times one more caller appeared, the first one included.
    pub callers: u64,
    /// The names of the claims that were not the same in all tokens.
    pub claims: Vec<Box<str>>,
}

#[derive(Debug)]
struct Seen {
    principal: Principal,
    last: Moment,
    recent: Vec<(Caller, Arc<Credential>)>,
    callers: u64,
    claims: BTreeSet<Box<str>>,
}

/// The callers of each application.
#[derive(Debug, Default)]
pub(super) struct Splits(Mutex<HashMap<Application, Seen>>);

impl Splits {
    /// Takes note of a vouched credential.
    pub(super) fn note(&self, credential: &Arc<Credential>, now: Moment) {
        if credential.marks.is_empty() {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= APPLICATIONS && !all.contains_key(&credential.application) {
            let oldest = all.iter().min_by_key(|(_, seen)| seen.last).map(|(application, _)| *application);
            oldest.and_then(|application| all.remove(&application));
        }
        let seen = all.entry(credential.application).or_insert_with(|| Seen {
            principal: credential.principal,
            last: now,
            recent: Vec::new(),
            callers: 0,
            claims: BTreeSet::new(),
        });
        seen.note(credential, now);
    }

    /// The applications that are more than one caller, those with the most callers first.
    pub(super) fn list(&self) -> Vec<Split> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut splits: Vec<_> = all
            .iter()
            .filter(|(_, seen)| seen.callers > 1)
            .map(|(application, seen)| Split {
                principal: seen.principal,
                application: *application,
                callers: seen.callers,
                claims: seen.claims.iter().cloned().collect(),
            })
            .collect();
        splits.sort_by_key(|split| (std::cmp::Reverse(split.callers), split.application));
        splits
    }
}

impl Seen {
    fn note(&mut self, credential: &Arc<Credential>, now: Moment) {
        self.last = now;
        if self.recent.iter().any(|(caller, _)| *caller == credential.caller) {
            return;
        }
        if let Some((_, before)) = self.recent.last() {
            for name in differing(before, credential) {
                if self.claims.len() < CLAIMS {
                    self.claims.insert(name.into());
                }
            }
        }
        if self.recent.len() >= CALLERS {
            self.recent.remove(0);
        }
        self.recent.push((credential.caller, credential.clone()));
        self.callers += 1;
    }
}

/// The claims only one of the two has, or has otherwise.
fn differing<'a>(one: &'a Credential, other: &'a Credential) -> impl Iterator<Item = &'a str> {
    let lacks = |credential: &'a Credential| {
        move |name: &str, value: u128| {
            !credential.marks.iter().any(|mark| &*mark.name == name && mark.value == value)
        }
    };
    let (not_in_one, not_in_other) = (lacks(one), lacks(other));
    let left = one.marks.iter().filter(move |mark| not_in_other(&mark.name, mark.value));
    let right = other.marks.iter().filter(move |mark| not_in_one(&mark.name, mark.value));
    left.chain(right).map(|mark| &*mark.name)
}
