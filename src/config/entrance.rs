//! `[listen]`, `[tls]`, `[admin]`, `[health]`: how armshield is reached.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::document::Document;
use super::names::HostName;
use super::values::{AtLeastKib, Count, Text, Time, TimeOrZero, set, set_some};
use super::{BadConfiguration, configuration, pem};
use crate::listen;

/// hyper's buffers are no smaller.
type HeadSize = AtLeastKib<8>;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Listen {
    address: Option<Text<SocketAddr>>,
    names: Option<Vec<Text<HostName>>>,
    allow_plain: Option<bool>,
    head_deadline: Option<Time>,
    head_bytes: Option<HeadSize>,
    head_fields: Option<Count>,
    streams: Option<Count>,
    connections: Option<Count>,
    ping: Option<TimeOrZero>,
    idle: Option<Time>,
    stall: Option<Time>,
    linger: Option<TimeOrZero>,
    drain: Option<TimeOrZero>,
    grace: Option<TimeOrZero>,
}

impl Listen {
    pub(super) fn apply(self, to: &mut listen::Settings) {
        set(&mut to.address, self.address);
        set(&mut to.names, self.names);
        set(&mut to.allow_plain, self.allow_plain);
        set(&mut to.head_deadline, self.head_deadline);
        set(&mut to.head_bytes, self.head_bytes);
        set(&mut to.head_fields, self.head_fields);
        set(&mut to.streams, self.streams);
        set(&mut to.connections, self.connections);
        set(&mut to.ping, self.ping);
        set(&mut to.idle, self.idle);
        set(&mut to.stall, self.stall);
        set(&mut to.linger, self.linger);
        set(&mut to.drain, self.drain);
        set(&mut to.grace, self.grace);
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Tls {
    certificate: Option<Spanned<PathBuf>>,
    key: Option<Spanned<PathBuf>>,
}

impl Tls {
    /// Reads the files.
    pub(super) fn read(
        self,
        document: &Document<'_>,
    ) -> Result<Option<configuration::Tls>, BadConfiguration> {
        match (self.certificate, self.key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => pem::identity(&certificate, &key, document).map(Some),
            (Some(certificate), None) => Err(document.bad_value(&certificate, "key is missing beside it")),
            (None, Some(key)) => Err(document.bad_value(&key, "certificate is missing beside it")),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Admin {
    address: Option<Text<SocketAddr>>,
    open: Option<bool>,
    token: Option<PathBuf>,
}

impl Admin {
    pub(super) fn apply(self, document: &Document<'_>, to: &mut configuration::Admin) {
        set(&mut to.address, self.address);
        set(&mut to.open, self.open);
        if let Some(token) = self.token {
            to.token = document.path(&token);
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Health {
    address: Option<Text<SocketAddr>>,
}

impl Health {
    pub(super) fn apply(self, to: &mut Option<SocketAddr>) {
        set_some(to, self.address);
    }
}
