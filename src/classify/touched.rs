//! What a write can change: the table of section "Stamp" in the design, as code.

use std::sync::Arc;

use super::scope::{Scope, places};
use crate::arm::ArmPath;
use crate::policy::Family;

/// Providers whose resources create and change resources of other types in places their path does not name.
const FAR_REACHING: [&str; 8] = [
    "microsoft.azurefleet",
    "microsoft.azurestackhci",
    "microsoft.batch",
    "microsoft.containerservice",
    "microsoft.hdinsight",
    "microsoft.redhatopenshift",
    "microsoft.resources",
    "microsoft.servicefabric",
];

/// The scopes a write reaches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touched {
    /// The resource written and the lists it appears in: unsettled until its operation ends.
    pub near: Vec<Scope>,
    /// What changes along with it: unsettled for a while after the answer and after the end.
    pub wider: Vec<Scope>,
    /// The root of the scale set written, if it is one, and what is reached besides unless the set is
    /// known to be Uniform: VMs of a Flexible set are resources of the group.
    pub unless_uniform: Option<(Arc<str>, Scope)>,
}

impl Touched {
    /// What a write to this path reaches; `None` is a path that has no canonical form.
    #[must_use]
    pub fn by(path: Option<&ArmPath>) -> Self {
        path.and_then(Self::below_subscription).unwrap_or_else(|| Self::wide(Scope::All))
    }

    fn wide(scope: Scope) -> Self {
        Self { wider: vec![scope], ..Self::default() }
    }

    fn below_subscription(path: &ArmPath) -> Option<Self> {
        let (subscription, group) = places(path);
        let subscription = subscription?;
        let moves = ["moveresources", "validatemoveresources"].contains(&path.last());
        if moves {
            return None;
        }
        let whole = Self::wide(Scope::Below(subscription.clone()));
        let (Some(namespace), Some((kind, _))) = (path.namespace(), path.resource()) else {
            return Some(whole);
        };
        // What is addressed by its location is an action on resources that the path does not name.
        if FAR_REACHING.contains(&namespace) || kind.starts_with(&format!("{namespace}/locations")) {
            return Some(whole);
        }
        let Some(root) = path.root() else { return Some(whole) };
        let root: Arc<str> = root.into();
        let family = Family::of(&kind);
        let near = || Scope::of_item(path, family);
        Some(match family {
            Family::Network => Self {
                near: vec![Scope::Unit(root)],
                wider: vec![Scope::Family(Family::Network, subscription)],
                unless_uniform: None,
            },
            Family::Compute if is_set_or_vm(&kind) => {
                let place = group.unwrap_or_else(|| subscription.clone());
                let siblings = Scope::Family(Family::Compute, place);
                let mut touched = Self {
                    near: near(),
                    wider: vec![
                        Scope::Family(Family::Network, subscription.clone()),
                        Scope::Family(Family::Disks, subscription),
                    ],
                    unless_uniform: None,
                };
                if is_set(&kind) {
                    touched.unless_uniform = Some((root, siblings));
                } else {
                    touched.wider.push(siblings);
                }
                touched
            }
            Family::Compute | Family::Disks | Family::Other => {
                Self { near: near(), wider: Vec::new(), unless_uniform: None }
            }
        })
    }

    /// Everything, near and wide, for a set about which `is_uniform` knows.
    pub fn scopes(&self, is_uniform: impl Fn(&str) -> bool) -> (Vec<Scope>, Vec<Scope>) {
        let mut wider = self.wider.clone();
        if let Some((root, scope)) = &self.unless_uniform
            && !is_uniform(root)
        {
            wider.push(scope.clone());
        }
        (self.near.clone(), wider)
    }
}

fn is_set(kind: &str) -> bool {
    crate::arm::path::is_at_or_below(kind, "microsoft.compute/virtualmachinescalesets")
}

