//! P12: links, poll URLs and discovery lead back through armshield, and never to a name a client made up.

use std::io;
use std::io::Write;
use std::sync::Arc;

use armshield::arm::Cloud;
use armshield::listen::Entrance;
use armshield::policy::{Links, Policy};
use armshield::upstream::Target;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use crate::support::arm::Arm;
use crate::support::client::Answer;
use crate::support::origin::{Origin, Said, Secured, Then};
use crate::support::raw::enter;
use crate::support::tokens::EPOCH;
use crate::support::{Reply, World};
use armshield::clock::{Clock, Wall};

const SETS: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets?api-version=2025-04-01";
const DISKS: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/disks?api-version=2025-01-02";
const VM: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01";
const POLL: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Compute/locations/e/operations/o?p=x&api-version=2025-04-01&t=638%2b&c=MII%2F&s=a+b_~&h=%e2";

/// How a client came, and what leads back to it.
#[derive(Debug, Clone, Copy)]
struct Came {
    host: &'static str,
    secure: bool,
    back: &'static str,
}

const CAME: [Came; 6] = [
    Came { host: "localhost:7788", secure: false, back: "http://localhost:7788" },
    Came { host: "LOCALHOST", secure: false, back: "http://localhost" },
    Came { host: "127.0.0.1:7788", secure: false, back: "http://127.0.0.1:7788" },
    Came { host: "[::1]:30443", secure: true, back: "https://[::1]:30443" },
    Came { host: "shield.kube-system.svc", secure: true, back: "https://shield.kube-system.svc" },
    Came { host: "shield.kube-system.svc:7788", secure: false, back: "http://shield.kube-system.svc:7788" },
];

impl Came {
    async fn asks(&self, world: &World, method: &str, target: &str) -> Answer {
        self.asks_with(world, method, target, &[]).await
    }

    async fn asks_with(&self, world: &World, method: &str, target: &str, fields: &[(&str, &str)]) -> Answer {
        let entrance = Entrance::in_memory();
        let entrance = if self.secure { entrance.secured(None) } else { entrance };
        let (mut sender, connection) = handshake(TokioIo::new(enter(world, entrance))).await.unwrap();
        tokio::spawn(connection);
        let az = world.client("a").dialling(self.host);
        let request = fields
            .iter()
            .fold(az.request(method, target), |request, (name, value)| request.header(*name, *value));
        let request: Request<Full<bytes::Bytes>> = request.body(Full::default()).unwrap();
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: head.status.as_u16(), headers: head.headers, body, at: world.clock.now() }
    }
}

/// A world that has a name of its own.
fn world(script: impl FnMut(&crate::support::Call) -> Reply + Send + 'static) -> World {
    named(Policy::default(), script)
}

fn named(policy: Policy, script: impl FnMut(&crate::support::Call) -> Reply + Send + 'static) -> World {
    World::with(policy, |settings| settings.listen.names.push("shield.kube-system.svc".into()), script)
}

