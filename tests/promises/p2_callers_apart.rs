//! P2: no cached byte reaches a caller that ARM has not itself let in, and who is not let in harms nobody.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::observe::{Format, Log};
use armshield::policy::Policy;
use http::request::Builder;
use serde_json::{Value, json};

use crate::support::resources::{GROUP, compute, forbidden, show, unauthorized, vm};
use crate::support::tokens::{EPOCH, claims, sealed, token};
use crate::support::written::Written;
use crate::support::{Answer, Call, Client, Reply, World, world};

/// An ARM that lets in whatever is signed and has not expired, in a world where `real` has read VM `a`.
async fn warm() -> (World, Client) {
    let world = World::new(|call| if is_good(call) { show(call) } else { unauthorized() });
    let real = world.client("real");
    real.get(&vm("a")).await;
    assert!(real.get(&vm("a")).await.is_hit());
    (world, real)
}

/// How the scripted ARM judges: by the signature, and by a word in it.
fn is_good(call: &Call) -> bool {
    let presented = call.header("authorization").unwrap_or("");
    presented.ends_with(".signature") || presented.ends_with("-good")
}

/// The same claims with a signature ARM does not accept.
fn forged(token: &str) -> String {
    format!("{}.forgery", token.rsplit_once('.').unwrap().0)
}

/// A signed token with these claims changed; `null` takes one away.
fn changed(principal: &str, changes: Value) -> String {
    let mut claims = claims(principal, 0);
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    sealed(&claims)
}

fn bearer(token: &str) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {token}"))]
}

fn presenting(client: &Client, method: &str, target: &str, fields: &[(&str, String)]) -> Builder {
    let request = client.with_token("").request(method, target);
    fields.iter().fold(request, |request, (name, value)| request.header(*name, value))
}

async fn read(client: &Client, target: &str, fields: &[(&str, String)]) -> Answer {
    client.send(presenting(client, "GET", target, fields), "").await.unwrap()
}

