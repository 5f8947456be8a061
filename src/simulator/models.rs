//! Models of resources with the defaults that the providers fill in.
//!
//! Taken from the recordings of `kubernetes-sigs/cloud-provider-azure` (`pkg/azclient/*/testdata`).

use serde_json::{Value, json};

use super::kinds::{self, Kind};
use super::random::Random;

/// What a new resource has before the client's body is laid over it.
pub(crate) fn blank(kind: &Kind, id: &str, name: &str, stamp: &str, random: &mut Random) -> Value {
    let mut model = json!({"id": id, "name": name, "type": kind.name, "properties": {}});
    let properties = &mut model["properties"];
    if kind.is(&kinds::SCALE_SET) {
        *properties = json!({"singlePlacementGroup": true, "orchestrationMode": "Uniform",
            "upgradePolicy": {"mode": "Manual"}, "overprovision": false,
            "doNotRunExtensionsOnOverprovisionedVMs": false, "uniqueId": random.guid(),
            "platformFaultDomainCount": 5, "timeCreated": stamp});
    } else if kind.is(&kinds::VM) {
        *properties = json!({"vmId": random.guid(), "timeCreated": stamp});
    } else if kind.is_network() {
        *properties = json!({"resourceGuid": random.guid()});
    }
    model
}

/// Fills in what the client left out and the provider always shows.
pub(crate) fn complete(kind: &Kind, id: &str, model: &mut Value) {
    if kind.is(&kinds::SCALE_SET) {
        default(&mut model["sku"], "tier", json!("Standard"));
        default(&mut model["sku"], "capacity", json!(0));
        let profile = object(&mut model["properties"], "virtualMachineProfile");
        configure(object(profile, "networkProfile"));
    } else if kind.is(&kinds::SET_VM) {
        configure(object(&mut model["properties"], "networkProfileConfiguration"));
    } else if kind.is(&kinds::VM) {
        default(object(&mut model["properties"], "storageProfile"), "dataDisks", json!([]));
    } else if kind.is(&kinds::PUBLIC_IP) {
        let properties = &mut model["properties"];
        default(properties, "publicIPAddressVersion", json!("IPv4"));
        default(properties, "publicIPAllocationMethod", json!("Dynamic"));
        default(properties, "idleTimeoutInMinutes", json!(4));
        default(properties, "ipTags", json!([]));
        default(model, "sku", json!({"name": "Basic", "tier": "Regional"}));
    } else if kind.is(&kinds::INTERFACE) {
        default(model, "kind", json!("Regular"));
    } else if kind.is(&kinds::ROUTE_TABLE) {
        default(&mut model["properties"], "disableBgpRoutePropagation", json!(false));
    } else if kind.is(&kinds::VIRTUAL_NETWORK) {
        default(&mut model["properties"], "virtualNetworkPeerings", json!([]));
        default(&mut model["properties"], "enableDdosProtection", json!(false));
    } else if kind.is(&kinds::SECURITY_GROUP) {
        default(&mut model["properties"], "defaultSecurityRules", default_rules());
    }
    for name in kind.embedded {
        default(&mut model["properties"], name, json!([]));
        for child in model["properties"][*name].as_array_mut().into_iter().flatten() {
            adopt(kind, id, name, child);
        }
    }
}

/// The embedded children share the state of their parent while it is made.
pub(crate) fn set_child_states(kind: &Kind, model: &mut Value, state: &str) {
    for name in kind.embedded {
        for child in objects(&mut model["properties"][*name]) {
            object(child, "properties")["provisioningState"] = json!(state);
        }
    }
}

/// Gives an embedded child its id, type and state.
pub(crate) fn adopt(kind: &Kind, id: &str, array: &str, child: &mut Value) {
    if !child.is_object() {
        return;
    }
    if let Some(name) = child["name"].as_str().map(str::to_owned) {
        child["id"] = json!(format!("{id}/{array}/{name}"));
    }
    child["type"] = json!(format!("{}/{array}", kind.name));
    if !child["properties"].is_object() {
        child["properties"] = json!({});
    }
    child["properties"]["provisioningState"] = json!("Succeeded");
}

/// The object under that name, made if there is none.
fn object<'a>(into: &'a mut Value, name: &str) -> &'a mut Value {
    if !into.is_object() {
        *into = json!({});
    }
    if !into[name].is_object() {
        into[name] = json!({});
    }
    &mut into[name]
}

fn objects(array: &mut Value) -> impl Iterator<Item = &mut Value> {
    array.as_array_mut().into_iter().flatten().filter(|item| item.is_object())
}

fn default(into: &mut Value, name: &str, value: Value) {
    if !into.is_object() {
        *into = json!({});
    }
    if into[name].is_null() {
        into[name] = value;
    }
}

