//! A cloud-controller-manager is not worse off with armshield than without: no VM list older than two seconds,
//! no older answer while ARM throttles, its own conditions as they are, and ARM's own 412 to them. What two
//! seconds can cost it, one sync, is told in `scenarios/service_beside_the_platform.rs`.

use std::time::Duration;

use armshield::policy::{Mode, Policy};
use armshield::simulator::{Fault, Match, Options, Throttled};
use http::Method;
use serde_json::{Value, json};

use crate::support::client::{AZ, CCM};
use crate::support::simulated::{COMPUTE, NETWORK};
use crate::support::{Answer, Client, Simulated, world};

fn in_mode(mode: Mode) -> Simulated {
    let policy = Policy::default().with_mode(mode, None).unwrap();
    Simulated::with(policy, |_| {}, Options::default())
}

fn items(answer: &Answer) -> Vec<Value> {
    answer.json()["value"].as_array().unwrap_or_else(|| panic!("{}", answer.text())).clone()
}

/// Polls what a write began to its end, as the SDK does.
async fn follow(client: &Client, begun: &Answer) {
    let link = begun.header("azure-asyncoperation").or(begun.header("location"));
    let Some(poll) = link.map(|link| link.replace("http://localhost:7788", "")) else { return };
    for _ in 0..30 {
        let status = client.get(&poll).await;
        assert!((200..300).contains(&status.status), "{}", status.text());
        if status.status != 202 && status.json()["status"] != "InProgress" {
            return;
        }
        world::seconds(5).await;
    }
    panic!("no end: {poll}");
}

/// A model as the CCM writes it: without what only ARM says.
fn model(shown: &Value) -> Value {
    let mut model = shown.clone();
    let fields = model.as_object_mut().unwrap();
    for name in ["etag", "id", "name", "type"] {
        fields.remove(name);
    }
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        for name in ["provisioningState", "timeCreated", "uniqueId", "vmId", "instanceView"] {
            properties.remove(name);
        }
    }
    model
}

/// What the CCM did, and what it was answered.
type Diary = Vec<(String, u16)>;

/// One service of type LoadBalancer after another, while the platform and others do what they do. `own`:
/// the CCM sends a condition of its own, the version it has from the list.
async fn reconcile(world: &Simulated, own: bool, gaps: &[u64]) -> Diary {
    let (ccm, mut diary) = (world.client("ccm").with_agent(CCM), Diary::new());
    let set = world.sim.add_uniform("pool", 2);
    let front = world.sim.add_public_ip("front");
    let balancer = world.sim.add_load_balancer("kubernetes", &[&front]);
    let compute = format!("{}/providers/Microsoft.Compute", world.sim.group());
    let (sets, target) = (format!("{compute}/virtualMachineScaleSets{COMPUTE}"), format!("{set}{COMPUTE}"));
    let members = format!("{set}/virtualMachines{COMPUTE}&$expand=instanceView");
    for (round, gap) in gaps.iter().enumerate() {
        // The caches of the CCM are filled.
        let listed = items(&ccm.get(&sets).await).remove(0);
        let vms = items(&ccm.get(&members).await);
        assert_eq!(vms.len(), 2);
        world::seconds(*gap).await;
        match round % 4 {
            // Something internal moves the version.
            1 => world.sim.touch(&set),
            // Another client reads, writes nothing.
            2 => drop(world.client("reader").with_agent(AZ).get(&target).await),
            _ => {}
        }
        // The network side.
        let address = ccm.get(&format!("{front}{NETWORK}")).await.json();
        let mut wanted = address.clone();
        wanted["tags"] = json!({"service": format!("default/{round}")});
        let put = ccm.put(&format!("{front}{NETWORK}"), &model(&wanted).to_string()).await;
        diary.push((format!("{round} address"), put.status));
        follow(&ccm, &put).await;
        let mut wanted = ccm.get(&format!("{balancer}{NETWORK}")).await.json();
        wanted["tags"] = json!({"round": round.to_string()});
        let request = ccm
            .request("PUT", &format!("{balancer}{NETWORK}"))
            .header("if-match", wanted["etag"].as_str().unwrap());
        let put = ccm.send(request, &model(&wanted).to_string()).await.unwrap();
        diary.push((format!("{round} balancer"), put.status));
        follow(&ccm, &put).await;
        // The set: read again just before the write, whose body comes from the list.
        let read = ccm.get(&target).await;
        assert_eq!(read.json()["etag"], world.sim.etag(&set).unwrap(), "round {round}");
        let mut wanted = model(&listed);
        wanted["tags"] = json!({"round": round.to_string()});
        let request = ccm.request("PUT", &target).header("content-type", "application/json");
        let request = match own {
            true => request.header("if-match", listed["etag"].as_str().unwrap()),
            false => request,
        };
        let put = ccm.send(request, &wanted.to_string()).await.unwrap();
        diary.push((format!("{round} set"), put.status));
        follow(&ccm, &put).await;
        // Its VMs, from the list as well.
        for vm in &vms {
            let id = vm["id"].as_str().unwrap();
            let mut wanted = model(vm);
            wanted["properties"]["protectionPolicy"] = json!({"protectFromScaleIn": round % 2 == 0});
            let put = ccm.put(&format!("{id}{COMPUTE}"), &wanted.to_string()).await;
            diary.push((format!("{round} {}", vm["name"]), put.status));
            follow(&ccm, &put).await;
        }
    }
    diary
}

