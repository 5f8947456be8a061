//! P3: after a client has seen an answer to a write, no read begun after that shows it the state from before.

use std::time::Duration;

use armshield::policy::{Mode, Policy, Rule};

use crate::support::arm::Ending;
use crate::support::client::{AZ, CCM};
use crate::support::eras::{Eras, address, era};
use crate::support::simulated::COMPUTE;
use crate::support::{Reply, Simulated, World, world};

/// What is read of a scale set.
const SET: &[&str] = &[
    "CMP/virtualMachineScaleSets/s",
    "CMP/virtualMachineScaleSets/s?api-version=2024-07-01",
    "CMP/virtualMachineScaleSets/s/instanceView",
    "CMP/virtualMachineScaleSets/s/virtualMachines/0",
    "CMP/virtualMachineScaleSets/s/virtualMachines/0?$expand=instanceView",
    "CMP/virtualMachineScaleSets/s/virtualMachines/0/instanceView",
    "CMP/virtualMachineScaleSets/s/virtualMachines",
    "CMP/virtualMachineScaleSets/s/virtualMachines?$expand=instanceView",
    "CMP/virtualMachineScaleSets/s/virtualMachines?$filter=properties/latestModelApplied%20eq%20true",
];

/// What is read of a VM.
const VM: &[&str] = &[
    "CMP/virtualMachines/a",
    "CMP/virtualMachines/a?$expand=instanceView",
    "CMP/virtualMachines/a?api-version=2023-03-01",
    "CMP/virtualMachines/a/instanceView",
];

/// Compute's lists in the group and its subscription.
const LISTS: &[&str] = &[
    "CMP/virtualMachineScaleSets",
    "SUB/providers/Microsoft.Compute/virtualMachineScaleSets",
    "CMP/virtualMachines",
    "CMP/virtualMachines?$filter='virtualMachineScaleSet/id'%20eq%20's'",
    "SUB/providers/Microsoft.Compute/virtualMachines",
    "SUB/providers/Microsoft.Compute/virtualMachines?statusOnly=true",
];

/// Network in the subscription.
const NETWORK: &[&str] = &[
    "NET/loadBalancers/l",
    "NET/loadBalancers/l?$expand=frontendIPConfigurations/publicIPAddress",
    "NET/loadBalancers",
    "NET/publicIPAddresses/p",
    "NET/publicIPAddresses",
    "SUB/providers/Microsoft.Network/publicIPAddresses",
    "NET/networkSecurityGroups/n",
    "NET/networkInterfaces",
    "SUB/resourceGroups/h/providers/Microsoft.Network/publicIPAddresses",
];

/// Compute of another group.
const ELSEWHERE: &[&str] = &[
    "SUB/resourceGroups/h/providers/Microsoft.Compute/virtualMachines/a",
    "SUB/resourceGroups/h/providers/Microsoft.Compute/virtualMachines",
];

/// Another subscription.
const STRANGE: &[&str] = &[
    "/subscriptions/2/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a",
    "/subscriptions/2/providers/Microsoft.Compute/virtualMachines",
    "/subscriptions/2/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses",
];

const COMPUTE_WRITE: &[&[&str]] = &[SET, VM, LISTS, NETWORK];
const SUBSCRIPTION: &[&[&str]] = &[SET, VM, LISTS, NETWORK, ELSEWHERE];
const ALL: &[&[&str]] = &[SET, VM, LISTS, NETWORK, ELSEWHERE, STRANGE];

