//! What kind of call ARM saw, by method and path alone.

use http::Method;

/// A kind of call, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A GET of one resource, or of a view of it.
    Point,
    /// A GET of a list.
    List,
    /// PUT, PATCH, DELETE, and actions by POST.
    Write,
    /// A GET of an operation's status.
    Poll,
}

impl Kind {
    /// The kind of a call.
    pub(super) fn of(method: &Method, target: &str) -> Self {
        if *method != Method::GET {
            return Self::Write;
        }
        let path = target.split('?').next().unwrap_or("");
        // The provider's last namespace: what follows are types and names in turns.
        let behind = path.rsplit_once("/providers/").map_or("", |(_, behind)| behind);
        let words: Vec<_> = behind.split('/').skip(1).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            ["locations", _, "operations" | "operationResults" | "DiskOperations", _] => Self::Poll,
            [.., "instanceView"] => Self::Point,
            words if words.len() % 2 == 1 => Self::List,
            _ => Self::Point,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart_by_method_and_path() {
        let check = |method: &Method, tail: &str, kind| {
            let target = format!("/subscriptions/s/resourceGroups/g/providers/{tail}?api-version=2025-04-01");
            assert_eq!(Kind::of(method, &target), kind, "{method} {tail}");
        };
        check(&Method::GET, "Microsoft.Compute/virtualMachineScaleSets", Kind::List);
        check(&Method::GET, "Microsoft.Compute/virtualMachineScaleSets/a", Kind::Point);
        check(&Method::GET, "Microsoft.Compute/virtualMachineScaleSets/a/virtualMachines", Kind::List);
        check(&Method::GET, "Microsoft.Compute/virtualMachineScaleSets/a/virtualMachines/1", Kind::Point);
        check(&Method::GET, "Microsoft.Compute/virtualMachines/a/instanceView", Kind::Point);
        check(&Method::GET, "Microsoft.Compute/locations/eastus2/operations/x", Kind::Poll);
        check(&Method::GET, "Microsoft.Network/locations/eastus2/operationResults/x", Kind::Poll);
        check(&Method::PUT, "Microsoft.Network/loadBalancers/a", Kind::Write);
        check(&Method::POST, "Microsoft.Compute/virtualMachineScaleSets/a/delete", Kind::Write);
    }
}
