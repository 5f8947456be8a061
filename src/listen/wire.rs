//! What real bytes on a connection do, on paused time. Some of these tests record what hyper does by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::sniff::PREFACE;
use super::testing::{Made, answer, get, http2_client, served, settings, talk};
use super::{Ending, Entrance, Shared};

const SECOND: Duration = Duration::from_secs(1);

fn shared() -> Arc<Shared> {
    Shared::new(settings(), None)
}

/// Whether a connection is closed with the last answer or kept until it is idle.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Closes,
    Stays,
}
use Then::{Closes, Stays};

async fn check(raw: &str, statuses: &[u16], then: Then, part: &str) {
    let heard = talk(raw.as_bytes(), &shared()).await;
    assert_eq!(heard.statuses(), statuses, "{raw:?} → {}", heard.text);
    let closed = if heard.after < SECOND { Closes } else { Stays };
    assert_eq!(closed, then, "{raw:?} → {} after {:?}", heard.text, heard.after);
    assert!(heard.text.contains(part), "{raw:?} → {}", heard.text);
}

#[tokio::test(start_paused = true)]
async fn ordinary_requests_share_a_connection() {
    let get = "GET /a?b=%2f HTTP/1.1\r\nhost: localhost\r\n\r\n";
    check(get, &[200], Stays, "[GET /a?b=%2f HTTP/1.1 host=1 cl=0 te=0 body= plain").await;
    check(&get.repeat(3), &[200, 200, 200], Stays, "").await;
    check(&format!("\r\n{get}"), &[200], Stays, "").await;
    check("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", &[200], Closes, "connection: close")
        .await;
    check("GET / HTTP/1.0\r\nhost: x\r\n\r\n", &[200], Closes, "HTTP/1.0 200").await;
    let put = "PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi";
    check(&put.repeat(2), &[200, 200], Stays, "cl=1 te=0 body=hi").await;
    let expect = "PUT / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nhi";
    check(expect, &[100, 200], Stays, "body=hi").await;
}

#[tokio::test(start_paused = true)]
async fn two_lengths_end_the_connection_after_one_request() {
    let second = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    let lengths = [
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 5",
    ];
    for lengths in lengths {
        let raw = format!("PUT / HTTP/1.1\r\nhost: x\r\n{lengths}\r\n\r\n2\r\nhi\r\n0\r\n\r\n{second}");
        check(&raw, &[200], Closes, "cl=0 te=1 body=hi").await;
    }
    let raw = format!(
        "PUT / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n{second}"
    );
    check(&raw, &[200, 200], Stays, "body=hi").await;
}

#[tokio::test(start_paused = true)]
async fn doubtful_lengths() {
    let body = |fields: &str, body: &str| format!("PUT / HTTP/1.1\r\nhost: x\r\n{fields}\r\n\r\n{body}");
    let two = "content-length: 2\r\ncontent-length: 2";
    check(&body(two, "hi"), &[200], Stays, "cl=1 te=0 body=hi").await;
    for fields in [
        "content-length: 2\r\ncontent-length: 3",
        "content-length: 2, 2",
        "content-length: +2",
        "content-length: -2",
        "content-length: 0x2",
        "content-length: 2 2",
        "content-length:",
        "content-length: 99999999999999999999",
        "transfer-encoding: identity",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
        "content-length : 2",
    ] {
        check(&body(fields, "hi"), &[400], Closes, "").await;
    }
    // These are for the one who asks what was dialled to refuse.
    let chunks = "2\r\nhi\r\n0\r\n\r\n";
    check(&body("transfer-encoding: gzip, chunked", chunks), &[200], Stays, "te=1").await;
    check(&body("transfer-encoding: chunked\r\ntransfer-encoding: chunked", chunks), &[200], Stays, "te=2")
        .await;
    check("PUT / HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", &[400], Closes, "")
        .await;
}

#[tokio::test(start_paused = true)]
async fn broken_chunks_break_the_body_and_end_the_connection() {
    for chunks in [
        "z\r\nhi\r\n0\r\n\r\n",
        "-2\r\nhi\r\n",
        "0x2\r\nhi\r\n",
        "fffffffffffffffff\r\nhi",
        "2\r\nhi!0\r\n\r\n",
        "2\nhi\n0\n\n",
    ] {
        let raw = format!(
            "PUT / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{chunks}GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
        );
        check(&raw, &[200], Closes, "body=broken").await;
    }
}

