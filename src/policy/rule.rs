//! Rules: which types are cached, for how long at most, and whether writes to them are guarded.

use std::time::Duration;

/// What moves together in ARM: a write to one member of a family can change others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Scale sets, their VMs, VMs.
    Compute,
    /// Managed disks: a VM's write attaches and detaches them.
    Disks,
    /// Everything of Microsoft.Network.
    Network,
    /// All else.
    Other,
}

impl Family {
    /// The family of a type or namespace in lower case.
    #[must_use]
    pub fn of(kind: &str) -> Self {
        let namespace = kind.split('/').next().unwrap_or(kind);
        match namespace {
            "microsoft.compute" if kind.starts_with("microsoft.compute/disks") => Self::Disks,
            "microsoft.compute" => Self::Compute,
            "microsoft.network" => Self::Network,
            _ => Self::Other,
        }
    }

    /// The word used for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Disks => "disks",
            Self::Network => "network",
            Self::Other => "other",
        }
    }
}

/// What holds for one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The type in lower case, for example `microsoft.compute/virtualmachinescalesets/virtualmachines`.
    pub kind: Box<str>,
    /// The oldest an answer of this type may be.
    pub max_age: Duration,
    /// Whether writes to it get a condition.
    pub guard: bool,
}

impl Rule {
    /// The family of the type.
    #[must_use]
    pub fn family(&self) -> Family {
        Family::of(&self.kind)
    }
}

/// The rules that hold when the configuration says nothing.
#[must_use]
pub fn built_in() -> Vec<Rule> {
    let rule =
        |kind: &str, seconds, guard| Rule { kind: kind.into(), max_age: Duration::from_secs(seconds), guard };
    vec![
        rule("microsoft.compute/virtualmachinescalesets", 30, true),
        rule("microsoft.compute/virtualmachinescalesets/instanceview", 15, false),
        rule("microsoft.compute/virtualmachinescalesets/virtualmachines", 30, true),
        rule("microsoft.compute/virtualmachinescalesets/virtualmachines/instanceview", 15, false),
        rule("microsoft.compute/virtualmachines", 30, true),
        rule("microsoft.compute/virtualmachines/instanceview", 15, false),
        rule("microsoft.network/loadbalancers", 30, false),
        rule("microsoft.network/publicipaddresses", 30, false),
        rule("microsoft.network/networksecuritygroups", 30, false),
        rule("microsoft.network/routetables", 30, false),
        rule("microsoft.network/networkinterfaces", 30, false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_follow_the_namespace() {
        assert_eq!(Family::of("microsoft.compute/virtualmachines/instanceview"), Family::Compute);
        assert_eq!(Family::of("microsoft.compute/disks"), Family::Disks);
        assert_eq!(Family::of("microsoft.network"), Family::Network);
        assert_eq!(Family::of("microsoft.containerservice/managedclusters"), Family::Other);
    }
}
