//! What is asked and what is answered: a scale set of 3 KiB, a list of 3 MiB, ARM's headers.
//!
//! The servers and the loader make bodies from the same numbers, so the loader knows what every byte has to be.

use blake3::Hash;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// The length of a scale set's body.
pub(crate) const POINT: usize = 3 * 1024;
/// How many machines the list has, about 3 KiB each.
const MACHINES: u64 = 1024;
/// When a server that makes its askers wait had its answer: nanoseconds of the machine's clock.
pub(crate) const ANSWERED: &str = "x-bench-answered";

const GROUPS: &str = "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/";
const SETS: &str = "/providers/Microsoft.Compute/virtualMachineScaleSets/";
const VERSION: &str = "?api-version=2025-04-01";
const GROUP: &str = "after-xxxxxms";
const NAME: &str = "set-xxxxxxxxxxxx";

/// A scale set, and how many milliseconds the origin takes to answer for it: part of the group's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) delay: u32,
    pub(crate) number: u64,
}

impl Set {
    /// The one that is asked for again and again.
    pub(crate) const WARM: Self = Self { delay: 0, number: 0 };

    fn group(self) -> String {
        format!("after-{:05}ms", self.delay)
    }

    fn name(self) -> String {
        format!("set-{:012}", self.number)
    }

    fn id(self) -> String {
        format!("{GROUPS}{}{SETS}{}", self.group(), self.name())
    }

    /// Path and query of the set.
    pub(crate) fn target(self) -> String {
        format!("{}{VERSION}", self.id())
    }

    /// Path and query of the list of its machines.
    pub(crate) fn list_target(self) -> String {
        format!("{}/virtualMachines{VERSION}", self.id())
    }

    /// The set a path names.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let (group, rest) = path.strip_prefix(GROUPS)?.split_once(SETS)?;
        let name = rest.split('/').next()?;
        let delay = group.strip_prefix("after-")?.strip_suffix("ms")?.parse().ok()?;
        Some(Self { delay, number: name.strip_prefix("set-")?.parse().ok()? })
    }
}

/// Makes bodies of sets: one text, in which group and name are replaced.
#[derive(Debug)]
pub(crate) struct Sets {
    text: Vec<u8>,
    groups: Vec<usize>,
    names: Vec<usize>,
}

impl Sets {
    pub(crate) fn new() -> Self {
        let id = format!("{GROUPS}{GROUP}{SETS}{NAME}");
        let text = padded(scale_set(&id), POINT).into_bytes();
        let places = |word: &str| -> Vec<usize> {
            let starts = 0..=text.len() - word.len();
            starts.filter(|&at| text[at..].starts_with(word.as_bytes())).collect()
        };
        let (groups, names) = (places(GROUP), places(NAME));
        Self { groups, names, text }
    }

    pub(crate) fn body(&self, set: Set) -> Vec<u8> {
        let mut text = self.text.clone();
        for (places, word) in [(&self.groups, set.group()), (&self.names, set.name())] {
            for &at in places {
                text[at..at + word.len()].copy_from_slice(word.as_bytes());
            }
        }
        text
    }

    pub(crate) fn digest(&self, set: Set) -> Hash {
        blake3::hash(&self.body(set))
    }
}

/// The list of the machines of [`Set::WARM`].
pub(crate) fn list() -> Bytes {
    let machines: Vec<String> = (0..MACHINES).map(|number| padded(machine(number), POINT - 1)).collect();
    format!("{{\"value\":[{}]}}", machines.join(",")).into()
}

/// Headers of an answer that ARM repeats: what a cache may pass on.
pub(crate) fn lasting() -> HeaderMap {
    headers(&[
        ("cache-control", "no-cache"),
        ("pragma", "no-cache"),
        ("content-type", "application/json; charset=utf-8"),
        ("expires", "-1"),
        ("etag", "\"3\""),
        ("x-content-type-options", "nosniff"),
        ("x-cache", "CONFIG_NOCACHE"),
    ])
}