#[tokio::test(start_paused = true)]
async fn doubtful_heads() {
    for head in [
        "GET / HTTP/1.1\r\nhost: x\r\n folded: y",
        "GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c",
        "GET / HTTP/1.1\rhost: x",
        "GET / HTTP/1.1\r\nhost: x\ry: z",
        "GET / HTTP/1.1\r\nhost: x\r\na: b\0c",
        "GET / HTTP/1.1\r\nhost : x",
        "GET / HTTP/1.1\r\n: x",
        "GET  / HTTP/1.1\r\nhost: x",
        "GET /a b HTTP/1.1\r\nhost: x",
        "GET / HTTP/2.0\r\nhost: x",
        "GET / HTTP/1.2\r\nhost: x",
        "GET /\r\nhost: x",
        "G@T / HTTP/1.1\r\nhost: x",
        "GET / HTTP/1.1\r\nhost: x\r\nno colon",
    ] {
        check(&format!("{head}\r\n\r\n"), &[400], Closes, "").await;
        let heard = talk(format!("{head}\r\n\r\n").as_bytes(), &shared()).await;
        assert_eq!(heard.ending, Ending::Refused);
    }
    // Lenient, and harmless: what goes upstream is written anew.
    check("GET / HTTP/1.1\nhost: x\n\n", &[200], Stays, "host=1").await;
    check("GET /a?b#fragment HTTP/1.1\r\nhost: x\r\n\r\n", &[200], Stays, "[GET /a?b HTTP/1.1").await;
    // Which of these is answered, and under which name, is decided by what was dialled.
    check("GET / HTTP/1.1\r\n\r\n", &[200], Stays, "host=0").await;
    check("GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", &[200], Stays, "host=2").await;
    check("GET http://a:1/b HTTP/1.1\r\nhost: x\r\n\r\n", &[200], Stays, "[GET http://a:1/b ").await;
}

#[tokio::test(start_paused = true)]
async fn long_heads_pass_and_longer_ones_are_refused() {
    let long = "a".repeat(32 * 1024);
    let get = |target: &str, fields: &str| format!("GET /{target} HTTP/1.1\r\nhost: x\r\n{fields}\r\n");
    let many = |count: usize| "a: b\r\n".repeat(count);
    check(&get(&long, &format!("a: {long}\r\nb: {long}\r\n")), &[200], Stays, "longest=32768").await;
    check(&get(&long.repeat(3), ""), &[414], Closes, "").await;
    check(&get("", &format!("a: {}\r\n", long.repeat(3))), &[200], Stays, "longest=98304").await;
    check(&get("", &format!("a: {}\r\n", long.repeat(4))), &[431], Closes, "").await;
    check(&get("", &format!("a: {}\r\n", long.repeat(16))), &[431], Closes, "").await;
    check(&get("", &many(99)), &[200], Stays, "").await;
    check(&get("", &many(100)), &[431], Closes, "").await;
}

