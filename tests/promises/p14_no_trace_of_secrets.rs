//! P14: tokens, signatures, SAS and keys leave no trace in logs, metrics, dumps and errors.

use std::fmt::Debug;
use std::time::Duration;

use armshield::arm::{Query, State};
use armshield::cache::{Entry, Parts};
use armshield::identify::{Memory, Peer};
use armshield::observe::{Format, Log};
use armshield::operations::Begun;
use armshield::policy::Family;
use armshield::proxy::Rooms;
use armshield::upstream::{Outbound, Target};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;

use crate::support::arm::Ending;
use crate::support::client::CCM;
use crate::support::resources::{GROUP, compute, show, unauthorized, vm};
use crate::support::tokens::{claims, sealed};
use crate::support::written::{self, Written};
use crate::support::{Answer, Call, Client, Reply, World, world};

/// In every secret.
const CANARY: &str = "CANARY";

/// A token whose signature is a canary, and whose claims are one once they are encoded.
fn secret_token(principal: &str) -> String {
    sealed(&claims(principal, 0)).replace(".signature", ".CANARY-signature")
}

/// An operation's status, signed.
const POLL: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Compute/locations/eastus/operations/1?p=1&t=CANARY-t&c=CANARY-c&s=CANARY-s&h=CANARY-h";

fn keys() -> String {
    format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/a/listKeys?api-version=1")
}

