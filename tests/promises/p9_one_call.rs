//! P9: concurrent reads that ask the same with compatible bounds cost one upstream call, whoever leaves,
//! fails or is slow.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

use crate::support::arm::Ending;
use crate::support::client::{AUTOSCALER, CCM};
use crate::support::resources::{compute, forbidden, show, unauthorized, vm};
use crate::support::tokens::token;
use crate::support::{Answer, Call, Client, Reply, World, world};

const SLOW: Duration = Duration::from_secs(7);

/// A world whose ARM takes its time for VM `a`, and a client it has let in.
async fn slow(answer: impl Fn(&Call) -> Reply + Send + 'static) -> (World, Client) {
    let world = World::new(move |call| match call.path().ends_with("/a") && call.method == "GET" {
        true => answer(call),
        false => show(call),
    });
    let az = world.client("real");
    assert_eq!(az.get(&vm("z")).await.status, 200);
    (world, az)
}

fn late(call: &Call) -> Reply {
    show(call).after(SLOW)
}

fn calls(world: &World) -> usize {
    world.arm.count("GET", "/a")
}

fn ask(client: &Client, times: usize) -> Vec<JoinHandle<Answer>> {
    (0..times).map(|_| client.begin("GET", &vm("a"), "")).collect()
}

async fn all(asked: Vec<JoinHandle<Answer>>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap());
    }
    answers
}

/// How many answers say that they joined a call under way.
fn collapsed(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| answer.cache() == "armshield; fwd=miss; collapsed").count()
}

#[tokio::test(start_paused = true)]
async fn p9_two_hundred_who_ask_the_same_cost_one_call() {
    for vouched in [true, false] {
        let (world, az) = slow(late).await;
        let az = if vouched { az } else { az.with_token(token("other", 0)) };
        let answers = all(ask(&az, 200)).await;
        assert_eq!(calls(&world), 1);
        assert_eq!(collapsed(&answers), 199);
        for answer in &answers {
            assert_eq!((answer.status, &answer.body), (200, &answers[0].body));
            assert_eq!(answer.header("x-ms-request-id").is_some(), !answer.cache().contains("collapsed"));
            assert!(answer.header("age").is_none());
        }
        assert_eq!(az.get(&vm("a")).await.cache(), "armshield; hit; ttl=8", "seven of fifteen have passed");
    }
}

#[tokio::test(start_paused = true)]
async fn p9_the_same_is_the_same_however_it_is_written() {
    let (world, az) = slow(late).await;
    let id = vm("a");
    let target = id.split('?').next().unwrap();
    let asked = vec![
        az.begin("GET", &id, ""),
        az.begin("GET", &format!("{}?API-Version=2025-04-01", target.replace("virtualM", "VIRTUALM")), ""),
        az.with_token(token("real", 0)).begin("GET", &id, ""),
        az.with_agent(CCM).begin("GET", &id, ""),
    ];
    assert_eq!(collapsed(&all(asked).await), 3);
    assert_eq!(calls(&world), 1);
}

#[tokio::test(start_paused = true)]
async fn p9_what_is_not_the_same_is_not_merged() {
    let (world, az) = slow(late).await;
    az.with_token(token("other", 0)).get(&vm("z")).await;
    let asked = vec![
        az.begin("GET", &vm("a"), ""),
        az.begin("GET", &format!("{}&$expand=instanceView", vm("a")), ""),
        az.begin("GET", &vm("a").replace("2025", "2024"), ""),
        az.with_token(token("other", 0)).begin("GET", &vm("a"), ""),
        {
            let az = az.clone();
            tokio::spawn(async move {
                az.send(az.request("GET", &vm("a")).header("accept-language", "de"), "").await.unwrap()
            })
        },
    ];
    assert_eq!(collapsed(&all(asked).await), 0);
    assert_eq!(calls(&world), 5);
}

/// A client that can leave at any byte.
struct Raw(DuplexStream);

impl Raw {
    async fn asking(client: &Client, target: &str) -> Self {
        let mut io = client.world.dial(client.peer);
        let request = format!(
            "GET {target} HTTP/1.1\r\nhost: {}\r\nuser-agent: {}\r\nauthorization: Bearer {}\r\n\r\n",
            client.host, client.agent, client.token
        );
        io.write_all(request.as_bytes()).await.unwrap();
        Self(io)
    }