fn list(link: &str) -> String {
    format!(r#"{{"value":[{{"id":"/a"}}], "nextLink":"{link}","count":1}}"#)
}

/// How a list of ARM comes.
#[derive(Debug, Clone, Copy)]
enum Coming {
    Whole,
    Chunked,
    Gzip,
}

fn came(body: &str, coming: Coming) -> Said {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\n";
    let mut bytes = head.as_bytes().to_vec();
    match coming {
        Coming::Whole => {
            bytes.extend(format!("content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        }
        Coming::Chunked => {
            bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
            for piece in body.as_bytes().chunks(7) {
                bytes.extend(format!("{:x}\r\n", piece.len()).as_bytes());
                bytes.extend(piece);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        }
        Coming::Gzip => {
            let coded = gzip(body);
            bytes.extend(
                format!("content-encoding: gzip\r\ncontent-length: {}\r\n\r\n", coded.len()).as_bytes(),
            );
            bytes.extend(coded);
        }
    }
    Said::new(bytes, Then::Stays)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Gzip for who takes it, as servers do.
fn negotiated(body: String, coming: Coming) -> Origin {
    Origin::answering(move |request| match coming {
        Coming::Gzip if !request.contains("accept-encoding: gzip") => came(&body, Coming::Whole),
        coming => came(&body, coming),
    })
}

#[tokio::test(start_paused = true)]
async fn p12_the_next_page_of_a_list_is_behind_the_name_dialled() {
    let page = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks?$skiptoken=A%2bB&x=%20";
    for arm in ["https://management.azure.com", "https://management.azure.com:443", "http://arm.test"] {
        for target in [SETS, DISKS] {
            let link = format!("{arm}{page}");
            let world = world(move |call| match call.target == page {
                true => Reply::ok(r#"{"value":[]}"#),
                false => Reply::ok(list(&link)),
            });
            for came in CAME {
                let first = came.asks(&world, "GET", target).await;
                let expected = list(&format!("{}{page}", came.back));
                assert_eq!(first.text(), expected, "{came:?} {arm} {target}");
                let next =
                    first.json()["nextLink"].as_str().unwrap().strip_prefix(came.back).unwrap().to_owned();
                assert_eq!(came.asks(&world, "GET", &next).await.text(), r#"{"value":[]}"#);
                assert_eq!(world.arm.calls().last().unwrap().target, page, "signed bytes stay");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p12_a_list_leads_back_however_it_comes() {
    let link = r"https:\/\/management.azure.com\/p\u0026q?a=%2f";
    let padding = format!(r#"{{"pad":"{}","value":[{{"nextLink":"{link}"}}],"nextLink":""#, "x".repeat(3000));
    let body = format!("{padding}{link}\"}}");
    let expected = body.replace(
        &format!(r#"],"nextLink":"{link}"#),
        r#"],"nextLink":"http://localhost:7788\/p\u0026q?a=%2f"#,
    );
    assert_ne!(body, expected);
    // As it may be kept, too large for that, and while too much else is being read.
    for (entry_max, fills) in [(1 << 20, 1 << 20), (1000, 1 << 20), (1 << 20, 1000)] {
        for target in [SETS, DISKS] {
            for coming in [Coming::Whole, Coming::Chunked, Coming::Gzip] {
                let origin = negotiated(body.clone(), coming);
                let world = World::behind(
                    Policy::default(),
                    |settings| {
                        settings.cache.entry_max = entry_max;
                        settings.cache.fills = fills;
                    },
                    Arc::new(origin),
                );
                let what = format!("{entry_max} {fills} {target} {coming:?}");
                let gzip = [("accept-encoding", "gzip")];
                let answer = CAME[0].asks_with(&world, "GET", target, &gzip).await;
                assert_eq!(answer.header("content-encoding"), None, "{what}");
                assert_eq!(answer.text(), expected, "{what}");
                let length = answer.header("content-length").map(|length| length.parse::<usize>().unwrap());
                assert!(length.is_none_or(|length| length == expected.len()), "{what}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p12_poll_urls_lead_back_and_the_poll_keeps_its_bytes() {
    let check = async |method: &str, target: &str, status: u16| {
        let url = format!("https://management.azure.com{POLL}");
        let world = world(move |call| match call.target == POLL {
            true => Reply::json(202, "").with("location", &url),
            false => Reply::json(status, "{}")
                .with("Azure-AsyncOperation", &url)
                .with("Location", &url)
                .with("Location", "/relative")
                .with("x-other", &url),
        });
        for came in CAME {
            let begun = came.asks(&world, method, target).await;
            assert_eq!(begun.status, status);
            let expected = format!("{}{POLL}", came.back);
            assert_eq!(begun.header("azure-asyncoperation"), Some(&*expected), "{came:?}");
            let locations: Vec<_> = begun.headers.get_all("location").iter().collect();
            assert_eq!(locations, [&*expected, "/relative"]);
            assert_eq!(begun.header("x-other"), Some(&*format!("https://management.azure.com{POLL}")));
            let poll = came.asks(&world, "GET", POLL).await;
            assert_eq!((poll.status, poll.header("location")), (202, Some(&*expected)));
            assert_eq!(world.arm.calls().last().unwrap().target, POLL);
        }
    };
    for target in [VM, "/subscriptions/s/resourceGroups/g?api-version=2025-04-01", "/a//b"] {
        for method in ["PUT", "PATCH", "DELETE", "POST"] {
            check(method, target, 202).await;
        }
    }
    check("PUT", VM, 201).await;
    check("GET", VM, 200).await;
    check("GET", VM, 404).await;
    check("GET", DISKS, 202).await;
    check("HEAD", DISKS, 200).await;
}

#[tokio::test(start_paused = true)]
async fn p12_links_elsewhere_stay() {
    for link in [
        "/subscriptions/s?$skiptoken=1",
        "https://storage.example/logs?sig=a%2Fb&u=https://management.azure.com/",
        "https://management.azure.com.evil.example/a",
        "https://management.azure.com@evil.example/a",
        "https://management.chinacloudapi.cn/a",
        "https://arm.test.example/a",
        "http://arm.test:8080/a",
        "//management.azure.com/a",
        "",
    ] {
        for target in [SETS, DISKS] {
            let world = world(move |_| Reply::ok(list(link)).with("location", link));
            let answer = CAME[0].asks(&world, "GET", target).await;
            assert_eq!((answer.text(), answer.header("location")), (&*list(link), Some(link)));
            let answer = CAME[0].asks(&world, "PUT", VM).await;
            assert_eq!((answer.text(), answer.header("location")), (&*list(link), Some(link)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p12_a_profile_may_leave_links_alone() {
    let mut policy = Policy::default();
    let mut other = (*policy.other).clone();
    other.links = Links::Leave;
    policy.other = Arc::new(other);
    let url = format!("https://management.azure.com{POLL}");
    let body = list(&url);
    let sent = body.clone();
    let header = url.clone();
    let world = named(policy, move |_| Reply::ok(sent.clone()).with("location", &header));
    let capz = world.client("a").with_agent("somebody");
    for target in [SETS, DISKS] {
        let answer = capz.get(target).await;
        assert_eq!((answer.text(), answer.header("location")), (&*body, Some(&*url)));
        let az = world.client("a").get(target).await;
        assert_eq!(az.header("location"), Some(&*format!("http://localhost:7788{POLL}")));
    }
    let endpoints = capz.get("/metadata/endpoints").await.json();
    assert_eq!(endpoints["resourceManager"], "http://localhost:7788/", "discovery still leads back");
}

/// A world in front of ARM's own names, over TLS.
fn real(script: impl FnMut(&crate::support::Call) -> Reply + Send + 'static) -> (World, Arm, Secured) {
    let arm = Arm::new(Clock::tokio(Wall::from_unix(EPOCH)), script);
    let secured = Secured::new(Arc::new(arm.clone()), &["management.azure.com", "*.management.azure.com"]);
    let world = World::behind(
        Policy::default(),
        |settings| {
            settings.endpoint = Target::from_url("https://management.azure.com").unwrap();
            settings.upstream.ca = vec![secured.certificate.clone()];
        },
        Arc::new(secured.clone()),
    );
    (world, arm, secured)
}

const REAL: Came = Came { host: "management.azure.com", secure: true, back: "https://management.azure.com" };
const REGION: Came = Came {
    host: "westeurope.management.azure.com",
    secure: true,
    back: "https://westeurope.management.azure.com",
};

#[tokio::test(start_paused = true)]
async fn p12_who_dialled_arm_gets_what_arm_wrote() {
    let url = format!("https://management.azure.com{POLL}");
    for size in [10, 2 << 20] {
        let body = format!(r#"{{"pad":"{}","nextLink":"{url}"}}"#, "x".repeat(size));
        let (sent, header) = (body.clone(), url.clone());
        let (world, arm, _) = real(move |_| {
            Reply::ok(sent.clone()).with("location", &header).with("azure-asyncoperation", &header)
        });
        for came in [REAL, REGION] {
            for (method, target) in [("GET", SETS), ("GET", DISKS), ("PUT", VM), ("GET", POLL)] {
                let answer =
                    came.asks_with(&world, method, target, &[("accept-encoding", "br, gzip;q=0.5")]).await;
                assert!(answer.text() == body, "{came:?} {method} {target}");
                assert_eq!(answer.header("location"), Some(&*url));
                assert_eq!(answer.header("azure-asyncoperation"), Some(&*url));
                let length = answer.header("content-length").map(str::to_owned);
                assert_eq!(length, Some(body.len().to_string()), "{came:?} {method} {target}");
                let call = arm.calls().pop().unwrap();
                assert_eq!(call.header("host"), Some(came.host));
                if target == DISKS {
                    assert_eq!(call.header("accept-encoding"), Some("br, gzip;q=0.5"));
                }
            }
            let endpoints = came.asks(&world, "GET", "/metadata/endpoints").await.json();
            assert_eq!(endpoints["resourceManager"], format!("{}/", came.back));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p12_regions_are_dialled_by_their_names_and_answer_for_themselves() {
    let (world, arm, secured) = real(|call| {
        let host = call.header("host").unwrap().to_owned();
        let id = VM.split('?').next().unwrap();
        Reply::ok(format!(r#"{{"id":"{id}","etag":"\"1\"","host":"{host}","properties":{{"vmId":"x"}}}}"#))
    });
    let answer = REAL.asks(&world, "GET", VM).await;
    assert_eq!(answer.json()["host"], "management.azure.com");
    let region = REGION.asks(&world, "GET", VM).await;
    assert_eq!(region.json()["host"], "westeurope.management.azure.com");
    let ours = CAME[0].asks(&world, "GET", VM).await;
    assert_eq!(ours.json()["host"], "management.azure.com", "the endpoint's global name and ours are one");
    let again = REGION.asks(&world, "GET", VM).await;
    assert!(
        ours.is_hit() && again.is_hit(),
        "{} {} {} {}",
        answer.cache(),
        region.cache(),
        ours.cache(),
        again.cache()
    );
    assert_eq!(arm.calls().len(), 2);
    assert_eq!(secured.dialled(), ["management.azure.com", "westeurope.management.azure.com"]);
}

#[tokio::test(start_paused = true)]
async fn p12_an_endpoint_nobody_else_knows_leads_back_in_every_mode() {
    let url = format!("http://arm.test{POLL}");
    let real = format!("https://management.azure.com{POLL}");
    for coming in [Coming::Whole, Coming::Chunked, Coming::Gzip] {
        for (target, written, expected) in [
            (SETS, &url, format!("{}{POLL}", REGION.back)),
            (DISKS, &url, format!("{}{POLL}", REGION.back)),
            (SETS, &real, real.clone()),
            (DISKS, &real, real.clone()),
        ] {
            let world = World::behind(Policy::default(), |_| {}, Arc::new(negotiated(list(written), coming)));
            let gzip = [("accept-encoding", "gzip")];
            let answer = REGION.asks_with(&world, "GET", target, &gzip).await;
            assert_eq!(answer.text(), list(&expected), "{coming:?} {target}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p12_discovery_is_answered_while_arm_is_out_of_reach() {
    for cloud in Cloud::ALL {
        let world = World::with(
            Policy::default(),
            |settings| {
                settings.cloud = cloud;
                settings.listen.names.push("shield.kube-system.svc".into());
            },
            |_| panic!("nobody asks ARM"),
        );
        world.arm.refuses(Some(io::ErrorKind::ConnectionRefused));
        for came in CAME {
            let url = format!("{}/", came.back);
            let old = came.asks(&world, "GET", "/metadata/endpoints?api-version=2019-05-01").await;
            let entries: Vec<Value> = serde_json::from_slice(&old.body).unwrap();
            for name in cloud.names() {
                let entry = entries.iter().find(|entry| entry["name"] == *name).unwrap();
                assert_eq!(entry["resourceManager"], *url, "{came:?}");
                assert_eq!(entry["authentication"]["loginEndpoint"], cloud.login_endpoint());
                let audiences: Vec<_> = entry["authentication"]["audiences"].as_array().unwrap().clone();
                assert_eq!(audiences, cloud.audiences());
            }
            for target in
                ["/metadata/endpoints?api-version=2022-09-01", "/Metadata/Endpoints?api-version=2025-01-01"]
            {
                let new = came.asks(&world, "GET", target).await;
                assert_eq!(new.status, 200);
                assert_eq!(new.header("content-type"), Some("application/json; charset=utf-8"));
                let new = new.json();
                assert_eq!((&new["name"], &new["resourceManager"]), (&json!(cloud.names()[0]), &json!(url)));
                assert_eq!(new["authentication"]["loginEndpoint"], cloud.login_endpoint());
            }
        }
        let nobody = world.client("a").with_token("");
        assert_eq!(nobody.get("/metadata/endpoints?api-version=2019-05-01").await.status, 200, "no token");
        assert_eq!(world.arm.dials(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn p12_a_name_a_client_made_up_gets_nothing_and_comes_back_in_no_link() {
    let world = world(|_| {
        Reply::ok(list("https://management.azure.com/p")).with("location", "https://management.azure.com/p")
    });
    let az = world.client("a");
    for host in [
        "evil.example",
        "evil.example:7788",
        "10.0.0.9:7788",
        "management.azure.com.evil.example",
        "a.b.management.azure.com",
        "management.chinacloudapi.cn",
        "kube-system.svc",
    ] {
        for (method, target) in
            [("GET", SETS), ("GET", DISKS), ("PUT", VM), ("GET", "/metadata/endpoints"), ("HEAD", "/")]
        {
            let answer = az.dialling(host).write(method, target, "").await;
            assert_eq!(answer.status, 421, "{host} {method}");
            assert_eq!(answer.header("location"), None);
            let told = if method == "GET" { "armshield; fwd=bypass; detail=misdialled" } else { "" };
            assert_eq!(answer.cache(), told);
            if method != "HEAD" {
                let error = &answer.json()["error"];
                let message = error["message"].as_str().unwrap();
                assert!(message.contains("`names` in [listen]") && !message.contains("http"), "{message}");
                assert!(!answer.text().contains("resourceManager"));
            }
        }
    }
    assert_eq!(world.arm.calls().len(), 0);
    // Names beside the one dialled are nobody's.
    let made_up = [
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "host=evil.example;proto=https"),
        ("x-original-host", "evil.example"),
        ("x-host", "evil.example"),
    ];
    for target in [SETS, DISKS, "/metadata/endpoints"] {
        let answer = CAME[0].asks_with(&world, "GET", target, &made_up).await;
        assert!(answer.text().contains("http://localhost:7788/") && !answer.text().contains("evil"));
    }
}