/// A VM with what ARM gives back though it should not.
fn with_secret(call: &Call) -> Reply {
    let shown = String::from_utf8(show(call).body.to_vec()).unwrap();
    Reply::ok(shown.replace("\"vmId\"", r#""sas":"https://x/?sig=CANARY-body","vmId""#))
        .with("x-secret", "CANARY-header")
        .with("set-cookie", "CANARY-cookie")
}

/// An ARM that knows secrets, and is in every kind of trouble.
fn script(call: &Call) -> Reply {
    let path = call.path();
    match path.rsplit('/').next().unwrap() {
        "listKeys" => Reply::ok(r#"{"keys":[{"keyName":"key1","value":"CANARY-key"}]}"#),
        "1" => Reply::ok(
            r#"{"status":"Succeeded","properties":{"output":{"accessSAS":"https://x/?sig=CANARY-sas"}}}"#,
        ),
        "refused" => unauthorized(),
        "throttled" => Reply::error(429, "SubscriptionRequestsThrottled").with("retry-after", "10"),
        "lost" => show(call).ending(Ending::Never),
        "cut" => with_secret(call).ending(Ending::Cut(40)),
        "stalled" => with_secret(call).ending(Ending::Stalled(40)),
        "changed" if call.method == "PUT" => Reply::error(412, "PreconditionFailed"),
        "odd" => Reply::json(200, "CANARY no JSON"),
        "begun" => Reply::json(202, "")
            .with("azure-asyncoperation", &format!("http://arm.test{POLL}"))
            .with("location", &format!("http://arm.test{POLL}&monitor=true")),
        _ => with_secret(call),
    }
}

/// Everything that can be asked: hits, misses, merged reads, errors of ARM and of armshield, secrets.
async fn drive(world: &World) -> Vec<Answer> {
    let az = world.client("real").with_token(secret_token("real"));
    let mut answers = Vec::new();
    let sas = |target: String| format!("{target}&sig=CANARY-query&se=2027");
    for name in ["a", "a", "refused", "lost", "cut", "stalled", "odd", "gone"] {
        answers.push(az.get(&sas(vm(name))).await);
    }
    let merged: Vec<_> = (0..3).map(|_| az.begin("GET", &vm("merged"), "")).collect();
    for one in merged {
        answers.push(one.await.unwrap());
    }
    for target in [
        compute("disks/d"),
        compute("disks/lost"),
        compute("virtualMachines"),
        format!("{GROUP}//x?sig=CANARY"),
    ] {
        answers.push(az.get(&target).await);
    }
    let secret =
        r#"{"properties":{"osProfile":{"adminPassword":"CANARY-password","customData":"CANARY-data"}}}"#;
    for name in ["w", "changed", "lost", "begun", "refused", "cut"] {
        answers.push(az.get(&vm(name)).await);
        if name != "cut" {
            answers.push(az.put(&sas(vm(name)), secret).await);
        }
        answers.push(az.with_agent(CCM).write("PATCH", &vm("w"), secret).await);
    }
    // What breaks off on its way to the client is no answer.
    let cut = [("PUT", vm("cut")), ("GET", compute("disks/cut")), ("GET", POLL.replace("/1?", "/cut?"))];
    for (method, target) in cut {
        if let Ok(answer) = az.send(az.request(method, &sas(target)), secret).await {
            answers.push(answer);
        }
    }
    answers.push(az.write("POST", &keys(), "{}").await);
    for target in [POLL.to_owned(), format!("{POLL}&monitor=true"), POLL.replace("/1?", "/lost?")] {
        answers.push(az.get(&target).await);
    }
    // Who cannot be let in, or is not.
    let auxiliary =
        az.request("GET", &vm("a")).header("x-ms-authorization-auxiliary", "Bearer CANARY-auxiliary");
    answers.push(az.send(auxiliary, "").await.unwrap());
    let two = az.request("GET", &vm("a")).header("authorization", "Bearer CANARY-second");
    answers.push(az.send(two, "").await.unwrap());
    let basic = az.with_token("").request("GET", &vm("a")).header("authorization", "Basic CANARY-basic");
    answers.push(az.send(basic, "").await.unwrap());
    answers.push(az.dialling("elsewhere.test").get(&sas(vm("a"))).await);
    for n in 0..30 {
        answers.push(az.with_token(format!("CANARY-opaque-{n}")).get(&vm("refused")).await);
    }
    answers.push(az.with_token(secret_token("other")).get(&sas(vm("throttled"))).await);
    // ARM cannot be reached at all, and does not answer in time.
    world.arm.refuses(Some(std::io::ErrorKind::ConnectionRefused));
    world::seconds(600).await;
    answers.push(az.get(&sas(vm("unreachable"))).await);
    answers.push(az.put(&sas(vm("unreachable")), secret).await);
    world.arm.refuses(None);
    world.arm.answers(|call| match call.path().ends_with("/throttled") {
        true => Reply::error(429, "SubscriptionRequestsThrottled").with("retry-after", "1000"),
        false => script(call).after(Duration::from_secs(100)),
    });
    answers.push(az.get(&sas(vm("late"))).await);
    answers.push(az.put(&sas(vm("late")), secret).await);
    answers.push(az.get(&sas(vm("throttled"))).await);
    answers.push(az.get(&sas(vm("throttled"))).await);
    answers.push(az.put(&sas(vm("throttled")), secret).await);
    answers.push(over_http2(&az, &sas(vm("throttled"))).await);
    answers
}

/// A GET over HTTP/2.
async fn over_http2(client: &Client, target: &str) -> Answer {
    let io = TokioIo::new(client.world.dial(client.peer));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(format!("http://{}{target}", client.host))
        .header("authorization", format!("Bearer {}", client.token))
        .body(Empty::<Bytes>::new())
        .unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: head.status.as_u16(), headers: head.headers, body, at: client.world.clock.now() }
}

fn assert_clean(what: &str, text: &str) {
    if let Some(at) = text.find(CANARY) {
        let around = &text.as_bytes()[at.saturating_sub(200)..text.len().min(at + 60)];
        panic!("a secret in {what}: …{}…", String::from_utf8_lossy(around));
    }
    for token in ["real", "other"].map(secret_token) {
        let payload = token.split('.').nth(1).unwrap();
        assert!(!text.contains(payload), "a token's claims in {what}");
    }
}

fn dump(what: &str, value: &impl Debug) {
    assert_clean(what, &format!("{value:?}"));
    assert_clean(what, &format!("{value:#?}"));
}

#[tokio::test(start_paused = true)]
async fn p14_the_access_log_shows_no_secret_in_either_format() {
    for format in [Format::Text, Format::Json] {
        let written = Written::default();
        let world = World::logging(Log::to(written.clone(), format).unwrap(), script);
        let answers = drive(&world).await;
        // Who dialled no name of ours, or came with two tokens, is not logged.
        let text = written.lines(answers.len() - 2);
        for part in ["hit", "miss", "collapsed", "poll", "unvouched", "gate", "listKeys", "412"] {
            assert!(text.contains(part), "nothing of {part} was driven");
        }
        assert_clean("the access log", &text);
        assert!(!text.contains("sig=") && !text.contains('?'), "a query in the access log");
    }
}

#[tokio::test(start_paused = true)]
async fn p14_events_show_no_secret_however_much_is_asked_for() {
    let (written, _listening) = written::events();
    let world = World::new(script);
    drive(&world).await;
    let text = written.text();
    for part in ["ARM did not answer", "ARM throttles", "somebody else changed", "connection ended"] {
        assert!(text.contains(part), "no event says {part}");
    }
    assert_clean("events", &text);
}

#[tokio::test(start_paused = true)]
async fn p14_metrics_show_no_secret_path_or_id() {
    let world = World::new(script);
    drive(&world).await;
    let text = world.proxy.rooms().metrics.text(&[]);
    assert!(text.contains("armshield_requests_total"));
    assert_clean("metrics", &text);
    for id in ["11111111", "/subscriptions", "virtualmachines", "oid-", "merged"] {
        assert!(!text.to_ascii_lowercase().contains(id), "{id} in metrics");
    }
}

#[tokio::test(start_paused = true)]
async fn p14_errors_armshield_makes_show_no_secret() {
    let world = World::new(script);
    let answers = drive(&world).await;
    let own: Vec<_> =
        answers.iter().filter(|answer| answer.header("x-ms-failure-cause") == Some("armshield")).collect();
    let statuses = |status| own.iter().filter(|answer| answer.status == status).count();
    for status in [400, 421, 429, 502, 504] {
        assert!(statuses(status) > 0, "no {status} was driven");
    }
    for answer in own {
        assert_clean("an error", answer.text());
        assert_clean("an error's head", &format!("{:?}", answer.headers));
    }
}

#[tokio::test(start_paused = true)]
async fn p14_dumps_show_no_secret() {
    let world = World::new(script);
    drive(&world).await;
    let rooms = world.proxy.rooms();
    assert!(!rooms.store.is_empty() && !rooms.operations.is_empty());
    dump("the proxy", &world.proxy);
    let rooms: &Rooms = rooms;
    dump("the rooms", rooms);
    dump("the store", &rooms.store);
    dump("operations", &rooms.operations);
    dump("the guard", &rooms.guard);
    dump("who asks", &rooms.identify);
    dump("unmatched agents", &rooms.identify.unmatched_agents());
    dump("claims that split callers", &rooms.identify.splits());
    dump("gates", &rooms.admit.status());

    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {}", secret_token("real")).parse().unwrap());
    headers.insert("location", format!("http://arm.test{POLL}").parse().unwrap());
    let peer = Peer { ip: [127, 0, 0, 1].into(), loopback: true };
    let memory = Memory::default();
    let identity = rooms.identify.identify(&headers, peer, &rooms.policy.load(), &memory).unwrap();
    dump("an identity", &identity);
    dump("what a connection remembers", &memory);
    dump("what a write began", &Begun::of(202, &headers, State::Unknown));
    dump("a query", &Query::parse("api-version=1&sig=CANARY"));
    let answer =
        armshield::admit::Answer { status: StatusCode::OK, headers: &headers, body: Some(b"CANARY") };
    dump("an answer", &answer);
    dump(
        "a write",
        &armshield::guard::Write {
            client: 1,
            method: &http::Method::PUT,
            path: &armshield::arm::ArmPath::parse("/a").unwrap(),
            api_version: None,
            headers: &headers,
            body: Some(b"CANARY"),
            window: Duration::ZERO,
            mode: armshield::policy::GuardMode::Enforce,
            present: None,
        },
    );
    let entry = Parts {
        status: StatusCode::OK,
        headers: headers.clone(),
        body: Bytes::from_static(b"CANARY"),
        document: None,
        path: "/a".into(),
        family: Family::Other,
        sent: rooms.scopes.now(),
        stamp: rooms.scopes.stamp(&[]),
    };
    dump("what an entry is made of", &entry);
    dump("an entry", &Entry::new(entry));
    let mut request = Request::new(armshield::body::Body::full(Bytes::from_static(b"CANARY")));
    *request.uri_mut() = POLL.parse().unwrap();
    *request.headers_mut() = headers;
    let target = Target::from_url("http://arm.test").unwrap();
    dump("a call", &Outbound { target, host: "arm.test".into(), request, streamed: false });
}

#[tokio::test(start_paused = true)]
async fn p14_what_splits_a_key_is_named_and_its_value_is_not() {
    let world = World::new(script);
    let az = world.client("real").with_token(secret_token("real"));
    let request = az.request("GET", &vm("a")).header("x-odd", "CANARY-value");
    az.send(request, "").await.unwrap();
    let text = world.proxy.rooms().metrics.text(&[]);
    assert!(text.contains("x-odd"));
    assert_clean("metrics", &text);
    assert_eq!(json!(text).to_string().matches("x-odd").count(), 1);
}
