//! Incidents that no promise covers by itself.

use std::time::Duration;

use crate::support::client::{AUTOSCALER, CCM};
use crate::support::eras::{Eras, address, era};
use crate::support::resources::{show, vm};
use crate::support::shelf::{list, resource};
use crate::support::{Reply, World, world};

/// kubernetes/kubernetes#95288.
#[tokio::test(start_paused = true)]
async fn a_parent_that_is_gone_is_told_in_arms_words_by_one_call_for_all_who_ask() {
    let members = address("CMP/virtualMachineScaleSets/gone/virtualMachines");
    let world = World::new(move |call| match call.is("GET", "gone/virtualMachines") {
        true => Reply::error(404, "ParentResourceNotFound").after(Duration::from_millis(200)),
        false => show(call),
    });
    let ccm = world.client("ccm").with_agent(CCM);
    ccm.get(&vm("z")).await;
    let asked: Vec<_> = (0..50).map(|_| ccm.begin("GET", &members, "")).collect();
    for answer in asked {
        let answer = answer.await.unwrap();
        assert_eq!(answer.status, 404);
        assert_eq!(answer.json()["error"]["code"], "ParentResourceNotFound");
    }
    assert_eq!(world.arm.count("GET", "gone/virtualMachines"), 1);
    // It may be made again at any time: what is not there is not remembered.
    world.arm.answers(|_| Reply::ok(list(&[])));
    assert_eq!(ccm.get(&members).await.status, 200);
}

/// kubernetes/kubernetes#77490.
#[tokio::test(start_paused = true)]
async fn writes_to_one_resource_are_neither_merged_nor_put_in_another_order() {
    let world =
        World::new(|call| Reply::ok("{}").after(Duration::from_millis(50 * (5 - call.number as u64))));
    let ccm = world.client("ccm").with_agent(CCM);
    let balancer = address("NET/loadBalancers/kubernetes");
    let mut writes = Vec::new();
    for body in ["1", "2", "2", "3"] {
        writes.push(ccm.begin("PUT", &balancer, body));
        world::pass(Duration::from_millis(1)).await;
    }
    for write in writes {
        assert_eq!(write.await.unwrap().status, 200);
    }
    let bodies: Vec<_> = world.arm.calls().into_iter().map(|call| call.body).collect();
    assert_eq!(bodies, ["1", "2", "2", "3"]);
}

/// kubernetes-sigs/cloud-provider-azure#9339.
#[tokio::test(start_paused = true)]
async fn a_list_with_instance_views_that_fails_leaves_the_one_without_alone() {
    let (plain, views) =
        (address("CMP/virtualMachines"), address("CMP/virtualMachines?$expand=instanceView"));
    let world = World::new(|call| match call.target.contains("$expand") {
        true => Reply::error(504, "GatewayTimeout").after(Duration::from_secs(60)),
        false => Reply::ok(list(&[resource("CMP/virtualMachines/a", "\"1\"", "")])),
    });
    let az = world.client("az");
    assert_eq!(az.get(&plain).await.status, 200);
    let slow = az.begin("GET", &views, "");
    world::seconds(5).await;
    let hit = az.get(&plain).await;
    assert!(hit.is_hit(), "{}", hit.cache());
    assert_eq!(slow.await.unwrap().status, 504, "and none is made out of the other");
    assert_eq!(world.arm.calls().iter().filter(|call| call.target.contains("$expand")).count(), 1);
}

/// kubernetes-sigs/cloud-provider-azure#9108, #9729, #4839: one resource of the network changes another's tag.
#[tokio::test(start_paused = true)]
async fn a_write_to_one_resource_of_the_network_is_read_by_its_neighbours() {
    for (method, written, read) in [
        ("PUT", "NET/loadBalancers/l", "NET/publicIPAddresses/p"),
        ("PUT", "NET/loadBalancers/l", "NET/publicIPAddresses"),
        ("DELETE", "NET/privateLinkServices/s", "NET/loadBalancers/l"),
        ("PUT", "NET/loadBalancers/l/backendAddressPools/b", "NET/loadBalancers/l"),
    ] {
        let eras = Eras::default();
        let world = World::new(eras.script());
        let ccm = world.client("ccm").with_agent(CCM);
        assert_eq!(era(&ccm.get(&address(read)).await), 0);
        ccm.write(method, &address(written), "{}").await;
        assert_eq!(era(&ccm.get(&address(read)).await), 1, "{method} {written}, then {read}");
    }
}

/// Azure/azure-rest-api-specs#21221: the list of all resources is itself stale, so nothing rests on it.
#[tokio::test(start_paused = true)]
async fn the_list_of_all_resources_is_passed_on_and_teaches_nothing() {
    let id = "CMP/virtualMachines/a";
    let world = World::new(move |call| match call.path().ends_with("/resources") {
        true => Reply::ok(list(&[resource(id, "\"1\"", "")])),
        false => Reply::ok(resource(id, "\"2\"", "")),
    });
    let az = world.client("az");
    az.get(&vm("a")).await;
    for _ in 0..2 {
        let all = az.get(&address("SUB/resources")).await;
        assert_eq!((all.status, all.is_hit()), (200, false));
    }
    assert!(az.get(&vm("a")).await.is_hit());
}

/// kubernetes-sigs/cloud-provider-azure#8106: protection that is silently not there.
#[tokio::test(start_paused = true)]
async fn writes_that_nothing_guards_are_counted_by_profile() {
    let world = World::new(show);
    let ccm = world.client("ccm").with_agent(CCM);
    ccm.get(&vm("z")).await;
    let answer = ccm.put(&vm("never-shown"), "{}").await;
    assert_eq!(answer.guard(), "source=none, result=unguarded");
    let numbers = world.proxy.rooms().metrics.text(&[]);
    let counted = numbers.lines().find(|line| line.starts_with("armshield_guard_total{")).unwrap();
    for part in ["profile=\"ccm\"", "source=\"none\"", "result=\"unguarded\""] {
        assert!(counted.contains(part), "{counted}");
    }
}

/// kubernetes/autoscaler#3031, #4685: the size after a deletion of instances.
#[tokio::test(start_paused = true)]
async fn the_size_of_a_set_is_asked_for_anew_after_instances_were_deleted() {
    let eras = Eras::default();
    let world = World::new(eras.script());
    let autoscaler = world.client("ca").with_agent(AUTOSCALER);
    let reads = [
        "CMP/virtualMachineScaleSets",
        "CMP/virtualMachineScaleSets/s",
        "CMP/virtualMachineScaleSets/s/virtualMachines",
    ];
    for read in reads {
        assert_eq!(era(&autoscaler.get(&address(read)).await), 0);
    }
    autoscaler
        .write("POST", &address("CMP/virtualMachineScaleSets/s/delete"), r#"{"instanceIds":["1"]}"#)
        .await;
    for read in reads {
        assert_eq!(era(&autoscaler.get(&address(read)).await), 1, "{read}");
    }
}