fn is_set_or_vm(kind: &str) -> bool {
    is_set(kind) || crate::arm::path::is_at_or_below(kind, "microsoft.compute/virtualmachines")
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: &str = "/subscriptions/s";
    const G: &str = "/subscriptions/s/resourcegroups/g";

    fn touched(raw: &str) -> (Vec<Scope>, Vec<Scope>) {
        Touched::by(ArmPath::parse(raw).ok().as_ref()).scopes(|_| false)
    }

    fn unit(tail: &str) -> Scope {
        Scope::Unit(format!("{G}/providers/{tail}").into())
    }

    #[test]
    fn a_scale_set_and_everything_below_it() {
        for tail in ["", "/virtualMachines/0", "/delete", "/virtualMachines/0/extensions/e"] {
            let (near, wider) =
                touched(&format!("{G}/providers/Microsoft.Compute/virtualMachineScaleSets/a{tail}"));
            let collections = |at: &str| Scope::Collections(Family::Compute, at.into());
            let set = unit("microsoft.compute/virtualmachinescalesets/a");
            assert_eq!(near, [set, collections(S), collections(G)]);
            assert_eq!(
                wider,
                [
                    Scope::Family(Family::Network, S.into()),
                    Scope::Family(Family::Disks, S.into()),
                    Scope::Family(Family::Compute, G.into())
                ]
            );
        }
    }

    #[test]
    fn a_set_known_to_be_uniform_leaves_its_neighbours_alone() {
        let path =
            ArmPath::parse(&format!("{G}/providers/Microsoft.Compute/virtualMachineScaleSets/a")).unwrap();
        let (_, wider) = Touched::by(Some(&path)).scopes(|root| root.ends_with("/a"));
        assert!(!wider.contains(&Scope::Family(Family::Compute, G.into())));
    }

    #[test]
    fn a_vm_always_reaches_its_group_since_its_set_may_be_there() {
        let (near, wider) = touched(&format!("{G}/providers/Microsoft.Compute/virtualMachines/a/deallocate"));
        assert!(near.contains(&unit("microsoft.compute/virtualmachines/a")));
        assert!(wider.contains(&Scope::Family(Family::Compute, G.into())));
    }

    #[test]
    fn network_moves_as_one() {
        let (near, wider) =
            touched(&format!("{G}/providers/Microsoft.Network/loadBalancers/a/backendAddressPools/p"));
        assert_eq!(near, [unit("microsoft.network/loadbalancers/a")]);
        assert_eq!(wider, [Scope::Family(Family::Network, S.into())]);
    }

    #[test]
    fn what_reaches_far_reaches_the_subscription_and_what_cannot_be_told_everything() {
        let subscription = [Scope::Below(S.into())];
        let check = |raw: &str, wide: &[Scope]| {
            let (near, wider) = touched(raw);
            assert!(near.is_empty(), "{raw}");
            assert_eq!(wider, wide, "{raw}");
        };
        check(
            &format!("{G}/providers/Microsoft.ContainerService/managedClusters/a/agentPools/p"),
            &subscription,
        );
        check(&format!("{G}/providers/Microsoft.Resources/deployments/d"), &subscription);
        check(&format!("{S}/providers/Microsoft.Resources/deployments/d"), &subscription);
        check(G, &subscription);
        check(&format!("{S}/providers/Microsoft.Compute/locations/eastus/something"), &subscription);
        check("/batch", &[Scope::All]);
        check(&format!("{G}/moveResources"), &[Scope::All]);
        check("/providers/Microsoft.Management/managementGroups/m", &[Scope::All]);
        check(&format!("{G}//providers/Microsoft.Compute/virtualMachines/a"), &[Scope::All]);
        check(&format!("{G}/providers/Microsoft.Compute/../virtualMachines/a"), &[Scope::All]);
    }

    #[test]
    fn another_type_reaches_itself_and_its_lists() {
        let (near, wider) = touched(&format!("{G}/providers/Microsoft.Compute/disks/a"));
        assert_eq!(near[0], unit("microsoft.compute/disks/a"));
        assert_eq!(near.len(), 3);
        assert!(wider.is_empty());
    }
}
