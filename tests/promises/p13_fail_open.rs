//! P13: where armshield cannot do its work the call goes to ARM uncached; what breaks off is never a short
//! success, and never kept.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use armshield::listen::Entrance;
use armshield::policy::Policy;
use armshield::proxy::Settings;
use armshield::upstream::{Connect, Connecting, Target, Unresolved};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::support::arm::Ending;
use crate::support::client::{AZ, Answer};
use crate::support::origin::{Origin, Said, Secured, Then, head};
use crate::support::raw::enter;
use crate::support::tokens::token;
use crate::support::{Reply, World, world};

const VM: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01";
const VMS: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01";
const DISK: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/disks/d?api-version=2025-01-02";

fn behind(origin: &Origin) -> World {
    World::behind(Policy::default(), |_| {}, Arc::new(origin.clone()))
}

fn vm() -> String {
    let id = VM.split('?').next().unwrap();
    format!(r#"{{"id":"{id}","etag":"\"1\"","properties":{{"vmId":"x","provisioningState":"Succeeded"}}}}"#)
}

/// What is asked twice, and comes from ARM both times as ARM wrote it.
async fn never_kept(world: &World, target: &str, body: &[u8]) {
    for _ in 0..2 {
        let answer = world.client("a").get(target).await;
        assert_eq!(answer.status, 200);
        assert!(answer.body == body, "{} bytes instead of {}", answer.body.len(), body.len());
        assert!(!answer.is_hit(), "{}", answer.cache());
        world::seconds(1).await;
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Bytes that say how they are coded.
fn coded(status: &str, coding: &str, bytes: &[u8]) -> Said {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n",
        bytes.len()
    );
    Said::new([head.as_bytes(), bytes].concat(), Then::Stays)
}

#[tokio::test(start_paused = true)]
async fn p13_what_can_be_kept_is_kept() {
    // The other tests show nothing unless this holds.
    let world = World::new(|_| Reply::ok(vm()));
    assert!(!world.client("a").get(VM).await.is_hit());
    assert!(world.client("a").get(VM).await.is_hit());
    let origin = Origin::answering(|_| coded("200 OK", "gzip", &gzip(vm().as_bytes())));
    let world = behind(&origin);
    assert!(!world.client("a").get(VM).await.is_hit());
    let hit = world.client("a").get(VM).await;
    assert!(hit.is_hit() && hit.text() == vm());
}

#[tokio::test(start_paused = true)]
async fn p13_bodies_that_are_no_document_pass_as_they_are() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: [&[u8]; 13] = [
        b"",
        b" ",
        b"null",
        b"17",
        b"\"text\"",
        b"[]",
        b"{\"value\":[",
        b"{\"id\":\"/a\"}{\"id\":\"/b\"}",
        b"{\"id\":\"/a\",}",
        b"{'id':'/a'}",
        b"{\"id\":\"\xff\xfe\"}",
        b"\xff\xfe{\0}\0",
        deep.as_bytes(),
    ];
    for body in bodies {
        let sent = Bytes::copy_from_slice(body);
        let world = World::new(move |_| Reply::ok(sent.clone()));
        never_kept(&world, VM, body).await;
        let put = world.client("a").put(VM, "{\"location\":").await;
        assert!(put.body == body);
        assert_eq!(world.arm.calls().pop().unwrap().body, "{\"location\":", "ARM judges what it is sent");
    }
}

#[tokio::test(start_paused = true)]
async fn p13_odd_documents_pass_as_they_are() {
    let deep = format!(r#"{{"a":{}1{}}}"#, r#"{"b":"#.repeat(5_000), "}".repeat(5_000)).leak();
    for body in [
        deep,
        r#"{"value":null}"#,
        r#"{"value":[1,null,"x",[],{}]}"#,
        r#"{"value":{"a":1},"nextLink":7}"#,
        r#"{"nextLink":{"a":1}}"#,
        r#"{"id":7,"etag":{"a":1},"properties":[]}"#,
        r#"{"id":"not a path","id":"/a","ID":"/b"}"#,
        r#"{"id":"/subscriptions/\ud83d","properties":{"provisioningState":9}}"#,
        r#"{"properties":{"timeCreated":"\u0000"},"etag":"no\nquotes"}"#,
        "\u{feff}{\"id\":\"/a\"}",
    ] {
        let world = World::new(move |_| Reply::ok(body));
        for target in [VM, VMS, DISK] {
            for _ in 0..2 {
                assert_eq!(world.client("a").get(target).await.text(), body);
            }
            assert_eq!(world.client("a").put(target, body).await.text(), body);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_a_list_of_100_000_is_a_list() {
    let item = |n: usize| format!(r#"{{"id":"/subscriptions/s/x/v{n}","etag":"\"{n}\""}}"#);
    let items: Vec<_> = (0..100_000).map(item).collect();
    let body: Bytes = format!(r#"{{"value":[{}]}}"#, items.join(",")).into();
    let sent = body.clone();
    let world = World::new(move |_| Reply::ok(sent.clone()));
    for hit in [false, true] {
        let answer = world.client("a").get(VMS).await;
        assert!(answer.body == body && answer.is_hit() == hit, "{}", answer.cache());
    }
}

async fn streamed(change: impl Fn(&mut Settings), body: Vec<u8>) {
    let sent = Bytes::from(body.clone());
    let world = World::with(Policy::default(), change, move |_| Reply::ok(sent.clone()));
    for target in [VM, VMS] {
        never_kept(&world, target, &body).await;
    }
    // Those who ask at the same time each get all of it.
    let together: Vec<_> = (0..5).map(|_| world.client("a").begin("GET", VMS, "")).collect();
    for answer in together {
        assert!(answer.await.unwrap().body == body);
    }
    // As a write's body it goes out whole, and its answer comes back whole.
    let text = String::from_utf8(body.clone()).unwrap();
    let put = world.client("a").put(VM, &text).await;
    assert!(put.body == body && world.arm.calls().pop().unwrap().body == body);
}

#[tokio::test(start_paused = true)]
async fn p13_what_is_too_large_is_streamed_whole() {
    let padded = |bytes| format!(r#"{{"id":"/a","pad":"{}"}}"#, "x".repeat(bytes)).into_bytes();
    streamed(|settings| settings.cache.entry_max = 100, padded(50_000)).await;
    streamed(|settings| settings.cache.entry_max = 0, padded(0)).await;
    // Too large as well to be read for its link before it is passed on.
    streamed(|settings| settings.cache.entry_max = 1 << 20, padded(2 << 20)).await;
}

#[tokio::test(start_paused = true)]
async fn p13_too_many_answers_read_at_once_are_streamed() {
    let body = format!(r#"{{"id":"/a","pad":"{}"}}"#, "x".repeat(50_000)).into_bytes();
    streamed(|settings| settings.cache.fills = 10_000, body.clone()).await;
    // Only while there are too many.
    let sent = Bytes::from(body.clone());
    let world = World::with(
        Policy::default(),
        |settings| settings.cache.fills = 120_000,
        move |call| match call.target.contains("slow") {
            true => Reply::ok(sent.clone()).ending(Ending::Stalled(49_000)),
            false => Reply::ok(sent.clone()),
        },
    );
    world.client("a").get(DISK).await;
    let slow: Vec<_> = (0..2)
        .map(|n| {
            let target = VM.replace("/a?", &format!("/slow{n}?"));
            world.client("a").begin("GET", &target, "")
        })
        .collect();
    world::seconds(1).await;
    let crowded = world.client("a").get(VM).await;
    assert!(crowded.body == body && crowded.cache().contains("detail=large"), "{}", crowded.cache());
    for slow in slow {
        assert_eq!(slow.await.unwrap().status, 502);
    }
    let alone = world.client("a").get(VM).await;
    assert!(alone.body == body && alone.cache().contains("stored"), "{}", alone.cache());
}

#[tokio::test(start_paused = true)]
async fn p13_answers_that_may_not_be_kept_are_not() {
    for (name, value) in [
        ("vary", "*"),
        ("vary", "User-Agent"),
        ("vary", "Accept-Encoding, X-Ms-Thing"),
        ("cache-control", "no-store"),
        ("cache-control", "private, max-age=60, NO-STORE"),
        ("content-type", "text/plain"),
    ] {
        let world = World::new(move |_| {
            let reply = Reply::ok(vm());
            let headers = reply.headers.iter().filter(|(known, _)| known != name).cloned().collect();
            Reply { headers, ..reply }.with(name, value)
        });
        never_kept(&world, VM, vm().as_bytes()).await;
    }
    let world = World::new(|_| Reply::ok(vm()));
    for _ in 0..2 {
        let az = world.client("a");
        let answer = az.send(az.request("GET", VM).header("cache-control", "no-store"), "").await.unwrap();
        assert!(!answer.is_hit());
    }
    assert!(!world.client("a").get(VM).await.is_hit(), "nor is what was asked for like this");
}

/// An answer that its sender says depends on the client is nobody else's, not even of who asks meanwhile.
#[tokio::test(start_paused = true)]
async fn p13_an_answer_that_varies_is_for_its_asker_only() {
    for vary in ["User-Agent", "*"] {
        for status in [200, 404] {
            let world = World::new(move |call| {
                let agent = call.header("user-agent").unwrap().to_owned();
                Reply::json(status, format!(r#"{{"for":"{agent}"}}"#))
                    .with("vary", vary)
                    .after(Duration::from_secs(3))
            });
            // Vouched for, so that calls are shared at all.
            world.client("a").get(DISK).await;
            let agents = [AZ, "azsdk-python/1", "azsdk-js/2"];
            let together: Vec<_> =
                agents.map(|agent| world.client("a").with_agent(agent).begin("GET", VM, "")).into();
            for (agent, answer) in agents.iter().zip(together) {
                assert_eq!(
                    answer.await.unwrap().text(),
                    format!(r#"{{"for":"{agent}"}}"#),
                    "{vary} {status}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_gzip_that_becomes_enormous_is_passed_on_in_pieces() {
    let size = 24 << 20;
    let bomb = gzip(&vec![b' '; size]);
    assert!(bomb.len() < 64 << 10);
    let origin = Origin::answering(move |_| coded("200 OK", "gzip", &bomb));
    let world = behind(&origin);
    let mut io = enter(&world, Entrance::in_memory());
    let asked = format!("GET {VM} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    io.write_all(asked.as_bytes()).await.unwrap();
    let head = head(&mut io).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && !head.contains("content-encoding"), "{head}");
    let (mut piece, mut spaces) = (vec![0; 64 << 10], 0);
    loop {
        let read = io.read(&mut piece).await.unwrap();
        if read == 0 {
            break;
        }
        spaces += piece[..read].iter().filter(|byte| **byte == b' ').count();
    }
    assert_eq!(spaces, size);
}

#[tokio::test(start_paused = true)]
async fn p13_gzip_that_lies_is_no_success_and_not_kept() {
    let whole = gzip(vm().as_bytes());
    let mut wrong_sum = whole.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    let mut flipped = whole.clone();
    flipped[20] ^= 0x55;
    let lies: [&[u8]; 5] =
        [vm().leak().as_bytes(), &whole[..whole.len() - 1], &whole[..30], &wrong_sum, &flipped];
    for lie in lies {
        let (lie, asked) = (lie.to_vec(), Arc::new(AtomicUsize::new(0)));
        let count = asked.clone();
        let origin = Origin::answering(move |_| {
            count.fetch_add(1, Relaxed);
            coded("200 OK", "gzip", &lie)
        });
        let world = behind(&origin);
        for n in 1..3 {
            let answer = world.client("a").get(VM).await;
            assert_eq!(answer.status, 502, "{}", answer.text());
            assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"));
            assert!(answer.json()["error"]["message"].as_str().unwrap().contains("broke off"));
            assert_eq!(asked.load(Relaxed), n);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_odd_gzip_is_understood() {
    let (one, two) = vm().leak().split_at(40);
    // A body may be made of several members (RFC 1952 §2.2).
    let members = [gzip(one.as_bytes()), gzip(two.as_bytes())].concat();
    for coding in ["gzip", "GZIP", "x-gzip", " gzip "] {
        for bytes in [members.clone(), gzip(vm().as_bytes())] {
            let origin = Origin::answering(move |_| coded("200 OK", coding, &bytes));
            let world = behind(&origin);
            let answer = world.client("a").get(VM).await;
            assert_eq!((answer.status, answer.text()), (200, &*vm()), "{coding}");
            assert_eq!(answer.header("content-encoding"), None);
        }
    }
    // No body is no body, however it is said to be coded.
    for (status, number) in [("200 OK", 200), ("404 Not Found", 404), ("500 Oh", 500)] {
        let origin = Origin::answering(move |_| coded(status, "gzip", b""));
        let answer = behind(&origin).client("a").get(VM).await;
        assert_eq!((answer.status, answer.text()), (number, ""));
    }
    let origin = Origin::answering(|_| {
        Said::new("HTTP/1.1 304 Not Modified\r\ncontent-encoding: gzip\r\netag: \"1\"\r\n\r\n", Then::Stays)
    });
    assert_eq!(behind(&origin).client("a").get(VM).await.status, 304);
}

#[tokio::test(start_paused = true)]
async fn p13_codings_nobody_here_reads_pass_as_they_are() {
    for coding in ["br", "zstd", "deflate", "gzip, br", "gzip\r\ncontent-encoding: br", "unheard-of"] {
        let body = b"\x1b\x03\x00whatever\xff";
        let origin = Origin::answering(move |_| coded("200 OK", coding, body));
        let world = behind(&origin);
        for target in [VM, VMS, DISK] {
            for _ in 0..2 {
                let answer = world.client("a").get(target).await;
                assert_eq!((answer.status, &answer.body[..]), (200, &body[..]), "{coding}");
                let codings: Vec<_> = answer.headers.get_all("content-encoding").iter().collect();
                assert_eq!(codings.len(), coding.split('\r').count(), "{coding}");
                assert!(!answer.is_hit());
            }
        }
        let asked = world.client("a");
        let together: Vec<_> = (0..3).map(|_| asked.begin("GET", VM, "")).collect();
        for answer in together {
            let answer = answer.await.unwrap();
            assert!(answer.body == body[..] && answer.header("content-encoding").is_some());
        }
        assert_eq!(world.client("a").put(VM, "{}").await.body, &body[..]);
    }
}

/// A short success is the one thing a cut answer must not become.
async fn no_short_success(world: &World, method: &str, target: &str, what: &str) -> Option<Answer> {
    let client = world.client("a");
    let body = if method == "GET" { "" } else { "{}" };
    match client.send(client.request(method, target), body).await {
        Err(_) => None,
        Ok(answer) => {
            assert_eq!(answer.status, 502, "{what} {method} {target}: {answer:?}");
            assert!(answer.json()["error"]["code"].is_string());
            assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"));
            Some(answer)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_answers_that_break_off_or_stall_are_no_success_and_not_kept() {
    let body = format!(r#"{{"value":[{}],"x":"{}"}}"#, vm(), "y".repeat(100_000));
    for ending in [
        Ending::Never,
        Ending::Cut(0),
        Ending::Cut(1),
        Ending::Cut(body.len() / 2),
        Ending::Cut(body.len() - 1),
        Ending::Stalled(0),
        Ending::Stalled(body.len() - 1),
    ] {
        for (method, target) in [
            ("GET", VM),
            ("GET", VMS),
            ("GET", DISK),
            ("PUT", VM),
            ("PUT", DISK),
            ("DELETE", VM),
            ("PATCH", VM),
            ("POST", VM),
        ] {
            let sent = body.clone();
            let world = World::new(move |call| match call.header("x-whole") {
                Some(_) => Reply::ok(vm()),
                None => Reply::ok(sent.clone()).ending(ending),
            });
            let start = world.clock.now();
            let what = format!("{ending:?}");
            no_short_success(&world, method, target, &what).await;
            let took = world.clock.now().since(start);
            let patience = if matches!(ending, Ending::Stalled(_)) { 60..=61 } else { 0..=0 };
            assert!(patience.contains(&took.as_secs()), "{what} {method} {took:?}");
            let writes = world.arm.calls().iter().filter(|call| call.method != "GET").count();
            assert_eq!(writes, usize::from(method != "GET"), "a write is sent once");
            let client = world.client("a");
            let whole = client.send(client.request("GET", VM).header("x-whole", "1"), "").await.unwrap();
            assert!(whole.text() == vm() && !whole.is_hit(), "{what} {method}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_a_chunked_answer_without_its_end_is_no_success() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    for end in [
        "",
        "a\r\n{\"id\":",
        "a\r\n{\"id\":\"/a\"\r\n1\r\n}\r\n",
        "1\r\n1\r\n0\r\n",
        "z\r\n",
        "1\r\n12\r\n0\r\n\r\n",
    ] {
        for then in [Then::Closes, Then::Hangs] {
            let origin = Origin::answering(move |_| Said::new(format!("{head}{end}"), then));
            for (method, target) in [("GET", VM), ("GET", DISK), ("PUT", VM), ("PUT", DISK)] {
                let world = behind(&origin);
                no_short_success(&world, method, target, &format!("{end:?} {then:?}")).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_answers_that_are_no_http_are_told() {
    for said in [
        "",
        "HTTP/1.1\r\n\r\n",
        "SMTP ready\r\n\r\n",
        "HTTP/1.1 abc X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n12",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    ] {
        let origin = Origin::answering(move |_| Said::new(said, Then::Closes));
        for (method, target) in [("GET", VM), ("GET", DISK), ("PUT", VM), ("PUT", DISK)] {
            let world = behind(&origin);
            let answer = no_short_success(&world, method, target, said).await.expect("told");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("arm.test"), "{message}");
            assert_eq!(message.contains("not known"), method == "PUT", "{message}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_what_follows_an_answer_belongs_to_no_other() {
    let origin = Origin::answering(|request| {
        let mut said =
            Said::json(200, "", if request.contains("/disks/") { "{\"d\":1}" } else { "{\"v\":1}" });
        said.bytes.extend(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled");
        said
    });
    let world = behind(&origin);
    for _ in 0..3 {
        for (method, target, body) in
            [("PUT", DISK, "{\"d\":1}"), ("GET", DISK, "{\"d\":1}"), ("PUT", VM, "{\"v\":1}")]
        {
            let answer = world.client("a").write(method, target, "").await;
            assert_eq!((answer.status, answer.text()), (200, body));
            world::seconds(1).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_connections_that_arm_closed_while_they_idled_cost_nobody_anything() {
    for pause in [0, 1, 49, 51, 300] {
        let origin = Origin::answering(|_| Said { then: Then::Closes, ..Said::json(200, "", &vm()) });
        let world = behind(&origin);
        for n in 0..4 {
            for (method, target) in [("GET", DISK), ("PUT", VM), ("DELETE", DISK), ("GET", VM)] {
                let answer = world.client("a").write(method, target, "").await;
                assert_eq!(
                    (answer.status, answer.text()),
                    (200, &*vm()),
                    "{method} after {pause} s, round {n}"
                );
            }
            world::seconds(pause).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p13_a_read_whose_connection_died_is_asked_again_and_a_write_is_not() {
    for (method, target, again) in
        [("GET", VM, true), ("GET", DISK, true), ("PUT", VM, false), ("DELETE", DISK, false)]
    {
        let mut first = true;
        let world = World::new(move |_| {
            let reply = Reply::ok(vm());
            if std::mem::take(&mut first) { reply.ending(Ending::Never) } else { reply }
        });
        let answer = world.client("a").write(method, target, "").await;
        assert_eq!(answer.status, if again { 200 } else { 502 }, "{method}");
        assert_eq!(world.arm.calls().len(), if again { 2 } else { 1 });
    }
}

/// Nothing can be dialled, for this reason.
#[derive(Clone)]
struct Dead(fn() -> io::Error);

impl Connect for Dead {
    fn connect(&self, _: &Target) -> Connecting {
        let error = (self.0)();
        Box::pin(async move { Err(error) })
    }
}

/// Everything that needs ARM is told where it could not be reached, and why.
async fn told(world: &World, parts: &[&str]) {
    for (method, target) in
        [("GET", VM), ("GET", DISK), ("PUT", VM), ("DELETE", DISK), ("POST", VM), ("HEAD", DISK)]
    {
        let answer = world.client("a").write(method, target, "").await;
        assert_eq!(answer.status, 502);
        assert_eq!(answer.header("x-ms-failure-cause"), Some("armshield"));
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(answer.cache().is_empty(), method != "GET");
        if method == "HEAD" {
            continue;
        }
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], "BadGateway");
        let message = error["message"].as_str().unwrap();
        for part in parts {
            assert!(message.contains(part), "no {part:?} in {message:?}");
        }
        assert_eq!(message.contains("was not sent"), !["GET", "HEAD"].contains(&method), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn p13_an_arm_out_of_reach_is_told_by_name_and_reason() {
    let dead = |error| World::behind(Policy::default(), |_| {}, Arc::new(Dead(error)));
    let unresolved = || {
        let reason = "Name or service not known".to_owned();
        io::Error::other(Unresolved { host: "arm.test".to_owned(), reason })
    };
    told(&dead(unresolved), &["cannot resolve arm.test", "Name or service not known"]).await;
    told(&dead(|| io::ErrorKind::ConnectionRefused.into()), &["arm.test", "connection refused"]).await;
    told(&dead(|| io::ErrorKind::NetworkUnreachable.into()), &["arm.test", "network unreachable"]).await;

    // Nobody takes the connection, in ten seconds.
    let secure = |settings: &mut Settings| settings.endpoint = Target::from_url("https://arm.test").unwrap();
    let silent = Origin::serving(|io: DuplexStream| async move {
        std::future::pending::<()>().await;
        drop(io);
    });
    told(&World::behind(Policy::default(), secure, Arc::new(silent)), &["arm.test", "handshake", "10s"])
        .await;
    // TLS with nobody who can show who it is, or with the wrong one, or with nobody at all.
    let arm = Origin::answering(|_| Said::json(200, "", "{}"));
    let stranger = Secured::new(Arc::new(arm.clone()), &["arm.test"]);
    let world = World::behind(Policy::default(), secure, Arc::new(stranger));
    told(&world, &["no TLS with arm.test", "UnknownIssuer"]).await;
    let other = Secured::new(Arc::new(arm.clone()), &["other.test"]);
    let trusting = |settings: &mut Settings| {
        secure(settings);
        settings.upstream.ca = vec![other.certificate.clone()];
    };
    told(
        &World::behind(Policy::default(), trusting, Arc::new(other.clone())),
        &["no TLS with arm.test", "other.test"],
    )
    .await;
    let plain = Origin::serving(|mut io: DuplexStream| async move {
        let _ = io.write_all(b"HTTP/1.1 400 Plain\r\n\r\n").await;
    });
    told(&World::behind(Policy::default(), secure, Arc::new(plain)), &["no TLS with arm.test"]).await;
    assert_eq!(arm.heard(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn p13_an_arm_that_is_back_is_asked_at_once() {
    let world = World::new(|_| Reply::ok(vm()));
    for _ in 0..3 {
        world.arm.refuses(Some(io::ErrorKind::ConnectionRefused));
        let fresh = world.client(&format!("{:?}", world.clock.now()));
        assert_eq!(fresh.get(VM).await.status, 502);
        world.arm.refuses(None);
        assert_eq!(fresh.get(VM).await.status, 200);
        // For so long that no connection of before is used again.
        world::seconds(60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p13_an_arm_that_is_silent_is_a_timeout_after_its_own_time() {
    for (method, target) in [("GET", VM), ("GET", DISK), ("PUT", VM), ("DELETE", DISK)] {
        let world = World::new(|_| Reply::ok("{}").after(Duration::from_secs(600)));
        let start = world.clock.now();
        let answer = world.client("a").write(method, target, "").await;
        assert_eq!((answer.status, world.clock.now().since(start).as_secs()), (504, 70));
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("arm.test") && message.contains("70s"), "{message}");
        assert_eq!(message.contains("not known"), method != "GET");
        assert_eq!(world.arm.calls().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn p13_a_client_that_leaves_in_its_body_writes_nothing() {
    for target in [VM, DISK] {
        let world = World::new(|_| Reply::ok(vm()));
        let mut io = enter(&world, Entrance::in_memory());
        let asked = format!("PUT {target} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{}}");
        io.write_all(asked.as_bytes()).await.unwrap();
        world::seconds(1).await;
        drop(io);
        world::seconds(200).await;
        assert_eq!(world.arm.calls().len(), 0, "half a body is no write");
        assert_eq!(world.client("a").get(VM).await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn p13_clients_that_leave_harm_nobody_who_asks_the_same() {
    let world = World::new(|_| Reply::ok(vm()).after(Duration::from_secs(5)));
    world.client("a").get(DISK).await;
    for _ in 0..3 {
        let leaving: Vec<_> = (0..3).map(|_| world.client("a").begin("GET", VM, "")).collect();
        world::seconds(1).await;
        let staying = world.client("a").begin("GET", VM, "");
        world::seconds(1).await;
        for client in leaving {
            client.abort();
        }
        assert_eq!(staying.await.unwrap().text(), vm());
        world::seconds(60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p13_tokens_of_any_kind_reach_arm() {
    let world = World::new(|_| Reply::ok(vm()));
    let huge = "t".repeat(40_000);
    let real = token("a", 0);
    for authorization in [
        "Bearer",
        "Bearer ",
        "Basic eDp5",
        "Bearer a.b.c",
        "Bearer ....",
        "\u{e4}",
        &huge,
        &format!("bearer {real}"),
        "",
    ] {
        let client = world.client("a").with_token("");
        for (method, target) in [("GET", VM), ("PUT", VM), ("GET", DISK)] {
            let request = client.request(method, target).header("authorization", authorization.as_bytes());
            let request = request.body(Full::<Bytes>::default()).unwrap();
            let io = TokioIo::new(enter(&world, Entrance::in_memory()));
            let (mut sender, connection) = handshake(io).await.unwrap();
            tokio::spawn(connection);
            let answer = sender.send_request(request).await.unwrap();
            assert_eq!(answer.status(), 200, "{authorization}");
            assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), vm());
            let asked = world.arm.calls().pop().unwrap();
            assert_eq!(asked.headers["authorization"].as_bytes(), authorization.trim().as_bytes());
        }
    }
}