    async fn read(&mut self, bytes: usize) {
        let mut some = vec![0; bytes];
        self.0.read_exact(&mut some).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn p9_a_leader_that_leaves_takes_nobody_with_it() {
    for after in [0, 1, 6999, 7000] {
        let (world, az) = slow(late).await;
        let leader = Raw::asking(&az, &vm("a")).await;
        world::pass(Duration::from_millis(1)).await;
        assert_eq!(calls(&world), 1);
        let followers = ask(&az, 20);
        world::pass(Duration::from_millis(after)).await;
        drop(leader);
        let answers = all(followers).await;
        assert_eq!(collapsed(&answers), 20, "after {after} ms");
        assert!(answers.iter().all(|answer| answer.status == 200));
        assert_eq!(calls(&world), 1);
        assert!(az.get(&vm("a")).await.is_hit());
    }
}

#[tokio::test(start_paused = true)]
async fn p9_a_leader_that_leaves_in_the_middle_of_its_answer_takes_nobody_with_it() {
    let large = format!(r#"{{"value":[],"filler":"{}"}}"#, "x".repeat(1 << 20));
    let (world, az) = slow(move |_| Reply::ok(large.clone()).after(SLOW)).await;
    let mut leader = Raw::asking(&az, &vm("a")).await;
    world::seconds(1).await;
    let followers = ask(&az, 20);
    leader.read(100_000).await;
    drop(leader);
    for answer in all(followers).await {
        assert_eq!((answer.status, answer.body.len()), (200, (1 << 20) + 24));
    }
    assert_eq!(calls(&world), 1);
    assert!(az.get(&vm("a")).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p9_followers_that_leave_take_nobody_with_them() {
    let (world, az) = slow(late).await;
    let leader = az.begin("GET", &vm("a"), "");
    world::seconds(1).await;
    let mut leaving = Vec::new();
    for _ in 0..10 {
        leaving.push(Raw::asking(&az, &vm("a")).await);
    }
    let staying = ask(&az, 10);
    world::seconds(1).await;
    drop(leaving);
    assert_eq!(leader.await.unwrap().cache(), "armshield; fwd=miss; stored");
    assert_eq!(collapsed(&all(staying).await), 10);
    assert_eq!(calls(&world), 1);
}

#[tokio::test(start_paused = true)]
async fn p9_a_call_that_everybody_left_is_finished_and_answers_who_comes_later() {
    let (world, az) = slow(late).await;
    let mut leaving = Vec::new();
    for _ in 0..10 {
        leaving.push(Raw::asking(&az, &vm("a")).await);
    }
    world::seconds(1).await;
    drop(leaving);
    world::seconds(1).await;
    let joined = az.get(&vm("a")).await;
    assert_eq!(joined.cache(), "armshield; fwd=miss; collapsed");
    assert!(az.get(&vm("a")).await.is_hit());
    assert_eq!(calls(&world), 1);
}

/// ARM throttles reads for 10 s.
fn throttled() -> Reply {
    Reply::error(429, "SubscriptionRequestsThrottled")
        .with("retry-after", "10")
        .with("x-ms-failure-cause", "gateway")
}

/// A world where a call is trying a budget that has just reopened, so that others wait a while, unsent.
async fn reopening() -> (World, Client, JoinHandle<Answer>) {
    let world = World::new(|call| match call.path().rsplit('/').next().unwrap() {
        "draw" => throttled(),
        "first" => show(call).after(Duration::from_millis(1500)),
        "a" => show(call).after(Duration::from_secs(1)),
        _ => show(call),
    });
    let az = world.client("real");
    az.get(&vm("z")).await;
    assert_eq!(az.get(&vm("draw")).await.status, 429);
    world::seconds(10).await;
    let first = az.begin("GET", &vm("first"), "");
    world::pass(Duration::from_millis(100)).await;
    (world, az, first)
}

#[tokio::test(start_paused = true)]
async fn p9_a_leader_that_leaves_before_its_call_was_sent_takes_nobody_with_it() {
    let (world, az, first) = reopening().await;
    let leader = Raw::asking(&az, &vm("a")).await;
    world::pass(Duration::from_millis(100)).await;
    let followers = ask(&az, 5);
    world::pass(Duration::from_millis(100)).await;
    drop(leader);
    assert_eq!(calls(&world), 0);
    assert_eq!(collapsed(&all(followers).await), 5);
    assert_eq!(calls(&world), 1);
    first.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn p9_a_call_that_everybody_left_before_it_was_sent_is_never_sent() {
    let (world, az, first) = reopening().await;
    let leaving = [Raw::asking(&az, &vm("a")).await, Raw::asking(&az, &vm("a")).await];
    world::pass(Duration::from_millis(100)).await;
    drop(leaving);
    first.await.unwrap();
    world::seconds(5).await;
    assert_eq!(calls(&world), 0);
    assert_eq!(az.get(&vm("a")).await.cache(), "armshield; fwd=miss; stored", "the question is free");
}

#[tokio::test(start_paused = true)]
async fn p9_who_wants_no_cached_answer_joins_only_what_was_not_sent() {
    let fresh = |az: &Client| {
        let az = az.clone();
        let request = az.request("GET", &vm("a")).header("cache-control", "no-cache");
        tokio::spawn(async move { az.send(request, "").await.unwrap() })
    };
    let (world, az, _first) = reopening().await;
    let asked = vec![az.begin("GET", &vm("a"), ""), fresh(&az), fresh(&az)];
    assert_eq!(collapsed(&all(asked).await), 2);
    assert_eq!(calls(&world), 1);

    let (world, az) = slow(late).await;
    let mut asked = ask(&az, 1);
    world::seconds(1).await;
    asked.push(fresh(&az));
    assert_eq!(collapsed(&all(asked).await), 0);
    assert_eq!(calls(&world), 2);
}

#[tokio::test(start_paused = true)]
async fn p9_who_tolerates_no_age_shares_what_was_not_sent() {
    let (world, az, first) = reopening().await;
    let fresh = |n: usize| {
        let az = az.with_agent(if n.is_multiple_of(2) { CCM } else { AUTOSCALER });
        let request = az.request("GET", &vm("a")).header("cache-control", "max-age=0");
        tokio::spawn(async move { az.send(request, "").await.unwrap() })
    };
    let mut asked = ask(&az, 1);
    asked.extend((0..20).map(fresh));
    let answers = all(asked).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(calls(&world), 1);
    first.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn p9_bounds_decide_who_joins_a_call_under_way() {
    // Two profiles of 2 s, one of 5 s and one of 15 s, so long after the call was sent.
    for (agent, seconds, joins) in [
        (CCM, 1, true),
        (CCM, 3, false),
        ("unheard-of/1", 1, true),
        ("unheard-of/1", 3, false),
        (AUTOSCALER, 4, true),
        (AUTOSCALER, 6, false),
        (crate::support::client::AZ, 6, true),
    ] {
        let (world, az) = slow(late).await;
        let mut asked = ask(&az, 1);
        world::seconds(seconds).await;
        asked.push(az.with_agent(agent).begin("GET", &vm("a"), ""));
        assert_eq!(collapsed(&all(asked).await), usize::from(joins), "{agent} after {seconds} s");
        assert_eq!(calls(&world), if joins { 1 } else { 2 }, "{agent} after {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn p9_a_requests_own_bound_counts_too() {
    for (said, joins) in [("max-age=4", true), ("max-age=2", false), ("max-age=0", false)] {
        let (world, az) = slow(late).await;
        let mut asked = ask(&az, 1);
        world::seconds(3).await;
        let (own, request) = (az.clone(), az.request("GET", &vm("a")).header("cache-control", said));
        asked.push(tokio::spawn(async move { own.send(request, "").await.unwrap() }));
        assert_eq!(collapsed(&all(asked).await), usize::from(joins), "{said}");
        assert_eq!(calls(&world), if joins { 1 } else { 2 }, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn p9_who_comes_too_late_to_join_is_joined_by_those_after() {
    let (world, az) = slow(late).await;
    let ccm = az.with_agent(CCM);
    let mut asked = ask(&az, 1);
    world::seconds(3).await;
    asked.extend(ask(&ccm, 10));
    world::seconds(1).await;
    asked.extend(ask(&ccm, 10));
    asked.extend(ask(&az, 10));
    let answers = all(asked).await;
    assert_eq!(calls(&world), 2);
    assert_eq!(collapsed(&answers), 29);
}

#[tokio::test(start_paused = true)]
async fn p9_nobody_joins_across_a_write() {
    for (method, target) in
        [("PUT", vm("a")), ("DELETE", vm("b")), ("POST", compute("virtualMachineScaleSets/s/start"))]
    {
        let (world, az) = slow(late).await;
        let mut asked = ask(&az, 1);
        world::seconds(1).await;
        az.write(method, &target, "{}").await;
        asked.extend(ask(&az, 5));
        assert_eq!(collapsed(&all(asked).await), 4, "{method} {target}");
        assert_eq!(calls(&world), 2, "{method} {target}");
    }
}

#[tokio::test(start_paused = true)]
async fn p9_a_failing_call_is_shared_as_it_is() {
    let gone = Reply::json(200, r#"{"id":"#);
    for (status, reply) in [
        (500, Reply::error(500, "InternalServerError")),
        (503, Reply::error(503, "ServerTimeout").with("retry-after", "10")),
        (404, Reply::not_found()),
        (409, Reply::error(409, "Conflict")),
        (429, throttled()),
        (200, gone.clone()),
        (502, gone.ending(Ending::Cut(3))),
    ] {
        let seen = reply.clone();
        let (world, az) = slow(move |_| reply.clone().after(SLOW)).await;
        let answers = all(ask(&az, 20)).await;
        assert_eq!(calls(&world), 1, "{status}");
        for answer in &answers {
            assert_eq!(answer.status, status);
            assert_eq!(answer.body, answers[0].body, "{status}");
            // Who is told to wait is told how long.
            let wait = seen.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| &**value);
            assert_eq!(answer.header("retry-after"), wait, "{status} {}", answer.cache());
        }
        let failed_here = status == 502;
        assert_eq!(collapsed(&answers), if failed_here { 0 } else { 19 }, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn p9_a_call_that_arm_never_answers_is_shared_too() {
    let (world, az) = slow(|call| show(call).ending(Ending::Never).after(SLOW)).await;
    let answers = all(ask(&az, 20)).await;
    assert!(answers.iter().all(|answer| answer.status == 502));
    assert_eq!(calls(&world), 2, "a GET that died with its connection is tried once more, for all of them");
}

#[tokio::test(start_paused = true)]
async fn p9_a_refusal_is_shared_only_with_the_very_token_that_drew_it() {
    for status in [401, 403] {
        let refused = token("real", 0);
        let (world, one) = slow(move |call| {
            let reply = match (call.token() == refused, status) {
                (true, 401) => unauthorized(),
                (true, _) => forbidden(),
                (false, _) => show(call),
            };
            reply.after(Duration::from_secs(1))
        })
        .await;
        let two = one.with_token(token("real", 1));
        two.get(&vm("z2")).await;
        let mut asked = ask(&one, 10);
        world::pass(Duration::from_millis(10)).await;
        asked.extend(ask(&two, 10));
        let answers = all(asked).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [[status; 10], [200; 10]].concat());
        assert_eq!(calls(&world), 2, "one call for each token");
    }
}

#[tokio::test(start_paused = true)]
async fn p9_a_call_whose_answer_is_too_large_serves_the_first_and_the_others_ask_for_themselves() {
    let body = format!(r#"{{"value":[],"filler":"{}"}}"#, "x".repeat(200_000));
    let large = body.clone();
    let world = World::with(
        armshield::policy::Policy::default(),
        |settings| settings.cache.entry_max = 100_000,
        move |call| match call.path().ends_with("/a") {
            true => Reply::ok(large.clone()).after(Duration::from_secs(1)),
            false => show(call),
        },
    );
    let az = world.client("real");
    az.get(&vm("z")).await;
    let answers = all(ask(&az, 5)).await;
    for answer in &answers {
        assert_eq!((answer.status, answer.text()), (200, &*body));
    }
    assert_eq!(calls(&world), 5);
    assert_eq!(collapsed(&answers), 0);
}

#[tokio::test(start_paused = true)]
async fn p9_followers_are_answered_at_once_and_a_slow_reader_holds_nobody_up() {
    let large = format!(r#"{{"value":[],"filler":"{}"}}"#, "x".repeat(1 << 20));
    let (world, az) = slow(move |_| Reply::ok(large.clone()).after(SLOW)).await;
    let began = world.clock.now();
    // Reads nothing of what it is sent.
    let _leader = Raw::asking(&az, &vm("a")).await;
    world::pass(Duration::from_millis(1)).await;
    for answer in all(ask(&az, 50)).await {
        let took = answer.at.since(began);
        assert!(took < SLOW + Duration::from_millis(50), "{took:?}");
    }
    assert_eq!(calls(&world), 1);
}

#[tokio::test(start_paused = true)]
async fn p9_a_list_asked_for_by_many_costs_one_call() {
    let world = World::new(|call| show(call).after(Duration::from_secs(2)));
    let az = world.client("real");
    az.get(&vm("z")).await;
    let list = compute("virtualMachineScaleSets/s/virtualMachines");
    let asked: Vec<_> = (0..50).map(|_| az.begin("GET", &list, "")).collect();
    assert_eq!(collapsed(&all(asked).await), 49);
    assert_eq!(world.arm.count("GET", "/virtualMachines"), 1);
}
