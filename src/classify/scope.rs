//! Scopes: the parts of ARM that a write can change at once and a cached answer can depend on.

use std::fmt;
use std::sync::Arc;

use crate::arm::{ArmPath, Shape};
use crate::policy::Family;

/// A part of ARM. Paths are canonical; scopes know no api-version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Everything.
    All,
    /// A subscription or a resource group, with everything in it.
    Below(Arc<str>),
    /// Every resource of a family in a subscription or a group.
    Family(Family, Arc<str>),
    /// Every list of a family in a subscription or a group.
    Collections(Family, Arc<str>),
    /// A root resource with everything below it.
    Unit(Arc<str>),
}

/// The subscription's path, and the group's if there is one.
pub(super) fn places(path: &ArmPath) -> (Option<Arc<str>>, Option<Arc<str>>) {
    let at = |count: usize| -> Arc<str> { path.parent(path.len() - count).into() };
    (path.subscription().map(|_| at(2)), path.group().map(|_| at(4)))
}

impl Scope {
    /// The scopes an answer to a read of `path` depends on.
    #[must_use]
    pub fn of_read(path: &ArmPath, family: Family, shape: Shape) -> Vec<Self> {
        let (subscription, group) = places(path);
        let mut scopes = vec![Self::All];
        let list = shape == Shape::Collection;
        if list {
            let narrowest = group.as_ref().or(subscription.as_ref());
            scopes.extend(narrowest.map(|at| Self::Collections(family, at.clone())));
        }
        for place in [subscription, group].into_iter().flatten() {
            scopes.push(Self::Below(place.clone()));
            scopes.push(Self::Family(family, place));
        }
        scopes.extend(path.root().map(|root| Self::Unit(root.into())));
        scopes
    }

    /// The unit a resource belongs to and the collections it appears in.
    #[must_use]
    pub fn of_item(path: &ArmPath, family: Family) -> Vec<Self> {
        let (subscription, group) = places(path);
        let unit = path.root().map(|root| Self::Unit(root.into()));
        let collections = [subscription, group].into_iter().flatten();
        unit.into_iter().chain(collections.map(|at| Self::Collections(family, at))).collect()
    }
}

/// For people: `unit /subscriptions/…`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Below(at) if at.contains("/resourcegroups/") => write!(f, "group {at}"),
            Self::Below(at) => write!(f, "subscription {at}"),
            Self::Family(family, at) => write!(f, "family {} in {at}", family.as_str()),
            Self::Collections(family, at) => write!(f, "collections of {} in {at}", family.as_str()),
            Self::Unit(root) => write!(f, "unit {root}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "/subscriptions/s/resourcegroups/g";

    fn of_read(tail: &str) -> Vec<Scope> {
        let path = ArmPath::parse(&format!("{GROUP}/providers/microsoft.compute/{tail}")).unwrap();
        let (_, shape) = path.resource().unwrap();
        Scope::of_read(&path, Family::Compute, shape)
    }

    #[test]
    fn a_point_depends_on_its_unit_and_both_families() {
        let unit = Scope::Unit(format!("{GROUP}/providers/microsoft.compute/virtualmachines/a").into());
        assert_eq!(
            of_read("virtualmachines/a"),
            [
                Scope::All,
                Scope::Below("/subscriptions/s".into()),
                Scope::Family(Family::Compute, "/subscriptions/s".into()),
                Scope::Below(GROUP.into()),
                Scope::Family(Family::Compute, GROUP.into()),
                unit
            ]
        );
    }

    #[test]
    fn scopes_have_names_for_people() {
        let check = |scope: Scope, name: &str| assert_eq!(scope.to_string(), name);
        check(Scope::All, "all");
        check(Scope::Below("/subscriptions/s".into()), "subscription /subscriptions/s");
        check(Scope::Below(GROUP.into()), &format!("group {GROUP}"));
        check(Scope::Family(Family::Network, GROUP.into()), &format!("family network in {GROUP}"));
        check(
            Scope::Collections(Family::Compute, GROUP.into()),
            &format!("collections of compute in {GROUP}"),
        );
        check(Scope::Unit("/a/b".into()), "unit /a/b");
    }

    #[test]
    fn a_list_depends_on_collections_and_below_a_root_on_its_unit() {
        let collections = Scope::Collections(Family::Compute, GROUP.into());
        assert!(of_read("virtualmachines").contains(&collections));
        assert!(!of_read("virtualmachines").iter().any(|scope| matches!(scope, Scope::Unit(_))));
        let below = of_read("virtualmachinescalesets/a/virtualmachines");
        assert!(below.contains(&collections));
        assert!(below.iter().any(|scope| matches!(scope, Scope::Unit(_))));
    }

    #[test]
    fn a_list_of_a_subscription_depends_on_that_subscriptions_collections() {
        let path = ArmPath::parse("/subscriptions/s/providers/microsoft.compute/virtualmachines").unwrap();
        let scopes = Scope::of_read(&path, Family::Compute, Shape::Collection);
        assert!(scopes.contains(&Scope::Collections(Family::Compute, "/subscriptions/s".into())));
        assert!(scopes.iter().all(|scope| !matches!(scope, Scope::Unit(_))));
    }
}
