//! P1: what armshield does not handle passes through unchanged, and streamed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use armshield::listen::Entrance;
use armshield::policy::Policy;
use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::timeout;

use crate::support::origin::{Origin, Said, Then, head};
use crate::support::raw::{enter, talk};
use crate::support::{Reply, World, world};

const GROUP: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g";

fn disk() -> String {
    format!("{GROUP}/providers/Microsoft.Compute/disks/d?api-version=2025-01-02")
}

fn vm() -> String {
    format!("{GROUP}/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01")
}

fn behind(origin: &Origin) -> World {
    World::behind(Policy::default(), |_| {}, Arc::new(origin.clone()))
}

#[tokio::test(start_paused = true)]
async fn p1_methods_paths_and_queries_keep_their_bytes() {
    let sas = "/subscriptions/S/x?sv=2025-01-01&sr=b&sig=a%2Fb%2bc%3D&se=2026-01-01T00%3A00%3a00Z&sp=r";
    let long = format!("/subscriptions/S/{}?q={}", "p".repeat(20_000), "q".repeat(12_000));
    for target in [
        "/",
        "/SUBSCRIPTIONS/S/ResourceGroups/G%20g/providers/Microsoft.Compute/DISKS/D",
        "/subscriptions/S/a%2fb%2Fc%41%7e~/x",
        "/subscriptions/S/x?a=1+2&b=1%2b2&c=1%202&d=%e2%82%ac&D=x&a=0",
        "/subscriptions/S/x?$filter=name%20eq%20'a'&%24top=1",
        "/subscriptions/S/x?",
        "/subscriptions/S/x?&&a&=&==",
        "/subscriptions/S/x?u=https://a/b?c=d",
        "/subscriptions/S/{\"x\"}|y?pipe=|&caret=^&brace={}&backtick=`&utf8=\u{e9}",
        "/subscriptions/S//x/./../y/",
        "/subscriptions/S/x;p=1/@y:z,!*'()",
        "/subscriptions/S/%zz?%",
        "//two/slashes",
        sas,
        &long,
    ] {
        let world = World::new(|_| Reply::ok("{}"));
        let methods = ["GET", "PUT", "PATCH", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW", "get"];
        for method in methods {
            assert_eq!(world.client("a").write(method, target, "").await.status, 200, "{method} {target}");
        }
        let asked = world.arm.calls();
        assert_eq!(asked.iter().map(|call| call.method.as_str()).collect::<Vec<_>>(), methods);
        for call in &asked {
            assert_eq!(call.target, target, "{}", call.method);
            assert_eq!(call.header("host"), Some("arm.test"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p1_a_cached_type_is_asked_for_in_the_clients_bytes() {
    let target = "/Subscriptions/11111111-1111-1111-1111-111111111111/resourcegroups/G%67/providers/microsoft.compute/VirtualMachines/%41?Api-Version=2025-04-01&x=a+b%2B";
    let world = World::new(|_| Reply::ok("{}"));
    world.client("a").get(target).await;
    assert_eq!(world.arm.calls()[0].target, target);
}

#[tokio::test(start_paused = true)]
async fn p1_absolute_targets_lose_what_is_before_the_path_and_nothing_else() {
    for (target, asked) in [
        ("http://localhost:7788/a//b%2f?c=%20d", "/a//b%2f?c=%20d"),
        ("http://LOCALHOST:7788/", "/"),
        ("http://localhost:7788", "/"),
        ("http://localhost:7788?a=b%2f", "/?a=b%2f"),
        ("http://localhost:7788/?a", "/?a"),
    ] {
        let world = World::new(|_| Reply::ok("{}"));
        for method in ["GET", "PUT"] {
            let raw =
                format!("{method} {target} HTTP/1.1\r\nhost: localhost:7788\r\nconnection: close\r\n\r\n");
            let heard = talk(&world, raw).await;
            assert_eq!(heard.statuses(), [200], "{}", heard.text());
            assert_eq!(world.arm.calls().pop().unwrap().target, asked, "{method} {target}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p1_headers_nobody_knows_pass_both_ways() {
    let long = "v".repeat(32 * 1024);
    let said = [
        ("batchputmachine", r#"{"vmss":"a","count":3}"#),
        ("x-ms-unknown", "  inner  spaces \t kept"),
        ("x-repeated", "one"),
        ("x-repeated", "two, three"),
        ("x-repeated", ""),
        ("x-empty", ""),
        ("x-ms-long", &long),
        ("if-match", "\"7\""),
        ("if-none-match", "*"),
        ("x-ms-client-request-id", "6"),
        ("traceparent", "00-1-2-03"),
        ("cookie", "a=b; c=d"),
        ("prefer", "respond-async"),
        ("te", "trailers"),
        ("via", "1.1 other"),
        ("accept-language", "de"),
        ("range", "bytes=0-1"),
        ("cache-control", "no-cache"),
        ("accept-encoding", "br;q=0.1"),
        ("user-agent", "one of its kind/1.0 (ä)"),
    ];
    let answered = [
        ("x-ms-new", "yes"),
        ("set-cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/A;1"),
        ("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/B;2,Microsoft.Compute/C;3"),
        ("etag", "W/\"7\""),
        ("retry-after", "17"),
        ("x-ms-long", &long),
        ("x-empty", ""),
        ("x-latin", "h\u{e4}"),
        ("strict-transport-security", "max-age=31536000"),
        ("server", "Microsoft-HTTPAPI/2.0"),
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("cache-status", "other; hit"),
        ("vary", "*"),
        ("age", "3"),
        ("warning", "299 - \"x\""),
        ("trailer", "x-t"),
    ];
    let fields = |fields: &[(&str, &str)]| {
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<String>()
    };
    let heads = fields(&answered);
    let origin = Origin::answering(move |_| Said::json(200, &heads, "{}"));
    let world = behind(&origin);
    for (method, target) in
        [("GET", disk()), ("PUT", disk()), ("DELETE", disk()), ("PUT", vm()), ("GET", vm())]
    {
        let reads = method == "GET";
        let request = format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost:7788\r\n{}connection: close\r\ncontent-length: 0\r\n\r\n",
            fields(&said)
        );
        let heard = talk(&world, request).await;
        let asked = origin.heard().pop().unwrap();
        for (name, value) in said {
            // Reads in reverse mode are read for their links.
            let expected = (!reads || name != "accept-encoding") as usize;
            let line = format!("\r\n{name}: {}\r\n", value.trim());
            assert_eq!(asked.matches(&line).count(), expected, "{method} {name}: {asked}");
        }
        let text = heard.text();
        let answered_fields = text.split("\r\n\r\n").next().unwrap().lines().skip(1);
        let mut added: Vec<_> = answered_fields.map(str::to_owned).collect();
        for (name, value) in answered {
            let line = format!("{name}: {value}");
            let at = added.iter().position(|field| field.trim_end() == line.trim_end());
            added.remove(at.unwrap_or_else(|| panic!("{method}: no {name} in {text}")));
        }
        added.retain(|field| {
            !["content-type: application/json", "content-length: 2", "connection: close"].contains(&&**field)
        });
        let allowed = |field: &String| {
            field.starts_with("cache-status: armshield; fwd=") && reads
                || field.starts_with("armshield-guard: ") && target == vm() && !reads
        };
        assert!(added.iter().all(allowed), "{method} {target} got {added:?} besides");
    }
}

#[tokio::test(start_paused = true)]
async fn p1_bytes_of_header_values_pass_both_ways() {
    let origin = Origin::answering(|_| {
        Said::new(b"HTTP/1.1 200 OK\r\nx-raw: \xe4\xff\xc3\xa4\x80\r\ncontent-length: 0\r\n\r\n", Then::Stays)
    });
    let world = behind(&origin);
    let mut raw =
        format!("DELETE {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-raw: ", disk()).into_bytes();
    raw.extend(b"\xc3\xa4 \xc2\x80\r\n\r\n");
    let heard = talk(&world, raw).await;
    assert!(origin.heard()[0].contains("x-raw: \u{e4} \u{80}\r\n"));
    assert!(heard.bytes.windows(6).any(|bytes| bytes == b" \xe4\xff\xc3\xa4\x80"));
}

#[tokio::test(start_paused = true)]
async fn p1_every_status_passes_with_its_body() {
    let bodies: [(&str, Bytes); 5] = [
        ("application/json; charset=utf-8", Bytes::from_static(b"{ \"a\" :\t1 }\r\n")),
        ("application/json", Bytes::from_static(b"{\"broken\":")),
        ("text/html", Bytes::from_static(b"<html>\xff</html>")),
        ("application/octet-stream", (0..=255).cycle().take(100_000).collect()),
        ("application/xml", Bytes::new()),
    ];
    for status in [
        200, 201, 202, 203, 206, 226, 299, 300, 301, 307, 308, 400, 404, 409, 410, 412, 418, 428, 451, 500,
        501, 503, 507, 599,
    ] {
        for (kind, body) in &bodies {
            let (kind, sent) = (*kind, body.clone());
            let world = World::new(move |_| Reply {
                headers: vec![("content-type".into(), kind.into())],
                ..Reply::json(status, sent.clone())
            });
            for (method, target) in
                [("GET", disk()), ("GET", vm()), ("PUT", disk()), ("PUT", vm()), ("POST", disk())]
            {
                let answer = world.client("a").write(method, &target, "{}").await;
                let what = format!("{status} {kind} {method}");
                assert_eq!((answer.status, &answer.body), (status, body), "{what}");
                assert_eq!(answer.header("content-type"), Some(kind), "{what}");
                assert_eq!(answer.header("content-length"), Some(&*body.len().to_string()), "{what}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p1_answers_without_a_body_stay_so() {
    for status in [204, 304] {
        let origin = Origin::answering(move |_| {
            Said::new(format!("HTTP/1.1 {status} X\r\netag: \"1\"\r\n\r\n"), Then::Stays)
        });
        let world = behind(&origin);
        for (method, target) in [("GET", disk()), ("GET", vm()), ("PUT", vm()), ("DELETE", disk())] {
            let answer = world.client("a").write(method, &target, "").await;
            assert_eq!((answer.status, answer.text()), (status, ""), "{method}");
            assert_eq!(answer.header("etag"), Some("\"1\""));
            assert_eq!(answer.header("transfer-encoding"), None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p1_head_tells_the_length_of_what_it_does_not_send() {
    let origin = Origin::answering(|request| {
        assert!(request.starts_with("HEAD "));
        Said::new(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 123456\r\n\r\n",
            Then::Stays,
        )
    });
    let world = behind(&origin);
    for target in [disk(), vm()] {
        let answer = world.client("a").write("HEAD", &target, "").await;
        assert_eq!((answer.status, answer.text()), (200, ""));
        assert_eq!(answer.header("content-length"), Some("123456"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[tokio::test(start_paused = true)]
async fn p1_fields_of_one_connection_stay_on_it() {
    let origin = Origin::answering(|_| {
        let fields = "connection: x-theirs, keep-alive\r\nx-theirs: 1\r\nkeep-alive: timeout=5\r\nproxy-authenticate: Basic\r\nupgrade: h2c\r\nx-stays: 1\r\n";
        Said::json(200, fields, "{}")
    });
    let world = behind(&origin);
    for (method, target) in [("GET", disk()), ("GET", vm()), ("PUT", disk()), ("PUT", vm())] {
        let raw = format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close, X-Ours\r\nconnection: x-too\r\nx-ours: 1\r\nx-too: 1\r\nkeep-alive: timeout=5\r\nproxy-connection: keep-alive\r\nproxy-authorization: Basic c2VjcmV0\r\nupgrade: h2c\r\nhttp2-settings: AA\r\nte: gzip, trailers\r\nx-stays: 1\r\ncontent-length: 0\r\n\r\n"
        );
        let heard = talk(&world, raw).await;
        let (asked, answered) = (origin.heard().pop().unwrap(), heard.text().into_owned());
        for gone in ["x-ours", "x-too", "keep-alive", "proxy-", "upgrade", "http2-settings", "gzip,"] {
            assert!(!asked.contains(gone), "{gone} in {asked}");
        }
        assert!(asked.contains("\r\nte: trailers\r\n") && asked.contains("\r\nx-stays: 1\r\n"), "{asked}");
        for gone in ["x-theirs", "keep-alive", "proxy-", "upgrade"] {
            assert!(!answered.contains(gone), "{gone} in {answered}");
        }
        assert!(answered.contains("\r\nx-stays: 1\r\n"), "{answered}");
    }
}

/// What a client says is of its connection only is as if it had not said it, for the guard as well.
#[tokio::test(start_paused = true)]
async fn p1_a_field_named_by_connection_neither_leaves_nor_takes_others_along() {
    let id = vm();
    let id = id.split('?').next().unwrap();
    let body = format!(r#"{{"id":"{id}","etag":"\"7\"","properties":{{"vmId":"x"}}}}"#);
    let origin = Origin::answering(move |_| Said::json(200, "etag: \"7\"\r\n", &body));
    let world = behind(&origin);
    let az = world.client("a");
    az.get(&vm()).await;
    for own in ["", "if-match: \"1\"\r\n"] {
        let raw = format!(
            "PUT {} HTTP/1.1\r\nhost: localhost:7788\r\nuser-agent: {}\r\nauthorization: Bearer {}\r\nconnection: close, if-match\r\n{own}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
            vm(),
            az.agent,
            az.token
        );
        let heard = talk(&world, raw).await;
        assert!(heard.text().contains("armshield-guard: source=seen"), "{}", heard.text());
        let asked = origin.heard().pop().unwrap();
        assert!(asked.contains("\r\nif-match: \"7\"\r\n"), "{asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn p1_expectations_are_met_here_and_not_passed_on() {
    let origin = Origin::answering(|_| Said::json(200, "", "{}"));
    let world = behind(&origin);
    for target in [disk(), vm()] {
        let mut io = enter(&world, Entrance::in_memory());
        let head_said = format!(
            "PUT {target} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
        );
        io.write_all(head_said.as_bytes()).await.unwrap();
        assert!(head(&mut io).await.unwrap().starts_with("HTTP/1.1 100"));
        io.write_all(b"{}").await.unwrap();
        assert!(head(&mut io).await.unwrap().starts_with("HTTP/1.1 200"));
        let asked = origin.heard().pop().unwrap();
        assert!(!asked.contains("expect:") && asked.ends_with("\r\n\r\n{}"), "{asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn p1_interim_answers_are_not_taken_for_the_answer() {
    for interim in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 199 X\r\n\r\n",
    ] {
        let origin = Origin::answering(move |_| {
            let said = Said::json(201, "", "{\"a\":1}");
            Said::new([interim.as_bytes(), &said.bytes].concat(), Then::Stays)
        });
        let world = behind(&origin);
        for (method, target) in [("GET", disk()), ("GET", vm()), ("PUT", disk()), ("PUT", vm())] {
            let answer = world.client("a").write(method, &target, "").await;
            assert_eq!((answer.status, answer.text()), (201, "{\"a\":1}"), "{interim:?} {method}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p1_chunked_bodies_and_trailers_pass_both_ways() {
    let origin = Origin::answering(|_| {
        Said::new(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nx-sum: 7\r\n\r\n",
            Then::Stays,
        )
    });
    let world = behind(&origin);
    let raw = format!(
        "PUT {} HTTP/1.1\r\nhost: localhost\r\nte: trailers\r\nconnection: close, te\r\ntrailer: x-check\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\nx-check: 3\r\n\r\n",
        disk()
    );
    let heard = talk(&world, raw).await;
    let asked = origin.heard().pop().unwrap();
    assert!(asked.contains("transfer-encoding: chunked") && !asked.contains("content-length"), "{asked}");
    assert!(asked.ends_with("0\r\nx-check: 3\r\n\r\n"), "{asked}");
    let text = heard.text();
    assert!(text.contains("trailer: x-sum\r\n") && text.ends_with("0\r\nx-sum: 7\r\n\r\n"), "{text}");
    assert_eq!(text.matches("abc").count() + text.matches("defg").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn p1_a_delete_and_a_get_keep_the_bodies_they_have() {
    let world = World::new(|_| Reply::ok("{}"));
    for (method, target) in
        [("DELETE", vm()), ("DELETE", disk()), ("GET", disk()), ("GET", vm()), ("POST", disk())]
    {
        let answer = world.client("a").write(method, &target, r#"{"force":true}"#).await;
        assert_eq!(answer.status, 200);
        assert_eq!(world.arm.calls().pop().unwrap().body, r#"{"force":true}"#, "{method} {target}");
    }
    // An empty body is told from none where that matters.
    let sent = |method: &str| {
        let (world, method) = (world.clone(), method.to_owned());
        async move {
            world.client("a").write(&method, &disk(), "").await;
            world.arm.calls().pop().unwrap().header("content-length").map(str::to_owned)
        }
    };
    assert_eq!(sent("POST").await.as_deref(), Some("0"));
    assert_eq!(sent("PUT").await.as_deref(), Some("0"));
}

#[tokio::test(start_paused = true)]
async fn p1_http2_clients_get_the_same() {
    let origin = Origin::answering(|_| {
        Said::new(
            "HTTP/1.1 207 Odd\r\nx-new: 1\r\nx-new: 2\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n",
            Then::Stays,
        )
    });
    let world = behind(&origin);
    let io = TokioIo::new(enter(&world, Entrance::in_memory()));
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new()).handshake(io).await.unwrap();
    tokio::spawn(connection);
    let target = "/a//b%2f?c=%20&d+e";
    let request = Request::put(format!("http://localhost:7788{target}"))
        .header("x-odd", HeaderValue::from_bytes(b"\xe4").unwrap())
        .header("te", "trailers")
        .body(Full::new(Bytes::from_static(b"body")))
        .unwrap();
    let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
    assert_eq!(parts.status, 207);
    assert_eq!(parts.headers.get_all("x-new").iter().collect::<Vec<_>>(), ["1", "2"]);
    let body = body.collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["x-sum"], "7");
    assert_eq!(body.to_bytes(), "abc");
    let asked = &origin.heard()[0];
    assert!(
        asked.starts_with(&format!("PUT {target} HTTP/1.1\r\n")) && asked.ends_with("\r\n\r\nbody"),
        "{asked}"
    );
    assert!(asked.contains("\r\nhost: arm.test\r\n") && asked.contains("\r\ncontent-length: 4\r\n"));
}

/// What is under way between two ends: sent by one, not yet taken by the other.
#[derive(Debug, Clone, Default)]
struct UnderWay {
    sent: Arc<AtomicUsize>,
    taken: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl UnderWay {
    fn sent(&self, bytes: usize) {
        let sent = self.sent.fetch_add(bytes, Relaxed) + bytes;
        self.most.fetch_max(sent - self.taken.load(Relaxed), Relaxed);
    }

    async fn send(&self, io: &mut (impl tokio::io::AsyncWrite + Unpin), total: usize) {
        let piece = vec![b'x'; PIECE];
        let mut left = total;
        while left > 0 {
            let now = left.min(piece.len());
            if io.write_all(&piece[..now]).await.is_err() {
                return;
            }
            self.sent(now);
            left -= now;
        }
    }

    async fn take(&self, io: &mut (impl tokio::io::AsyncRead + Unpin), total: usize) {
        let mut piece = vec![0; PIECE];
        let mut left = total;
        while left > 0 {
            let now = left.min(piece.len());
            io.read_exact(&mut piece[..now]).await.unwrap();
            self.taken.fetch_add(now, Relaxed);
            left -= now;
        }
    }
}

const PIECE: usize = 64 << 10;
/// Larger than anything anybody would hold; in a build without optimisation it takes about a second.
const HUGE: usize = 1 << 30;
/// Two pipes, and the buffers of two connections.
const ROOM: usize = 2 << 20;

async fn quiet() {
    // On paused time nothing is left to be done when a timer fires.
    world::seconds(1).await;
}

#[tokio::test(start_paused = true)]
async fn p1_a_huge_download_takes_constant_memory_and_waits_for_who_is_slow() {
    let under_way = UnderWay::default();
    let sender = under_way.clone();
    let origin = Origin::serving(move |mut io: DuplexStream| {
        let sender = sender.clone();
        async move {
            head(&mut io).await.unwrap();
            let said = format!("HTTP/1.1 200 OK\r\ncontent-length: {HUGE}\r\n\r\n");
            io.write_all(said.as_bytes()).await.unwrap();
            sender.send(&mut io, HUGE).await;
        }
    });
    let world = behind(&origin);
    let mut io = enter(&world, Entrance::in_memory());
    let asked = format!("GET {} HTTP/1.1\r\nhost: localhost\r\n\r\n", disk());
    io.write_all(asked.as_bytes()).await.unwrap();
    assert!(head(&mut io).await.unwrap().contains(&format!("content-length: {HUGE}")));
    quiet().await;
    let (before, most) = (under_way.sent.load(Relaxed), under_way.most.load(Relaxed));
    assert!(before > 0 && most < ROOM, "{most} bytes wait for a client that reads nothing");
    under_way.take(&mut io, HUGE).await;
    assert_eq!(under_way.sent.load(Relaxed), HUGE);
    assert!(under_way.most.load(Relaxed) < ROOM, "{under_way:?}");
}

#[tokio::test(start_paused = true)]
async fn p1_a_huge_upload_takes_constant_memory_and_waits_for_arm() {
    let keys = format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/a/listKeys");
    for (method, target) in [("PUT", disk()), ("POST", keys)] {
        uploads(method, &target).await;
    }
}

async fn uploads(method: &str, target: &str) {
    let under_way = UnderWay::default();
    let taker = under_way.clone();
    let origin = Origin::serving(move |mut io: DuplexStream| {
        let taker = taker.clone();
        async move {
            let head = head(&mut io).await.unwrap();
            assert!(head.contains(&format!("content-length: {HUGE}")));
            world::seconds(10).await;
            taker.take(&mut io, HUGE).await;
            io.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    });
    let world = behind(&origin);
    let mut io = enter(&world, Entrance::in_memory());
    let asked = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {HUGE}\r\n\r\n");
    io.write_all(asked.as_bytes()).await.unwrap();
    let sender = under_way.clone();
    let (mut read, mut write) = tokio::io::split(io);
    tokio::spawn(async move { sender.send(&mut write, HUGE).await });
    quiet().await;
    let (before, most) = (under_way.sent.load(Relaxed), under_way.most.load(Relaxed));
    assert!(before > 0 && most < ROOM, "{most} bytes wait for an ARM that reads nothing");
    assert!(head(&mut read).await.unwrap().starts_with("HTTP/1.1 201"));
    assert_eq!(under_way.taken.load(Relaxed), HUGE);
    assert!(under_way.most.load(Relaxed) < ROOM, "{under_way:?}");
}

#[tokio::test(start_paused = true)]
async fn p1_the_first_byte_arrives_long_before_the_last_is_sent() {
    for (kind, first, last) in [("text/plain", "first", "last"), ("application/json", r#"{"value":["#, "]}")]
    {
        let origin = Origin::serving(move |mut io: DuplexStream| async move {
            let asked = head(&mut io).await.unwrap();
            let said = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n",
                first.len()
            );
            if asked.starts_with("PUT") {
                // An upload as well: what was said first is here, and nothing more is yet.
                let mut piece = vec![0; "5\r\nhello\r\n".len()];
                io.read_exact(&mut piece).await.unwrap();
                assert_eq!(piece, b"5\r\nhello\r\n");
            }
            io.write_all(said.as_bytes()).await.unwrap();
            world::seconds(50).await;
            io.write_all(format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len()).as_bytes()).await.unwrap();
            world::seconds(1).await;
        });
        for method in ["GET", "PUT"] {
            let world = behind(&origin);
            let mut io = enter(&world, Entrance::in_memory());
            let start = world.clock.now();
            let body =
                if method == "PUT" { "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n" } else { "\r\n" };
            let asked = format!("{method} {} HTTP/1.1\r\nhost: localhost\r\n{body}", disk());
            io.write_all(asked.as_bytes()).await.unwrap();
            let mut heard = head(&mut io).await.unwrap().into_bytes();
            while !heard.ends_with(format!("{first}\r\n").as_bytes()) {
                heard.push(io.read_u8().await.unwrap());
            }
            assert!(world.clock.now().since(start) < Duration::from_secs(1), "{method} {kind}");
            if method == "PUT" {
                io.write_all(b"0\r\n\r\n").await.unwrap();
            }
            while !heard.ends_with(b"0\r\n\r\n") {
                heard.push(io.read_u8().await.unwrap());
            }
            assert_eq!(world.clock.now().since(start).as_secs(), 50, "{method} {kind}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p1_an_answer_before_the_end_of_an_upload_reaches_its_client() {
    let origin = Origin::serving(|mut io: DuplexStream| async move {
        head(&mut io).await.unwrap();
        io.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno")
            .await
            .unwrap();
        world::seconds(100).await;
    });
    let world = behind(&origin);
    let io = enter(&world, Entrance::in_memory());
    let (mut read, mut write) = tokio::io::split(io);
    let asked = format!("PUT {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {HUGE}\r\n\r\n", disk());
    tokio::spawn(async move {
        write.write_all(asked.as_bytes()).await.unwrap();
        UnderWay::default().send(&mut write, HUGE).await;
    });
    let answer = timeout(Duration::from_secs(5), head(&mut read)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn p1_nothing_is_added_to_a_request() {
    let world = World::new(|_| Reply::ok("{}"));
    let plain = ["authorization", "content-length", "content-type", "host", "user-agent"];
    for (method, target) in [("PUT", disk()), ("PUT", vm()), ("DELETE", disk()), ("GET", disk())] {
        world.client("a").write(method, &target, "{}").await;
        let call = world.arm.calls().pop().unwrap();
        let names: BTreeSet<_> = call.headers.keys().map(|name| name.as_str().to_owned()).collect();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), plain, "{method} {target}");
    }
}
