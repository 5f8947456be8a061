//! The sections of a file, and where what they say goes.

use serde::Deserialize;

use super::cache::Cache;
use super::client::{self, Client};
use super::document::Document;
use super::entrance::{Admin, Health, Listen, Tls};
use super::limits::{Guard, Identity, Limits, Log, Operations};
use super::rule::{self, Rule};
use super::upstream::Upstream;
use super::{BadConfiguration, Configuration};

/// A whole file. What is not stated is absent, so that defaults stand in one place: the rooms.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Sections {
    listen: Listen,
    tls: Tls,
    admin: Admin,
    health: Health,
    upstream: Upstream,
    identity: Identity,
    cache: Cache,
    rule: Vec<Rule>,
    client: Vec<Client>,
    guard: Guard,
    limits: Limits,
    operations: Operations,
    log: Log,
}

impl Sections {
    /// Says it all to the configuration.
    pub(super) fn apply(
        self,
        document: &Document<'_>,
        to: &mut Configuration,
    ) -> Result<(), BadConfiguration> {
        self.upstream.apply(document, to)?;
        self.listen.apply(&mut to.listen);
        to.tls = self.tls.read(document)?;
        self.admin.apply(document, &mut to.admin);
        self.health.apply(&mut to.health);
        self.identity.apply(&mut to.policy, &mut to.identify);
        self.cache.apply(to);
        rule::apply(self.rule, document, &mut to.policy)?;
        client::apply(self.client, document, &mut to.policy)?;
        self.guard.apply(&mut to.policy, &mut to.guard);
        self.limits.apply(document, &mut to.admit)?;
        self.operations.apply(&mut to.scopes, &mut to.operations);
        self.log.apply(&mut to.log);
        Ok(())
    }
}