#[tokio::test(start_paused = true)]
async fn http2_takes_long_heads_too() {
    let served = served(Entrance::in_memory(), &shared());
    let mut client = http2_client(served.io).await;
    let long = "a".repeat(32 * 1024);
    let with = |value: String| http::Request::get("http://localhost/").header("a", value);
    for (request, status) in [
        (http::Request::get(format!("http://localhost/{long}")), 200),
        (with(long.repeat(3)), 200),
        (with(long.repeat(5)), 431),
        (with(long.clone()), 200),
    ] {
        let request = request.body(http_body_util::Empty::new()).unwrap();
        assert_eq!(client.send_request(request).await.unwrap().status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_nothing_is_dropped_at_the_deadline() {
    for (raw, ending) in [
        (&b""[..], Ending::Silent),
        (&PREFACE[..10], Ending::Silent),
        (PREFACE, Ending::Silent),
        (b"GET / HT", Ending::Silent),
        (b"GET / HTTP/1.1\r\nhost: x\r\n", Ending::Silent),
        (b"\r\n\r\n", Ending::Silent),
        (b"\x16\x03\x01", Ending::NoTls),
    ] {
        let heard = talk(raw, &shared()).await;
        assert_eq!(heard.ending, ending, "{raw:?}");
        assert_eq!(heard.after.as_secs(), if ending == Ending::Silent { 10 } else { 0 }, "{raw:?}");
    }
    let tls = Shared::new(settings(), Some(Made::new().server()));
    for (raw, ending, after) in [
        (&b"\x16"[..], Ending::Silent, 10),
        (b"\x16\x03\x01\x01\x00\x01", Ending::Silent, 10),
        (b"\x16GET / HTTP/1.1\r\n\r\n", Ending::Handshake, 0),
    ] {
        let heard = talk(raw, &tls).await;
        assert_eq!((heard.ending, heard.after.as_secs()), (ending, after), "{raw:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_deadline_covers_handshake_and_head() {
    let made = Made::new();
    let served = served(Entrance::in_memory(), &Shared::new(settings(), Some(made.server())));
    let start = Instant::now();
    sleep(6 * SECOND).await;
    let mut io = made.connect(served.io, "localhost", &[]).await;
    io.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    assert_eq!(served.ending.await.unwrap(), Ending::Silent);
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_later_head_has_its_own_deadline() {
    let mut served = served(Entrance::in_memory(), &shared());
    for _ in 0..3 {
        served.io.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        answer(&mut served.io).await;
        sleep(50 * SECOND).await;
    }
    let start = Instant::now();
    served.io.write_all(b"GET / HT").await.unwrap();
    assert_eq!(served.ending.await.unwrap(), Ending::Broken);
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_no_silence() {
    let mut served = served(Entrance::in_memory(), &shared());
    served.io.write_all(b"GET /slow/1000 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(answer(&mut served.io).await.starts_with("HTTP/1.1 200"));
    served.io.write_all(b"GET /trickle/1000 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    served.io.read_to_string(&mut text).await.unwrap();
    assert!(text.ends_with("1\r\nx\r\n0\r\n\r\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_in_the_end() {
    let heard = talk(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", &shared()).await;
    assert_eq!(heard.ending, Ending::Closed);
    assert!((120..=250).contains(&heard.after.as_secs()), "{:?}", heard.after);

    let served = served(Entrance::in_memory(), &shared());
    let mut client = http2_client(served.io).await;
    let start = Instant::now();
    get(&mut client, "http://localhost/").await.unwrap();
    assert_eq!(served.ending.await.unwrap(), Ending::Closed);
    assert!((120..=250).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_given_up() {
    let mut served = served(Entrance::in_memory(), &shared());
    let start = Instant::now();
    served.io.write_all(b"GET /big/1000000 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert_eq!(served.ending.await.unwrap(), Ending::Broken);
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_takes_its_request_along() {
    let mut served = served(Entrance::in_memory(), &shared());
    served.io.write_all(b"GET /slow/1000 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    sleep(SECOND).await;
    drop(served.io);
    served.ending.await.unwrap();
    assert_eq!((served.echo.asked.load(Relaxed), served.echo.answered.load(Relaxed)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_early_answer_reaches_a_client_that_is_still_sending() {
    let body = "x".repeat(1 << 20);
    let raw = format!("PUT /early HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    check(&raw, &[200], Closes, "early").await;
}

#[tokio::test(start_paused = true)]
async fn tls_tells_its_name_and_protocol() {
    let made = Made::new();
    let shared = Shared::new(settings(), Some(made.server()));
    for (name, alpn, expected) in [
        ("localhost", &["http/1.1"][..], "HTTP/1.1 host=1 cl=0 te=0 body= secure localhost"),
        ("localhost", &[], "HTTP/1.1 host=1 cl=0 te=0 body= secure localhost"),
        ("127.0.0.1", &["http/1.1"], "HTTP/1.1 host=1 cl=0 te=0 body= secure longest"),
    ] {
        let served = served(Entrance::in_memory(), &shared);
        let mut io = made.connect(served.io, name, alpn).await;
        io.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let answer = answer(&mut io).await;
        assert!(answer.contains(expected), "{answer}");
    }
    let served = served(Entrance::in_memory(), &shared);
    let io = made.connect(served.io, "localhost", &["h2", "http/1.1"]).await;
    assert_eq!(io.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (_, text) = get(&mut http2_client(io).await, "https://localhost/").await.unwrap();
    assert!(text.contains("HTTP/2.0 host=0 cl=0 te=0 body= secure localhost"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn http2_knows_its_preface() {
    let served = served(Entrance::in_memory(), &shared());
    let mut client = http2_client(served.io).await;
    let (status, text) = get(&mut client, "http://localhost/a?b").await.unwrap();
    assert_eq!(status, 200);
    assert!(text.contains("[GET http://localhost/a?b HTTP/2.0 host=0"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_resets_ends_the_connection() {
    let served = served(Entrance::in_memory(), &shared());
    let mut io = served.io;
    io.write_all(PREFACE).await.unwrap();
    io.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    // GET http://x/ in HPACK's static table, then a reset, on each stream.
    let head = [0x82, 0x86, 0x84, 0x41, 0x01, b'x'];
    let mut flood = Vec::new();
    for stream in (1..20_000_u32).step_by(2) {
        flood.extend([0, 0, head.len() as u8, 1, 5]);
        flood.extend(stream.to_be_bytes());
        flood.extend(head);
        flood.extend([0, 0, 4, 3, 0]);
        flood.extend(stream.to_be_bytes());
        flood.extend(8_u32.to_be_bytes());
    }
    let (mut read, mut write) = tokio::io::split(io);
    let writer = tokio::spawn(async move { write.write_all(&flood).await });
    let mut answer = Vec::new();
    let _ = read.read_to_end(&mut answer).await;
    assert_eq!(served.ending.await.unwrap(), Ending::Broken);
    assert!(answer.windows(4).any(|frame| frame == 11_u32.to_be_bytes()), "ENHANCE_YOUR_CALM");
    writer.abort();
}
