//! Which answers prove that ARM let a token in.

use http::{Method, StatusCode};

use crate::arm::ArmPath;

/// Whether an answer proves that ARM let the token in that asked for it: a success below
/// `/subscriptions/{guid}/`. OPTIONS and discovery are open to everybody, operation-status URLs to whoever
/// knows their signature. To be asked about ARM's own answers only, never about those armshield makes.
///
/// `is_poll`: the URL was handed out by ARM for an operation; those that look like one never vouch anyway.
#[must_use]
pub fn vouches(method: &Method, path: Option<&ArmPath>, is_poll: bool, status: StatusCode) -> bool {
    let Some(path) = path else { return false };
    status.is_success()
        && method != Method::OPTIONS
        && !is_poll
        && path.len() > 2
        && path.subscription().is_some_and(is_guid)
        && !is_operation(path)
}

fn is_guid(text: &str) -> bool {
    let mut groups = text.split('-');
    [8, 4, 4, 4, 12].into_iter().all(|length| {
        groups
            .next()
            .is_some_and(|group| group.len() == length && group.bytes().all(|b| b.is_ascii_hexdigit()))
    }) && groups.next().is_none()
}

/// Whether the path looks like an operation's status: `…/locations/{region}/operations/{id}`,
/// `operationResults`, `DiskOperations`, `…/operationresults/{id}` right below the subscription.
fn is_operation(path: &ArmPath) -> bool {
    let names = |segment: &str| segment.contains("operation");
    let types = path.resource().map(|(kind, _)| kind);
    // The namespace comes first, and may be called Microsoft.OperationalInsights.
    names(path.segment(2)) || types.is_some_and(|kind| kind.split('/').skip(1).any(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_success_below_a_subscription_vouches() {
        const SUBSCRIPTION: &str = "/subscriptions/0aA1bcde-0000-1111-2222-333344445555";
        let check = |method: Method, path: &str, status: u16, expected: bool| {
            let path = path.replace('~', SUBSCRIPTION);
            let parsed = ArmPath::parse(&path).ok();
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                vouches(&method, parsed.as_ref(), false, status),
                expected,
                "{method} {path} {status}"
            );
            assert!(!vouches(&method, parsed.as_ref(), true, status), "a poll: {path}");
        };
        let vm = "~/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v";
        check(Method::GET, vm, 200, true);
        check(Method::PUT, vm, 201, true);
        check(Method::DELETE, vm, 202, true);
        check(Method::GET, "~/resourceGroups", 200, true);
        check(Method::GET, "~/providers/Microsoft.OperationalInsights/workspaces", 200, true);
        check(Method::GET, "~/resourceGroups/operations", 200, true);

        check(Method::OPTIONS, vm, 200, false);
        for status in [199, 304, 401, 403, 404, 412, 429, 500] {
            check(Method::GET, vm, status, false);
        }
        check(Method::GET, "~", 200, false);
        check(Method::GET, "/subscriptions", 200, false);
        check(Method::GET, "/metadata/endpoints", 200, false);
        check(Method::GET, "/tenants", 200, false);
        check(Method::POST, "/batch", 200, false);
        check(Method::POST, "/providers/Microsoft.ResourceGraph/resources", 200, false);
        check(Method::GET, "~/", 200, false);
        check(Method::GET, "/x/~/resourceGroups", 200, false);

        check(Method::GET, "~/providers/Microsoft.Compute/locations/eastus/operations/x", 200, false);
        check(Method::GET, "~/providers/Microsoft.Compute/locations/eastus/DiskOperations/x", 200, false);
        check(Method::GET, "~/providers/Microsoft.Network/locations/eastus/operationResults/x", 200, false);
        check(Method::GET, "~/operationresults/eyJqb2IiOiJ4In0", 200, false);
        check(Method::GET, &format!("{vm}/providers/Microsoft.X/asyncOperations/y"), 200, false);

        for id in [
            "s",
            "0aa1bcde-0000-1111-2222-33334444555",
            "0aa1bcde-0000-1111-2222-33334444555g",
            "0aa1bcde-0000-1111-2222-333344445555-",
            "0aa1bcde000011112222333344445555",
            "..",
        ] {
            check(Method::GET, &format!("/subscriptions/{id}/resourceGroups"), 200, false);
        }
    }
}
