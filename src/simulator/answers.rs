//! Answers and error bodies in the shapes that ARM and its providers send.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::text;

/// Who wrote an answer; it shows in its headers and layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// ARM itself: `x-ms-failure-cause: gateway`, no rate limit headers.
    Gateway,
    /// ARM, merging what providers in several regions answered.
    Merged,
    Compute,
    Network,
    Other,
}

/// What a call leads to, before the front dresses it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) author: Author,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// Whether the call changed anything.
    pub(crate) applied: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, author: Author, body: String) -> Self {
        Self { status, author, headers: HeaderMap::new(), body, applied: false }
    }

    pub(crate) fn empty(status: u16, author: Author) -> Self {
        Self::new(status, author, String::new())
    }

    pub(crate) fn json(status: u16, author: Author, body: &Value) -> Self {
        Self::new(status, author, layout(author, body))
    }

    pub(crate) fn applied(mut self) -> Self {
        self.applied = true;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(HeaderName::from_static(name), value);
        }
        self
    }

    pub(crate) fn charged(self, charge: u32) -> Self {
        self.with("x-ms-request-charge", &charge.to_string())
    }
}

/// Compute indents, the others do not.
pub(crate) fn layout(author: Author, body: &Value) -> String {
    match author {
        Author::Compute => {
            text::indented(body, &["error", "code", "message", "startTime", "endTime", "status"], 0)
        }
        _ => text::compact(body, &["error", "code", "message"]),
    }
}

fn error(status: u16, author: Author, code: &str, message: &str) -> Answer {
    Answer::json(status, author, &json!({"error": {"code": code, "message": message}}))
}

/// An error of ARM itself.
pub(crate) fn gateway(status: u16, code: &str, message: &str) -> Answer {
    error(status, Author::Gateway, code, message)
}

/// An error of a provider.
pub(crate) fn provider(author: Author, status: u16, code: &str, message: &str) -> Answer {
    error(status, author, code, message)
}

pub(crate) fn group_not_found(group: &str) -> Answer {
    gateway(404, "ResourceGroupNotFound", &format!("Resource group '{group}' could not be found."))
}

/// A tracked resource that ARM does not know; the provider is not asked.
pub(crate) fn resource_not_found(kind: &str, names: &str, group: &str) -> Answer {
    let message = format!(
        "The Resource '{kind}/{names}' under resource group '{group}' was not found. \
         For more details please go to https://aka.ms/ARMResourceNotFoundFix"
    );
    gateway(404, "ResourceNotFound", &message)
}

pub(crate) fn parent_not_found(kind: &str, parent: &str) -> Answer {
    let short = kind.split_once('/').map_or(kind, |(_, rest)| rest);
    let message = format!(
        "Failed to perform 'write' on resource(s) of type '{short}', because the parent resource '{parent}' \
         could not be found."
    );
    gateway(404, "ParentResourceNotFound", &message)
}

/// Network's answer for a child it does not have.
pub(crate) fn child_not_found(id: &str) -> Answer {
    let body =
        json!({"error": {"code": "NotFound", "message": format!("Resource {id} not found."), "details": []}});
    Answer::json(404, Author::Network, &body)
}

pub(crate) fn instance_not_found() -> Answer {
    error(404, Author::Compute, "NotFound", "The entity was not found in this Azure location.")
}

pub(crate) fn invalid_parameter(author: Author, message: &str, target: &str) -> Answer {
    let body = json!({"error": {"code": "InvalidParameter", "message": message, "target": target}});
    Answer::json(400, author, &body)
}

pub(crate) fn invalid_content(message: &str) -> Answer {
    gateway(
        400,
        "InvalidRequestContent",
        &format!("The request content was invalid and could not be deserialized: '{message}'."),
    )
}

pub(crate) fn method_not_allowed(method: &str) -> Answer {
    gateway(
        405,
        "MethodNotAllowed",
        &format!("The HTTP method '{method}' is not supported at this resource."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_recorded() {
        // kubernetes-sigs/cloud-provider-azure, virtualmachinescalesetclient recording, #4 and vmss vm #15.
        assert_eq!(
            resource_not_found("Microsoft.Compute/virtualMachineScaleSets", "testResource", "rg").body,
            r#"{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Compute/virtualMachineScaleSets/testResource' under resource group 'rg' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"}}"#
        );
        let text = invalid_parameter(Author::Compute, "must be a number.", "instanceId").body;
        assert!(text.starts_with("{\r\n  \"error\": {\r\n    \"code\": \"InvalidParameter\","), "{text}");
    }
}