/// The interface configurations that Compute keeps for Network.
fn configure(profile: &mut Value) {
    default(profile, "networkInterfaceConfigurations", json!([]));
    for interface in objects(&mut profile["networkInterfaceConfigurations"]) {
        let properties = object(interface, "properties");
        default(properties, "enableAcceleratedNetworking", json!(false));
        default(properties, "disableTcpStateTracking", json!(false));
        default(properties, "dnsSettings", json!({"dnsServers": []}));
        default(properties, "enableIPForwarding", json!(false));
        for address in objects(&mut properties["ipConfigurations"]) {
            default(object(address, "properties"), "privateIPAddressVersion", json!("IPv4"));
        }
    }
}

fn default_rules() -> Value {
    let rule = |name: &str, priority: u32, access: &str, direction: &str| {
        json!({"name": name, "properties": {"protocol": "*", "sourcePortRange": "*", "destinationPortRange": "*",
            "access": access, "priority": priority, "direction": direction}})
    };
    json!([
        rule("AllowVnetInBound", 65000, "Allow", "Inbound"),
        rule("AllowAzureLoadBalancerInBound", 65001, "Allow", "Inbound"),
        rule("DenyAllInBound", 65500, "Deny", "Inbound"),
        rule("AllowVnetOutBound", 65000, "Allow", "Outbound"),
        rule("AllowInternetOutBound", 65001, "Allow", "Outbound"),
        rule("DenyAllOutBound", 65500, "Deny", "Outbound"),
    ])
}

/// The body with which the quick constructors make a scale set.
pub(crate) fn set_body(location: &str, name: &str, capacity: usize, flexible: bool, subnet: &str) -> Value {
    let mode = if flexible { "Flexible" } else { "Uniform" };
    json!({
        "location": location,
        "sku": {"name": "Standard_D4s_v5", "capacity": capacity},
        "tags": {"aks-managed-poolName": name},
        "properties": {
            "orchestrationMode": mode,
            "virtualMachineProfile": {
                "osProfile": {"computerNamePrefix": name, "adminUsername": "azureuser",
                    "linuxConfiguration": {"disablePasswordAuthentication": true, "provisionVMAgent": true},
                    "secrets": [], "allowExtensionOperations": true, "requireGuestProvisionSignal": true},
                "storageProfile": {
                    "osDisk": {"osType": "Linux", "createOption": "FromImage", "caching": "ReadOnly",
                        "managedDisk": {"storageAccountType": "Premium_LRS"}, "diskSizeGB": 128},
                    "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server",
                        "version": "latest"}},
                "networkProfile": {"networkInterfaceConfigurations": [{"name": name, "properties": {
                    "primary": true, "enableIPForwarding": true,
                    "ipConfigurations": [{"name": "ipconfig1", "properties": {
                        "primary": true, "subnet": {"id": subnet}, "loadBalancerBackendAddressPools": []}}]}}]},
            },
        },
    })
}

/// The model of instance `number` of a Uniform set.
pub(crate) fn set_vm(set: &Value, number: u64, stamp: &str, random: &mut Random) -> Value {
    let (set_id, set_name) = (text(&set["id"]), text(&set["name"]));
    let profile = &set["properties"]["virtualMachineProfile"];
    let id = format!("{set_id}/virtualMachines/{number}");
    let interfaces = &profile["networkProfile"]["networkInterfaceConfigurations"];
    let names = interfaces
        .as_array()
        .into_iter()
        .flatten()
        .map(|interface| json!({"id": format!("{id}/networkInterfaces/{}", text(&interface["name"]))}));
    let network = json!({"networkInterfaces": names.collect::<Vec<_>>()});
    let mut vm = json!({
        "name": format!("{set_name}_{number}"),
        "id": id,
        "type": kinds::SET_VM.name,
        "location": set["location"],
        "instanceId": number.to_string(),
        "sku": {"name": set["sku"]["name"], "tier": "Standard"},
        "properties": {
            "latestModelApplied": true,
            "modelDefinitionApplied": "VirtualMachineScaleSet",
            "networkProfileConfiguration": {"networkInterfaceConfigurations": interfaces},
            "hardwareProfile": {"vmSize": set["sku"]["name"]},
            "resilientVMDeletionStatus": "Disabled",
            "vmId": random.guid(),
            "storageProfile": storage(profile, set_id, &format!("{set_name}_{set_name}_{number}"), random),
            "osProfile": os(profile, &format!("{}{}", prefix(profile, set_name), base36(number))),
            "networkProfile": network,
            "timeCreated": stamp,
        },
    });
    if !set["tags"].is_null() {
        vm["tags"] = set["tags"].clone();
    }
    vm
}

