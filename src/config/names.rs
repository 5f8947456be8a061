//! Names as they are written: of hosts, header fields, claims, types, profiles, log levels.

use tracing_subscriber::filter::{EnvFilter, LevelFilter};

use super::values::Kind;
use crate::arm::Cloud;

/// Claims that say who a token speaks for or what it may do: callers that differ in one are never one.
const TELLING: [&str; 19] = [
    "_claim_names",
    "_claim_sources",
    "acr",
    "acrs",
    "appid",
    "appidacr",
    "aud",
    "azp",
    "groups",
    "hasgroups",
    "idtyp",
    "iss",
    "oid",
    "roles",
    "scp",
    "sub",
    "tid",
    "wids",
    "xms_mirid",
];

/// What is wrong with one of several: which one, because their line is that of the list.
fn wrong<T>(text: &str, how: &str) -> Result<T, String> {
    Err(format!("{text:?}: {how}"))
}

/// A name that clients dial: a host, in lower case.
pub(super) enum HostName {}

impl Kind for HostName {
    type Value = String;

    fn read(text: &str) -> Result<Self::Value, String> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let inside = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        let is_address = inside.parse::<std::net::Ipv6Addr>().is_ok();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if !is_address && (name.is_empty() || !name.bytes().all(fits)) {
            wrong(text, "write names of hosts, without scheme, port and path")
        } else if Cloud::of_host(name).is_some() {
            wrong(text, "names of ARM itself are known, and are not armshield's own")
        } else {
            Ok(inside.to_ascii_lowercase())
        }
    }
}

/// The name of a header field in lower case, with at most one `*` for any characters.
pub(super) enum HeaderPattern {}

impl Kind for HeaderPattern {
    type Value = String;

    fn read(text: &str) -> Result<Self::Value, String> {
        let named = text.replacen('*', "", 1);
        // RFC 9110 §5.6.2, without what `*` would have to mean a second time.
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'+-.^_`|~".contains(&byte);
        match named.is_empty() || !named.bytes().all(fits) {
            true => wrong(text, "write names of header fields, with at most one * for any characters"),
            false => Ok(text.to_ascii_lowercase()),
        }
    }
}

/// A claim that may be ignored.
pub(super) enum Claim {}

impl Kind for Claim {
    type Value = String;

    fn read(text: &str) -> Result<Self::Value, String> {
        match text {
            "" => Err("write names of claims".into()),
            _ if TELLING.contains(&text) => {
                wrong(text, "this claim tells callers apart and cannot be ignored")
            }
            _ => Ok(text.to_owned()),
        }
    }
}

/// A type of resources in lower case.
pub(super) enum ResourceType {}

impl Kind for ResourceType {
    type Value = Box<str>;

    fn read(text: &str) -> Result<Self::Value, String> {
        let mut parts = text.split('/');
        let fits = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        };
        let has_namespace = parts.next().is_some_and(|part| fits(part) && part.contains('.'));
        match has_namespace && parts.clone().next().is_some() && parts.all(fits) {
            true => Ok(text.to_ascii_lowercase().into()),
            false => Err("write a type of resources, as Microsoft.Compute/virtualMachines".into()),
        }
    }
}

/// The name of a profile, which is a label of metrics as well.
pub(super) enum ProfileName {}

impl Kind for ProfileName {
    type Value = Box<str>;

    fn read(text: &str) -> Result<Self::Value, String> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        match (1..=40).contains(&text.len()) && text.bytes().all(fits) {
            true => Ok(text.into()),
            false => Err("write a name of at most 40 of a-z, 0-9, - and _".into()),
        }
    }
}

/// A word that a User-Agent contains.
pub(super) enum AgentWord {}

impl Kind for AgentWord {
    type Value = Box<str>;

    fn read(text: &str) -> Result<Self::Value, String> {
        match text.trim().is_empty() {
            true => Err("an empty word is contained in every User-Agent".into()),
            false => Ok(text.into()),
        }
    }
}

/// The id of a tenant or an object in lower case.
pub(super) enum Guid {}

impl Kind for Guid {
    type Value = Box<str>;

    fn read(text: &str) -> Result<Self::Value, String> {
        let lengths = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        match lengths && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            true => Ok(text.to_ascii_lowercase().into()),
            false => Err("write an id, as 00000000-0000-0000-0000-000000000000".into()),
        }
    }
}

/// Which events are logged: a level, or directives of `tracing`.
pub(super) enum Level {}

impl Kind for Level {
    type Value = String;

    fn read(text: &str) -> Result<Self::Value, String> {
        // A lone word that is no level would be taken for the name of a target: a typo would silence all.
        let known = match text.contains(['=', ',']) {
            true => EnvFilter::try_new(text).is_ok(),
            false => text.parse::<LevelFilter>().is_ok() && text.parse::<usize>().is_err(),
        };
        match known {
            true => Ok(text.to_owned()),
            false => {
                Err("write off, error, warn, info, debug, trace, or directives as info,armshield=debug"
                    .into())
            }
        }
    }
}
