//! P10: after ARM says 429 no call is sent to that budget until Retry-After has passed.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use crate::support::client::CCM;
use crate::support::resources::{GROUP, compute, show, vm};
use crate::support::tokens::token;
use crate::support::{Answer, Client, Reply, World, world};

const SET: &str = "virtualMachineScaleSets/s";
const OTHER: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/g";

/// Front door: what is used up is one principal's, for one kind of calls, in one subscription.
fn front_door(kind: &str) -> Reply {
    Reply::json(429, format!(
        r#"{{"error":{{"code":"SubscriptionRequestsThrottled","message":"Number of '{kind}' requests for subscription '1' actor 'a' exceeded. Please try again after '30' seconds after additional tokens are available."}}}}"#
    ))
    .with("retry-after", "30")
    .with("x-ms-failure-cause", "gateway")
}

/// Compute's: the policy is named in the details, and the object is in no `error`.
fn compute_policy(policy: &str) -> Reply {
    Reply::json(429, format!(
        r#"{{"code":"OperationNotAllowed","message":"The server rejected the request because too many requests have been received for this subscription.","details":[{{"code":"TooManyRequests","target":"{policy}","message":"{{\"operationGroup\":\"{policy}\",\"allowedRequestCount\":900,\"measuredRequestCount\":990}}"}}]}}"#
    ))
    .with("retry-after", "30")
    .with("x-ms-ratelimit-remaining-resource", &format!("Microsoft.Compute/{policy};0"))
}

