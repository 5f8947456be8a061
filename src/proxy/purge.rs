//! Purging: an operator says that what is remembered of something may be wrong.

use std::sync::Arc;

use crate::arm::ArmPath;
use crate::arm::path::NotCanonical;
use crate::classify::Scope;
use crate::policy::Family;

use super::rooms::Rooms;

/// Why there is nothing to purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPurged {
    /// It is no path.
    #[error("this is no resource id: {0}")]
    Path(#[from] NotCanonical),
    /// It is outside of every subscription.
    #[error("this is no resource id: it begins with /subscriptions/…")]
    Outside,
}

impl Rooms {
    /// Makes what is remembered of a resource, a group, a subscription or everything (`/`) unusable.
    ///
    /// # Errors
    /// When `id` is none of these.
    pub fn purge(&self, id: &str) -> Result<(), NotPurged> {
        if id == "/" {
            self.scopes.drop_all(&[Scope::All]);
            self.store.clear();
        } else {
            self.scopes.drop_all(&scopes(&ArmPath::parse(id)?).ok_or(NotPurged::Outside)?);
        }
        Ok(())
    }
}

/// The scopes of what lies at and below a path, and of the lists that show it.
fn scopes(path: &ArmPath) -> Option<Vec<Scope>> {
    path.subscription()?;
    if path.root().is_some() {
        let family = path.resource().map_or(Family::Other, |(kind, _)| Family::of(&kind));
        return Some(Scope::of_item(path, family));
    }
    let at = |count: usize| -> Arc<str> { path.parent(path.len() - count).into() };
    let mut scopes = vec![Scope::Below(at(if path.group().is_some() { 4 } else { 2 }))];
    if path.group().is_some() {
        let families = [Family::Compute, Family::Disks, Family::Network, Family::Other];
        scopes.extend(families.map(|family| Scope::Collections(family, at(2))));
    }
    Some(scopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_reaches_what_lies_below_and_the_lists_that_show_it() {
        let check = |id: &str, expected: Option<Scope>, count| {
            let scopes = scopes(&ArmPath::parse(id).unwrap()).unwrap_or_default();
            assert_eq!((scopes.first().cloned(), scopes.len()), (expected, count), "{id}");
        };
        let vm = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines/a";
        check(vm, Some(Scope::Unit(vm.into())), 3);
        check(&format!("{vm}/extensions/e"), Some(Scope::Unit(vm.into())), 3);
        check(
            "/subscriptions/S/resourceGroups/G",
            Some(Scope::Below("/subscriptions/s/resourcegroups/g".into())),
            5,
        );
        check("/subscriptions/S", Some(Scope::Below("/subscriptions/s".into())), 1);
        check("/providers/x", None, 0);
    }
}
