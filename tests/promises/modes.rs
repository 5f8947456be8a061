//! Modes: active, shadow and pass; for everybody and for one profile, changed while armshield runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use armshield::policy::{Mode, Policy};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;

use crate::support::arm::Ending;
use crate::support::client::{AZ, CCM};
use crate::support::{Answer, Call, Client, Reply, World, world};

const GROUP: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers";
const KIND: &str = "microsoft.compute/virtualmachines";

fn vms() -> String {
    format!("{GROUP}/Microsoft.Compute/virtualMachines?api-version=2025-04-01")
}

fn vm() -> String {
    format!("{GROUP}/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01")
}

/// A world whose ARM has one VM, the version of which tests set.
struct Modes {
    world: World,
    version: Arc<AtomicU32>,
}

impl Modes {
    fn new(mode: Mode) -> Self {
        let version = Arc::new(AtomicU32::new(1));
        let of_arm = version.clone();
        let answers = move |call: &Call| {
            if call.method == "PUT" || call.method == "POST" {
                of_arm.fetch_add(1, Ordering::Relaxed);
            }
            let (id, version) = (call.path(), of_arm.load(Ordering::Relaxed));
            let body = format!(
                r#"{{"id":"{id}","etag":"\"{version}\"","properties":{{"provisioningState":"Succeeded"}}}}"#
            );
            Reply::ok(body).with("etag", &format!("\"{version}\""))
        };
        let world = World::new(answers);
        world.mode(mode);
        Self { world, version }
    }

    fn becomes(&self, version: u32) {
        self.version.store(version, Ordering::Relaxed);
    }

    fn az(&self) -> Client {
        self.world.client("a")
    }

    /// Calls to ARM that a read makes.
    async fn calls_of(&self, client: &Client) -> usize {
        let before = self.world.arm.calls().len();
        client.get(&vm()).await;
        self.world.arm.calls().len() - before
    }

    fn switch(&self, mode: Mode, profile: Option<&str>) {
        let rooms = self.world.proxy.rooms();
        let policy = rooms.policy.load().with_mode(mode, profile).unwrap();
        rooms.policy.store(Arc::new(policy));
    }

