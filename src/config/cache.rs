//! `[cache]`: what is kept, and when it may be shown.

use serde::Deserialize;

use super::Configuration;
use super::names::HeaderPattern;
use super::values::{Count, Percent, Size, Text, TimeOrZero, set};
use crate::policy::Mode;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section")]
pub(super) struct Cache {
    mode: Option<Text<Mode>>,
    bytes: Option<Size>,
    entry_max: Option<Size>,
    caller_percent: Option<Percent>,
    fills: Option<Size>,
    variants: Option<Count>,
    neutral_headers: Option<Vec<Text<HeaderPattern>>>,
    repeat_age: Option<TimeOrZero>,
    unsettled_age: Option<TimeOrZero>,
    settle: Option<TimeOrZero>,
    scopes: Option<Count>,
    resources: Option<Count>,
}

impl Cache {
    pub(super) fn apply(self, to: &mut Configuration) {
        set(&mut to.policy.mode, self.mode);
        set(&mut to.policy.unsettled_age, self.unsettled_age);
        set(&mut to.policy.neutral_headers, self.neutral_headers);
        set(&mut to.cache.bytes, self.bytes);
        set(&mut to.cache.entry_max, self.entry_max);
        set(&mut to.cache.caller_percent, self.caller_percent);
        set(&mut to.cache.fills, self.fills);
        set(&mut to.cache.variants, self.variants);
        set(&mut to.cache.repeat_age, self.repeat_age);
        set(&mut to.scopes.settle, self.settle);
        set(&mut to.scopes.scopes, self.scopes);
        set(&mut to.scopes.resources, self.resources);
    }
}
