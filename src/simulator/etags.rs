//! Versions of models and the conditions that writes put on them.
//!
//! Sources: the recorded 412s of `kubernetes-sigs/cloud-provider-azure` (VMSS #11, VMSS VM #13, VM #14, load
//! balancer #10) and the table of `Azure/azure-resource-manager-rpc`, `resource-api-reference.md`.

use http::HeaderMap;
use serde_json::json;

use super::answers::{Answer, Author};
use super::kinds::{Kind, Versions};
use super::random::Random;

/// The version of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Version {
    Counter(u64),
    Guid(String),
    None,
}

impl Version {
    pub(crate) fn first(kind: &Kind, random: &mut Random) -> Self {
        match kind.versions {
            Versions::Counter => Self::Counter(1),
            Versions::Guid => Self::Guid(random.guid()),
            Versions::None => Self::None,
        }
    }

    pub(crate) fn advance(&mut self, random: &mut Random) {
        match self {
            Self::Counter(number) => *number += 1,
            Self::Guid(guid) => *guid = random.guid(),
            Self::None => {}
        }
    }

    /// The tag as it stands in `etag` and the `ETag` header.
    pub(crate) fn tag(&self) -> Option<String> {
        match self {
            Self::Counter(number) => Some(format!("\"{number}\"")),
            Self::Guid(guid) => Some(format!("W/\"{guid}\"")),
            Self::None => None,
        }
    }

    fn bare(&self) -> String {
        match self {
            Self::Counter(number) => number.to_string(),
            Self::Guid(guid) => guid.clone(),
            Self::None => String::new(),
        }
    }
}

/// The conditions a request carries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
}

impl Conditions {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let read = |name| {
            let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.map(str::to_owned).reduce(|one, other| one + ", " + &other)
        };
        Self { if_match: read("if-match"), if_none_match: read("if-none-match") }
    }

    /// The answer if a condition does not hold for the resource at `present` (`None`: there is none).
    pub(crate) fn refuse(
        &self,
        kind: &Kind,
        id: &str,
        present: Option<&Version>,
        create: bool,
    ) -> Option<Answer> {
        if !kind.conditions {
            return None;
        }
        let author = if kind.is_network() { Author::Network } else { Author::Compute };
        if create && let Some(value) = &self.if_none_match {
            if value.trim() != "*" {
                let message = "Only '*' is allowed as the value of the header If-None-Match.";
                return Some(super::answers::provider(author, 400, "InvalidHeaderValue", message));
            }
            if let Some(version) = present {
                return Some(failed(author, id, "*", &version.bare(), "if-none-match"));
            }
        }
        let value = self.if_match.as_deref()?;
        match present {
            Some(_) if value.trim() == "*" => None,
            Some(version) if value.split(',').any(|sent| matches(sent, version)) => None,
            Some(version) => Some(failed(author, id, &bare(value), &version.bare(), "if-match")),
            None => Some(failed(author, id, &bare(value), "", "if-match")),
        }
    }
}

/// Quotes are not held against the client; a weak tag only against Compute.
fn matches(sent: &str, version: &Version) -> bool {
    let sent = sent.trim();
    if matches!(version, Version::Counter(_)) && sent.starts_with("W/") {
        return false;
    }
    bare(sent) == version.bare()
}

fn bare(sent: &str) -> String {
    let sent = sent.trim();
    sent.strip_prefix("W/").unwrap_or(sent).trim_matches('"').to_owned()
}

fn failed(author: Author, id: &str, sent: &str, present: &str, header: &str) -> Answer {
    if author == Author::Network {
        let message = format!(
            "Etag provided in {header} header W/\"{sent}\" does not match etag W/\"{present}\" of resource {id} \
             in NRP data store."
        );
        let body = json!({"error": {
            "code": "PreconditionFailed",
            "message": "Precondition failed.",
            "details": [{"code": "PreconditionFailedEtagMismatch", "message": message}],
        }});
        return Answer::json(412, author, &body);
    }
    let message =
        format!("Etag provided in {header} header \"{sent}\" does not match etag \"{present}\" of resource.");
    let body = json!({"error": {"code": "PreconditionFailed", "message": message}});
    Answer::json(412, author, &body)
}

#[cfg(test)]
mod tests {
    use super::super::kinds;
    use super::*;

    fn refused(
        kind: &Kind,
        version: Option<Version>,
        if_match: Option<&str>,
        if_none: Option<&str>,
    ) -> Option<String> {
        let conditions =
            Conditions { if_match: if_match.map(str::to_owned), if_none_match: if_none.map(str::to_owned) };
        conditions.refuse(kind, "/id", version.as_ref(), true).map(|answer| answer.body)
    }

    #[test]
    fn compute_refuses_as_recorded() {
        let body = refused(&kinds::SCALE_SET, Some(Version::Counter(1)), Some("invalid"), None).unwrap();
        assert_eq!(
            body.replace("\r\n", "\n"),
            "{\n  \"error\": {\n    \"code\": \"PreconditionFailed\",\n    \"message\": \"Etag provided in if-match \
             header \\\"invalid\\\" does not match etag \\\"1\\\" of resource.\"\n  }\n}"
        );
    }

    #[test]
    fn network_refuses_as_recorded() {
        let version = Some(Version::Guid("guid".to_owned()));
        let body = refused(&kinds::LOAD_BALANCER, version, Some("invalid"), None).unwrap();
        assert_eq!(
            body,
            r#"{"error":{"code":"PreconditionFailed","message":"Precondition failed.","details":[{"code":"PreconditionFailedEtagMismatch","message":"Etag provided in if-match header W/\"invalid\" does not match etag W/\"guid\" of resource /id in NRP data store."}]}}"#
        );
    }

    #[test]
    fn conditions_follow_the_table_of_the_contract() {
        let counter = || Some(Version::Counter(3));
        let guid = || Some(Version::Guid("g".into()));
        let cases = [
            (&kinds::VM, None, None, None, false),
            (&kinds::VM, None, Some("*"), None, true),
            (&kinds::VM, counter(), Some("*"), None, false),
            (&kinds::VM, None, Some("\"3\""), None, true),
            (&kinds::VM, counter(), Some("\"3\""), None, false),
            (&kinds::VM, counter(), Some("\"2\""), None, true),
            (&kinds::VM, counter(), Some("W/\"3\""), None, true),
            (&kinds::VM, None, None, Some("*"), false),
            (&kinds::VM, counter(), None, Some("*"), true),
            (&kinds::PUBLIC_IP, guid(), Some("W/\"g\""), None, false),
            (&kinds::INTERFACE, guid(), Some("W/\"x\""), None, false),
        ];
        for (kind, version, if_match, if_none, refuse) in cases {
            let case = format!("{} {version:?} {if_match:?} {if_none:?}", kind.name);
            assert_eq!(refused(kind, version, if_match, if_none).is_some(), refuse, "{case}");
        }
    }
}