    /// What the metrics say about would-be hits that were compared.
    fn compared(&self, result: &str) -> u32 {
        let text = self.world.proxy.rooms().metrics.text(&[]);
        let name = format!(r#"armshield_shadow_total{{kind="{KIND}",result="{result}"}} "#);
        text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn active_answers_from_memory_and_guards() {
    let modes = Modes::new(Mode::Active);
    assert_eq!(modes.calls_of(&modes.az()).await, 1);
    assert_eq!(modes.calls_of(&modes.az()).await, 0);
    assert_eq!(modes.az().put(&vm(), "{}").await.guard(), r#"source=seen, etag="\"1\"", result=passed"#);
    assert_eq!(modes.world.arm.calls().last().unwrap().header("if-match"), Some("\"1\""));
}

#[tokio::test(start_paused = true)]
async fn shadow_sends_every_read_to_arm() {
    let modes = Modes::new(Mode::Shadow);
    for round in 1..=5 {
        modes.becomes(round);
        let before = modes.world.arm.calls().len();
        let answer = modes.az().get(&vm()).await;
        assert!(answer.text().contains(&format!(r#"\"{round}\""#)), "ARM's answer, not memory's");
        assert!(!answer.is_hit() && answer.header("age").is_none(), "{}", answer.cache());
        assert_eq!(modes.world.arm.calls().len() - before, 1);
        world::seconds(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shadow_merges_no_reads() {
    let modes = Modes::new(Mode::Shadow);
    modes.az().get(&vm()).await;
    modes.world.arm.answers(|_| Reply::ok("{}").after(Duration::from_secs(1)));
    let asked: Vec<_> = (0..3).map(|_| modes.az().begin("GET", &vm(), "")).collect();
    for answer in asked {
        answer.await.unwrap();
    }
    assert_eq!(modes.world.arm.calls().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn shadow_counts_by_type_what_would_have_differed() {
    let modes = Modes::new(Mode::Shadow);
    let read = async || {
        modes.az().get(&vm()).await;
        (modes.compared("same"), modes.compared("different"))
    };
    assert_eq!(read().await, (0, 0), "the first one would have been a miss");
    assert_eq!(read().await, (1, 0));
    modes.becomes(2);
    assert_eq!(read().await, (1, 1));
    assert_eq!(read().await, (2, 1));
    world::seconds(16).await;
    assert_eq!(read().await, (2, 1), "too old to have been a hit");
    modes.az().put(&vm(), "{}").await;
    assert_eq!(read().await, (2, 1), "dropped by the write, so no hit");
}

#[tokio::test(start_paused = true)]
async fn shadow_guards_nothing_and_says_what_it_would_have_sent() {
    let modes = Modes::new(Mode::Shadow);
    modes.az().get(&vm()).await;
    let answer = modes.az().put(&vm(), "{}").await;
    assert_eq!(answer.guard(), r#"source=seen, etag="\"1\"", result=observed"#);
    assert_eq!(modes.world.arm.calls().last().unwrap().header("if-match"), None);
}

#[tokio::test(start_paused = true)]
async fn pass_keeps_merges_and_guards_nothing() {
    let modes = Modes::new(Mode::Pass);
    for _ in 0..3 {
        assert_eq!(modes.calls_of(&modes.az()).await, 1);
    }
    assert_eq!(modes.az().get(&vm()).await.cache(), "armshield; fwd=bypass; detail=pass");
    let answer = modes.az().put(&vm(), "{}").await;
    assert_eq!(answer.guard(), "", "not even looked at");
    assert_eq!(modes.world.arm.calls().last().unwrap().header("if-match"), None);
    modes.switch(Mode::Active, None);
    assert_eq!(modes.calls_of(&modes.az()).await, 1, "nothing was kept");
    modes.world.arm.answers(|_| Reply::ok("{}").after(Duration::from_secs(1)));
    modes.switch(Mode::Pass, None);
    let before = modes.world.arm.calls().len();
    let asked = [modes.az().begin("GET", &vm(), ""), modes.az().begin("GET", &vm(), "")];
    for answer in asked {
        answer.await.unwrap();
    }
    assert_eq!(modes.world.arm.calls().len() - before, 2);
}

#[tokio::test(start_paused = true)]
async fn pass_streams() {
    let modes = Modes::new(Mode::Pass);
    let body = format!(r#"{{"value":[],"rest":"{}"}}"#, "x".repeat(2 << 20));
    modes.world.arm.answers(move |_| Reply::ok(body.clone()).ending(Ending::Stalled(1000)));
    let client = modes.az();
    let io = TokioIo::new(modes.world.dial(client.peer));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let request = client.request("GET", &vms()).body(Empty::<Bytes>::new()).unwrap();
    let began = modes.world.clock.now();
    let mut response = sender.send_request(request).await.unwrap();
    let first = response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(!first.is_empty() && first.len() <= 1000);
    // ARM never sends the rest, and armshield gives it 60 s: whoever waits for the whole has not got this far.
    assert!(modes.world.clock.now().since(began) < Duration::from_secs(1));
}

/// A list with a next page, and a write with two links.
fn linked(call: &Call, padding: usize) -> Reply {
    let link = "https://management.azure.com/subscriptions/1/next?api-version=2025-04-01&$skiptoken=a%2Fb";
    if call.method == "GET" {
        let padding = "x".repeat(padding);
        return Reply::ok(format!(r#"{{"value":[],"padding":"{padding}","nextLink":"{link}"}}"#));
    }
    Reply::json(202, "").with("location", link).with("azure-asyncoperation", link)
}

async fn leads_back(client: &Client, target: &str) {
    let list = client.get(target).await;
    let next = list.json()["nextLink"].as_str().unwrap().to_owned();
    assert_eq!(next, "http://localhost:7788/subscriptions/1/next?api-version=2025-04-01&$skiptoken=a%2Fb");
    let same = client.dialling("management.azure.com").get(target).await;
    let next = same.json()["nextLink"].as_str().unwrap().to_owned();
    assert!(next.starts_with("https://management.azure.com/"), "{next}");
}

#[tokio::test(start_paused = true)]
async fn pass_leads_links_back() {
    // Small ones are read before they are passed on, large ones as they flow by.
    for padding in [10, 2 << 20] {
        let modes = Modes::new(Mode::Pass);
        modes.world.arm.answers(move |call| linked(call, padding));
        leads_back(&modes.az(), &vms()).await;
        let written = modes.az().put(&vm(), "{}").await;
        for name in ["location", "azure-asyncoperation"] {
            assert!(written.header(name).unwrap().starts_with("http://localhost:7788/"), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p12_a_list_too_large_to_keep_leads_back_too() {
    for padding in [200, 2 << 20] {
        let world = World::with(
            Policy::default(),
            |settings| settings.cache.entry_max = 100,
            move |call| linked(call, padding),
        );
        leads_back(&world.client("a"), &vms()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_in_any_mode_drops_what_others_have_cached() {
    for mode in [Mode::Active, Mode::Shadow, Mode::Pass] {
        for method in ["PUT", "DELETE", "POST"] {
            let modes = Modes::new(Mode::Active);
            modes.switch(mode, Some("ccm"));
            assert_eq!(modes.calls_of(&modes.az()).await, 1);
            assert_eq!(modes.calls_of(&modes.az()).await, 0);
            modes.az().with_agent(CCM).write(method, &vm(), "{}").await;
            assert_eq!(modes.calls_of(&modes.az()).await, 1, "{method} by a client in mode {mode:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_followed_in_pass_mode_ends_for_others_too() {
    let status = "/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Compute/locations/x/operations/1";
    let modes = Modes::new(Mode::Active);
    modes.switch(Mode::Pass, Some("ccm"));
    let version = modes.version.clone();
    modes.world.arm.answers(move |call| {
        let version = version.load(Ordering::Relaxed);
        let shown = format!(r#"{{"id":"{}","etag":"\"{version}\""}}"#, call.path());
        match call.method.as_str() {
            "PUT" => Reply::json(202, shown)
                .with("azure-asyncoperation", &format!("https://management.azure.com{status}")),
            _ if call.path() == status => Reply::ok(r#"{"status":"Succeeded"}"#),
            _ => Reply::ok(shown),
        }
    });
    let ccm = modes.az().with_agent(CCM);
    assert_eq!(ccm.put(&vm(), "{}").await.status, 202);
    assert_eq!(modes.calls_of(&modes.az()).await, 1);
    modes.becomes(2);
    assert_eq!(modes.calls_of(&modes.az()).await, 0, "unsettled, so not for long");
    ccm.get(status).await;
    assert_eq!(modes.calls_of(&modes.az()).await, 1, "the operation has ended");
}

#[tokio::test(start_paused = true)]
async fn one_profile_can_have_a_mode_of_its_own() {
    let modes = Modes::new(Mode::Active);
    modes.switch(Mode::Shadow, Some("az"));
    let (az, ccm) = (modes.az().with_agent(AZ), modes.az().with_agent(CCM));
    let other_peer = Client { peer: "127.0.0.2:1".parse().unwrap(), ..ccm.clone() };
    assert_eq!(modes.calls_of(&ccm).await, 1);
    assert_eq!(modes.calls_of(&other_peer).await, 0, "ccm is active");
    assert_eq!(modes.calls_of(&az).await, 1, "az is in shadow");
    assert_eq!(modes.calls_of(&az).await, 1);
    assert_eq!(az.put(&vm(), "{}").await.guard().split("result=").last(), Some("observed"));
}

#[tokio::test(start_paused = true)]
async fn a_mode_is_changed_while_it_runs_and_holds_for_the_next_request() {
    let modes = Modes::new(Mode::Active);
    let check = async |mode, profile, calls, said: &str| {
        modes.switch(mode, profile);
        let before = modes.world.arm.calls().len();
        let answer: Answer = modes.az().get(&vm()).await;
        assert!(answer.cache().contains(said), "{mode:?}: {}", answer.cache());
        assert_eq!(modes.world.arm.calls().len() - before, calls, "{mode:?}");
    };
    check(Mode::Active, None, 1, "fwd=miss; stored").await;
    check(Mode::Active, None, 0, "hit").await;
    check(Mode::Shadow, None, 1, "fwd=miss").await;
    check(Mode::Active, None, 0, "hit").await;
    check(Mode::Pass, None, 1, "detail=pass").await;
    check(Mode::Active, None, 0, "hit").await;
    check(Mode::Pass, Some("az"), 1, "detail=pass").await;
    check(Mode::Shadow, None, 1, "fwd=miss").await;
    check(Mode::Active, Some("az"), 0, "hit").await;
    check(Mode::Pass, None, 1, "detail=pass").await;
    assert!(modes.world.proxy.rooms().policy.load().with_mode(Mode::Pass, Some("nobody")).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_keeps_the_mode_it_came_in() {
    let modes = Modes::new(Mode::Active);
    modes.az().get(&vm()).await;
    modes
        .world
        .arm
        .answers(|call| Reply::ok(format!(r#"{{"id":"{}"}}"#, call.path())).after(Duration::from_secs(5)));
    let read = modes.az().begin("GET", &vms(), "");
    world::seconds(1).await;
    modes.switch(Mode::Pass, None);
    assert!(read.await.unwrap().cache().contains("fwd=miss"));
    assert!(modes.az().get(&vms()).await.cache().contains("detail=pass"));
}