fn network() -> Reply {
    Reply::json(429, r#"{"error":{"code":"TooManyRequests","message":"Too many requests.","details":[]}}"#)
        .with("retry-after", "30")
}

fn unknown() -> Reply {
    Reply::json(429, "").with("retry-after", "30")
}

fn lock() -> Reply {
    Reply::json(429, r#"{"error":{"code":"RetryableError","message":"busy","details":[{"code":"RetryableErrorDueToAnotherOperation","message":"Operation x is updating resource y. The call can be retried in 30 seconds."}]}}"#)
        .with("retry-after", "30")
}

/// A world whose ARM throttles whoever asks for what was armed, and the clients `one` and `two` it knows.
struct Told {
    world: World,
    one: Client,
    two: Client,
    armed: Arc<Mutex<Option<(String, Reply)>>>,
}

impl Told {
    async fn new() -> Self {
        let armed = Arc::new(Mutex::new(None::<(String, Reply)>));
        let script = armed.clone();
        let world = World::new(move |call| match &*script.lock().unwrap() {
            Some((target, reply)) if call.target == *target => reply.clone(),
            // The answers of this class carry the name of its policy.
            _ if call.method == "GET" && call.path().ends_with("/virtualMachineScaleSets") => show(call)
                .with(
                    "x-ms-ratelimit-remaining-resource",
                    "Microsoft.Compute/HighCostGetVMScaleSet30Min;899",
                ),
            _ => show(call),
        });
        let (one, two) = (world.client("one"), world.client("two"));
        for client in [&one, &two] {
            client.get(&vm("z")).await;
            client.get(&compute("virtualMachineScaleSets")).await;
            client
                .get(&format!("{OTHER}/providers/Microsoft.Compute/virtualMachineScaleSets?api-version=1"))
                .await;
        }
        Self { world, one, two, armed }
    }

    /// One call draws this, and only this one ever would.
    async fn draw(&self, method: &str, target: &str, reply: Reply) -> Answer {
        *self.armed.lock().unwrap() = Some((target.to_owned(), reply));
        let answer = send(&self.one, method, target).await;
        *self.armed.lock().unwrap() = None;
        assert_eq!(answer.status, 429);
        assert_ne!(answer.header("x-ms-failure-cause"), Some("armshield"), "it is ARM's own");
        answer
    }

    fn calls(&self) -> usize {
        self.world.arm.calls().len()
    }

    async fn is_held(&self, client: &Client, method: &str, target: &str) {
        let before = self.calls();
        let answer = send(client, method, target).await;
        assert_eq!(answer.status, 429, "{method} {target}");
        assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"), "{method} {target}");
        assert!(answer.header("retry-after").is_some());
        assert_eq!(self.calls(), before, "{method} {target} went to ARM");
    }

    async fn goes(&self, client: &Client, method: &str, target: &str) {
        let before = self.calls();
        let answer = send(client, method, target).await;
        assert!(answer.status < 300, "{method} {target}: {} {}", answer.status, answer.text());
        assert_eq!(self.calls(), before + 1, "{method} {target}");
    }
}

async fn send(client: &Client, method: &str, target: &str) -> Answer {
    let request = client.request(method, target).header("cache-control", "no-cache");
    client.send(request, if method == "GET" || method == "HEAD" { "" } else { "{}" }).await.unwrap()
}

fn poll() -> String {
    let subscription = GROUP.split("/resourceGroups").next().unwrap();
    format!("{subscription}/providers/Microsoft.Compute/locations/eastus/operations/1?p=x&s=y")
}

#[tokio::test(start_paused = true)]
async fn p10_after_a_429_of_the_front_door_nothing_of_its_kind_goes_in_that_subscription() {
    let told = Told::new().await;
    told.draw("GET", &vm("a"), front_door("read")).await;
    for seconds in [0, 10, 19] {
        world::seconds(seconds).await;
        for (method, target) in [
            ("GET", vm("a")),
            ("GET", vm("b")),
            ("GET", compute("virtualMachineScaleSets")),
            ("GET", compute("disks/d")),
            ("GET", format!("{GROUP}/providers/Microsoft.Network/loadBalancers/l?api-version=1")),
            ("GET", format!("{GROUP}?api-version=1")),
            ("GET", poll()),
            ("HEAD", vm("a")),
        ] {
            told.is_held(&told.one, method, &target).await;
            told.is_held(&told.one.with_agent(CCM), method, &target).await;
        }
        told.goes(&told.one, "PUT", &vm("w")).await;
        told.goes(&told.one, "DELETE", &vm("w")).await;
        told.goes(&told.two, "GET", &vm("b")).await;
        told.goes(&told.one, "GET", &format!("{OTHER}/providers/Microsoft.Compute/disks/d?api-version=1"))
            .await;
        told.goes(&told.one, "GET", "/subscriptions?api-version=1").await;
    }
    world::seconds(1).await;
    told.goes(&told.one, "GET", &vm("a")).await;
    told.goes(&told.one, "GET", &vm("b")).await;
}

#[tokio::test(start_paused = true)]
async fn p10_whatever_drew_it_the_kind_it_names_is_closed() {
    let reads = [("GET", vm("r")), ("GET", poll()), ("HEAD", compute("disks/d"))];
    let writes =
        [("PUT", vm("w")), ("PATCH", compute("disks/d")), ("POST", compute(&format!("{SET}/start")))];
    let deletes = [("DELETE", vm("w")), ("DELETE", format!("{GROUP}?api-version=1"))];
    let all = [("read", &reads[..]), ("write", &writes[..]), ("delete", &deletes[..])];
    for (named, _) in all {
        for drew in all.iter().find(|(kind, _)| *kind == named).unwrap().1 {
            let told = Told::new().await;
            told.draw(drew.0, &drew.1, front_door(named)).await;
            for (kind, calls) in all {
                for (method, target) in calls {
                    if kind == named {
                        told.is_held(&told.one, method, target).await;
                    } else {
                        told.goes(&told.one, method, target).await;
                    }
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p10_a_rotated_token_is_the_same_principal() {
    let told = Told::new().await;
    let rotated = told.one.with_token(token("one", 1));
    rotated.get(&vm("z1")).await;
    told.draw("GET", &vm("a"), front_door("read")).await;
    told.is_held(&rotated, "GET", &vm("b")).await;
    told.is_held(&told.one.with_token(token("one", 2)), "GET", &vm("b")).await;
}

#[tokio::test(start_paused = true)]
async fn p10_a_policy_of_compute_closes_what_it_counts_for_everybody() {
    let told = Told::new().await;
    told.draw("GET", &compute("virtualMachineScaleSets"), compute_policy("HighCostGetVMScaleSet30Min")).await;
    for client in [&told.one, &told.two] {
        told.is_held(client, "GET", &compute("virtualMachineScaleSets")).await;
        told.is_held(client, "GET", &compute("virtualMachineScaleSets").replace("/g/", "/h/")).await;
        for (method, target) in [
            ("GET", vm("a")),
            ("GET", compute(SET)),
            ("PUT", compute(SET)),
            ("GET", poll()),
            ("GET", format!("{OTHER}/providers/Microsoft.Compute/virtualMachineScaleSets?api-version=1")),
        ] {
            told.goes(client, method, &target).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p10_a_policy_of_one_resource_closes_that_resource() {
    let told = Told::new().await;
    told.draw("PUT", &compute(SET), compute_policy("UpdateVMScaleSetResourceMaximum")).await;
    for client in [&told.one, &told.two] {
        told.is_held(client, "PUT", &compute(SET)).await;
        told.goes(client, "PUT", &compute("virtualMachineScaleSets/s2")).await;
        told.goes(client, "GET", &compute(SET)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p10_a_429_that_names_nothing_closes_calls_like_the_one_that_drew_it() {
    let balancer =
        |name: &str| format!("{GROUP}/providers/Microsoft.Network/loadBalancers/{name}?api-version=1");
    for (method, target, alike, reply) in [
        ("GET", balancer("a"), balancer("b"), network()),
        ("PUT", balancer("a"), balancer("b"), network()),
        ("GET", vm("a"), vm("b"), unknown()),
        ("DELETE", vm("a"), vm("b"), unknown()),
        ("GET", poll(), poll().replace("operations/1", "operations/2"), unknown()),
        ("GET", compute("disks/a"), compute("disks/b"), unknown()),
    ] {
        let told = Told::new().await;
        told.draw(method, &target, reply).await;
        for client in [&told.one, &told.two] {
            told.is_held(client, method, &target).await;
            told.is_held(client, method, &alike).await;
            told.goes(client, "GET", &compute(SET)).await;
            told.goes(client, "PUT", &compute(SET)).await;
        }
        world::seconds(30).await;
        told.goes(&told.one, method, &alike).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p10_what_armshield_answers_has_arms_shape_and_counts_down() {
    let told = Told::new().await;
    let drawn = told.draw("GET", &vm("a"), front_door("read")).await;
    assert_eq!(drawn.header("retry-after"), Some("30"));
    for (passed, left) in
        [(0, "30"), (500, "30"), (500, "29"), (18_000, "11"), (9_001, "2"), (1_000, "1"), (998, "1")]
    {
        world::pass(Duration::from_millis(passed)).await;
        let answer = send(&told.one, "GET", &vm("a")).await;
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after"), Some(left));
        assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"));
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "SubscriptionRequestsThrottled");
        let message = error["message"].as_str().unwrap();
        for part in ["read budget", "11111111-1111-1111-1111-111111111111", &format!("'{left}' seconds")] {
            assert!(message.contains(part), "{message}");
        }
    }
    world::pass(Duration::from_millis(1)).await;
    told.goes(&told.one, "GET", &vm("a")).await;
}

#[tokio::test(start_paused = true)]
async fn p10_every_way_to_say_how_long_is_understood() {
    for (name, value, millis) in [
        ("retry-after", "7", 7_000),
        ("retry-after-ms", "2500", 2_500),
        ("x-ms-retry-after-ms", "1500", 1_500),
        ("retry-after", "Fri, 15 Jan 2027 08:00:05 GMT", 5_000),
        ("retry-after", "0", 1_000),
        ("retry-after", "soon", 1_000),
        ("x-nothing", "1", 1_000),
    ] {
        let told = Told::new().await;
        told.draw("GET", &compute("disks/a"), Reply::json(429, "").with(name, value)).await;
        world::pass(Duration::from_millis(millis - 1)).await;
        told.is_held(&told.one, "GET", &compute("disks/a")).await;
        world::pass(Duration::from_millis(1)).await;
        told.goes(&told.one, "GET", &compute("disks/a")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p10_silence_doubles_up_to_a_minute() {
    let told = Told::new().await;
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        told.draw("GET", &compute("disks/a"), Reply::json(429, "")).await;
        let held = send(&told.one, "GET", &compute("disks/a")).await;
        assert_eq!(held.header("retry-after"), Some(&*seconds.to_string()));
        world::seconds(seconds).await;
    }
    told.goes(&told.one, "GET", &compute("disks/a")).await;
    told.draw("GET", &compute("disks/a"), Reply::json(429, "")).await;
    let held = send(&told.one, "GET", &compute("disks/a")).await;
    assert_eq!(held.header("retry-after"), Some("1"), "one that was done forgets the rest");
}

#[tokio::test(start_paused = true)]
async fn p10_a_lock_is_passed_on_and_closes_nothing() {
    let told = Told::new().await;
    let target = format!("{GROUP}/providers/Microsoft.Network/loadBalancers/l?api-version=1");
    for method in ["PUT", "DELETE", "GET"] {
        let answer = told.draw(method, &target, lock()).await;
        assert_eq!(answer.header("retry-after"), Some("30"), "{method}");
        assert!(answer.text().contains("RetryableErrorDueToAnotherOperation"));
        told.goes(&told.one, method, &target).await;
        told.goes(&told.two, method, &target).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p10_a_write_that_is_held_is_not_sent_and_drops_nothing() {
    let told = Told::new().await;
    told.draw("PUT", &vm("w"), front_door("write")).await;
    told.one.get(&vm("a")).await;
    told.is_held(&told.one, "PUT", &vm("a")).await;
    told.is_held(&told.one, "POST", &compute(&format!("{SET}/delete"))).await;
    assert!(told.one.get(&vm("a")).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p10_hits_go_on_while_a_gate_is_closed() {
    let told = Told::new().await;
    told.one.get(&vm("a")).await;
    told.draw("GET", &vm("b"), front_door("read")).await;
    let before = told.calls();
    assert!(told.one.get(&vm("a")).await.is_hit());
    world::seconds(14).await;
    assert!(told.one.get(&vm("a")).await.is_hit());
    assert_eq!(told.calls(), before);
}

#[tokio::test(start_paused = true)]
async fn p10_a_budget_that_reopens_lets_one_call_through_first() {
    for (answer, others_at) in [
        // Answered: the others follow at once.
        (Some(300), 300),
        // Slow: they follow after two seconds.
        (Some(5_000), 2_000),
        // Lost: at once.
        (None, 0),
    ] {
        let told = Told::new().await;
        told.draw("GET", &vm("a"), front_door("read")).await;
        world::seconds(30).await;
        let before = told.calls();
        told.world.arm.answers(move |call| match (call.number == before, answer) {
            (true, Some(after)) => show(call).after(Duration::from_millis(after)),
            (true, None) => show(call).ending(crate::support::arm::Ending::Never),
            (false, _) => show(call),
        });
        let began = told.world.clock.now();
        // A write is of another budget; a POST that is lost is not sent twice.
        let names: Vec<String> = (0..10).map(|n| vm(&format!("n{n}"))).collect();
        let first = told.one.begin(if answer.is_some() { "GET" } else { "HEAD" }, &names[0], "");
        let others: Vec<_> = names[1..].iter().map(|name| told.one.begin("GET", name, "")).collect();
        for other in others {
            assert_eq!(other.await.unwrap().status, 200);
        }
        let _ = first.await.unwrap();
        let at: Vec<u128> =
            told.world.arm.calls()[before..].iter().map(|call| call.at.since(began).as_millis()).collect();
        assert_eq!(at[0], 0);
        assert!(at[1..].iter().all(|at| (others_at..=others_at + 2).contains(at)), "{answer:?}: {at:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn p10_a_first_call_that_is_throttled_again_closes_the_gate_for_those_who_wait() {
    let told = Told::new().await;
    told.draw("GET", &vm("a"), front_door("read")).await;
    world::seconds(30).await;
    let before = told.calls();
    told.world.arm.answers(|_| front_door("read").after(Duration::from_millis(100)));
    let all: Vec<_> = (0..10).map(|n| told.one.begin("GET", &vm(&format!("n{n}")), "")).collect();
    for one in all {
        assert_eq!(one.await.unwrap().status, 429);
    }
    assert_eq!(told.calls(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn p10_a_gate_longer_than_ten_minutes_is_probed_by_one_call_in_five() {
    let told = Told::new().await;
    let long = || Reply::json(429, "").with("retry-after", "1235");
    *told.armed.lock().unwrap() = Some((compute("disks/a"), long()));
    assert_eq!(send(&told.one, "GET", &compute("disks/a")).await.status, 429);
    let before = told.calls();
    for second in 1..900 {
        world::seconds(1).await;
        let _ = send(&told.one, "GET", &compute("disks/a")).await;
        let probes = told.calls() - before;
        assert!(probes <= second / 300, "{probes} after {second} s");
    }
    assert_eq!(told.calls() - before, 2);
    *told.armed.lock().unwrap() = None;
    world::seconds(300).await;
    told.goes(&told.one, "GET", &compute("disks/a")).await;
    told.goes(&told.one, "GET", &compute("disks/a")).await;
}

#[tokio::test(start_paused = true)]
async fn p10_who_was_in_flight_when_the_gate_closed_closes_it_no_shorter() {
    let told = Told::new().await;
    told.world.arm.answers(|call| match call.path() {
        path if path.ends_with("/long") => front_door("read").after(Duration::from_secs(1)),
        path if path.ends_with("/short") => Reply::error(429, "SubscriptionRequestsThrottled")
            .with("retry-after", "2")
            .after(Duration::from_secs(2)),
        path if path.ends_with("/done") => show(call).after(Duration::from_secs(3)),
        _ => show(call),
    });
    let asked: Vec<_> =
        ["long", "short", "done"].iter().map(|name| told.one.begin("GET", &vm(name), "")).collect();
    let mut statuses = Vec::new();
    for one in asked {
        statuses.push(one.await.unwrap().status);
    }
    assert_eq!(statuses, [429, 429, 200]);
    // Three seconds have passed; the gate closed at the first.
    told.is_held(&told.one, "GET", &vm("b")).await;
    world::seconds(27).await;
    told.is_held(&told.one, "GET", &vm("b")).await;
    world::seconds(1).await;
    told.goes(&told.one, "GET", &vm("b")).await;
}

#[tokio::test(start_paused = true)]
async fn p10_a_coded_or_cut_429_is_one_too() {
    use std::io::Write;
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    coder.write_all(&front_door("read").body).unwrap();
    let coded =
        Reply { body: coder.finish().unwrap().into(), ..front_door("read") }.with("content-encoding", "gzip");
    let cut = front_door("read").ending(crate::support::arm::Ending::Cut(5));
    for reply in [coded, cut] {
        let told = Told::new().await;
        *told.armed.lock().unwrap() = Some((vm("a"), reply));
        assert!(send(&told.one, "GET", &vm("a")).await.status >= 429);
        told.is_held(&told.one, "GET", &vm("a")).await;
        told.is_held(&told.one, "GET", &vm("b")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p10_other_modes_stop_as_well() {
    for mode in [armshield::policy::Mode::Shadow, armshield::policy::Mode::Pass] {
        let told = Told::new().await;
        told.world.mode(mode);
        told.draw("GET", &vm("a"), front_door("read")).await;
        told.is_held(&told.one, "GET", &vm("b")).await;
        told.is_held(&told.one, "GET", &poll()).await;
        told.goes(&told.one, "PUT", &vm("b")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p10_a_read_that_died_with_its_connection_is_not_sent_again_into_a_budget_used_up_meanwhile() {
    let told = Told::new().await;
    let before = told.calls();
    told.world.arm.answers(move |call| match call.path().rsplit('/').next() {
        Some("dies") if call.number <= before + 1 => {
            show(call).after(Duration::from_millis(500)).ending(crate::support::arm::Ending::Never)
        }
        Some("throttled") => front_door("read"),
        _ => show(call),
    });
    let dies = told.one.begin("GET", &vm("dies"), "");
    world::pass(Duration::from_millis(100)).await;
    assert_eq!(told.one.get(&vm("throttled")).await.status, 429);
    assert_eq!(dies.await.unwrap().status, 502);
    assert_eq!(told.calls(), before + 2);
    // Without a gate it is.
    world::seconds(30).await;
    told.world.arm.answers(move |call| match call.number - before {
        2 => show(call).ending(crate::support::arm::Ending::Never),
        _ => show(call),
    });
    assert_eq!(told.one.get(&vm("dies")).await.status, 200);
    assert_eq!(told.calls(), before + 4);
}
