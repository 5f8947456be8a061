//! P5: no answer is older than the smallest bound that applies.

use std::sync::Arc;
use std::time::Duration;

use armshield::policy::{Policy, Rule};

use crate::support::client::{AUTOSCALER, AZ, CCM};
use crate::support::eras::address;
use crate::support::shelf::{list, resource};
use crate::support::{Client, Reply, Simulated, World, simulated, world};

const VM: &str = "CMP/virtualMachines/a";
const VIEW: &str = "CMP/virtualMachines/a/instanceView";
const VMS: &str = "SUB/providers/Microsoft.Compute/virtualMachines";
const BALANCER: &str = "NET/loadBalancers/l";

fn fixed() -> World {
    World::new(|_| Reply::ok(r#"{"properties":{"provisioningState":"Succeeded"}}"#))
}

/// The same program with the same token on another node: a client of its own, of the same caller.
fn on_node(client: &Client, node: u8) -> Client {
    Client { peer: ([10, 0, 0, node], 40_000).into(), ..client.clone() }
}

async fn millis(millis: u64) {
    world::pass(Duration::from_millis(millis)).await;
}

/// What `Cache-Status` says to a hit, with `Age`.
async fn hit(client: &Client, read: &str, age: u64, ttl: u64, name: &str) {
    let answer = client.get(&address(read)).await;
    assert_eq!(answer.cache(), format!("armshield; hit; ttl={ttl}"), "{name}");
    assert_eq!(answer.header("age"), Some(age.to_string().as_str()), "{name}");
}

async fn miss(client: &Client, read: &str, name: &str) {
    let answer = client.get(&address(read)).await;
    assert_eq!(answer.cache(), "armshield; fwd=miss; stored", "{name}");
    assert_eq!(answer.header("age"), None, "{name}");
}

#[tokio::test(start_paused = true)]
async fn p5_a_client_is_answered_from_memory_up_to_the_smaller_of_rule_and_profile() {
    const DISK: &str = "disk.csi.azure.com/v1.34 (pod)";
    const FILE: &str = "file.csi.azure.com/v1.34";
    const KARPENTER: &str = "karpenter-aks/v1.6 azsdk-go-armcompute/v7.3.0 (go1.25.5; linux)";
    const CAPZ: &str = "cluster-api-provider-azure/v1.21 azsdk-go-armcompute/v5.7.0 (go1.24; linux)";
    const GO: &str = "azsdk-go-armcompute/v7.3.0 (go1.25.5; linux)";
    let cases = [
        (CCM, VM, 2),
        (CCM, VIEW, 2),
        (CCM, VMS, 2),
        (CCM, BALANCER, 5),
        (AUTOSCALER, VM, 5),
        (AUTOSCALER, VMS, 5),
        (AUTOSCALER, BALANCER, 30),
        (DISK, VM, 2),
        (DISK, BALANCER, 5),
        (FILE, VM, 2),
        (KARPENTER, VM, 2),
        (CAPZ, BALANCER, 5),
        (AZ, VM, 15),
        (AZ, BALANCER, 15),
        ("HashiCorp Terraform/1.9.0 (+https://www.terraform.io)", VMS, 15),
        ("azsdk-python-mgmt-compute/34.0.0 Python/3.12", VM, 15),
        ("azsdk-js-arm-compute/22.0.0", VM, 15),
        ("Prometheus/3.1.0", VM, 30),
        ("Prometheus/3.1.0", VIEW, 15),
        ("Prometheus/3.1.0", BALANCER, 30),
        (GO, VM, 2),
        (GO, BALANCER, 5),
        ("", VM, 2),
    ];
    for (agent, read, bound) in cases {
        let name = format!("{agent:?} {read}");
        let world = fixed();
        let client = world.client("a").with_agent(agent);
        miss(&on_node(&client, 1), read, &name).await;
        hit(&on_node(&client, 2), read, 0, bound, &name).await;
        world::pass(Duration::from_millis(bound * 1000 - 1001)).await;
        hit(&on_node(&client, 3), read, bound - 2, 1, &name).await;
        world::pass(Duration::from_millis(1001)).await;
        hit(&on_node(&client, 4), read, bound, 0, &name).await;
        millis(1).await;
        miss(&on_node(&client, 5), read, &name).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p5_who_keeps_a_cache_of_its_own_and_asks_again_wants_news() {
    let cases = [
        (CCM, VM, 2),
        (CCM, BALANCER, 2),
        (AUTOSCALER, VM, 2),
        (AUTOSCALER, BALANCER, 2),
        ("some-controller/v1", BALANCER, 2),
        (AZ, VM, 15),
        ("Prometheus/3.1.0", VM, 30),
    ];
    for (agent, read, bound) in cases {
        let name = format!("{agent} {read}");
        let world = fixed();
        let client = world.client("a").with_agent(agent);
        miss(&client, read, &name).await;
        hit(&client, read, 0, bound, &name).await;
        world::seconds(bound).await;
        hit(&client, read, bound, 0, &name).await;
        millis(1).await;
        miss(&client, read, &name).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p5_each_client_repeats_for_itself() {
    let world = fixed();
    let scaler = world.client("a").with_agent(AUTOSCALER);
    let [first, second] = [1, 2].map(|node| on_node(&scaler, node));
    miss(&first, BALANCER, "the first asks").await;
    world::seconds(10).await;
    hit(&second, BALANCER, 10, 20, "the second was never shown it").await;
    miss(&second, BALANCER, "and now it was").await;
    hit(&first, BALANCER, 0, 30, "what the second brought is new to the first").await;
    world::seconds(3).await;
    miss(&first, BALANCER, "now both were shown it").await;
}

#[tokio::test(start_paused = true)]
async fn p5_who_joined_a_fetch_was_shown_its_answer() {
    let world = World::new(|_| Reply::ok("{}").after(Duration::from_secs(1)));
    let scaler = world.client("a").with_agent(AUTOSCALER);
    let [first, second] = [1, 2].map(|node| on_node(&scaler, node));
    first.get(&address(VM)).await;
    let leader = first.begin("GET", &address(BALANCER), "");
    millis(1).await;
    let follower = second.begin("GET", &address(BALANCER), "").await.unwrap();
    assert_eq!(follower.cache(), "armshield; fwd=miss; collapsed");
    leader.await.unwrap();
    world::seconds(3).await;
    miss(&second, BALANCER, "asks for news").await;
}

#[tokio::test(start_paused = true)]
async fn p5_a_request_can_ask_for_less() {
    // Header, value, whether an answer three seconds old will do.
    let cases = [
        ("cache-control", "max-age=2", false),
        ("cache-control", "max-age=3", true),
        ("cache-control", "max-age=3600", true),
        ("cache-control", "max-age=0", false),
        ("cache-control", "max-age=nonsense", false),
        ("cache-control", "MAX-AGE=2", false),
        ("cache-control", "private, max-age=\"2\"", false),
        ("cache-control", "no-cache", false),
        ("cache-control", "No-Cache", false),
        ("cache-control", "max-stale=60", true),
        ("pragma", "no-cache", false),
        ("pragma", "No-Cache", false),
        ("pragma", "something", true),
        ("x-other", "no-cache-at-all", false),
    ];
    for (header, value, does) in cases {
        let world = fixed();
        let az = world.client("a");
        az.get(&address(VM)).await;
        world::seconds(3).await;
        let request = az.request("GET", &address(VM)).header(header, value);
        let answer = az.send(request, "").await.unwrap();
        assert_eq!(answer.is_hit(), does, "{header}: {value}: {}", answer.cache());
    }
}

#[tokio::test(start_paused = true)]
async fn p5_who_asks_for_no_cache_joins_nothing_that_was_sent() {
    for header in ["cache-control", "pragma"] {
        let world = World::new(|_| Reply::ok("{}").after(Duration::from_secs(5)));
        let az = world.client("a");
        az.get(&address(BALANCER)).await;
        let sent = az.begin("GET", &address(VM), "");
        millis(1).await;
        let request = az.request("GET", &address(VM)).header(header, "no-cache");
        let fresh = az.send(request, "").await.unwrap();
        sent.await.unwrap();
        assert_eq!(world.arm.count("GET", "/a"), 2, "{header}");
        assert!(fresh.cache().contains("fwd=miss"), "{}", fresh.cache());
        hit(&az, VM, 5, 10, "the later one stays").await;
    }
}

#[tokio::test(start_paused = true)]
async fn p5_no_store_on_either_side_keeps_nothing() {
    let world = fixed();
    let az = world.client("a");
    az.get(&address(BALANCER)).await;
    let request = az.request("GET", &address(VM)).header("cache-control", "no-store");
    let answer = az.send(request, "").await.unwrap();
    assert_eq!(answer.cache(), "armshield; fwd=miss; detail=no-store");
    miss(&az, VM, "nothing was kept").await;

    let world = World::new(|_| Reply::ok("{}").with("cache-control", "no-store"));
    let az = world.client("a");
    for _ in 0..3 {
        assert_eq!(az.get(&address(VM)).await.cache(), "armshield; fwd=miss; detail=no-store");
    }
}

#[tokio::test(start_paused = true)]
async fn p5_age_counts_from_when_the_question_was_sent() {
    let world = World::new(|call| {
        let slow = if call.path().ends_with("/a") { 10 } else { 0 };
        Reply::ok("{}").after(Duration::from_secs(slow))
    });
    let az = world.client("a");
    az.get(&address(BALANCER)).await;
    assert_eq!(az.get(&address(VM)).await.cache(), "armshield; fwd=miss; stored");
    hit(&az, VM, 10, 5, "ten seconds on its way").await;
    world::seconds(5).await;
    hit(&az, VM, 15, 0, "at the bound").await;
    millis(1).await;
    assert!(az.get(&address(VM)).await.cache().contains("fwd=miss"));
    // For who forgives two seconds it was never fresh enough.
    assert!(world.client("a").with_agent(CCM).get(&address(VM)).await.cache().contains("fwd=miss"));
}

#[tokio::test(start_paused = true)]
async fn p5_a_fetch_is_joined_only_while_it_is_young_enough_for_who_joins() {
    // User-Agent, header, seconds since the fetch was sent, whether it joins.
    let cases = [
        (CCM, "", 2, true),
        (CCM, "", 3, false),
        (AZ, "", 3, true),
        (AZ, "", 15, true),
        (AZ, "", 16, false),
        (AZ, "max-age=2", 2, true),
        (AZ, "max-age=2", 3, false),
        (AZ, "no-cache", 0, false),
    ];
    for (agent, header, age, joins) in cases {
        let world = World::new(|call| {
            let slow = if call.path().ends_with("/a") { 20 } else { 0 };
            Reply::ok("{}").after(Duration::from_secs(slow))
        });
        let az = world.client("a");
        az.get(&address(BALANCER)).await;
        let leader = az.begin("GET", &address(VM), "");
        world::seconds(age).await;
        millis(u64::from(age == 0)).await;
        let other = az.with_agent(agent);
        let request = other.request("GET", &address(VM));
        let request = if header.is_empty() { request } else { request.header("cache-control", header) };
        let answer = other.send(request, "").await.unwrap();
        let name = format!("{agent} {header} after {age} s");
        assert_eq!(answer.cache().ends_with("collapsed"), joins, "{name}: {}", answer.cache());
        assert_eq!(world.arm.count("GET", "/a"), if joins { 1 } else { 2 }, "{name}");
        leader.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn p5_an_earlier_answer_that_comes_late_does_not_take_the_place_of_a_later_one() {
    let mut slow = [0, 10, 1].into_iter();
    let world = World::new(move |_| Reply::ok("{}").after(Duration::from_secs(slow.next().unwrap_or(0))));
    let az = world.client("a");
    az.get(&address(BALANCER)).await;
    let early = az.begin("GET", &address(VM), "");
    world::seconds(5).await;
    let request = az.request("GET", &address(VM)).header("cache-control", "no-cache");
    az.send(request, "").await.unwrap();
    early.await.unwrap();
    hit(&az, VM, 5, 10, "sent at 5 s, looked at at 10 s").await;
}

#[tokio::test(start_paused = true)]
async fn p5_a_changed_policy_holds_at_once() {
    let world = fixed();
    let az = world.client("a");
    let change = |change: &dyn Fn(&mut Policy)| {
        let mut policy = Policy::clone(&world.proxy.rooms().policy.load());
        change(&mut policy);
        world.proxy.rooms().policy.store(Arc::new(policy));
    };
    let rule = |policy: &mut Policy, seconds| {
        let rule = policy.rules.iter_mut().find(|rule| &*rule.kind == "microsoft.compute/virtualmachines");
        rule.unwrap().max_age = Duration::from_secs(seconds);
    };
    miss(&az, VM, "at first").await;
    world::seconds(10).await;
    hit(&az, VM, 10, 5, "as built in").await;
    change(&|policy| rule(policy, 12));
    hit(&az, VM, 10, 2, "a smaller bound that it still keeps").await;
    change(&|policy| rule(policy, 5));
    miss(&az, VM, "a smaller bound").await;
    world::seconds(6).await;
    change(&|policy| rule(policy, 10));
    hit(&az, VM, 6, 4, "a larger bound brings it back").await;
    change(&|policy| policy.rules.retain(|rule| !rule.kind.starts_with("microsoft.compute")));
    assert!(az.get(&address(VM)).await.cache().contains("fwd=bypass"), "no rule, no memory");
    change(&|policy| {
        let (kind, max_age) = ("microsoft.compute/virtualmachines".into(), Duration::from_secs(30));
        policy.rules.push(Rule { kind, max_age, guard: true });
        let az = policy.profiles.iter_mut().find(|profile| &*profile.name == "az").unwrap();
        Arc::make_mut(az).age = Duration::from_secs(3);
    });
    miss(&az, VM, "a profile that forgives less").await;
}

#[tokio::test(start_paused = true)]
async fn p5_what_shows_a_change_under_way_lives_two_seconds() {
    let of = |vm: &str, state: &str| resource(vm, "", &format!(r#""provisioningState":"{state}""#));
    let state = |state: &str| of(VM, state);
    let view = |code: &str| format!(r#"{{"statuses":[{{"code":"ProvisioningState/{code}"}}]}}"#);
    let cases = [
        (VM, state("Updating"), 2),
        (VM, state("Creating"), 2),
        (VM, state("deleting"), 2),
        (VM, state("SomethingNew"), 2),
        (VM, state("Succeeded"), 15),
        (VM, state("failed"), 15),
        (VM, state("CANCELED"), 15),
        (VM, resource(VM, "", ""), 15),
        (
            VMS,
            list(&[
                state("Succeeded"),
                of("CMP/virtualMachines/b", "Updating"),
                of("CMP/virtualMachines/c", "Failed"),
            ]),
            2,
        ),
        (VMS, list(&[state("Succeeded"), of("CMP/virtualMachines/b", "Failed")]), 15),
        (VMS, list(&[]), 15),
        (VIEW, view("updating"), 2),
        (VIEW, view("succeeded"), 15),
    ];
    for (read, body, bound) in cases {
        let world = World::new(move |_| Reply::ok(body.clone()));
        let az = world.client("a");
        az.get(&address(read)).await;
        let body = az.get(&address(read)).await;
        hit(&az, read, 0, bound, body.text()).await;
        world::seconds(bound).await;
        hit(&az, read, bound, 0, body.text()).await;
        millis(1).await;
        miss(&az, read, body.text()).await;
    }
}

/// Whether an answer lives longer than two seconds, seen three seconds from now.
async fn is_settled(client: &Client, read: &str) -> bool {
    let request = client.request("GET", &address(read)).header("cache-control", "no-cache");
    client.send(request, "").await.unwrap();
    world::seconds(3).await;
    client.get(&address(read)).await.is_hit()
}

/// For how many seconds after a write's answer what depends on it lives two seconds at most, in steps of
/// three, up to `most`. `end`: when its operation's end is seen.
async fn unsettled(reply: Reply, read: &str, end: Option<u64>, most: u64) -> Vec<u64> {
    let poll = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o";
    let world = World::new(move |call| match call.method.as_str() {
        "GET" if call.path() == poll => Reply::ok(r#"{"status":"Succeeded"}"#),
        "GET" => Reply::ok("{}"),
        _ => reply.clone(),
    });
    let az = world.client("a");
    az.get(&address(read)).await;
    az.put(&address(VM), "{}").await;
    let mut seen = Vec::new();
    for at in (3..most).step_by(3) {
        if end == Some(at - 3) {
            az.get(poll).await;
        }
        if !is_settled(&az, read).await {
            seen.push(at);
        }
    }
    seen
}

fn steps(from: u64, to: u64) -> Vec<u64> {
    (3..10_000).step_by(3).filter(|at| (from..to).contains(at)).collect()
}

#[tokio::test(start_paused = true)]
async fn p5_after_a_write_its_scopes_settle_in_their_time() {
    let poll = "http://arm.test/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o";
    let began = || Reply::json(202, "").with("azure-asyncoperation", poll);
    let addresses = "NET/publicIPAddresses";
    let siblings = "CMP/virtualMachines/b";
    let lists = "CMP/virtualMachines";
    let lost = || Reply::ok("{}").ending(crate::support::arm::Ending::Never);
    let both = |one: Vec<u64>, two: Vec<u64>| [one, two].concat();
    // The write's answer, what is read, when the operation ends, when it is unsettled.
    let cases = [
        ("over", Reply::ok("{}"), VM, None, steps(0, 30)),
        ("over", Reply::ok("{}"), lists, None, steps(0, 30)),
        ("over", Reply::ok("{}"), addresses, None, steps(0, 30)),
        ("over", Reply::ok("{}"), siblings, None, steps(0, 30)),
        ("refused", Reply::error(412, "PreconditionFailed"), VM, None, vec![]),
        ("refused", Reply::error(404, "NotFound"), lists, None, vec![]),
        ("in conflict", Reply::error(409, "Conflict"), VM, None, steps(0, 120)),
        ("timed out", Reply::error(408, "Timeout"), VM, None, steps(0, 120)),
        ("failed", Reply::error(500, "Oh"), VM, None, steps(0, 120)),
        ("failed", Reply::error(500, "Oh"), addresses, None, steps(0, 30)),
        ("lost", lost(), VM, None, steps(0, 120)),
        ("lost", lost(), lists, None, steps(0, 120)),
        ("lost", lost(), siblings, None, steps(0, 30)),
        ("begun", began(), VM, Some(90), steps(0, 120)),
        ("begun", began(), lists, Some(90), steps(0, 120)),
        ("begun", began(), siblings, Some(90), both(steps(0, 30), steps(91, 120))),
        ("begun", began(), addresses, Some(90), both(steps(0, 30), steps(91, 120))),
        ("begun and never over", began(), VM, None, steps(0, 1800)),
        ("begun and never over", began(), addresses, None, steps(0, 30)),
    ];
    for (name, reply, read, end, expected) in cases {
        let most = if name.ends_with("never over") { 1900 } else { 180 };
        assert_eq!(unsettled(reply, read, end, most).await, expected, "{name}: {read}");
    }
}

#[tokio::test(start_paused = true)]
async fn p5_each_write_settles_for_itself() {
    let poll = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o";
    let world = World::new(move |call| match call.method.as_str() {
        "GET" if call.path() == poll => Reply::ok(r#"{"status":"Succeeded"}"#),
        "GET" => Reply::ok("{}"),
        "DELETE" => Reply::json(202, "").with("azure-asyncoperation", &format!("http://arm.test{poll}")),
        _ => Reply::ok("{}"),
    });
    let az = world.client("a");
    az.get(&address(VM)).await;
    az.delete(&address(VM)).await;
    az.put(&address(VM), "{}").await;
    world::seconds(60).await;
    assert!(!is_settled(&az, VM).await, "the PUT is over, the DELETE is not");
    az.get(poll).await;
    world::seconds(30).await;
    assert!(is_settled(&az, VM).await);
}

#[tokio::test(start_paused = true)]
async fn p5_a_change_behind_everybodys_back_shows_in_its_time_with_an_arm_as_it_is() {
    let world = Simulated::new();
    let set = world.sim.add_uniform("pool", 2);
    let vm = format!("{set}/virtualMachines/0{}", simulated::COMPUTE);
    for (agent, bound) in [(CCM, 2), (AUTOSCALER, 5), (AZ, 15)] {
        let reader = world.client("reader").with_agent(agent);
        reader.get(&vm).await;
        let mut n = 0;
        for step in 0..120 {
            if step % 7 == 0 {
                n += 1;
                let at = world.sim.elapsed().as_millis();
                world.sim.edit(&format!("{set}/virtualMachines/0"), |vm| {
                    vm["tags"] = serde_json::json!({"n": n, "at": at});
                });
            }
            let changed = world.sim.read(&format!("{set}/virtualMachines/0")).unwrap();
            let answer = on_node(&reader, step as u8).get(&vm).await;
            let age: u64 = answer.header("age").map_or(0, |age| age.parse().unwrap());
            assert!(age <= bound, "{agent}: {age}");
            let (shown, now) = (answer.json()["tags"]["n"].clone(), changed["tags"]["n"].clone());
            let since = world.sim.elapsed().as_millis() as u64 - changed["tags"]["at"].as_u64().unwrap();
            assert!(since <= bound * 1000 || shown == now, "{agent}: {since} ms after the change");
            millis(490).await;
        }
        world::seconds(60).await;
    }
}
