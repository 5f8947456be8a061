//! A call as ARM's limits see it.

use std::fmt;
use std::sync::Arc;

use http::Method;

use crate::arm::{ArmPath, Shape};

/// Which of a principal's buckets a call is charged to
/// (Microsoft Learn, "Understand how Azure Resource Manager throttles requests").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Charge {
    /// GET, HEAD, and every other method that is none of the below.
    Read,
    /// PUT, PATCH, POST.
    Write,
    /// DELETE.
    Delete,
}

impl Charge {
    /// The bucket of a method.
    #[must_use]
    pub fn of(method: &Method) -> Self {
        match *method {
            Method::DELETE => Self::Delete,
            Method::PUT | Method::PATCH | Method::POST => Self::Write,
            _ => Self::Read,
        }
    }

    /// The word used in errors, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

/// What a call reaches at once: providers count these apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// One resource.
    Point,
    /// All resources of a type, or a view of one.
    List,
    /// A POST to `…/name/action`.
    Action,
}

impl Reach {
    /// The word used in errors, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::List => "list",
            Self::Action => "action",
        }
    }
}

/// The class of a call: what a provider's policy is about. Policies are learned for classes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class {
    /// Which bucket.
    pub charge: Charge,
    /// The type in lower case, actions included (`…/virtualmachinescalesets/delete`); empty where the path names none.
    pub kind: Arc<str>,
    /// What it reaches.
    pub reach: Reach,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.charge.as_str(), self.kind, self.reach.as_str())
    }
}

/// A call as ARM's limits see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The subscription in lower case; `None` for tenant-wide calls.
    pub subscription: Option<Arc<str>>,
    /// The class of the call.
    pub class: Class,
    /// The resource it is about in canonical form, if it is about one: for `…/name/action` the resource.
    pub resource: Option<Arc<str>>,
}

impl Call {
    /// The call a method and a path make. A path without canonical form counts as tenant-wide.
    #[must_use]
    pub fn of(method: &Method, path: Option<&ArmPath>) -> Self {
        let charge = Charge::of(method);
        let Some((path, (kind, shape))) = path.and_then(|path| Some((path, path.resource()?))) else {
            let subscription = path.and_then(ArmPath::subscription).map(Into::into);
            let class = Class { charge, kind: "".into(), reach: Reach::Point };
            return Self { subscription, class, resource: path.map(ArmPath::shared) };
        };
        let reach = match shape {
            Shape::Point => Reach::Point,
            Shape::Collection if *method == Method::POST => Reach::Action,
            Shape::Collection => Reach::List,
        };
        let resource = match reach {
            Reach::Point => Some(path.shared()),
            // `…/type/name/action` is about the resource, `…/type` about none.
            Reach::Action | Reach::List => path.root().map(|_| path.parent(1).into()),
        };
        Self {
            subscription: path.subscription().map(Into::into),
            class: Class { charge, kind: kind.into(), reach },
            resource,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_charge_type_and_reach() {
        let base = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets";
        let check = |method: Method, tail: &str, class: &str, resource: Option<&str>| {
            let path = ArmPath::parse(&format!("{base}{tail}")).unwrap();
            let call = Call::of(&method, Some(&path));
            assert_eq!(call.class.to_string(), class);
            let prefix = base.to_ascii_lowercase();
            assert_eq!(call.resource.as_deref(), resource.map(|tail| format!("{prefix}{tail}")).as_deref());
            assert_eq!(call.subscription.as_deref(), Some("s"));
        };
        let kind = "microsoft.compute/virtualmachinescalesets";
        check(Method::GET, "", &format!("read {kind} list"), None);
        check(Method::GET, "/Set", &format!("read {kind} point"), Some("/set"));
        check(Method::POST, "/Set/delete", &format!("write {kind}/delete action"), Some("/set"));
        check(
            Method::GET,
            "/Set/virtualMachines",
            &format!("read {kind}/virtualmachines list"),
            Some("/set"),
        );
        check(Method::DELETE, "/Set", &format!("delete {kind} point"), Some("/set"));
    }
}
