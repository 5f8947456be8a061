//! Over pipes: protocols, broken bodies, headers.

use super::super::{Canned, Fault, Latency, Match};
use super::*;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};

async fn send(arm: &Simulator, h2: bool, request: Request<Full<Bytes>>) -> Result<Got, String> {
    let client = arm.dial();
    let failed = |error: hyper::Error| error.to_string();
    let response = if h2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(client))
                .await
                .map_err(failed)?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(failed)?
    } else {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(client)).await.map_err(failed)?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(failed)?
    };
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(failed)?.to_bytes();
    Ok(Got { status: parts.status.as_u16(), headers: parts.headers, bytes })
}

fn request(h2: bool, target: &str, token: &str) -> Request<Full<Bytes>> {
    let uri = if h2 { format!("https://management.azure.com{target}") } else { target.to_owned() };
    let request = Request::get(uri).header("authorization", format!("Bearer {token}"));
    let request = if h2 { request } else { request.header("host", "management.azure.com") };
    request.body(Full::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn speaks_both_protocols() {
    let bench = Bench::new();
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    for h2 in [false, true] {
        let got = send(&bench.arm, h2, request(h2, &set, &bench.token)).await.unwrap();
        assert_eq!((got.status, got.header("etag")), (200, Some("\"1\"")));
        assert_eq!(got.header("content-length").unwrap(), got.bytes.len().to_string());
    }
    let seen: Vec<_> =
        bench.arm.journal().iter().map(|call| (call.version, call.connection, call.host.clone())).collect();
    let host = || "management.azure.com".to_owned();
    assert_eq!(seen, [(http::Version::HTTP_11, 1, host()), (http::Version::HTTP_2, 2, host())]);
}

#[tokio::test(start_paused = true)]
async fn breaks_off_where_it_was_told() {
    let bench = Bench::new();
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    for h2 in [false, true] {
        for fault in
            [Fault::Reset, Fault::Disconnect, Fault::LostAnswer, Fault::Truncate(0), Fault::Truncate(100)]
        {
            bench.arm.fault(Match::any(), fault.clone(), 1);
            let got = send(&bench.arm, h2, request(h2, &set, &bench.token)).await;
            assert!(got.is_err(), "{fault:?} {h2}: {got:?}");
        }
        let begun = tokio::time::Instant::now();
        bench.arm.fault(Match::any(), Fault::Stall(10, Some(Duration::from_secs(7))), 1);
        bench.arm.fault(Match::any(), Fault::Late(Duration::from_secs(2)), 1);
        bench.arm.fault(Match::any(), Fault::Slow(Duration::from_secs(3)), 1);
        let got = send(&bench.arm, h2, request(h2, &set, &bench.token)).await.unwrap();
        assert_eq!((got.status, begun.elapsed().as_secs()), (200, 12));
        bench.arm.fault(Match::any(), Fault::Stall(10, None), 1);
        let hung = send(&bench.arm, h2, request(h2, &set, &bench.token));
        assert!(tokio::time::timeout(Duration::from_secs(100), hung).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_carried_out_though_its_client_left() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    bench.arm.fault(Match::writes(), Fault::Late(Duration::from_secs(5)), 1);
    let put = Request::put(format!("{set}?{COMPUTE}"))
        .header("host", "management.azure.com")
        .header("authorization", format!("Bearer {}", bench.token))
        .body(Full::from(r#"{"sku":{"capacity":2}}"#))
        .unwrap();
    let left = tokio::time::timeout(Duration::from_secs(1), send(&bench.arm, false, put)).await;
    assert!(left.is_err());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bench.arm.etag(&set).unwrap(), "\"2\"");
}

#[tokio::test(start_paused = true)]
async fn the_head_is_as_recorded() {
    let bench = Bench::with(Options {
        latency: Latency::of(Duration::from_millis(80)),
        gzip: true,
        ..Options::default()
    });
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    let asks = [
        ("x-ms-client-request-id", "mine"),
        ("x-ms-return-client-request-id", "true"),
        ("accept-encoding", "gzip"),
    ];
    let begun = tokio::time::Instant::now();
    let got = bench.call("GET", &set, &asks, "").await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(80));
    let expected = [
        ("cache-control", "no-cache"),
        ("pragma", "no-cache"),
        ("expires", "-1"),
        ("content-type", "application/json; charset=utf-8"),
        ("strict-transport-security", "max-age=31536000; includeSubDomains"),
        ("x-content-type-options", "nosniff"),
        ("x-cache", "CONFIG_NOCACHE"),
        ("x-ms-need-to-refresh-epl-cache", "False"),
        ("x-ms-client-request-id", "mine"),
        ("date", "Thu, 28 May 2026 20:26:40 GMT"),
        ("content-encoding", "gzip"),
        ("vary", "Accept-Encoding"),
    ];
    for (name, value) in expected {
        assert_eq!(got.header(name), Some(value), "{name}");
    }
    assert!(got.header("x-ms-routing-request-id").unwrap().starts_with("EASTUS2:20260528T202640Z:"));
    let plain = bench.get(&set).await;
    assert!(plain.bytes.len() > got.bytes.len());
    assert_eq!((plain.header("vary"), plain.header("x-ms-client-request-id")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn canned_answers_and_headers() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let target = format!("{set}?{COMPUTE}");
    bench.arm.fault(
        Match::any(),
        Fault::Answer(Canned::error(503, "ServerBusy").with("retry-after", "2")),
        1,
    );
    let got = bench.put(&target, &json!({"sku": {"capacity": 9}})).await;
    assert_eq!((got.status, got.code().as_str(), got.header("retry-after")), (503, "ServerBusy", Some("2")));
    assert_eq!(bench.arm.etag(&set).unwrap(), "\"1\"");
    bench.arm.fault(Match::any(), Fault::Instead(Canned::error(500, "InternalError")), 1);
    assert_eq!(bench.put(&target, &json!({"sku": {"capacity": 9}})).await.status, 500);
    assert_eq!(bench.arm.etag(&set).unwrap(), "\"2\"");
    bench.arm.fault(Match::any(), Fault::Headers(vec![("cache-control", "no-store".to_owned())]), 1);
    assert_eq!(bench.get(&target).await.header("cache-control"), Some("no-store"));
}

#[tokio::test(start_paused = true)]
async fn paths_for_transport() {
    let bench = Bench::new();
    for h2 in [false, true] {
        let echo = send(&bench.arm, h2, request(h2, "/_test/echo?a=%2f", "t")).await.unwrap().json();
        assert_eq!((&echo["method"], &echo["target"]), (&json!("GET"), &json!("/_test/echo?a=%2f")));
        for (query, length) in [("", Some("100000")), ("?chunked", None), ("?trailers", None)] {
            let got =
                send(&bench.arm, h2, request(h2, &format!("/_test/bytes/100000{query}"), "t")).await.unwrap();
            assert_eq!((got.bytes.len(), got.header("content-length")), (100_000, length), "{query}");
        }
        let begun = tokio::time::Instant::now();
        send(&bench.arm, h2, request(h2, "/_test/bytes/40000?pause=1000", "t")).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 2);
        assert_eq!(send(&bench.arm, h2, request(h2, "/_test/status/418", "t")).await.unwrap().status, 418);
    }
}
