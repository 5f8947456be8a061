//! Bytes that no well-behaved client sends, through all of armshield: refused clearly or passed, never two
//! requests where there was one.

use crate::support::raw::{Heard, talk};
use crate::support::{Reply, World};

const DISK: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/disks/d";
const VM: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01";

/// A world, and what it answered to these bytes.
async fn say(raw: impl AsRef<[u8]>) -> (World, Heard) {
    let world = World::new(|_| Reply::ok("{}"));
    let heard = talk(&world, raw).await;
    (world, heard)
}

/// Refused with this status, the connection closed, ARM not asked; what follows on the connection is not
/// looked at.
async fn refused(raw: &str, status: u16) {
    let raw = format!("{raw}GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let (world, heard) = say(&raw).await;
    assert_eq!(heard.statuses(), [status], "{raw:?} → {}", heard.text());
    assert!(heard.closed_at_once(), "{raw:?}");
    assert_eq!(world.arm.calls().len(), 0, "{raw:?}");
}

#[tokio::test(start_paused = true)]
async fn bad_heads_are_refused_before_anything_is_asked() {
    for head in [
        "GET",
        "GET /",
        "GET / HTTP/1.2",
        "GET / HTTP/3.0",
        "GET  / HTTP/1.1",
        "GET / a HTTP/1.1",
        "G@T / HTTP/1.1",
        "GET /\u{7f} HTTP/1.1",
        "GET / HTTP/1.1\rhost: localhost",
        "GET / HTTP/1.1\r\nhost: localhost\rx: y",
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b",
        "GET / HTTP/1.1\r\n x: folded at once\r\nhost: localhost",
        "GET / HTTP/1.1\r\nhost : localhost",
        "GET / HTTP/1.1\r\nhost: localhost\r\nno colon",
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: a\0b",
        "GET / HTTP/1.1\r\nhost: localhost\r\n: no name",
        "\u{1}\u{2}\u{3}",
    ] {
        refused(&format!("{head}\r\n\r\n"), 400).await;
    }
}

#[tokio::test(start_paused = true)]
async fn bad_lengths_are_refused_before_anything_is_asked() {
    for fields in [
        "content-length: 2\r\ncontent-length: 3",
        "content-length: 2, 3",
        "content-length: -2",
        "content-length: +2",
        "content-length: two",
        "content-length: 99999999999999999999",
        "content-length : 2",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
    ] {
        for target in [DISK, VM] {
            refused(&format!("PUT {target} HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n\r\nhi"), 400).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_length_beside_chunked_counts_as_chunked_and_ends_the_connection() {
    for target in [DISK, VM] {
        for fields in [
            "content-length: 5\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked\r\ncontent-length: 5",
            "transfer-encoding: chunked\r\ncontent-length: 0",
        ] {
            let (world, heard) = say(format!(
                "PUT {target} HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n\r\n2\r\nhi\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n"
            ))
            .await;
            assert_eq!(heard.statuses(), [200], "{fields}");
            assert!(heard.closed_at_once(), "{fields}");
            let calls = world.arm.calls();
            assert_eq!(calls.len(), 1, "{fields}");
            assert_eq!((&calls[0].body[..], calls[0].target.as_str()), (&b"hi"[..], target));
            let said =
                (calls[0].header("content-length").is_some(), calls[0].header("transfer-encoding").is_some());
            assert!(said == (true, false) || said == (false, true), "{fields}: {said:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_codings_are_refused() {
    for coding in ["gzip, chunked", "chunked\r\ntransfer-encoding: chunked"] {
        let (world, heard) = say(format!(
            "PUT {DISK} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: {coding}\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        ))
        .await;
        assert_eq!(heard.statuses(), [501], "{}", heard.text());
        assert!(heard.text().contains("transfer coding other than chunked"));
        assert_eq!(world.arm.calls().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn bad_chunks_never_become_a_request_of_arm() {
    for target in [DISK, VM] {
        for chunks in [
            "z\r\nhi\r\n0\r\n\r\n",
            "-2\r\nhi\r\n0\r\n\r\n",
            "0x2\r\nhi\r\n0\r\n\r\n",
            "fffffffffffffffff\r\nhi\r\n0\r\n\r\n",
            "2\r\nhi!\r\n0\r\n\r\n",
            "2\nhi\n0\n\n",
        ] {
            let raw = format!(
                "PUT {target} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n{chunks}GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n"
            );
            let (world, heard) = say(&raw).await;
            assert_eq!(heard.statuses(), [400], "{chunks:?} → {}", heard.text());
            assert!(heard.text().contains("the request's body broke off"), "{}", heard.text());
            assert_eq!(world.arm.calls().len(), 0, "{chunks:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_sizes_of_heads_are_told() {
    let long = "a".repeat(200 * 1024);
    refused(&format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"), 431).await;
    let many = "a: b\r\n".repeat(300);
    refused(&format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), 431).await;
    refused(&format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", &long[..100 * 1024]), 414).await;
}

#[tokio::test(start_paused = true)]
async fn bad_names_are_told_in_arms_shape() {
    let check = async |head: &str, status: u16, part: &str| {
        let (world, heard) = say(format!("{head}\r\n\r\n")).await;
        assert_eq!(heard.statuses(), [status], "{head:?} → {}", heard.text());
        let error = &heard.error()["error"];
        assert!(error["code"].is_string());
        assert!(error["message"].as_str().unwrap().contains(part), "{head:?} → {error}");
        assert!(heard.text().contains("x-ms-failure-cause: armshield"));
        assert_eq!(world.arm.calls().len(), 0, "{head:?}");
    };
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let get = |fields: &str| format!("{method} {DISK} HTTP/1.1{fields}");
        check(&get(""), 400, "names no host").await;
        check(&get("\r\nhost:"), 400, "names no host").await;
        check(&get("\r\nhost: localhost\r\nhost: localhost"), 400, "more than one Host").await;
        check(&get("\r\nhost: localhost\r\nhost: evil.example"), 400, "more than one Host").await;
        check(&get("\r\nhost: root@localhost"), 400, "not a host name").await;
        check(&get("\r\nhost: localhost:99999"), 400, "not a host name").await;
        check(&get("\r\nhost: evil.example"), 421, "`names` in [listen]").await;
        let absolute = format!("{method} http://localhost{DISK} HTTP/1.1");
        check(&format!("{absolute}\r\nhost: evil.example"), 400, "contradicts").await;
        check(&absolute, 400, "names no host").await;
        let two = "\r\nhost: localhost\r\nauthorization: Bearer a\r\nauthorization: Bearer b";
        check(&get(two), 400, "Authorization").await;
    }
}

#[tokio::test(start_paused = true)]
async fn bad_tunnels_are_refused_with_the_way_out() {
    for target in ["management.azure.com:443", "localhost:7788", "evil.example:443"] {
        let (world, heard) = say(format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n")).await;
        assert_eq!(heard.statuses(), [405], "{}", heard.text());
        assert!(heard.error()["error"]["message"].as_str().unwrap().contains("does not open tunnels"));
        assert_eq!((world.arm.calls().len(), world.arm.dials()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn bad_paths_pass_as_they_came_and_are_never_kept() {
    for target in [
        "/",
        "//",
        "/favicon.ico",
        "/subscriptions//resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a",
        "/subscriptions/11111111-1111-1111-1111-111111111111/../s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a",
        "/subscriptions/11111111-1111-1111-1111-111111111111/%2e%2e/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/%zz",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/%",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/%00",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a%2fb",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/%ff%fe",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a/",
        "/providers",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers",
        "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute",
        "/?&&==&%zz=%",
        "/metadata/endpoints/",
    ] {
        let world = World::new(|_| Reply::ok("{}"));
        let az = world.client("a");
        for method in ["GET", "GET", "PUT", "DELETE", "POST"] {
            let answer = az.write(method, target, "").await;
            assert_eq!((answer.status, answer.text()), (200, "{}"), "{method} {target}");
            assert!(!answer.is_hit(), "{target}");
        }
        let asked: Vec<_> = world.arm.calls().into_iter().map(|call| call.target).collect();
        assert_eq!(asked, [target; 5]);
    }
}

#[tokio::test(start_paused = true)]
async fn bad_manners_that_do_no_harm_are_taken() {
    for raw in [
        format!("\r\n\r\nGET {DISK} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        format!("GET {DISK} HTTP/1.1\nhost: localhost\n\n"),
        format!("GET {DISK}#fragment HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        format!("GET {DISK} HTTP/1.0\r\nhost: localhost\r\n\r\n"),
        format!("GET {DISK} HTTP/1.1\r\nHOST:localhost:7788   \r\n\r\n"),
    ] {
        let (world, heard) = say(&raw).await;
        assert_eq!(heard.statuses(), [200], "{raw:?} → {}", heard.text());
        assert_eq!(world.arm.calls()[0].target, DISK);
    }
    let (world, heard) = say("OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(heard.statuses(), [200], "{}", heard.text());
    assert_eq!(world.arm.calls()[0].target, "*");
}
