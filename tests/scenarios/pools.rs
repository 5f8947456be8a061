//! Who is in a backend pool: what the CCM changes, and what the stories look at in the end.

use armshield::simulator::Simulator;
use serde_json::{Value, json};

/// Brings the primary address of the primary interface into `pool`, or out of all; whether that changed it.
pub fn change(configuration: &mut Value, pool: Option<&str>) -> bool {
    let Some(address) = primary(configuration) else { return false };
    let pools = &mut address["properties"]["loadBalancerBackendAddressPools"];
    if !pools.is_array() {
        *pools = json!([]);
    }
    let pools = pools.as_array_mut().unwrap();
    match pool {
        Some(pool) if pools.iter().any(|own| own["id"] == pool) => false,
        Some(pool) => {
            pools.push(json!({"id": pool}));
            true
        }
        None => !std::mem::take(pools).is_empty(),
    }
}

/// How many pools the set's model and each of its VMs are in, the set first.
pub fn joined(sim: &Simulator, set: &str) -> Vec<usize> {
    let count = |mut configuration: Value| {
        let address = primary(&mut configuration).unwrap();
        address["properties"]["loadBalancerBackendAddressPools"].as_array().map_or(0, Vec::len)
    };
    let model = sim.read(set).unwrap();
    let vms = sim.members(set).into_iter().map(|vm| sim.read(&vm).unwrap());
    let vms = vms.map(|vm| vm["properties"]["networkProfileConfiguration"].clone());
    let of_set = model["properties"]["virtualMachineProfile"]["networkProfile"].clone();
    std::iter::once(of_set).chain(vms).map(count).collect()
}

/// The names of the addresses of the only interface, of a set's model or of a VM.
pub fn addresses(sim: &Simulator, id: &str) -> Vec<String> {
    let mut shown = sim.read(id).unwrap();
    let all = addresses_of(configuration(&mut shown)).unwrap();
    all.iter().map(|own| own["name"].as_str().unwrap().to_owned()).collect()
}

/// Adds a second address to the only interface of a model.
pub fn add_address(shown: &mut Value, name: &str) {
    let subnet =
        "/subscriptions/x/resourceGroups/n/providers/Microsoft.Network/virtualNetworks/v/subnets/pods";
    addresses_of(configuration(shown)).unwrap().push(json!({"name": name, "properties": {
        "primary": false, "privateIPAddressVersion": "IPv4", "subnet": {"id": subnet}}}));
}

fn configuration(shown: &mut Value) -> &mut Value {
    let properties = &mut shown["properties"];
    if properties["virtualMachineProfile"].is_object() {
        &mut properties["virtualMachineProfile"]["networkProfile"]
    } else {
        &mut properties["networkProfileConfiguration"]
    }
}

fn addresses_of(configuration: &mut Value) -> Option<&mut Vec<Value>> {
    let interface = configuration["networkInterfaceConfigurations"].as_array_mut()?.first_mut()?;
    interface["properties"]["ipConfigurations"].as_array_mut()
}

fn primary(configuration: &mut Value) -> Option<&mut Value> {
    addresses_of(configuration)?.iter_mut().find(|own| own["properties"]["primary"] == true)
}
