//! Resources as ARM shows them, and an ARM that shows one for every path.

use super::{Call, Reply};

pub const GROUP: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g";

/// The target of a resource of Microsoft.Compute.
pub fn compute(tail: &str) -> String {
    format!("{GROUP}/providers/Microsoft.Compute/{tail}?api-version=2025-04-01")
}

/// The target of a VM.
pub fn vm(name: &str) -> String {
    compute(&format!("virtualMachines/{name}"))
}

/// Shows what is asked for: a list for a path that ends in a type, else a resource. Every answer says which
/// call it is the answer to.
pub fn show(call: &Call) -> Reply {
    let (id, number) = (call.path(), call.number);
    let types = ["virtualMachines", "virtualMachineScaleSets", "loadBalancers"];
    Reply::ok(if types.iter().any(|kind| id.ends_with(kind)) {
        format!(r#"{{"value":[],"answer":{number}}}"#)
    } else {
        format!(
            r#"{{"id":"{id}","etag":"\"1\"","answer":{number},"properties":{{"vmId":"x","provisioningState":"Succeeded"}}}}"#
        )
    })
}

/// ARM does not accept the token.
pub fn unauthorized() -> Reply {
    Reply::error(401, "InvalidAuthenticationToken").with("x-ms-failure-cause", "gateway")
}

/// ARM accepts the token and not the call.
pub fn forbidden() -> Reply {
    Reply::error(403, "AuthorizationFailed").with("x-ms-failure-cause", "gateway")
}
