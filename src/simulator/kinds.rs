//! The resource types as data: how each versions, answers and runs.
//!
//! Sources: the recorded exchanges of `kubernetes-sigs/cloud-provider-azure` (`pkg/azclient/*/testdata`,
//! Compute 2025-04-01, Network 2025-05-01) and the parameters of `Azure/azure-rest-api-specs`.

/// How a type's ETag looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// Compute: a quoted decimal counter, `"1"`.
    Counter,
    /// Network: a weak tag around a GUID, `W/"…"`.
    Guid,
    /// None at all.
    None,
}

/// When a write moves the ETag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// Only if the model became another one (VMSS, VMSS VM: a no-op PUT answered with the same ETag).
    OnChange,
    /// At every write (VM: an identical PUT went from 2 to 3).
    Always,
}

/// How a write or delete is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// An operation follows, named by `Azure-AsyncOperation`.
    Operation,
    /// Done when answered.
    AtOnce,
}

/// A resource type.
#[derive(Debug)]
pub(crate) struct Kind {
    /// In canonical casing.
    pub(crate) name: &'static str,
    pub(crate) versions: Versions,
    pub(crate) moves: Moves,
    /// Whether PUT (and PATCH) honour `If-Match` and `If-None-Match`.
    pub(crate) conditions: bool,
    /// Whether the answer to a PUT carries the `ETag` header. Network's do not.
    pub(crate) tag_on_write: bool,
    /// Whether PUT keeps what the body leaves out.
    pub(crate) sparse: bool,
    /// The state a create leaves until its operation ends, and that of an update.
    pub(crate) states: (&'static str, &'static str),
    pub(crate) write: Pace,
    pub(crate) delete: Pace,
    /// Arrays under `properties` whose items are resources of their own.
    pub(crate) embedded: &'static [&'static str],
    /// Whether single answers are indented, as the Compute provider writes them.
    pub(crate) indented: bool,
    /// The order of the top-level fields.
    pub(crate) order: &'static [&'static str],
}

const BASE: Kind = Kind {
    name: "",
    versions: Versions::None,
    moves: Moves::OnChange,
    conditions: false,
    tag_on_write: false,
    sparse: false,
    states: ("Succeeded", "Succeeded"),
    write: Pace::AtOnce,
    delete: Pace::AtOnce,
    embedded: &[],
    indented: false,
    order: &["id", "name", "type", "location", "tags"],
};

const COMPUTE: Kind = Kind {
    versions: Versions::Counter,
    conditions: true,
    tag_on_write: true,
    sparse: true,
    states: ("Creating", "Updating"),
    write: Pace::Operation,
    delete: Pace::Operation,
    indented: true,
    order: &[
        "name",
        "id",
        "type",
        "location",
        "tags",
        "instanceId",
        "zones",
        "sku",
        "identity",
        "properties",
        "etag",
    ],
    ..BASE
};

const NETWORK: Kind = Kind {
    versions: Versions::Guid,
    moves: Moves::Always,
    conditions: true,
    write: Pace::Operation,
    delete: Pace::Operation,
    order: &["name", "id", "etag", "type", "location", "tags", "properties", "sku"],
    ..BASE
};

pub(crate) static SCALE_SET: Kind = Kind {
    name: "Microsoft.Compute/virtualMachineScaleSets",
    order: &["name", "id", "type", "location", "tags", "zones", "sku", "identity", "etag", "properties"],
    ..COMPUTE
};
pub(crate) static SET_VM: Kind =
    Kind { name: "Microsoft.Compute/virtualMachineScaleSets/virtualMachines", ..COMPUTE };
pub(crate) static VM: Kind =
    Kind { name: "Microsoft.Compute/virtualMachines", moves: Moves::Always, ..COMPUTE };
pub(crate) static LOAD_BALANCER: Kind = Kind {
    name: "Microsoft.Network/loadBalancers",
    embedded: &[
        "frontendIPConfigurations",
        "backendAddressPools",
        "loadBalancingRules",
        "probes",
        "inboundNatRules",
        "outboundRules",
        "inboundNatPools",
    ],
    ..NETWORK
};
pub(crate) static PUBLIC_IP: Kind =
    Kind { name: "Microsoft.Network/publicIPAddresses", states: ("Updating", "Succeeded"), ..NETWORK };
pub(crate) static SECURITY_GROUP: Kind = Kind {
    name: "Microsoft.Network/networkSecurityGroups",
    states: ("Updating", "Succeeded"),
    embedded: &["securityRules", "defaultSecurityRules"],
    ..NETWORK
};
pub(crate) static ROUTE_TABLE: Kind = Kind {
    name: "Microsoft.Network/routeTables",
    states: ("Updating", "Succeeded"),
    embedded: &["routes"],
    ..NETWORK
};
pub(crate) static VIRTUAL_NETWORK: Kind = Kind {
    name: "Microsoft.Network/virtualNetworks",
    states: ("Updating", "Succeeded"),
    embedded: &["subnets"],
    ..NETWORK
};
/// Interfaces answer a PUT with 201 or 200 and no operation, and no one has seen them honour `If-Match`.
pub(crate) static INTERFACE: Kind = Kind {
    name: "Microsoft.Network/networkInterfaces",
    conditions: false,
    write: Pace::AtOnce,
    delete: Pace::AtOnce,
    embedded: &["ipConfigurations"],
    ..NETWORK
};
static CLUSTER: Kind = Kind { name: "Microsoft.ContainerService/managedClusters", ..CLUSTER_LIKE };
static AGENT_POOL: Kind =
    Kind { name: "Microsoft.ContainerService/managedClusters/agentPools", ..CLUSTER_LIKE };
const CLUSTER_LIKE: Kind = Kind {
    sparse: true,
    states: ("Creating", "Updating"),
    write: Pace::Operation,
    delete: Pace::Operation,
    indented: true,
    ..BASE
};
static OTHER: Kind = BASE;

static ALL: [&Kind; 11] = [
    &SCALE_SET,
    &SET_VM,
    &VM,
    &LOAD_BALANCER,
    &PUBLIC_IP,
    &SECURITY_GROUP,
    &ROUTE_TABLE,
    &VIRTUAL_NETWORK,
    &INTERFACE,
    &CLUSTER,
    &AGENT_POOL,
];

/// The type of that name, in any case; an unknown one is a plain tracked resource.
pub(crate) fn of(name: &str) -> &'static Kind {
    ALL.iter().find(|kind| kind.name.eq_ignore_ascii_case(name)).copied().unwrap_or(&OTHER)
}

impl Kind {
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.name == other.name
    }

    pub(crate) fn is_compute(&self) -> bool {
        self.name.starts_with("Microsoft.Compute/")
    }

    pub(crate) fn is_network(&self) -> bool {
        self.name.starts_with("Microsoft.Network/")
    }
}