#[tokio::test(start_paused = true)]
async fn ccm_gets_the_answers_it_would_have_had_for_list_get_put() {
    for own in [false, true] {
        for gaps in [&[0, 0, 0, 0, 0, 0][..], &[1, 5, 20, 60, 2, 100], &[40, 40, 40, 40]] {
            let without = reconcile(&in_mode(Mode::Pass), own, gaps).await;
            let with = reconcile(&in_mode(Mode::Active), own, gaps).await;
            for (without, with) in without.iter().zip(&with) {
                assert_eq!(with, without, "{own} {gaps:?}");
            }
            assert_eq!(with.len(), without.len());
            let refused = with.iter().any(|(_, status)| *status >= 300);
            assert_eq!(refused, own && gaps.len() > 1, "own conditions meet a version that moved");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ccm_sees_no_vm_list_older_than_two_seconds() {
    let world = Simulated::new();
    let set = world.sim.add_uniform("pool", 2);
    let (ccm, az) = (world.client("ccm").with_agent(CCM), world.client("ccm").with_agent(AZ));
    let all = format!("{}/providers/Microsoft.Compute/virtualMachines{COMPUTE}", world.sim.group());
    let members = format!("{set}/virtualMachines{COMPUTE}");
    let own: fn(&Value) -> Option<String> = |item| item["id"].as_str().map(str::to_lowercase);
    let mut made: Vec<(String, Duration)> = Vec::new();
    let mut hits = 0;
    for step in 0..200_u32 {
        if step % 13 == 5 {
            made.push((world.sim.add_vm(&format!("vm{step}")).to_lowercase(), world.sim.elapsed()));
        }
        if step % 40 == 17 {
            let (gone, _) = made.remove(0);
            world.sim.remove(&gone);
        }
        // Another client with the same token fills the cache and forgives more.
        if step % 3 == 0 {
            az.get(&all).await;
            az.get(&members).await;
        }
        let answer = ccm.get(&all).await;
        hits += u32::from(answer.is_hit());
        let age = answer.header("age").map_or(0, |age| age.parse::<u64>().unwrap());
        assert!(age <= 2, "{age}");
        let shown: Vec<_> = items(&answer).iter().filter_map(own).collect();
        for (id, at) in &made {
            let since = world.sim.elapsed() - *at;
            let missing = !shown.contains(id);
            assert!(
                !missing || since <= Duration::from_secs(2),
                "its node would be deleted: {id} after {since:?}"
            );
        }
        assert_eq!(items(&ccm.get(&members).await).len(), 2);
        world::pass(Duration::from_millis(700)).await;
    }
    assert!(hits > 20, "{hits}: or this shows nothing");
}

#[tokio::test(start_paused = true)]
async fn ccm_is_never_told_from_memory_that_something_is_not_there() {
    let world = Simulated::new();
    let ccm = world.client("ccm").with_agent(CCM);
    let vm = format!("{}/providers/Microsoft.Compute/virtualMachines/late{COMPUTE}", world.sim.group());
    assert_eq!(ccm.get(&vm).await.status, 404);
    world.sim.add_vm("late");
    assert_eq!(ccm.get(&vm).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn ccm_gets_no_older_answer_about_compute_while_arm_throttles() {
    let world = Simulated::new();
    let set = world.sim.add_uniform("pool", 2);
    let ccm = world.client("ccm").with_agent(CCM);
    let sets = format!("{}/providers/Microsoft.Compute/virtualMachineScaleSets{COMPUTE}", world.sim.group());
    let reads = [format!("{set}/virtualMachines{COMPUTE}"), sets, format!("{set}{COMPUTE}")];
    for read in &reads {
        assert_eq!(ccm.get(read).await.status, 200);
    }
    let fault = Fault::Throttle(Throttled::Subscription, Some(40));
    world.sim.fault_for(Match::when(|method, _| method == Method::GET), fault, Duration::from_secs(40));
    world::seconds(3).await;
    for second in 0..50 {
        for read in &reads {
            let answer = ccm.begin("GET", read, "");
            let answer = answer.await.unwrap();
            let age = answer.header("age").map_or(0, |age| age.parse::<u64>().unwrap());
            assert!(answer.status == 429 || age <= 2, "{second}: {} {}", answer.status, answer.cache());
            if answer.status == 429 {
                assert!(answer.header("retry-after").is_some());
            }
        }
        world::seconds(1).await;
    }
    for read in &reads {
        assert_eq!(ccm.get(read).await.status, 200, "and then it is served again");
    }
}

#[tokio::test(start_paused = true)]
async fn ccm_own_conditions_travel_unchanged_and_their_412_is_arms() {
    let world = Simulated::new();
    let set = world.sim.add_uniform("pool", 1);
    let target = format!("{set}{COMPUTE}");
    let ccm = world.client("ccm").with_agent(CCM);
    let read = ccm.get(&target).await.json();
    world.sim.touch(&set);
    let body = model(&read).to_string();
    let request = ccm.request("PUT", &target).header("if-match", read["etag"].as_str().unwrap());
    let refused = ccm.send(request, &body).await.unwrap();
    assert_eq!(refused.status, 412);
    assert!(refused.text().contains("does not match etag"), "{}", refused.text());
    // It drops its cache and reads again: afresh.
    let again = ccm.get(&target).await;
    assert_eq!(again.json()["etag"], world.sim.etag(&set).unwrap());
    let request = ccm.request("PUT", &target).header("if-match", again.json()["etag"].as_str().unwrap());
    assert_eq!(ccm.send(request, &body).await.unwrap().status, 200);
    let sent: Vec<_> =
        world.calls(Method::PUT, "/pool").iter().map(|call| call.if_match().map(str::to_owned)).collect();
    assert_eq!(sent, [Some("\"1\"".to_owned()), Some("\"2\"".to_owned())]);
}
