//! P11: an operation that some client polls is followed to its end; its end invalidates again. armshield
//! never polls by itself.

use std::time::Duration;

use http::Method;

use crate::support::arm::Ending;
use crate::support::client::CCM;
use crate::support::eras::{Eras, address, era};
use crate::support::shelf::{Shelf, resource};
use crate::support::simulated::{COMPUTE, NETWORK};
use crate::support::{Client, Reply, Simulated, World, world};

const VM: &str = "CMP/virtualMachines/a";
const VMS: &str = "CMP/virtualMachines";
const ADDRESSES: &str = "NET/publicIPAddresses";
/// Signed, and with an escape that nobody may touch.
const STATUS: &str = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o?p=%2fx&api-version=2025-04-01&t=6390&c=MII%2b&s=A-_b%3d%3D&h=Q";
const RESULT: &str = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o?p=%2fx&monitor=true&t=6390&s=A-_b%3d&h=R";
/// Not recognisable as a poll but by the answer that named it.
const ODD: &str = "/some/where/else?id=%41%2F";

fn linked(target: &str) -> String {
    format!("http://arm.test{target}")
}

/// Whether what depends on the VM is read from memory.
async fn kept(client: &Client) -> [bool; 3] {
    let mut kept = [false; 3];
    for (at, read) in [VM, VMS, ADDRESSES].into_iter().enumerate() {
        kept[at] = client.get(&address(read)).await.is_hit();
    }
    kept
}

/// What begins an operation, and at which address it is polled.
struct Begin {
    method: &'static str,
    status: u16,
    header: &'static str,
    target: &'static str,
}

const BEGINNINGS: [Begin; 7] = [
    Begin { method: "PUT", status: 201, header: "azure-asyncoperation", target: STATUS },
    Begin { method: "PUT", status: 200, header: "azure-asyncoperation", target: STATUS },
    Begin { method: "PATCH", status: 202, header: "location", target: RESULT },
    Begin { method: "DELETE", status: 202, header: "location", target: RESULT },
    Begin { method: "DELETE", status: 202, header: "azure-asyncoperation", target: ODD },
    Begin { method: "POST", status: 202, header: "azure-asyncoperation", target: STATUS },
    Begin { method: "POST", status: 202, header: "location", target: ODD },
];

/// A client polls an operation; each answer to a poll is `reply`. Whether that dropped what was kept.
async fn drops(begin: &Begin, reply: Reply) -> bool {
    let eras = Eras::default();
    let (own, target, status) = (eras.clone(), begin.target, begin.status);
    let header = begin.header;
    let world = World::new(move |call| {
        if call.target == target {
            return reply.clone();
        }
        match call.method.as_str() {
            "GET" => own.show(call),
            _ => Reply::json(status, "{}").with(header, &linked(target)),
        }
    });
    let az = world.client("a");
    az.get(&address(VM)).await;
    let path = if begin.method == "POST" { "CMP/virtualMachines/a/deallocate" } else { VM };
    let answer = az.write(begin.method, &address(path), "{}").await;
    let link = answer.header(begin.header).unwrap();
    let link = link.strip_prefix("http://localhost:7788").expect("the link leads back");
    assert_eq!(link, begin.target, "byte for byte");
    kept(&az).await;
    assert_eq!(kept(&az).await, [true; 3]);
    let sent = az.send(az.request("GET", link), "").await;
    let after = kept(&az).await;
    assert!(after == [true; 3] || after == [false; 3], "all or nothing: {after:?}");
    let polls = world.arm.calls().iter().filter(|call| call.target == begin.target).count();
    assert_eq!(polls, 1, "a poll travels once, byte for byte: {:?}", sent.map(|answer| answer.status));
    !after[0]
}

