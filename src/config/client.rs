//! `[[client]]`: what a kind of client tolerates.

use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::BadConfiguration;
use super::document::Document;
use super::names::{AgentWord, Guid, ProfileName};
use super::values::{Says, Text, Time, TimeOrZero, set, set_some};
use crate::policy::{self, GuardMode, Links, Mode, Policy, Priority, Profile, Repeat, profile};

/// Changes the profile of its name, or adds one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "tables, each under [[client]]")]
pub(super) struct Client {
    name: Spanned<Text<ProfileName>>,
    words: Option<Spanned<Vec<Text<AgentWord>>>>,
    max_age: Option<TimeOrZero>,
    network_max_age: Option<TimeOrZero>,
    repeat: Option<Text<Repeat>>,
    older: Option<TimeOrZero>,
    network_older: Option<TimeOrZero>,
    priority: Option<Text<Priority>>,
    principals: Option<Vec<Principal>>,
    links: Option<Text<Links>>,
    base_window: Option<Time>,
    mode: Option<Text<Mode>>,
    guard: Option<Text<GuardMode>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "tables with tid and oid")]
struct Principal {
    tid: Text<Guid>,
    oid: Text<Guid>,
}

impl Says<policy::Principal> for Principal {
    fn say(self) -> policy::Principal {
        policy::Principal { tid: self.tid.say(), oid: self.oid.say() }
    }
}

/// Added profiles are tried before the built-in ones, in the order of the file: what an operator names is
/// meant to be found, whatever SDK it is built with.
pub(super) fn apply(
    stated: Vec<Client>,
    document: &Document<'_>,
    policy: &mut Policy,
) -> Result<(), BadConfiguration> {
    let mut seen: Vec<Box<str>> = Vec::new();
    let mut added = Vec::new();
    for client in stated {
        let at = client.name.span();
        let name: &str = client.name.get_ref().value();
        if seen.iter().any(|other| **other == *name) {
            return Err(document.bad(at, "this name has a [[client]] above"));
        }
        seen.push(name.into());
        let words = client.words.as_ref();
        if let Some(words) = words.filter(|words| words.get_ref().is_empty()) {
            return Err(document.bad_value(words, "at least one word is needed"));
        }
        if *name == *policy.other.name {
            if let Some(words) = words {
                let reason = "this is the profile of clients that no word matches";
                return Err(document.bad_value(words, reason));
            }
            client.apply(Arc::make_mut(&mut policy.other));
        } else if let Some(known) = policy.profiles.iter_mut().find(|known| *known.name == *name) {
            client.apply(Arc::make_mut(known));
        } else if words.is_none() {
            return Err(document.bad(at, "no such client is built in, and a new one needs words"));
        } else {
            let mut new = Profile { name: name.into(), ..profile::other() };
            client.apply(&mut new);
            added.push(Arc::new(new));
        }
    }
    policy.profiles.splice(0..0, added);
    Ok(())
}

impl Client {
    fn apply(self, to: &mut Profile) {
        set(&mut to.words, self.words.map(Spanned::into_inner));
        set(&mut to.age, self.max_age);
        set(&mut to.network_age, self.network_max_age);
        set(&mut to.repeat, self.repeat);
        set(&mut to.older, self.older);
        set(&mut to.network_older, self.network_older);
        set(&mut to.priority, self.priority);
        set(&mut to.principals, self.principals);
        set(&mut to.links, self.links);
        set(&mut to.base_window, self.base_window);
        set_some(&mut to.mode, self.mode);
        set_some(&mut to.guard, self.guard);
    }
}
