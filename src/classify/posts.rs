//! POSTs that only read. Everything else that is posted counts as a write.

use crate::arm::{ArmPath, Shape};

/// Actions that change nothing, whichever provider has them.
const ACTIONS: [&str; 14] = [
    "calculatetemplatehash",
    "checkaccess",
    "checkdnsavailability",
    "checknameavailability",
    "checkpolicycompliance",
    "checkresourcename",
    "checkzonepeers",
    "effectivenetworksecuritygroups",
    "effectiveroutetable",
    "exporttemplate",
    "getentities",
    "retrievebootdiagnosticsdata",
    "validate",
    "whatif",
];

/// Providers whose POSTs are queries.
const PROVIDERS: [&str; 2] = ["microsoft.resourcegraph", "microsoft.costmanagement"];

/// Whether a POST to this path is known to be a read: `list*` (such as `listKeys`), the actions above,
/// Resource Graph.
#[must_use]
pub fn is_read(path: &ArmPath) -> bool {
    if path.resource().is_some_and(|(_, shape)| shape == Shape::Point) {
        return false;
    }
    let action = path.last();
    action.starts_with("list")
        || ACTIONS.contains(&action)
        || path.namespace().is_some_and(|namespace| PROVIDERS.contains(&namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_actions_are_told_apart() {
        let check = |raw: &str, read: bool| assert_eq!(is_read(&ArmPath::parse(raw).unwrap()), read, "{raw}");
        check(
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a/listKeys",
            true,
        );
        check("/subscriptions/s/providers/Microsoft.Storage/checkNameAvailability", true);
        check("/providers/Microsoft.ResourceGraph/resources", true);
        check(
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a/deallocate",
            false,
        );
        check("/batch", false);
        check("/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/loadBalancers/listener", false);
    }
}