/// The same with those of one exchange, and one that is for clients of ARM itself.
pub(crate) fn whole() -> HeaderMap {
    let mut all = lasting();
    all.extend(headers(&[
        ("strict-transport-security", "max-age=31536000; includeSubDomains"),
        (
            "x-msedge-ref",
            "Ref A: 0123456789ABCDEF0123456789ABCDEF Ref B: FRA231050413037 Ref C: 2026-01-01T00:00:00Z",
        ),
        ("x-ms-ratelimit-remaining-subscription-reads", "249"),
        ("x-ms-ratelimit-remaining-subscription-global-reads", "3749"),
        ("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/GetVMScaleSetResource;719"),
        ("x-ms-request-id", "8a8f7a5e-6a0c-4d5a-9d53-0a8c9e1b2c3d"),
        ("x-ms-correlation-request-id", "8a8f7a5e-6a0c-4d5a-9d53-0a8c9e1b2c3e"),
        ("x-ms-routing-request-id", "WESTEUROPE:20260101T000000Z:8a8f7a5e-6a0c-4d5a-9d53-0a8c9e1b2c3f"),
    ]));
    all
}

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let line = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    lines.iter().copied().map(line).collect()
}

/// A resource with a tag that makes it `length` bytes long.
fn padded(mut resource: Value, length: usize) -> String {
    resource["tags"]["note"] = json!("");
    let missing = length.saturating_sub(resource.to_string().len());
    resource["tags"]["note"] =
        json!("Node pool of the cluster. ".chars().cycle().take(missing).collect::<String>());
    resource.to_string()
}

fn scale_set(id: &str) -> Value {
    json!({
        "name": NAME, "id": id, "type": "Microsoft.Compute/virtualMachineScaleSets", "location": "westeurope",
        "etag": "\"3\"", "sku": {"name": "Standard_D4s_v5", "tier": "Standard", "capacity": 12},
        "zones": ["1", "2", "3"], "tags": {"aks-managed-poolName": NAME, "aks-managed-orchestrator": "Kubernetes:1.34.1"},
        "identity": {"type": "UserAssigned", "userAssignedIdentities": {}},
        "properties": {
            "provisioningState": "Succeeded", "orchestrationMode": "Uniform", "singlePlacementGroup": false,
            "overprovision": false, "platformFaultDomainCount": 1, "upgradePolicy": {"mode": "Manual"},
            "uniqueId": "5f0c2a55-94a1-4b3c-8f8e-0d8a5b2f7c11", "timeCreated": "2026-01-01T00:00:00.0000000+00:00",
            "virtualMachineProfile": {
                "osProfile": {"computerNamePrefix": NAME, "adminUsername": "azureuser", "secrets": [],
                    "linuxConfiguration": {"disablePasswordAuthentication": true, "provisionVMAgent": true}},
                "storageProfile": {
                    "osDisk": {"osType": "Linux", "createOption": "FromImage", "caching": "ReadOnly", "diskSizeGB": 128,
                        "managedDisk": {"storageAccountType": "Premium_LRS"}},
                    "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}},
                "networkProfile": {"networkInterfaceConfigurations": [{"name": NAME, "properties": {
                    "primary": true, "enableAcceleratedNetworking": true, "enableIPForwarding": true,
                    "ipConfigurations": [{"name": "ipconfig1", "properties": {"primary": true, "privateIPAddressVersion": "IPv4",
                        "subnet": {"id": "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes"}}}]}}]}},
        },
    })
}

fn machine(number: u64) -> Value {
    let name = Set::WARM.name();
    json!({
        "name": format!("{name}_{number}"), "id": format!("{}/virtualMachines/{number}", Set::WARM.id()),
        "type": "Microsoft.Compute/virtualMachineScaleSets/virtualMachines", "location": "westeurope",
        "instanceId": number.to_string(), "etag": "\"2\"", "sku": {"name": "Standard_D4s_v5", "tier": "Standard"},
        "zones": ["1"], "tags": {"aks-managed-poolName": name},
        "properties": {
            "provisioningState": "Succeeded", "latestModelApplied": true, "timeCreated": "2026-01-01T00:00:00.0000000+00:00",
            "vmId": format!("5f0c2a55-94a1-4b3c-8f8e-{number:012x}"),
            "hardwareProfile": {"vmSize": "Standard_D4s_v5"},
            "osProfile": {"computerName": format!("{name}{number:06}"), "adminUsername": "azureuser", "secrets": []},
            "storageProfile": {"dataDisks": [], "osDisk": {"osType": "Linux", "createOption": "FromImage", "diskSizeGB": 128,
                "name": format!("{name}_OS__1_{number:032x}")}},
        },
    })
}