/// The model of a VM of a Flexible set.
pub(crate) fn flexible_vm(set: &Value, name: &str, stamp: &str, random: &mut Random) -> Value {
    let set_id = text(&set["id"]);
    let (group, _) = set_id.split_once("/providers/").unwrap_or((set_id, ""));
    let profile = &set["properties"]["virtualMachineProfile"];
    json!({
        "name": name,
        "id": format!("{group}/providers/{}/{name}", kinds::VM.name),
        "type": kinds::VM.name,
        "location": set["location"],
        "tags": set["tags"],
        "properties": {
            "hardwareProfile": {"vmSize": set["sku"]["name"]},
            "virtualMachineScaleSet": {"id": set_id},
            "vmId": random.guid(),
            "storageProfile": storage(profile, set_id, name, random),
            "osProfile": os(profile, name),
            "networkProfile": {"networkInterfaces": [
                {"id": format!("{group}/providers/Microsoft.Network/networkInterfaces/{name}-nic")}]},
            "timeCreated": stamp,
        },
    })
}

/// The body of an `…/instanceView`.
pub(crate) fn instance_view(vm: &Value, power: &str, stamp: &str) -> Value {
    let properties = &vm["properties"];
    let state = properties["provisioningState"].as_str().unwrap_or("Succeeded").to_ascii_lowercase();
    let ready = power == "running";
    let provisioning = |display: &str| json!({"code": format!("ProvisioningState/{state}"), "level": "Info", "displayStatus": display, "time": stamp});
    let mut view = json!({
        "platformUpdateDomain": 0,
        "platformFaultDomain": 0,
        "computerName": properties["osProfile"]["computerName"],
        "osName": "ubuntu",
        "osVersion": "24.04",
        "vmAgent": {"vmAgentVersion": if ready { "2.12.0.2" } else { "Unknown" }, "statuses": [{
            "code": if ready { "ProvisioningState/succeeded" } else { "ProvisioningState/Unavailable" },
            "level": if ready { "Info" } else { "Warning" },
            "displayStatus": if ready { "Ready" } else { "Not Ready" },
            "time": stamp}]},
        "disks": [{"name": properties["storageProfile"]["osDisk"]["name"],
            "statuses": [provisioning("Provisioning succeeded")]}],
        "hyperVGeneration": "V2",
        "statuses": [
            provisioning(&format!("Provisioning {state}")),
            {"code": format!("PowerState/{power}"), "level": "Info", "displayStatus": format!("VM {power}")},
        ],
    });
    if let Some((set, _)) = text(&vm["id"]).split_once("/virtualMachines/") {
        view["placementGroupId"] = json!(super::random::guid_of(set));
    }
    view
}

/// The interface of an instance, which Network answers for.
pub(crate) fn set_interface(vm: &Value, id: &str, name: &str, tag: &str) -> Value {
    let number = vm["instanceId"].as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let configurations = &vm["properties"]["networkProfileConfiguration"]["networkInterfaceConfigurations"];
    let own = configurations
        .as_array()
        .into_iter()
        .flatten()
        .find(|own| text(&own["name"]).eq_ignore_ascii_case(name));
    let mut addresses =
        own.map(|own| own["properties"]["ipConfigurations"].clone()).unwrap_or_else(|| json!([]));
    for address in objects(&mut addresses) {
        address["etag"] = json!(tag);
        object(address, "properties");
        address["properties"]["privateIPAddress"] =
            json!(format!("10.{}.{}.{}", 224 + number / 62_500, number / 250 % 250, number % 250 + 4));
        address["properties"]["privateIPAllocationMethod"] = json!("Dynamic");
        address["properties"]["provisioningState"] = json!("Succeeded");
    }
    json!({"name": name, "id": id, "etag": tag, "properties": {
        "provisioningState": "Succeeded", "ipConfigurations": addresses, "primary": true,
        "enableIPForwarding": true, "virtualMachine": {"id": vm["id"]}}})
}

fn storage(profile: &Value, set_id: &str, name: &str, random: &mut Random) -> Value {
    let (group, _) = set_id.split_once("/providers/").unwrap_or((set_id, ""));
    let disk = format!("{name}_OS__1_{}", random.guid().replace('-', ""));
    let mut storage = profile["storageProfile"].clone();
    let os_disk = object(&mut storage, "osDisk");
    os_disk["name"] = json!(disk);
    object(os_disk, "managedDisk")["id"] = json!(format!("{group}/providers/Microsoft.Compute/disks/{disk}"));
    storage["dataDisks"] = json!([]);
    storage
}

fn os(profile: &Value, computer: &str) -> Value {
    let mut os = profile["osProfile"].clone();
    if let Some(map) = os.as_object_mut() {
        map.remove("computerNamePrefix");
    } else {
        os = json!({});
    }
    os["computerName"] = json!(computer);
    os
}

fn prefix<'a>(profile: &'a Value, name: &'a str) -> &'a str {
    profile["osProfile"]["computerNamePrefix"].as_str().unwrap_or(name)
}

/// Six digits of base 36, as in `vmss000000`.
fn base36(mut number: u64) -> String {
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        let rest = u32::try_from(number % 36).unwrap_or(0);
        *digit = char::from_digit(rest, 36).map_or(b'0', |digit| digit.to_ascii_uppercase() as u8);
        number /= 36;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
