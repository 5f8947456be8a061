//! P4: a fetch sent before a write was answered never becomes an answer for anyone who asks after it.

use std::time::Duration;

use crate::support::arm::Ending;
use crate::support::client::CCM;
use crate::support::eras::{Eras, address, era};
use crate::support::{Reply, World, world};

const READS: [&str; 5] = [
    "CMP/virtualMachines/a",
    "CMP/virtualMachines/a/instanceView",
    "CMP/virtualMachines",
    "SUB/providers/Microsoft.Compute/virtualMachines",
    "CMP/virtualMachineScaleSets/s/virtualMachines",
];

/// A call that is sent at one moment and answered at another, in seconds.
#[derive(Debug, Clone, Copy)]
struct Span {
    sent: u64,
    answered: u64,
}

const fn from(sent: u64, answered: u64) -> Span {
    Span { sent, answered }
}

/// A fetch and a write overlap; nobody who asks after the write's answer is shown the state the fetch saw.
async fn check(fetch: Span, write: Span, said: &Reply, read: &str) {
    let eras = Eras::default();
    let own = eras.clone();
    let takes = |span: Span| Duration::from_secs(span.answered - span.sent);
    let (mut fetches, reply) = (0, said.clone());
    let world = World::new(move |call| {
        if call.method == "GET" {
            fetches += 1;
            // The token's first call, the fetch in question, and what is asked later.
            return own.show_after(call, if fetches == 2 { takes(fetch) } else { Duration::ZERO });
        }
        // As late as can be: until then ARM shows the state from before.
        own.apply(call.at + takes(write));
        reply.clone().after(takes(write))
    });
    let (az, writer) = (world.client("a"), world.client("a").with_agent(CCM));
    az.get(&address("NET/loadBalancers/l")).await;
    let path = address("CMP/virtualMachines/a");
    let mut begun = Vec::new();
    for second in 0..20 {
        if second == fetch.sent {
            begun.push(az.begin("GET", &address(read), ""));
        }
        if second == write.sent {
            begun.push(writer.begin("PUT", &path, "{}"));
        }
        // In the middle of the second, where everything of this second has been answered.
        world::pass(Duration::from_millis(500)).await;
        if second >= write.answered {
            let answer = az.begin("GET", &address(read), "").await.unwrap();
            let name = format!("{fetch:?} {write:?} {} {read} at {second}", said.status);
            assert_eq!(era(&answer), 1, "{name}: {}", answer.cache());
        }
        world::pass(Duration::from_millis(500)).await;
    }
    for begun in begun {
        begun.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn p4_whenever_a_fetch_and_a_write_overlap_the_fetch_answers_nobody_later() {
    let cases = [
        // Sent before the write, landed while it was under way, when it was answered, after that.
        (from(0, 2), from(1, 5)),
        (from(0, 5), from(1, 5)),
        (from(0, 9), from(1, 5)),
        // Sent with it.
        (from(1, 3), from(1, 5)),
        (from(1, 9), from(1, 5)),
        // Sent while it was under way.
        (from(2, 4), from(1, 5)),
        (from(4, 5), from(1, 5)),
        (from(4, 9), from(1, 5)),
        (from(4, 19), from(1, 5)),
        // All at once.
        (from(1, 1), from(1, 1)),
        (from(0, 4), from(1, 1)),
    ];
    let link = "http://arm.test/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o";
    let answers = [
        Reply::ok("{}"),
        Reply::json(202, "").with("azure-asyncoperation", link),
        // Applied or not: what drew a refusal is read afresh as well.
        Reply::error(412, "PreconditionFailed"),
        Reply::error(409, "Conflict"),
        Reply::error(500, "InternalError"),
        Reply::ok("").ending(Ending::Never),
    ];
    for (fetch, write) in cases {
        for said in &answers {
            for read in READS {
                check(fetch, write, said, read).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p4_a_fetch_in_flight_across_a_writes_answer_is_neither_joined_nor_kept() {
    let eras = Eras::default();
    let own = eras.clone();
    let slow = Duration::from_secs(6);
    let world = World::new(move |call| match call.method.as_str() {
        "GET" => own.show_after(call, slow),
        _ => {
            own.apply(call.at);
            Reply::ok("{}")
        }
    });
    let az = world.client("a");
    let vm = address(READS[0]);
    az.get(&address("NET/loadBalancers/l")).await;
    let before = az.begin("GET", &vm, "");
    world::seconds(1).await;
    let joined = az.begin("GET", &vm, "");
    world::pass(Duration::from_millis(1)).await;
    assert_eq!(world.arm.count("GET", "/a"), 1, "until the write they are one");
    az.put(&vm, "{}").await;
    let after = az.begin("GET", &vm, "");
    world::pass(Duration::from_millis(1)).await;
    assert_eq!(world.arm.count("GET", "/a"), 2, "not joined");
    assert_eq!(era(&before.await.unwrap()), 0);
    assert_eq!(era(&joined.await.unwrap()), 0, "who asked before the write waits for what it asked");
    // The first has landed: it is not kept, and the second is the one that is joined.
    let later = az.begin("GET", &vm, "");
    world::pass(Duration::from_millis(1)).await;
    let calls = world.arm.count("GET", "/a");
    assert_eq!(era(&later.await.unwrap()), 1);
    assert_eq!(era(&after.await.unwrap()), 1);
    assert!(calls <= 3, "{calls}");
}

#[tokio::test(start_paused = true)]
async fn p4_a_fetch_that_waits_for_its_turn_is_one_from_after_the_write() {
    // Held back by the unvouched lane, which lets in 32 of one peer at once.
    let eras = Eras::default();
    let own = eras.clone();
    let world = World::new(move |call| match call.method.as_str() {
        "GET" => own.show_after(call, Duration::from_secs(5)),
        _ => {
            own.apply(call.at);
            Reply::ok("{}")
        }
    });
    let az = world.client("a");
    az.get(&address("NET/loadBalancers/l")).await;
    let crowd: Vec<_> = (0..32)
        .map(|at| world.client("b").begin("GET", &address(&format!("NET/loadBalancers/l{at}")), ""))
        .collect();
    world::seconds(1).await;
    let vm = address(READS[0]);
    let waiting = world.client("b").begin("GET", &vm, "");
    world::seconds(1).await;
    assert_eq!(world.arm.count("GET", "/a"), 0);
    az.put(&vm, "{}").await;
    assert_eq!(era(&waiting.await.unwrap()), 1);
    assert_eq!(era(&world.client("b").get(&vm).await), 1);
    for one in crowd {
        one.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn p4_a_fetch_across_an_operations_end_is_neither_joined_nor_kept() {
    let eras = Eras::default();
    let own = eras.clone();
    let poll = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o?t=1&s=X%2fy";
    let world = World::new(move |call| {
        if call.path().contains("/operations/") {
            own.apply(call.at);
            return Reply::ok(r#"{"status":"Succeeded"}"#);
        }
        match call.method.as_str() {
            "GET" => own.show_after(call, Duration::from_secs(6)),
            _ => Reply::json(202, "").with("azure-asyncoperation", &format!("http://arm.test{poll}")),
        }
    });
    let az = world.client("a");
    let vm = address(READS[0]);
    az.get(&address("NET/loadBalancers/l")).await;
    az.delete(&vm).await;
    let before = az.begin("GET", &vm, "");
    world::seconds(1).await;
    az.get(poll).await;
    let after = az.begin("GET", &vm, "");
    world::pass(Duration::from_millis(1)).await;
    assert_eq!(world.arm.count("GET", "/a"), 2, "not joined");
    assert_eq!(era(&before.await.unwrap()), 0);
    assert_eq!(era(&after.await.unwrap()), 1);
    assert_eq!(era(&az.get(&vm).await), 1, "not kept in the place of the later one");
}

#[tokio::test(start_paused = true)]
async fn p4_a_slow_body_is_as_late_as_a_slow_head() {
    // The head of the fetch comes before the write, its body after.
    let eras = Eras::default();
    let own = eras.clone();
    let world = World::new(move |call| {
        if call.method == "GET" {
            let body = format!(r#"{{"era":{}}}"#, own.at(call.at));
            let stalls = call.path().ends_with("/a") && call.number == 1;
            let reply = Reply::ok(body);
            return if stalls { reply.ending(Ending::Stalled(3)) } else { reply };
        }
        own.apply(call.at);
        Reply::ok("{}")
    });
    let az = world.client("a");
    let vm = address(READS[0]);
    az.get(&address("NET/loadBalancers/l")).await;
    let stuck = az.begin("GET", &vm, "");
    world::seconds(1).await;
    az.put(&vm, "{}").await;
    let after = az.begin("GET", &vm, "").await.unwrap();
    assert_eq!(era(&after), 1, "nobody waits for a stuck fetch from before the write");
    assert_eq!(era(&az.get(&vm).await), 1);
    assert_eq!(stuck.await.unwrap().status, 502);
}
