//! `[identity]`, `[guard]`, `[limits]`, `[operations]`, `[log]`.

use serde::Deserialize;
use toml::Spanned;

use super::BadConfiguration;
use super::document::Document;
use super::names::{Claim, Level};
use super::values::{Count, CountOrZero, Size, Text, Time, TimeOrZero, set};
use crate::observe::{self, Format};
use crate::policy::{GuardMode, Policy};
use crate::{admit, guard, identify, operations, scopes};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Identity {
    vouch_for: Option<Time>,
    vouchers: Option<Count>,
    credentials: Option<Count>,
    ignorable_claims: Option<Vec<Text<Claim>>>,
    in_flight: Option<Count>,
    refusals: Option<CountOrZero>,
    refusal_window: Option<Time>,
    pace: Option<Time>,
    peers: Option<Count>,
}

impl Identity {
    pub(super) fn apply(self, policy: &mut Policy, to: &mut identify::Settings) {
        set(&mut policy.ignorable_claims, self.ignorable_claims);
        set(&mut to.vouch_for, self.vouch_for);
        set(&mut to.vouchers, self.vouchers);
        set(&mut to.credentials, self.credentials);
        set(&mut to.in_flight, self.in_flight);
        set(&mut to.refusals, self.refusals);
        set(&mut to.refusal_window, self.refusal_window);
        set(&mut to.pace, self.pace);
        set(&mut to.peers, self.peers);
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Guard {
    mode: Option<Text<GuardMode>>,
    bytes: Option<Size>,
    body_max: Option<Size>,
}

impl Guard {
    pub(super) fn apply(self, policy: &mut Policy, to: &mut guard::Settings) {
        set(&mut policy.guard, self.mode);
        set(&mut to.bytes, self.bytes);
        set(&mut to.body_max, self.body_max);
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Limits {
    pace: Option<Spanned<bool>>,
    untold: Option<Time>,
    untold_longest: Option<Time>,
    trial: Option<Time>,
    probe_above: Option<Time>,
    probe_every: Option<Time>,
    gates: Option<Count>,
    classes: Option<Count>,
}

impl Limits {
    pub(super) fn apply(
        self,
        document: &Document<'_>,
        to: &mut admit::Settings,
    ) -> Result<(), BadConfiguration> {
        if let Some(pace) = self.pace.filter(|pace| *pace.get_ref()) {
            return Err(document.bad_value(&pace, "pacing is not built yet: only false is taken"));
        }
        set(&mut to.untold, self.untold);
        set(&mut to.untold_longest, self.untold_longest);
        set(&mut to.trial, self.trial);
        set(&mut to.probe_above, self.probe_above);
        set(&mut to.probe_every, self.probe_every);
        set(&mut to.gates, self.gates);
        set(&mut to.classes, self.classes);
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Operations {
    quiet: Option<Time>,
    unknown_outcome: Option<TimeOrZero>,
    remembered: Option<Time>,
    most: Option<Count>,
}

impl Operations {
    pub(super) fn apply(self, scopes: &mut scopes::Settings, to: &mut operations::Settings) {
        set(&mut scopes.operation, self.quiet);
        set(&mut scopes.unknown_outcome, self.unknown_outcome);
        set(&mut to.remembered, self.remembered);
        set(&mut to.most, self.most);
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Log {
    format: Option<Text<Format>>,
    level: Option<Text<Level>>,
    access: Option<bool>,
}

impl Log {
    pub(super) fn apply(self, to: &mut observe::Settings) {
        set(&mut to.format, self.format);
        set(&mut to.level, self.level);
        set(&mut to.access, self.access);
    }
}