/// After `method` on `path` was answered, what is in `reached` is read from ARM and all else is not.
async fn check(method: &str, path: &str, reached: &[&[&str]]) {
    let eras = Eras::default();
    let world = World::new(eras.script());
    let az = world.client("a");
    let reads: Vec<_> = ALL.concat();
    for read in &reads {
        az.get(&address(read)).await;
    }
    for read in &reads {
        assert!(az.get(&address(read)).await.is_hit(), "{read} is not kept at all");
    }
    let answer = az.write(method, &address(path), "{}").await;
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
    for read in reads {
        let after = az.get(&address(read)).await;
        let is_reached = reached.iter().any(|group| group.contains(&read));
        assert_eq!(!after.is_hit(), is_reached, "{method} {path}, then {read}: {}", after.cache());
        assert_eq!(era(&after), u64::from(is_reached), "{method} {path}, then {read}");
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_to_compute_is_read_by_whatever_it_can_have_changed() {
    let cases = [
        ("PUT", "CMP/virtualMachineScaleSets/s"),
        (
            "PUT",
            "/SUBSCRIPTIONS/11111111-1111-1111-1111-111111111111/resourcegroups/G/PROVIDERS/microsoft.compute/VIRTUALMACHINESCALESETS/S",
        ),
        ("PUT", "CMP/virtualMachineScaleSet%73/%73"),
        ("PATCH", "CMP/virtualMachineScaleSets/s?api-version=2022-03-01"),
        ("DELETE", "CMP/virtualMachineScaleSets/s"),
        ("POST", "CMP/virtualMachineScaleSets/s/delete"),
        ("POST", "CMP/virtualMachineScaleSets/s/deallocate"),
        ("POST", "CMP/virtualMachineScaleSets/s/manualupgrade"),
        ("PUT", "CMP/virtualMachineScaleSets/s/extensions/e"),
        ("PUT", "CMP/virtualMachineScaleSets/s/virtualMachines/0"),
        ("DELETE", "CMP/virtualMachineScaleSets/s/virtualMachines/0"),
        ("POST", "CMP/virtualMachineScaleSets/s/virtualMachines/0/restart"),
        ("PUT", "CMP/virtualMachineScaleSets/s/virtualMachines/0/runCommands/r"),
        ("PUT", "CMP/virtualMachines/a"),
        ("PATCH", "CMP/virtualMachines/a"),
        ("DELETE", "CMP/virtualMachines/a"),
        ("POST", "CMP/virtualMachines/a/deallocate"),
        ("PUT", "CMP/virtualMachines/a/extensions/e"),
        ("PUT", "CMP/virtualMachines/new"),
        ("BREW", "CMP/virtualMachines/a"),
    ];
    for (method, path) in cases {
        check(method, path, COMPUTE_WRITE).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_to_network_is_read_by_everything_of_network() {
    let cases = [
        ("PUT", "NET/loadBalancers/l"),
        ("DELETE", "NET/loadBalancers/l"),
        ("PUT", "NET/loadBalancers/l/backendAddressPools/b"),
        ("PUT", "NET/networkSecurityGroups/n/securityRules/r"),
        ("PUT", "NET/virtualNetworks/v/subnets/x"),
        ("DELETE", "NET/publicIPAddresses/p"),
        ("PUT", "NET/publicIPAddresses/new"),
        ("POST", "NET/networkSecurityGroups/n/anAction"),
        ("PUT", "SUB/resourceGroups/h/providers/Microsoft.Network/networkInterfaces/i"),
    ];
    for (method, path) in cases {
        check(method, path, &[NETWORK]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_that_reaches_far_is_read_by_the_whole_subscription() {
    let cases = [
        ("PUT", "GRP/providers/Microsoft.Resources/deployments/d"),
        ("PUT", "SUB/providers/Microsoft.Resources/deployments/d"),
        ("PUT", "GRP/providers/Microsoft.ContainerService/managedClusters/k"),
        ("PUT", "GRP/providers/Microsoft.ContainerService/managedClusters/k/agentPools/p"),
        ("POST", "GRP/providers/Microsoft.ContainerService/managedClusters/k/agentPools/p/deleteMachines"),
        ("PUT", "GRP"),
        ("DELETE", "SUB/resourceGroups/h"),
        ("PATCH", "SUB/resourceGroups/g"),
        ("POST", "SUB/providers/Microsoft.Compute/locations/eastus/anAction"),
        ("POST", "SUB/providers/Microsoft.Compute/register"),
    ];
    for (method, path) in cases {
        check(method, path, SUBSCRIPTION).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_that_does_not_say_what_it_reaches_is_read_by_all() {
    let cases = [
        ("POST", "/batch"),
        ("POST", "GRP/moveResources"),
        ("POST", "/subscriptions/3/resourceGroups/g/moveResources"),
        ("PUT", "CMP//virtualMachines/a"),
        ("PUT", "CMP/virtualMachines/a/"),
        ("PUT", "CMP/./virtualMachines/a"),
        ("PUT", "CMP/virtualMachines/b/../a"),
        ("PUT", "CMP/virtualMachines%2Fa"),
        ("PUT", "CMP/virtualMachines/%zz"),
        ("PUT", "/providers/Microsoft.Management/managementGroups/m"),
        ("POST", "/"),
    ];
    for (method, path) in cases {
        check(method, path, ALL).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p3_what_only_reads_drops_nothing() {
    let cases = [
        ("POST", "GRP/providers/Microsoft.Storage/storageAccounts/s/listKeys"),
        ("POST", "SUB/providers/Microsoft.Storage/checkNameAvailability"),
        ("POST", "/providers/Microsoft.ResourceGraph/resources"),
        ("POST", "GRP/exportTemplate"),
        ("POST", "NET/networkInterfaces/i/effectiveNetworkSecurityGroups"),
        ("POST", "CMP/virtualMachines/a/retrieveBootDiagnosticsData"),
        ("POST", "GRP/providers/Microsoft.ContainerService/managedClusters/k/listClusterUserCredential"),
        ("OPTIONS", "CMP/virtualMachines/a"),
        ("HEAD", "CMP/virtualMachines/a"),
    ];
    for (method, path) in cases {
        check(method, path, &[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_resource_named_like_an_action_that_reads_is_written_all_the_same() {
    check("PUT", "CMP/virtualMachines/listKeys", COMPUTE_WRITE).await;
    check("POST", "CMP/virtualMachines/validate", COMPUTE_WRITE).await;
}

#[tokio::test(start_paused = true)]
async fn p3_a_uniform_sets_write_leaves_other_points_of_the_group_alone() {
    let id = address("CMP/virtualMachineScaleSets/s").split('?').next().unwrap().to_owned();
    let eras = Eras::default();
    let mut shows = eras.script();
    let world = World::new(move |call| {
        if call.is("GET", "/s") {
            let mode = r#""orchestrationMode":"Uniform","uniqueId":"u""#;
            return Reply::ok(format!(r#"{{"id":"{id}","properties":{{{mode}}}}}"#));
        }
        shows(call)
    });
    let az = world.client("a");
    let (set, vm, vms) = (address(SET[0]), address(VM[0]), address("CMP/virtualMachines"));
    for read in [&set, &vm, &vms] {
        az.get(read).await;
    }
    az.put(&set, "{}").await;
    assert!(!az.get(&set).await.is_hit());
    assert!(!az.get(&vms).await.is_hit(), "lists are reached all the same");
    assert!(az.get(&vm).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p3_however_a_write_ends_the_next_read_goes_to_arm() {
    let status = |status| Reply::json(status, "{}");
    let cases = [
        ("created", status(201), 201),
        ("accepted", status(202), 202),
        ("no content", status(204), 204),
        ("see other", status(303), 303),
        ("bad request", status(400), 400),
        ("forbidden", status(403), 403),
        ("not found", status(404), 404),
        ("timed out", status(408), 408),
        ("conflict", status(409), 409),
        ("precondition failed", status(412), 412),
        ("throttled", status(429).with("retry-after", "1"), 429),
        ("server error", status(500), 500),
        ("unavailable", status(503), 503),
        ("lost", status(200).ending(Ending::Never), 502),
        ("no head", status(200).after(Duration::from_secs(90)), 504),
    ];
    for (name, reply, expected) in cases {
        let eras = Eras::default();
        let own = eras.clone();
        let world = World::new(move |call| {
            if call.method == "GET" {
                return own.show(call);
            }
            own.apply(call.at);
            reply.clone()
        });
        let (vm, vms, ips) = (address(VM[0]), address(LISTS[2]), address(NETWORK[5]));
        let az = world.client("a");
        let other = world.client("b");
        for read in [&vm, &vms, &ips] {
            az.get(read).await;
            other.get(read).await;
            assert!(az.get(read).await.is_hit());
        }
        assert_eq!(az.put(&vm, "{}").await.status, expected, "{name}");
        world::seconds(if expected == 429 { 2 } else { 0 }).await;
        for read in [&vm, &vms, &ips] {
            assert_eq!(era(&az.get(read).await), 1, "{name}, then {read}");
            // Who was refused here just now may not see what others see: that is P2's.
            assert_eq!(era(&other.get(read).await), 1, "{name}, then {read} by another caller");
        }
        assert_eq!(world.arm.count("PUT", "/a"), 1, "{name}: a write is sent once");
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_whose_answer_breaks_off_drops_before_its_first_byte() {
    let eras = Eras::default();
    let own = eras.clone();
    let world = World::new(move |call| {
        if call.method == "GET" {
            return own.show(call);
        }
        own.apply(call.at);
        Reply::ok(r#"{"location":"eastus"}"#).ending(Ending::Cut(5))
    });
    let az = world.client("a");
    az.get(&address(VM[0])).await;
    assert!(az.send(az.request("PUT", &address(VM[0])), "{}").await.is_err());
    assert_eq!(era(&az.get(&address(VM[0])).await), 1);
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_with_unknown_outcome_may_be_applied_for_two_minutes() {
    let eras = Eras::default();
    let own = eras.clone();
    let world = World::new(move |call| {
        if call.method == "GET" {
            return own.show(call);
        }
        own.apply(call.at + Duration::from_secs(60));
        Reply::ok("").ending(Ending::Never)
    });
    let az = world.client("a");
    let vm = address(VM[0]);
    az.get(&vm).await;
    assert_eq!(az.put(&vm, "{}").await.status, 502);
    for second in 0..150 {
        let read = az.get(&vm).await;
        assert!(second < 63 || era(&read) == 1, "applied at 60 s, unseen at {second} s");
        world::seconds(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_under_way_is_looked_for_before_it_is_answered() {
    let eras = Eras::default();
    let own = eras.clone();
    let world = World::new(move |call| {
        if call.method == "GET" {
            return own.show(call);
        }
        own.apply(call.at);
        Reply::ok("{}").after(Duration::from_secs(30))
    });
    let az = world.client("a");
    let reads = [VM[0], LISTS[2], NETWORK[5]].map(address);
    for read in &reads {
        az.get(read).await;
    }
    let write = az.begin("PUT", &reads[0], "{}");
    world::pass(Duration::from_millis(1)).await;
    for read in &reads {
        assert_eq!(era(&az.get(read).await), 1, "{read}: what is kept is from before it was sent");
        assert!(az.get(read).await.is_hit(), "{read}");
    }
    world::seconds(3).await;
    for read in &reads {
        assert!(!az.get(read).await.is_hit(), "{read}: until the answer everything lives two seconds");
    }
    write.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn p3_who_leaves_while_writing_has_written() {
    let eras = Eras::default();
    let own = eras.clone();
    let slow = Duration::from_secs(5);
    let world = World::new(move |call| {
        if call.method == "GET" {
            return own.show(call);
        }
        own.apply(call.at + slow);
        Reply::ok("{}").after(slow)
    });
    let vm = address(VM[0]);
    let (az, other) = (world.client("a"), world.client("b"));
    az.get(&vm).await;
    other.get(&vm).await;
    let write = az.begin("PUT", &vm, "{}");
    world::seconds(1).await;
    write.abort();
    world::seconds(3).await;
    assert_eq!(era(&other.get(&vm).await), 0);
    assert!(other.get(&vm).await.is_hit(), "the write is under way, not answered");
    world::seconds(2).await;
    assert_eq!(era(&other.get(&vm).await), 1, "answered at 5 s");
    assert_eq!(world.arm.count("PUT", "/a"), 1);
    // Answered and not lost: what is read after it has settled lives as long as ever.
    world::seconds(40).await;
    other.get(&vm).await;
    world::seconds(5).await;
    assert!(other.get(&vm).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p3_who_leaves_while_the_write_waits_for_its_body_has_written_nothing() {
    let eras = Eras::default();
    let world = World::new(eras.script());
    let az = world.client("a");
    let vm = address(VM[0]);
    az.get(&vm).await;
    let request = az.request("PUT", &vm).header("content-length", "100");
    let begun = tokio::spawn({
        let az = az.clone();
        async move { az.send(request, "{").await.map(|answer| answer.status) }
    });
    world::seconds(1).await;
    begun.abort();
    world::seconds(1).await;
    assert_eq!(world.arm.count("PUT", "/a"), 0, "half a body is no write");
    assert_eq!(era(&az.get(&vm).await), 0);
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_is_seen_by_every_caller_and_whoever_wrote() {
    let check = async |name: &str, writes: &dyn Fn(&World) -> crate::support::Client| {
        let eras = Eras::default();
        let policy = Policy::default().with_mode(Mode::Pass, Some("terraform")).unwrap();
        let policy = policy.with_mode(Mode::Shadow, Some("scripts")).unwrap();
        let world = World::with(policy, |_| {}, eras.script());
        let (one, other) = (world.client("a"), world.client("b").with_agent(CCM));
        let vm = address(VM[0]);
        for client in [&one, &other] {
            client.get(&vm).await;
            assert!(client.get(&vm).await.is_hit());
        }
        assert_eq!(writes(&world).put(&vm, "{}").await.status, 200);
        for client in [&one, &other] {
            assert_eq!(era(&client.get(&vm).await), 1, "{name}");
        }
    };
    check("the same client", &|world| world.client("a")).await;
    check("another caller whom ARM has not let in before", &|world| world.client("c")).await;
    check("a client in pass mode", &|world| world.client("a").with_agent("Terraform/1.9")).await;
    check("a client in shadow mode", &|world| world.client("a").with_agent("azsdk-python/1")).await;
    check("a client that dials ARM", &|world| world.client("a").dialling("management.azure.com")).await;
    check("a client that dials a region", &|world| world.client("a").dialling("eastus.management.azure.com"))
        .await;
}

#[tokio::test(start_paused = true)]
async fn p3_who_was_never_let_in_and_is_refused_drops_nothing() {
    for status in [401, 403] {
        let eras = Eras::default();
        let own = eras.clone();
        let world = World::new(move |call| match call.method.as_str() {
            "GET" => own.show(call),
            _ => Reply::error(status, "No"),
        });
        let (az, stranger) = (world.client("a"), world.client("c"));
        let vm = address(VM[0]);
        az.get(&vm).await;
        assert_eq!(stranger.put(&vm, "{}").await.status, status);
        assert!(az.get(&vm).await.is_hit());
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_write_by_one_never_let_in_that_is_lost_drops_all_the_same() {
    let eras = Eras::default();
    let own = eras.clone();
    let world = World::new(move |call| {
        if call.method == "GET" {
            return own.show(call);
        }
        own.apply(call.at);
        Reply::ok("{}").ending(Ending::Never)
    });
    let (az, stranger) = (world.client("a"), world.client("c"));
    let vm = address(VM[0]);
    az.get(&vm).await;
    assert_eq!(stranger.put(&vm, "{}").await.status, 502);
    assert_eq!(era(&az.get(&vm).await), 1);
}

#[tokio::test(start_paused = true)]
async fn p3_a_read_after_a_writes_answer_shows_it_with_an_arm_as_it_is() {
    let world = Simulated::new();
    let az = world.client("a").with_agent(AZ);
    let (set, vm) = (world.sim.add_uniform("pool", 3), world.sim.add_vm("alone"));
    let target = |path: &str| format!("{path}{COMPUTE}");
    for path in [&set, &vm] {
        az.get(&target(path)).await;
        assert!(az.get(&target(path)).await.is_hit());
    }
    // A PUT that changes nothing moves a VM's version and not a set's: both are read afresh.
    for path in [&set, &vm] {
        let before = az.get(&target(path)).await.json();
        let answer = az.put(&target(path), &before.to_string()).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text());
        let after = az.get(&target(path)).await;
        assert!(!after.is_hit());
        assert_eq!(after.json()["etag"], world.sim.etag(path).unwrap());
    }
    // Deleting instances shows in the set, its list, and the group's list at once.
    let members = target(&format!("{set}/virtualMachines"));
    az.get(&members).await;
    let deleted = az.write("POST", &target(&format!("{set}/delete")), r#"{"instanceIds":["1"]}"#).await;
    assert_eq!(deleted.status, 202, "{}", deleted.text());
    assert_eq!(az.get(&target(&set)).await.json()["sku"]["capacity"], 2);
    let states = az.get(&members).await.json();
    assert_eq!(states["value"][1]["properties"]["provisioningState"], "Deleting");
}

#[tokio::test(start_paused = true)]
async fn p3_types_that_an_operator_added_are_reached_too() {
    let disks = ["CMP/disks/d", "CMP/disks", "SUB/providers/Microsoft.Compute/disks"];
    let accounts = [
        "GRP/providers/Microsoft.Storage/storageAccounts/s",
        "SUB/providers/Microsoft.Storage/storageAccounts",
    ];
    let cases: [(&str, &str, &[&[&str]]); 4] = [
        ("PUT", "CMP/virtualMachines/a", &[&disks]),
        ("POST", "CMP/virtualMachineScaleSets/s/delete", &[&disks]),
        ("PATCH", "CMP/disks/d", &[&disks]),
        ("PATCH", "GRP/providers/Microsoft.Storage/storageAccounts/s", &[&accounts]),
    ];
    let mut policy = Policy::default();
    for kind in ["microsoft.compute/disks", "microsoft.storage/storageaccounts"] {
        let (kind, max_age) = (kind.into(), Duration::from_secs(30));
        policy.rules.push(Rule { kind, max_age, guard: false });
    }
    for (method, path, reached) in cases {
        let eras = Eras::default();
        let world = World::with(policy.clone(), |_| {}, eras.script());
        let az = world.client("a");
        let reads = [&disks[..], &accounts[..]].concat();
        for read in &reads {
            az.get(&address(read)).await;
            assert!(az.get(&address(read)).await.is_hit(), "{read}");
        }
        az.write(method, &address(path), "{}").await;
        for read in reads {
            let is_reached = reached.iter().any(|group| group.contains(&read));
            assert_eq!(!az.get(&address(read)).await.is_hit(), is_reached, "{method} {path}, then {read}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p3_a_lock_or_another_extension_belongs_to_its_root() {
    check("PUT", "CMP/virtualMachines/a/providers/Microsoft.Authorization/locks/l", COMPUTE_WRITE).await;
    check("PUT", "NET/loadBalancers/l/providers/Microsoft.Insights/diagnosticSettings/d", &[NETWORK]).await;
}