#[tokio::test(start_paused = true)]
async fn p11_the_end_of_an_operation_invalidates_again_and_nothing_else_does() {
    let ok = |body: &str| Reply::ok(body.to_owned());
    // The answer to the poll of `Azure-AsyncOperation`, of `Location`: whether it ends the operation.
    let cases = [
        (ok(r#"{"status":"Succeeded"}"#), true, true),
        (ok(r#"{"status":"succeeded","properties":{"output":{}}}"#), true, true),
        (ok(r#"{"status":"Failed","error":{"code":"OperationPreempted"}}"#), true, true),
        (ok(r#"{"status":"Canceled"}"#), true, true),
        (ok(r#"{"status":"InProgress"}"#), false, false),
        (ok(r#"{"status":"Running","percentComplete":99}"#), false, false),
        (ok(r#"{"status":"Deleting"}"#), false, false),
        (ok("{}"), false, true),
        (ok(r#"{"properties":{"provisioningState":"Updating"}}"#), false, false),
        (Reply::json(202, ""), false, false),
        (Reply::json(202, r#"{"status":"Succeeded"}"#), false, false),
        (Reply::json(204, ""), false, true),
        (Reply::error(404, "NotFound"), true, true),
        (Reply::error(409, "Conflict"), false, true),
        (Reply::error(500, "InternalError"), false, false),
        (Reply::error(503, "ServiceUnavailable"), false, false),
        (Reply::error(403, "Forbidden"), false, false),
        (ok(r#"{"status":"Succeeded"}"#).ending(Ending::Cut(9)), false, false),
    ];
    for (reply, status_ends, result_ends) in cases {
        for begin in &BEGINNINGS {
            let ends = if begin.header == "location" { result_ends } else { status_ends };
            let name = format!("{} {} {reply:?}", begin.method, begin.header);
            assert_eq!(drops(begin, reply.clone()).await, ends, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p11_polls_are_passed_each_for_itself_and_unchanged() {
    let mut polls = 0;
    let world = World::new(move |call| {
        if call.target == STATUS {
            polls += 1;
            let body = format!(r#"{{ "status" : "InProgress", "n":{polls} }}"#);
            return Reply::ok(body).with("retry-after", "7").after(Duration::from_secs(2));
        }
        match call.method.as_str() {
            "GET" => Reply::ok("{}"),
            _ => Reply::json(202, "").with("azure-asyncoperation", &linked(STATUS)),
        }
    });
    let az = world.client("a");
    az.get(&address(VM)).await;
    az.delete(&address(VM)).await;
    let others = [az.begin("GET", STATUS, ""), world.client("b").begin("GET", STATUS, "")];
    let answer = az.get(STATUS).await;
    let mut bodies = vec![answer.text().to_owned()];
    for other in others {
        bodies.push(other.await.unwrap().text().to_owned());
    }
    bodies.sort();
    let said = |n| format!(r#"{{ "status" : "InProgress", "n":{n} }}"#);
    assert_eq!(bodies, [said(1), said(2), said(3)]);
    assert_eq!(answer.header("retry-after"), Some("7"));
    assert_eq!(answer.cache(), "armshield; fwd=bypass; detail=poll");
    world::seconds(3600).await;
    let calls = world.arm.calls();
    assert_eq!(calls.iter().filter(|call| call.target == STATUS).count(), 3, "nobody polls but clients");
}

#[tokio::test(start_paused = true)]
async fn p11_the_end_takes_effect_before_its_answers_first_byte() {
    let eras = Eras::default();
    let own = eras.clone();
    let body = format!(r#"{{"status":"Succeeded","properties":{{"output":"{}"}}}}"#, "x".repeat(100_000));
    let world = World::new(move |call| {
        if call.target == STATUS {
            own.apply(call.at);
            return Reply::ok(body.clone());
        }
        match call.method.as_str() {
            "GET" => own.show(call),
            _ => Reply::json(202, "").with("azure-asyncoperation", &linked(STATUS)),
        }
    });
    let az = world.client("a");
    az.get(&address(VM)).await;
    az.delete(&address(VM)).await;
    kept(&az).await;
    assert!(az.get(STATUS).await.text().len() > 100_000);
    assert_eq!(era(&az.get(&address(VM)).await), 1);
    assert_eq!(era(&az.get(&address(VMS)).await), 1);
}

#[tokio::test(start_paused = true)]
async fn p11_both_addresses_of_an_operation_tell_its_end() {
    for ends_at in [STATUS, RESULT] {
        let world = World::new(move |call| match call.target.as_str() {
            STATUS => Reply::ok(r#"{"status":"Succeeded"}"#),
            RESULT => Reply::json(204, ""),
            _ if call.method == "GET" => Reply::ok("{}"),
            _ => Reply::json(202, "")
                .with("azure-asyncoperation", &linked(STATUS))
                .with("location", &linked(RESULT)),
        });
        let az = world.client("a");
        az.get(&address(VM)).await;
        az.delete(&address(VM)).await;
        kept(&az).await;
        assert_eq!(kept(&az).await, [true; 3]);
        az.get(ends_at).await;
        assert_eq!(kept(&az).await, [false; 3], "{ends_at}");
    }
}

/// Whether an answer about the VM lives longer than two seconds, seen three seconds from now.
async fn is_settled(client: &Client) -> bool {
    let request = client.request("GET", &address(VMS)).header("cache-control", "no-cache");
    client.send(request, "").await.unwrap();
    world::seconds(3).await;
    client.get(&address(VMS)).await.is_hit()
}

#[tokio::test(start_paused = true)]
async fn p11_an_operation_nobody_polls_is_over_half_an_hour_after_its_last_sign() {
    let world = World::new(|call| match call.target.as_str() {
        STATUS => Reply::ok(r#"{"status":"InProgress"}"#),
        _ if call.method == "GET" => Reply::ok("{}"),
        _ => Reply::json(202, "").with("azure-asyncoperation", &linked(STATUS)),
    });
    let az = world.client("a");
    az.get(&address(VM)).await;
    az.delete(&address(VM)).await;
    world::seconds(29 * 60).await;
    assert!(!is_settled(&az).await);
    az.get(STATUS).await;
    world::seconds(29 * 60).await;
    az.get(&address("NET/loadBalancers/l")).await;
    assert!(!is_settled(&az).await, "the poll was a sign of progress");
    world::seconds(60).await;
    az.get(&address("NET/loadBalancers/l")).await;
    assert!(is_settled(&az).await);
}

#[tokio::test(start_paused = true)]
async fn p11_an_operation_without_an_address_ends_when_a_point_read_shows_it() {
    let shown = |state: &str| resource(VM, "\"1\"", &format!(r#""provisioningState":"{state}""#));
    for end in ["Succeeded", "Failed", "Canceled"] {
        let shelf = Shelf::default();
        let world = World::new(shelf.script());
        let az = world.client("a");
        shelf.put(VM, shown("Succeeded"));
        shelf.put(VMS, r#"{"value":[]}"#);
        shelf.put(ADDRESSES, r#"{"value":[]}"#);
        shelf.answer("PUT", VM, Reply::ok(shown("Updating")));
        az.get(&address(VM)).await;
        az.put(&address(VM), "{}").await;
        shelf.put(VM, shown("Updating"));
        az.get(&address(VM)).await;
        world::seconds(60).await;
        assert!(!is_settled(&az).await, "under way");
        az.get(&address(VM)).await;
        kept(&az).await;
        let [_, list, addresses] = kept(&az).await;
        assert!(list && addresses, "its lists live two seconds, still");
        shelf.put(VM, shown(end));
        world::seconds(3).await;
        az.get(&address(VMS)).await;
        az.get(&address(ADDRESSES)).await;
        assert!(az.get(&address(ADDRESSES)).await.is_hit());
        az.get(&address(VM)).await;
        let [_, list, addresses] = kept(&az).await;
        assert!(!list && !addresses, "{end}: its end invalidates again");
        world::seconds(31).await;
        assert!(is_settled(&az).await, "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn p11_a_read_sent_before_the_write_was_answered_does_not_end_its_operation() {
    // When the write is sent and answered; the read is sent at 1 s and answered at 4 s.
    for (sent, answered) in [(2, 2), (2, 3), (0, 2), (0, 3)] {
        let shown = |state: &str| resource(VM, "\"1\"", &format!(r#""provisioningState":"{state}""#));
        let (before, after) = (shown("Succeeded"), shown("Updating"));
        let world = World::new(move |call| match call.method.as_str() {
            "GET" if call.path().ends_with("/a") => Reply::ok(before.clone()).after(Duration::from_secs(3)),
            "GET" => Reply::ok("{}"),
            _ => Reply::ok(after.clone()).after(Duration::from_secs(answered - sent)),
        });
        let az = world.client("a");
        az.get(&address(VMS)).await;
        let mut begun = Vec::new();
        for second in 0..5 {
            if second == sent {
                begun.push(az.begin("PUT", &address(VM), "{}"));
            }
            if second == 1 {
                begun.push(az.begin("GET", &address(VM), ""));
            }
            world::seconds(1).await;
        }
        for begun in begun {
            assert_eq!(begun.await.unwrap().status, 200);
        }
        world::seconds(60).await;
        assert!(!is_settled(&az).await, "written from {sent} s to {answered} s");
    }
}

#[tokio::test(start_paused = true)]
async fn p11_operations_of_an_arm_as_it_is_are_followed_to_their_ends() {
    for fails in [false, true] {
        let world = Simulated::new();
        let set = world.sim.add_uniform("pool", 3);
        let target = format!("{set}{COMPUTE}");
        let members = format!("{set}/virtualMachines{COMPUTE}");
        let (ccm, az) = (world.client("ccm").with_agent(CCM), world.client("reader"));
        let model = ccm.get(&target).await.json();
        az.get(&members).await;
        if fails {
            world.sim.fail_next_operation("OverconstrainedAllocationRequest", "No room.");
        }
        let mut wanted = model.clone();
        wanted["sku"]["capacity"] = 5.into();
        let begun = ccm.put(&target, &wanted.to_string()).await;
        let poll = begun.header("azure-asyncoperation").unwrap();
        let poll = poll.strip_prefix("http://localhost:7788").expect("the link leads back").to_owned();
        let mut polled = 0;
        loop {
            let status = ccm.get(&poll).await;
            assert_eq!(status.status, 200, "the signature holds: {}", status.text());
            polled += 1;
            let over = status.json()["status"] != "InProgress";
            // Whoever reads after the end was told sees what it brought.
            let seen = az.get(&members).await.json();
            let truth: Vec<_> = world.sim.members(&set);
            if over {
                assert_eq!(seen["value"].as_array().unwrap().len(), truth.len());
                let state = az.get(&target).await.json()["properties"]["provisioningState"].clone();
                assert_eq!(state, if fails { "Failed" } else { "Succeeded" });
                break;
            }
            world::pass(Duration::from_millis(1500)).await;
        }
        let seen = world.calls(Method::GET, poll.split('?').next().unwrap()).len();
        assert_eq!(seen, polled, "no poll is merged, and none is armshield's own");
    }
}

#[tokio::test(start_paused = true)]
async fn p11_network_operations_are_followed_too() {
    let world = Simulated::new();
    let front = world.sim.add_public_ip("front");
    let balancer = world.sim.add_load_balancer("kubernetes", &[&front]);
    let target = format!("{balancer}{NETWORK}");
    let all = format!("{}/providers/Microsoft.Network/publicIPAddresses{NETWORK}", world.sim.group());
    let az = world.client("reader");
    for read in [&target, &all] {
        az.get(read).await;
        assert!(az.get(read).await.is_hit());
    }
    let deleted = az.delete(&target).await;
    assert_eq!(deleted.status, 202, "{}", deleted.text());
    let poll = deleted.header("azure-asyncoperation").unwrap();
    let poll = poll.strip_prefix("http://localhost:7788").unwrap().to_owned();
    az.get(&all).await;
    world::seconds(11).await;
    az.get(&all).await;
    assert!(az.get(&all).await.is_hit());
    assert_eq!(az.get(&poll).await.json()["status"], "Succeeded");
    assert!(!az.get(&all).await.is_hit(), "the address is free now");
    assert_eq!(az.get(&target).await.status, 404);
}
