//! What a request is: a read that may be answered from memory, a write, a poll, or something to pass.
//!
//! Decided by method, path, query and the rules alone; nothing here looks at headers, tokens or state.

pub mod call;
pub mod posts;
pub mod scope;
pub mod touched;

use http::Method;

use crate::arm::{ArmPath, Query, Shape};
use crate::policy::{Family, Policy};

pub use call::{Call, Charge, Class, Reach};
pub use scope::Scope;
pub use touched::Touched;

/// What a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Intent {
    /// A GET of a type with a rule.
    Read,
    /// Every method but GET, HEAD and OPTIONS, unless it is a POST known to be a read.
    Write,
    /// A GET of an operation's status.
    Poll,
    /// `GET /metadata/endpoints`, answered from memory.
    Discovery,
    /// Everything else.
    Pass,
}

impl Intent {
    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Poll => "poll",
            Self::Discovery => "discovery",
            Self::Pass => "pass",
        }
    }
}

/// A request, understood.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What it is.
    pub intent: Intent,
    /// The path in canonical form, if it has one.
    pub path: Option<ArmPath>,
    /// The type addressed in lower case and whether one resource or a list is; `None` outside providers.
    pub kind: Option<(String, Shape)>,
    /// Whether the answer shows less than the resource: [`Query::is_partial`].
    pub partial: bool,
}

impl Asked {
    /// Understands a request by its method, path and query.
    #[must_use]
    pub fn new(method: &Method, raw_path: &str, query: &Query<'_>, policy: &Policy) -> Self {
        let path = ArmPath::parse(raw_path).ok();
        let kind = path.as_ref().and_then(ArmPath::resource);
        let intent = intent(method, path.as_ref(), kind.as_ref(), query, policy);
        Self { intent, path, kind, partial: query.is_partial() }
    }

    /// The family of the type addressed.
    #[must_use]
    pub fn family(&self) -> Family {
        self.kind.as_ref().map_or(Family::Other, |(kind, _)| Family::of(kind))
    }
}

fn intent(
    method: &Method,
    path: Option<&ArmPath>,
    kind: Option<&(String, Shape)>,
    query: &Query<'_>,
    policy: &Policy,
) -> Intent {
    match *method {
        Method::GET => {}
        Method::HEAD | Method::OPTIONS | Method::TRACE => return Intent::Pass,
        Method::POST if path.is_some_and(posts::is_read) => return Intent::Pass,
        _ => return Intent::Write,
    }
    let Some(path) = path else { return Intent::Pass };
    if path.as_str() == "/metadata/endpoints" {
        return Intent::Discovery;
    }
    if is_operation(path) {
        return Intent::Poll;
    }
    let ruled = kind.is_some_and(|(kind, _)| policy.rule(kind).is_some());
    // A point without its group, and `userData`, which is a secret, are nobody's to keep.
    let placed = path.subscription().is_some() && (path.group().is_some() || path.root().is_none());
    let secret = query.value("$expand").is_some_and(|value| value.to_ascii_lowercase().contains("userdata"));
    if ruled && placed && !secret { Intent::Read } else { Intent::Pass }
}

/// Whether a path is an operation's status or result, for example
/// `…/providers/Microsoft.Compute/locations/{region}/operations/{id}`, `…/DiskOperations/{id}`,
/// `/subscriptions/{id}/operationresults/{id}` (forms seen in the recordings of
/// kubernetes-sigs/cloud-provider-azure). Whatever a write's answer names is known besides.
#[must_use]
pub fn is_operation(path: &ArmPath) -> bool {
    const ENDINGS: [&str; 5] =
        ["operations", "operationresults", "operationstatuses", "operationsstatus", "operationstatus"];
    // A group or a resource may be called `operations`: only what stands for a type counts.
    let is_type = |at: usize| match path.types_from() {
        Some(first) => at >= first && (at - first).is_multiple_of(2),
        None => at == 2,
    };
    (0..path.len().saturating_sub(1))
        .any(|at| is_type(at) && ENDINGS.iter().any(|ending| path.segment(at).ends_with(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let compute = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute";
        let check = |method: &str, target: &str, intent: Intent| {
            let target = target.replace("{c}", compute);
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let asked = Asked::new(&method, path, &Query::parse(query), &Policy::default());
            assert_eq!(asked.intent, intent, "{method} {target}");
        };
        check("GET", "{c}/virtualMachineScaleSets", Intent::Read);
        check("GET", "{c}/virtualMachineScaleSets/a", Intent::Read);
        check("GET", "{c}/virtualMachineScaleSets/a/instanceView", Intent::Read);
        check("GET", "{c}/virtualMachineScaleSets/a/virtualMachines?$expand=instanceView", Intent::Read);
        check("GET", "/subscriptions/S/providers/Microsoft.Compute/virtualMachines", Intent::Read);
        check("GET", "{c}/virtualMachines/a?%24expand=userData", Intent::Pass);
        check("GET", "{c}/virtualMachineScaleSets/a/skus", Intent::Pass);
        check("GET", "{c}/disks/a", Intent::Pass);
        check("GET", "/subscriptions/S/providers/Microsoft.Compute/virtualMachines/a", Intent::Pass);
        check("HEAD", "{c}/virtualMachines/a", Intent::Pass);
        check("GET", "{c}//virtualMachines/a", Intent::Pass);
        check("PUT", "{c}//virtualMachines/a", Intent::Write);
        check("PUT", "{c}/virtualMachines/a", Intent::Write);
        check("BREW", "{c}/virtualMachines/a", Intent::Write);
        check("POST", "{c}/virtualMachineScaleSets/a/delete", Intent::Write);
        check("POST", "/providers/Microsoft.ResourceGraph/resources", Intent::Pass);
        check(
            "POST",
            "/subscriptions/S/resourceGroups/G/providers/Microsoft.Storage/storageAccounts/a/listKeys",
            Intent::Pass,
        );
        check("GET", "/metadata/endpoints?api-version=2019-05-01", Intent::Discovery);
        let operation = "/subscriptions/S/providers/Microsoft.Compute/locations/eastus";
        check("GET", &format!("{operation}/operations/1?p=a&t=b"), Intent::Poll);
        check("GET", &format!("{operation}/DiskOperations/1"), Intent::Poll);
        check("GET", "/subscriptions/S/operationresults/abc", Intent::Poll);
        check("GET", "/providers/Microsoft.Compute/operations", Intent::Pass);
        let group = "/subscriptions/S/resourceGroups/operations/providers/Microsoft.Compute";
        check("GET", &format!("{group}/virtualMachines/operations"), Intent::Read);
    }
}