/// The fields that ARM was shown by the call whose answer this is.
fn answered_to(world: &World, answer: &Answer) -> Vec<(&'static str, String)> {
    let number = answer.json()["answer"].as_u64().unwrap() as usize;
    let call = &world.arm.calls()[number];
    ["authorization", "x-ms-authorization-auxiliary"]
        .into_iter()
        .filter_map(|name| Some((name, call.header(name)?.to_owned())))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn p2_whoever_arm_refuses_never_gets_a_hit() {
    let real = token("real", 0);
    let payload = real.split('.').nth(1).unwrap().to_owned();
    let later = sealed(&json!({"oid": "oid-real", "exp": EPOCH + 9999}));
    let cases: [(&str, Vec<(&str, String)>); 9] = [
        ("a forged signature", bearer(&forged(&real))),
        (
            "a later end under the old signature",
            bearer(&forged(&changed("real", json!({"exp": EPOCH + 9999})))),
        ),
        ("no signature", bearer(&format!("x.{payload}."))),
        ("claims of one's own making", bearer(&forged(&later))),
        ("the digest's own text", bearer("oid-real")),
        ("no token", vec![]),
        ("another scheme", vec![("authorization", format!("Basic {real}x"))]),
        ("a token with a tail", bearer(&format!("{real}x"))),
        ("an auxiliary token beside a forged one", {
            let mut fields = bearer(&forged(&real));
            fields.push(("x-ms-authorization-auxiliary", format!("Bearer {real}")));
            fields
        }),
    ];
    let (world, owner) = warm().await;
    for (name, fields) in cases {
        for _ in 0..2 {
            let before = world.arm.calls().len();
            let answer = read(&owner, &vm("a"), &fields).await;
            assert_eq!(answer.status, 401, "{name}");
            assert_eq!(world.arm.calls().len(), before + 1, "{name}");
            assert!(!answer.text().contains("vmId"), "{name}");
        }
        assert!(owner.get(&vm("a")).await.is_hit(), "{name} took the real caller's entry");
    }
}

#[tokio::test(start_paused = true)]
async fn p2_whoever_is_another_in_arms_eyes_gets_answers_of_its_own() {
    let auxiliary = |with: &str| {
        let mut fields = bearer(&token("real", 0));
        fields.push(("x-ms-authorization-auxiliary", format!("Bearer {}", token(with, 0))));
        fields
    };
    let cases = [
        ("another principal", bearer(&token("other", 0))),
        ("the same through another application", bearer(&changed("real", json!({"appid": "az"})))),
        (
            "a delegated token",
            bearer(&changed("real", json!({"idtyp": "user", "scp": "user_impersonation"}))),
        ),
        ("more groups", bearer(&changed("real", json!({"groups": ["g"]})))),
        ("another tenant", bearer(&changed("real", json!({"tid": "u"})))),
        (
            "another audience",
            bearer(&changed("real", json!({"aud": "https://management.core.windows.net/"}))),
        ),
        ("a claim nobody thought of", bearer(&changed("real", json!({"xms_new": 1})))),
        ("a claim less", bearer(&changed("real", json!({"ver": null})))),
        ("no JWT", bearer("opaque-good")),
        ("another scheme", vec![("authorization", "SharedKey opaque-good".to_owned())]),
        ("an auxiliary token", auxiliary("second")),
        ("another auxiliary token", auxiliary("third")),
    ];
    let (world, owner) = warm().await;
    for (name, fields) in &cases {
        let before = world.arm.calls().len();
        let first = read(&owner, &vm("a"), fields).await;
        assert!(!first.is_hit() && first.status == 200, "{name}: {}", first.cache());
        assert_eq!(answered_to(&world, &first), *fields, "{name}");
        let second = read(&owner, &vm("a"), fields).await;
        assert!(second.is_hit(), "{name}: {}", second.cache());
        assert_eq!(answered_to(&world, &second), *fields, "{name}");
        assert_eq!(world.arm.calls().len(), before + 1, "{name}");
    }
    // Vouched for all of them by now, each still has its own.
    for (name, fields) in &cases {
        let again = read(&owner, &vm("a"), fields).await;
        assert!(again.is_hit(), "{name}");
        assert_eq!(answered_to(&world, &again), *fields, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn p2_a_rotated_token_finds_the_cache_warm_once_arm_has_let_it_in() {
    let (world, real) = warm().await;
    for n in 1..4 {
        let rotated = real.with_token(token("real", n));
        // Its first call, whatever it is about, goes to ARM.
        assert!(!rotated.get(&vm("b")).await.is_hit());
        let before = world.arm.calls().len();
        let answer = rotated.get(&vm("a")).await;
        assert!(answer.is_hit(), "{}", answer.cache());
        assert_eq!(world.arm.calls().len(), before);
    }
}

#[tokio::test(start_paused = true)]
async fn p2_two_authorizations_are_nobodys() {
    let (world, real) = warm().await;
    let before = world.arm.calls().len();
    let two = real.request("GET", &vm("a")).header("authorization", format!("Bearer {}", token("other", 0)));
    let answer = real.send(two, "").await.unwrap();
    assert_eq!(answer.status, 400);
    assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"));
    let twice = real.request("GET", &vm("a")).header("authorization", format!("Bearer {}", real.token));
    assert_eq!(real.send(twice, "").await.unwrap().status, 400);
    assert_eq!(world.arm.calls().len(), before);
}

#[tokio::test(start_paused = true)]
async fn p2_an_expired_token_gets_no_hit_though_it_had_one_before() {
    let (_world, real) = warm().await;
    let short = real.with_token(changed("real", json!({"exp": EPOCH + 100})));
    let fresh = |client: &Client| {
        let client = client.clone();
        async move { client.get(&vm("a")).await.is_hit() }
    };
    assert!(!fresh(&short).await);
    world::seconds(90).await;
    real.get(&vm("a")).await;
    assert!(fresh(&short).await, "it has ten seconds left");
    world::seconds(10).await;
    assert!(fresh(&real).await);
    assert!(!fresh(&short).await);
    assert!(!fresh(&short).await, "ARM still lets it in, and armshield does not vouch for what has expired");
}

#[tokio::test(start_paused = true)]
async fn p2_a_voucher_lapses_ten_minutes_after_arm_last_let_the_token_in_and_that_costs_one_call() {
    let (world, real) = warm().await;
    let rotated = real.with_token(token("real", 1));
    rotated.get(&vm("b")).await;
    let other = real.with_token(token("real", 2));
    // `other` keeps the entry fresh; the two tokens are only read with, from memory.
    for _ in 0..59 {
        world::seconds(10).await;
        other.send(other.request("GET", &vm("a")).header("cache-control", "no-cache"), "").await.unwrap();
        assert!(rotated.get(&vm("a")).await.is_hit(), "at {:?}", world.clock.now());
    }
    world::seconds(10).await;
    other.send(other.request("GET", &vm("a")).header("cache-control", "no-cache"), "").await.unwrap();
    let before = world.arm.calls().len();
    assert!(!rotated.get(&vm("a")).await.is_hit(), "the voucher has lapsed");
    assert!(rotated.get(&vm("a")).await.is_hit(), "one call renews it");
    assert!(other.get(&vm("a")).await.is_hit(), "and evicts nothing");
    assert_eq!(world.arm.calls().len(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn p2_a_voucher_lasts_while_a_gate_keeps_its_token_from_renewing_it_and_no_longer_than_the_token() {
    let written = Written::default();
    let log = Log::to(written.clone(), Format::Text).unwrap();
    let world = World::logging(log, |call| match call.path().ends_with("/a") {
        true => Reply::error(429, "SubscriptionRequestsThrottled").with("retry-after", "1500"),
        false => show(call),
    });
    let real = world.client("real");
    let short = real.with_token(changed("real", json!({"exp": EPOCH + 900})));
    let idle = real.with_token(token("real", 1));
    for client in [&real, &short, &idle] {
        client.get(&vm("z")).await;
    }
    let mut lines = 3;
    let mut standing = async |client: &Client, name: &str| {
        assert_eq!(client.get(&vm(name)).await.status, 429);
        lines += 1;
        let text = written.lines(lines);
        let line = text.lines().last().unwrap();
        line.split(' ').find_map(|field| field.strip_prefix("standing=")).unwrap().to_owned()
    };
    assert_eq!(standing(&real, "a").await, "vouched");
    assert_eq!(standing(&short, "b").await, "vouched");
    world::seconds(899).await;
    // A gate this long is probed: by somebody for whom it makes no difference.
    world.arm.answers(|_| Reply::error(429, "SubscriptionRequestsThrottled").with("retry-after", "1500"));
    assert_eq!(standing(&real, "c").await, "vouched");
    assert_eq!(standing(&short, "d").await, "vouched");
    assert_eq!(standing(&idle, "e").await, "unvouched", "no gate kept this one from anything");
    world::seconds(1).await;
    assert_eq!(standing(&short, "f").await, "unvouched", "it has expired");
    assert_eq!(standing(&real, "g").await, "vouched");
}

#[tokio::test(start_paused = true)]
async fn p2_a_401_ends_the_voucher_of_that_token_alone() {
    let refused = Arc::new(Mutex::new(HashSet::<String>::new()));
    let judge = refused.clone();
    let world =
        World::new(
            move |call| {
                if judge.lock().unwrap().contains(call.token()) { unauthorized() } else { show(call) }
            },
        );
    let one = world.client("real");
    let two = one.with_token(token("real", 1));
    for client in [&one, &two] {
        client.get(&vm("a")).await;
        assert!(client.get(&vm("a")).await.is_hit());
    }
    refused.lock().unwrap().insert(one.token.clone());
    // Until ARM says so, nobody knows.
    assert!(one.get(&vm("a")).await.is_hit());
    for (method, target) in [("GET", vm("new")), ("PUT", vm("elsewhere")), ("GET", compute("disks/d"))] {
        refused.lock().unwrap().remove(&one.token);
        one.get(&vm("c")).await;
        one.get(&vm("a")).await;
        refused.lock().unwrap().insert(one.token.clone());
        assert_eq!(one.write(method, &target, "").await.status, 401, "{method} {target}");
        assert!(two.get(&vm("a")).await.is_hit() || method == "PUT", "{method} {target}");
        assert_eq!(one.get(&vm("a")).await.status, 401, "{method} {target}");
    }
}

/// What a caller holds, and what ARM refuses to it from now on.
const SET: &str = "virtualMachineScaleSets/s";

#[tokio::test(start_paused = true)]
async fn p2_a_403_takes_away_what_its_caller_has_at_and_below_the_path() {
    let check = async |method: &'static str, at: &str, falls: &[&str], stays: &[&str]| {
        let refuses = Arc::new(Mutex::new(None::<(String, String)>));
        let judge = refuses.clone();
        let world = World::new(move |call| match &*judge.lock().unwrap() {
            Some((token, target)) if call.token() == token && call.target == *target => forbidden(),
            _ => show(call),
        });
        let one = world.client("one");
        let rotated = one.with_token(token("one", 1));
        let two = world.client("two");
        let all: Vec<String> = falls.iter().chain(stays).map(|tail| compute(tail)).collect();
        for client in [&one, &rotated, &two] {
            for target in &all {
                client.get(target).await;
                assert!(client.get(target).await.is_hit(), "{target}");
            }
        }
        *refuses.lock().unwrap() = Some((one.token.clone(), compute(at)));
        let request = one.request(method, &compute(at)).header("cache-control", "no-cache");
        assert_eq!(one.send(request, "").await.unwrap().status, 403);
        *refuses.lock().unwrap() = None;
        for tail in falls {
            // Whichever token of the caller asks.
            assert!(!rotated.get(&compute(tail)).await.is_hit(), "{method} {at}: {tail}");
            assert!(two.get(&compute(tail)).await.is_hit(), "{method} {at}: {tail}, of another caller");
            assert!(one.get(&compute(tail)).await.is_hit(), "{method} {at}: {tail}, once let in again");
        }
        for tail in stays {
            assert!(one.get(&compute(tail)).await.is_hit(), "{method} {at}: {tail}");
        }
    };
    let instances = format!("{SET}/virtualMachines");
    let instance = format!("{SET}/virtualMachines/0");
    let view = format!("{SET}/instanceView");
    check(
        "GET",
        SET,
        &[SET, &instances, &instance, &view],
        &["virtualMachineScaleSets", "virtualMachineScaleSets/s2", "virtualMachines/s"],
    )
    .await;
    check("GET", &instances, &[&instances, &instance], &[SET, &view]).await;
    check("HEAD", &instance, &[&instance], &[SET, &instances]).await;
}

#[tokio::test(start_paused = true)]
async fn p2_a_403_also_takes_away_what_is_on_its_way() {
    let world = World::new(move |call| match call.header("cache-control") {
        Some(_) => forbidden(),
        None => show(call).after(Duration::from_secs(3)),
    });
    let one = world.client("one");
    one.get(&vm("other")).await;
    let before = world.arm.calls().len();
    let under_way = one.begin("GET", &vm("a"), "");
    world::seconds(1).await;
    let refused = one.request("GET", &vm("a")).header("cache-control", "no-cache");
    assert_eq!(one.send(refused, "").await.unwrap().status, 403);
    let after = one.get(&vm("a")).await;
    assert!(!after.cache().contains("collapsed") && !after.is_hit(), "{}", after.cache());
    assert_eq!(under_way.await.unwrap().status, 200, "it was let in before");
    assert_eq!(world.arm.calls().len(), before + 3);
    assert_eq!(after.json()["answer"], before + 2, "the later answer");
}

#[tokio::test(start_paused = true)]
async fn p2_nobody_joins_what_was_sent_before_a_403_above_it() {
    let world = World::new(move |call| match call.header("cache-control") {
        Some(_) => forbidden(),
        None => show(call).after(Duration::from_secs(3)),
    });
    let one = world.client("one");
    one.get(&vm("other")).await;
    let view = compute(&format!("{SET}/instanceView"));
    let under_way = one.begin("GET", &view, "");
    world::seconds(1).await;
    let refused = one.request("GET", &compute(SET)).header("cache-control", "no-cache");
    assert_eq!(one.send(refused, "").await.unwrap().status, 403);
    let after = one.get(&view).await;
    assert_eq!(after.cache(), "armshield; fwd=miss; stored");
    under_way.await.unwrap();
    assert_eq!(world.arm.count("GET", "/instanceView"), 2);
}

#[tokio::test(start_paused = true)]
async fn p2_a_fill_from_before_a_403_is_no_answer_after_it() {
    let world = World::new(move |call| match call.header("cache-control") {
        Some(_) => forbidden(),
        None if call.number == 1 => show(call).after(Duration::from_secs(3)),
        None => show(call),
    });
    let one = world.client("one");
    one.get(&vm("other")).await;
    let under_way = one.begin("GET", &vm("a"), "");
    world::seconds(1).await;
    let refused = one.request("GET", &vm("a")).header("cache-control", "no-cache");
    assert_eq!(one.send(refused, "").await.unwrap().status, 403);
    assert_eq!(under_way.await.unwrap().status, 200);
    assert!(!one.get(&vm("a")).await.is_hit());
    assert!(one.get(&vm("a")).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p2_a_403_to_an_unvouched_token_takes_nothing_away() {
    let (world, real) = warm().await;
    world.arm.answers(|call| if call.token().ends_with(".forgery") { forbidden() } else { show(call) });
    let stranger = real.with_token(forged(&real.token));
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let answer = stranger.write(method, &vm("a"), "").await;
        assert_eq!(answer.status, 403, "{method}");
        assert!(real.get(&vm("a")).await.is_hit(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn p2_answers_that_do_not_come_from_below_a_subscription_vouch_for_nobody() {
    const OPERATION: &str = "providers/Microsoft.Compute/locations/eastus/operations/1?p=x&s=signed";
    let subscription = GROUP.split("/resourceGroups").next().unwrap();
    let poll = format!("{subscription}/{OPERATION}");
    let begun = format!("{subscription}/providers/Microsoft.Odd/things/1?monitor=true");
    let check = async |name: &str, method: &str, target: &str, reply: Reply, vouches: bool| {
        let location = format!("http://arm.test{begun}");
        let world = World::new(move |call| match call.header("x-probe") {
            Some(_) => reply.clone(),
            None if call.method == "PUT" => Reply::json(202, "").with("location", &location),
            None => show(call),
        });
        let real = world.client("real");
        real.put(&vm("z"), "{}").await;
        real.get(&vm("a")).await;
        assert!(real.get(&vm("a")).await.is_hit(), "{name}");
        // Another token of the same caller: vouched for, it would get the entry.
        let unknown = real.with_token(token("real", 1));
        let probe = unknown.request(method, target).header("x-probe", "1");
        let _ = unknown.send(probe, "").await.unwrap();
        // What the answer told may have dropped the entry.
        real.get(&vm("a")).await;
        let before = world.arm.calls().len();
        assert_eq!(unknown.get(&vm("a")).await.is_hit(), vouches, "{name}");
        assert_eq!(world.arm.calls().len(), before + usize::from(!vouches), "{name}");
    };
    let ok = || Reply::ok("{}");
    check("a resource", "GET", &compute("disks/d"), ok(), true).await;
    check("a group", "GET", &format!("{GROUP}?api-version=1"), ok(), true).await;
    check(
        "a read that posts",
        "POST",
        &format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/a/listKeys"),
        ok(),
        true,
    )
    .await;
    check("discovery", "GET", "/metadata/endpoints?api-version=2022-09-01", ok(), false).await;
    check("OPTIONS", "OPTIONS", &vm("b"), ok(), false).await;
    check("an operation's status", "GET", &poll, ok(), false).await;
    check(
        "an operation's result",
        "GET",
        &format!("{subscription}/operationresults/eyJ?t=1&s=x"),
        ok(),
        false,
    )
    .await;
    check("what a write's answer named to be polled", "GET", &begun, ok(), false).await;
    check("the tenant's own", "GET", "/subscriptions?api-version=2022-12-01", ok(), false).await;
    check("a subscription that is none", "GET", "/subscriptions/x/resourceGroups?api-version=1", ok(), false)
        .await;
    check(
        "a query across subscriptions",
        "POST",
        "/providers/Microsoft.ResourceGraph/resources",
        ok(),
        false,
    )
    .await;
    check("a path in no canonical form", "GET", &format!("{GROUP}//x"), ok(), false).await;
    for status in [401, 403, 404, 409, 500, 503] {
        check(&status.to_string(), "GET", &compute("disks/d"), Reply::error(status, "Refused"), false).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p2_answers_armshield_makes_vouch_for_nobody() {
    let (world, real) = warm().await;
    let unknown = real.with_token(token("real", 1));
    let misdirected = unknown.dialling("elsewhere.test").get(&vm("b")).await;
    assert_eq!(misdirected.status, 421);
    world.arm.refuses(Some(std::io::ErrorKind::ConnectionRefused));
    assert_eq!(unknown.get(&compute("disks/never-sent")).await.status, 200, "a connection was open");
    let before = world.arm.calls().len();
    let other = real.with_token(token("real", 2));
    assert_eq!(other.dialling("elsewhere.test").get(&vm("a")).await.status, 421);
    assert!(!other.get(&vm("a")).await.is_hit());
    assert_eq!(world.arm.calls().len(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn p2_a_forged_tokens_writes_drop_nothing() {
    for status in [401, 403] {
        let world = World::new(move |call| match call.token().ends_with(".forgery") {
            true => Reply::error(status, "Refused").after(Duration::from_millis(10)),
            false => show(call),
        });
        let real = world.client("real");
        let targets = [vm("a"), compute("virtualMachines"), compute(SET)];
        for target in targets.iter().chain(&targets) {
            real.get(target).await;
        }
        let stranger = real.with_token(forged(&real.token));
        let writes = [
            ("PUT", vm("a")),
            ("PATCH", vm("a")),
            ("DELETE", vm("a")),
            ("POST", compute(&format!("{SET}/delete"))),
            ("DELETE", format!("{GROUP}?api-version=1")),
            ("PUT", format!("{GROUP}/providers/Microsoft.Resources/deployments/d?api-version=1")),
            ("POST", "/batch?api-version=1".to_owned()),
            ("PUT", format!("{GROUP}//x")),
        ];
        for (method, target) in writes {
            let under_way = stranger.begin(method, &target, "{}");
            // While it is under way, and after its answer.
            for _ in 0..2 {
                world::pass(Duration::from_millis(6)).await;
                for read in &targets {
                    assert!(real.get(read).await.is_hit(), "{method} {target}: {read}");
                }
            }
            assert_eq!(under_way.await.unwrap().status, status);
        }
        real.put(&vm("a"), "{}").await;
        assert!(!real.get(&vm("a")).await.is_hit(), "the real caller's writes do");
    }
}

#[tokio::test(start_paused = true)]
async fn p2_a_404_that_only_says_the_subscription_is_not_the_strangers_drops_nothing() {
    let (world, real) = warm().await;
    world.arm.answers(|call| match call.token().ends_with(".forgery") {
        true => Reply::error(404, "SubscriptionNotFound").with("x-ms-failure-cause", "gateway"),
        false => show(call),
    });
    let stranger = real.with_token(forged(&real.token));
    assert_eq!(stranger.get(&vm("a")).await.status, 404);
    assert!(real.get(&vm("a")).await.is_hit());
}

fn throttled() -> Reply {
    let body = r#"{"error":{"code":"SubscriptionRequestsThrottled","message":"Number of 'read' requests for subscription '1' actor 'a' exceeded. Please try again after '30' seconds after additional tokens are available."}}"#;
    Reply::json(429, body).with("retry-after", "30").with("x-ms-failure-cause", "gateway")
}

#[tokio::test(start_paused = true)]
async fn p2_a_forged_token_closes_no_gate_of_the_real_caller() {
    let bare = Reply::json(429, "").with("retry-after", "30");
    for reply in [throttled(), bare] {
        let (world, real) = warm().await;
        world.arm.answers(move |call| match call.token().ends_with(".forgery") {
            true => reply.clone(),
            false => show(call),
        });
        let stranger = real.with_token(forged(&real.token));
        assert_eq!(stranger.get(&vm("b")).await.status, 429);
        let before = world.arm.calls().len();
        assert_eq!(stranger.get(&vm("c")).await.status, 429);
        assert_eq!(world.arm.calls().len(), before, "its own gate is closed");
        for target in [vm("b"), vm("c"), compute("disks/d")] {
            assert_eq!(real.get(&target).await.status, 200, "{target}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p2_a_closed_gate_of_the_real_caller_holds_for_who_imitates_it() {
    let (world, real) = warm().await;
    world.arm.answers(|_| throttled());
    assert_eq!(real.get(&vm("b")).await.status, 429);
    let before = world.arm.calls().len();
    assert_eq!(real.with_token(forged(&real.token)).get(&vm("c")).await.status, 429);
    assert_eq!(world.arm.calls().len(), before);
}

#[tokio::test(start_paused = true)]
async fn p2_a_forged_token_neither_joins_the_real_callers_fetch_nor_is_joined() {
    for forged_first in [false, true] {
        for known in [false, true] {
            let world = World::new(|call| {
                let reply = if is_good(call) { show(call) } else { unauthorized() };
                reply.after(Duration::from_secs(1))
            });
            let real = world.client("real");
            if known {
                real.get(&vm("z")).await;
            }
            let before = world.arm.calls().len();
            let stranger = real.with_token(forged(&real.token));
            let (first, second) = if forged_first { (&stranger, &real) } else { (&real, &stranger) };
            let first = first.begin("GET", &vm("a"), "");
            world::pass(Duration::from_millis(100)).await;
            let second = second.begin("GET", &vm("a"), "");
            let (first, second) = (first.await.unwrap(), second.await.unwrap());
            let (real, stranger) = if forged_first { (second, first) } else { (first, second) };
            assert_eq!((real.status, stranger.status), (200, 401));
            assert_eq!(world.arm.calls().len(), before + 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p2_unvouched_reads_merge_only_with_the_very_same_token() {
    let world = World::new(|call| show(call).after(Duration::from_secs(1)));
    let one = world.client("real");
    let two = one.with_token(token("real", 1));
    let all: Vec<_> =
        (0..20).map(|n| if n % 2 == 0 { &one } else { &two }.begin("GET", &vm("a"), "")).collect();
    for answer in all {
        assert_eq!(answer.await.unwrap().status, 200);
    }
    assert_eq!(world.arm.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn p2_thirty_two_unvouched_calls_of_a_peer_are_in_flight_and_crowd_nobody_out() {
    let world = World::new(|call| match is_good(call) {
        true => show(call).after(Duration::from_millis(10)),
        false => Reply::error(404, "Slow").after(Duration::from_secs(5)),
    });
    let real = world.client("real");
    real.get(&vm("z")).await;
    let stranger = |n: u32| real.with_token(forged(&token("stranger", n)));
    let many: Vec<_> = (0..80).map(|n| stranger(n).begin("GET", &vm(&format!("s{n}")), "")).collect();
    world::seconds(1).await;
    let of_strangers = || world.arm.calls().iter().filter(|call| !is_good(call)).count();
    assert_eq!(of_strangers(), 32);
    assert_eq!(real.get(&vm("a")).await.status, 200, "who is vouched for waits for none of them");
    let elsewhere = Client { peer: ([127, 0, 0, 9], 1).into(), ..stranger(1000) };
    let elsewhere = elsewhere.begin("GET", &vm("e"), "");
    world::seconds(1).await;
    assert_eq!(of_strangers(), 33, "another peer has its own lane");
    elsewhere.await.unwrap();
    for answer in many {
        assert_eq!(answer.await.unwrap().status, 404, "who waits gets its turn");
    }
    assert_eq!(of_strangers(), 81);
}

#[tokio::test(start_paused = true)]
async fn p2_after_twenty_401s_a_peers_unvouched_calls_go_one_a_second() {
    let (world, real) = warm().await;
    let stranger = |n: u32| real.with_token(forged(&token("stranger", n)));
    for n in 0..20 {
        assert_eq!(stranger(n).get(&vm("a")).await.status, 401);
    }
    world::seconds(1).await;
    for second in 0..5 {
        let before = world.arm.calls().len();
        for n in 0..10 {
            let method = ["GET", "PUT", "HEAD", "POST"][n % 4];
            let answer = stranger(100 + n as u32).write(method, &vm("a"), "").await;
            if n == 0 {
                assert_eq!(answer.status, 401, "in second {second}");
                continue;
            }
            assert_eq!(answer.status, 429, "{n} in second {second}");
            assert_eq!(answer.header("retry-after"), Some("1"));
            assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"));
        }
        assert_eq!(world.arm.calls().len(), before + 1);
        assert!(real.get(&vm("a")).await.is_hit());
        assert_eq!(real.get(&compute(&format!("disks/{second}"))).await.status, 200);
        world::seconds(1).await;
    }
    let elsewhere = Client { peer: ([127, 0, 0, 9], 1).into(), ..stranger(200) };
    assert_eq!(elsewhere.get(&vm("a")).await.status, 401, "another peer is not slowed down");
    world::seconds(61).await;
    for n in 0..3 {
        assert_eq!(stranger(n).get(&vm("a")).await.status, 401, "a minute later all is forgotten");
    }
}

#[tokio::test(start_paused = true)]
async fn p2_a_new_token_of_a_slowed_down_peer_still_gets_in() {
    let (_world, real) = warm().await;
    for n in 0..20 {
        real.with_token(forged(&token("stranger", n))).get(&vm("a")).await;
    }
    world::seconds(1).await;
    let rotated = real.with_token(token("real", 1));
    assert_eq!(rotated.get(&vm("a")).await.status, 200);
    // Vouched for, it has left the lane.
    for name in ["b", "c", "d"] {
        assert_eq!(rotated.get(&vm(name)).await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn p2_claims_an_operator_calls_noise_merge_and_no_list_merges_principals() {
    let ignorable_claims = ["xms_new", "oid", "tid", "appid"].map(String::from).to_vec();
    let policy = Policy { ignorable_claims, ..Policy::default() };
    let world = World::with(policy, |_| {}, show);
    let real = world.client("real");
    real.get(&vm("a")).await;
    let noisy = real.with_token(changed("real", json!({"xms_new": 7})));
    noisy.get(&vm("b")).await;
    assert!(noisy.get(&vm("a")).await.is_hit());
    let other = real.with_token(token("other", 0));
    other.get(&vm("b")).await;
    assert!(!other.get(&vm("a")).await.is_hit());
}
