//! `[[rule]]`: what holds for a type.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::BadConfiguration;
use super::document::Document;
use super::names::ResourceType;
use super::values::{Says, Text, TimeOrZero, set};
use crate::policy::{self, Policy};

/// The oldest an answer of a type may be whose new rule does not say.
const NEW: Duration = Duration::from_secs(30);

/// Changes the rule of its type, or adds one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "tables, each under [[rule]]")]
pub(super) struct Rule {
    #[serde(rename = "type")]
    kind: Spanned<Text<ResourceType>>,
    max_age: Option<TimeOrZero>,
    guard: Option<bool>,
}

pub(super) fn apply(
    stated: Vec<Rule>,
    document: &Document<'_>,
    policy: &mut Policy,
) -> Result<(), BadConfiguration> {
    let mut seen = Vec::new();
    for Rule { kind, max_age, guard } in stated {
        let at = kind.span();
        let kind = kind.into_inner().say();
        if seen.contains(&kind) {
            return Err(document.bad(at, "this type has a [[rule]] above"));
        }
        seen.push(kind.clone());
        let rules = &mut policy.rules;
        let place = rules.iter().position(|rule| rule.kind == kind).unwrap_or_else(|| {
            rules.push(policy::Rule { kind, max_age: NEW, guard: false });
            rules.len() - 1
        });
        set(&mut rules[place].max_age, max_age);
        set(&mut rules[place].guard, guard);
    }
    Ok(())
}
