//! The clients of the demo: their names, their User-Agents, their principals.

use crate::simulator::Principal;

/// A client. User-Agents as the real ones send them (`kubernetes-sigs/cloud-provider-azure`,
/// `kubernetes/autoscaler`, `kubernetes-sigs/azuredisk-csi-driver`, `prometheus/prometheus`, Azure CLI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Who {
    Ccm,
    Autoscaler,
    Disks,
    Prometheus,
    Ann,
    Bob,
}

impl Who {
    /// The name in tables and texts.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ccm => "cloud-controller-manager",
            Self::Autoscaler => "cluster-autoscaler",
            Self::Disks => "disk driver",
            Self::Prometheus => "Prometheus",
            Self::Ann => "Ann",
            Self::Bob => "Bob",
        }
    }

    pub(super) const fn agent(self) -> &'static str {
        match self {
            Self::Ccm => "kubernetes-cloudprovider/v1.34.1",
            Self::Autoscaler => "cluster-autoscaler/v1.34.0",
            Self::Disks => "disk.csi.azure.com/v1.33.4",
            Self::Prometheus => "Prometheus/3.5.0 azsdk-go-armcompute/v5.7.0 (go1.24.5; linux)",
            Self::Ann | Self::Bob => {
                "AZURECLI/2.77.0 (DEB) azsdk-python-core/1.35.0 Python/3.12.10 (Linux-6.8.0-x86_64)"
            }
        }
    }

    /// The principal: each its own. Tokens outlast any demo.
    pub(super) fn principal(self) -> Principal {
        Principal::named(self.as_str()).lasting(std::time::Duration::from_secs(10 * 365 * 86_400))
    }

    /// How often a request that was answered 429 is sent again: three times by the Go SDK and the policy of the
    /// CCM's client on top of it, ten times by the Python SDK below `az`.
    pub(super) const fn patience(self) -> u32 {
        match self {
            Self::Ann | Self::Bob => 10,
            _ => 3,
        }
    }

    /// Whether it is a person.
    pub(super) const fn is_person(self) -> bool {
        matches!(self, Self::Ann | Self::Bob)
    }
}
