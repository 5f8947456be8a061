//! `[upstream]`: where ARM is and how it is reached.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::document::Document;
use super::values::{Count, Says, Text, Time, TimeOrZero, set, set_some};
use super::{BadConfiguration, Configuration, pem};
use crate::arm::Cloud;
use crate::upstream::{Address, Proxy, Target};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Upstream {
    endpoint: Option<Text<Target>>,
    cloud: Option<Text<Cloud>>,
    address: Option<Text<Address>>,
    proxy: Option<Text<Proxy>>,
    ca: Option<Spanned<PathBuf>>,
    lanes: Option<Count>,
    connect: Option<Time>,
    head: Option<Time>,
    idle: Option<Time>,
    ping: Option<TimeOrZero>,
}

impl Upstream {
    pub(super) fn apply(
        self,
        document: &Document<'_>,
        to: &mut Configuration,
    ) -> Result<(), BadConfiguration> {
        to.enter_cloud(self.cloud.map_or(to.cloud, Says::say));
        set(&mut to.endpoint, self.endpoint);
        let settings = &mut to.upstream;
        set_some(&mut settings.address, self.address);
        set_some(&mut settings.proxy, self.proxy);
        set(&mut settings.lanes, self.lanes);
        set(&mut settings.connect, self.connect);
        set(&mut settings.head, self.head);
        set(&mut settings.idle, self.idle);
        set(&mut settings.ping, self.ping);
        if let Some(ca) = self.ca {
            settings.ca = pem::roots(&ca, document)?;
        }
        Ok(())
    }
}
