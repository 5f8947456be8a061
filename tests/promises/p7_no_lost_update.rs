//! P7: a guarded write is applied only on the version its body was built on, inside one life of the resource.
//! A client's own condition is never replaced; creates, deletes and actions are never guarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use armshield::policy::{GuardMode, Policy};
use armshield::simulator::{Options, Principal, Simulator};
use serde_json::{Value, json};

use crate::support::client::{AUTOSCALER, AZ, CCM};
use crate::support::{Answer, Call, Client, Reply, World, tokens, upstream, world};

const GROUP: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers";
const VM: &str = "Microsoft.Compute/virtualMachines/a";
const VERSION: &str = "api-version=2025-04-01";

fn target(resource: &str) -> String {
    format!("{GROUP}/{resource}?{VERSION}")
}

/// The VM.
fn vm() -> String {
    target(VM)
}

/// The list it is in.
fn vms() -> String {
    target("Microsoft.Compute/virtualMachines")
}

/// A world whose ARM has at every path a resource of one version, which writes move; 0 is no resource.
struct Guarded {
    world: World,
    version: Arc<AtomicU32>,
}

impl Guarded {
    fn new(version: u32) -> Self {
        Self::with(version, Policy::default())
    }

    fn with(version: u32, policy: Policy) -> Self {
        let version = Arc::new(AtomicU32::new(version));
        let of_arm = version.clone();
        let world = World::with(policy, |_| {}, move |call| answers(&of_arm, call));
        Self { world, version }
    }

    /// Somebody else brings the VM to this version.
    fn becomes(&self, version: u32) {
        self.version.store(version, Ordering::Relaxed);
    }

    fn az(&self) -> Client {
        self.world.client("a").with_agent(AZ)
    }

    /// Profiles that ask again for news are answered by ARM each time.
    fn ccm(&self) -> Client {
        self.world.client("a").with_agent(CCM)
    }

    /// The last call that ARM was asked.
    fn last(&self) -> Call {
        self.world.arm.calls().pop().unwrap()
    }

    /// Writes, and holds armshield to the condition sent and to what is said about it.
    async fn check(&self, client: &Client, condition: Option<&str>, said: &str) -> Answer {
        self.check_write(client, "PUT", &vm(), r#"{"location":"eastus"}"#, condition, said).await
    }

    async fn check_write(
        &self,
        client: &Client,
        method: &str,
        target: &str,
        body: &str,
        condition: Option<&str>,
        said: &str,
    ) -> Answer {
        let answer = client.write(method, target, body).await;
        let call = self.last();
        assert_eq!((call.method.as_str(), call.target.as_str()), (method, target));
        assert_eq!(call.header("if-match"), condition, "{method} {target} {}", answer.guard());
        assert_eq!(answer.guard(), said, "{method} {target}");
        assert_eq!(call.body, body, "{method} {target}");
        answer
    }
}

fn document(id: &str, version: u32) -> String {
    format!(
        r#"{{"id":"{id}","etag":"\"{version}\"","properties":{{"vmId":"x","provisioningState":"Succeeded"}}}}"#
    )
}

fn answers(version: &AtomicU32, call: &Call) -> Reply {
    let now = version.load(Ordering::Relaxed);
    let path = call.path();
    let whole = |version: u32| Reply::ok(document(path, version)).with("etag", &format!("\"{version}\""));
    let is_list = path.ends_with("achines") || path.ends_with("ScaleSets");
    match call.method.as_str() {
        "GET" if is_list => Reply::ok(format!(r#"{{"value":[{}]}}"#, document(&format!("{path}/a"), now))),
        "GET" if now == 0 => Reply::not_found(),
        "GET" => whole(now),
        "PUT" | "PATCH" if call.header("if-match").is_some_and(|tag| tag != format!("\"{now}\"")) => {
            Reply::error(412, "ConditionNotMet").with("x-ms-failure-cause", "service")
        }
        "PUT" | "PATCH" => {
            version.fetch_add(1, Ordering::Relaxed);
            whole(now + 1)
        }
        _ => {
            version.store(0, Ordering::Relaxed);
            Reply::ok("")
        }
    }
}

fn seen(version: u32) -> String {
    format!(r#"source=seen, etag="\"{version}\"", result=passed"#)
}

fn ambiguous(oldest: u32) -> String {
    format!(r#"source=ambiguous, etag="\"{oldest}\"", result=observed"#)
}

const NONE: &str = "source=none, result=unguarded";

#[tokio::test(start_paused = true)]
async fn p7_the_version_a_point_read_showed_is_the_condition() {
    for method in ["PUT", "PATCH"] {
        for resource in [
            VM,
            "Microsoft.Compute/virtualMachineScaleSets/a",
            "Microsoft.Compute/virtualMachineScaleSets/a/virtualMachines/0",
        ] {
            let arm = Guarded::new(3);
            arm.az().get(&target(resource)).await;
            arm.check_write(&arm.az(), method, &target(resource), "{}", Some("\"3\""), &seen(3)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_write_of_what_was_never_shown_goes_out_as_it_came() {
    let arm = Guarded::new(3);
    arm.az().get(&target("Microsoft.Compute/virtualMachines/other")).await;
    arm.check(&arm.az(), None, NONE).await;
}

#[tokio::test(start_paused = true)]
async fn p7_an_item_of_a_list_is_a_version_shown() {
    let arm = Guarded::new(3);
    arm.az().get(&vms()).await;
    arm.check(&arm.az(), Some("\"3\""), &seen(3)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_an_answer_from_memory_is_a_version_shown() {
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    let neighbour = Client { peer: "127.0.0.9:1".parse().unwrap(), ..arm.az() };
    assert!(neighbour.get(&vm()).await.is_hit());
    arm.check(&neighbour, Some("\"3\""), &seen(3)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_a_merged_answer_is_a_version_shown_to_each() {
    let arm = Guarded::new(3);
    arm.az().get(&target("Microsoft.Compute/virtualMachines/other")).await;
    let version = arm.version.clone();
    arm.world.arm.answers(move |call| answers(&version, call).after(Duration::from_secs(1)));
    let neighbour = Client { peer: "127.0.0.9:1".parse().unwrap(), ..arm.az() };
    let (one, other) = (arm.az().begin("GET", &vm(), ""), neighbour.begin("GET", &vm(), ""));
    let said = [one.await.unwrap().cache().to_owned(), other.await.unwrap().cache().to_owned()];
    assert!(said.iter().any(|said| said.ends_with("collapsed")), "{said:?}");
    for client in [arm.az(), neighbour] {
        arm.becomes(3);
        arm.check(&client, Some("\"3\""), &seen(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_the_answer_to_an_own_write_is_a_version_shown() {
    for method in ["PUT", "PATCH"] {
        let arm = Guarded::new(3);
        arm.check_write(&arm.az(), method, &vm(), "{}", None, NONE).await;
        arm.check(&arm.az(), Some("\"4\""), &seen(4)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_resource_is_the_same_in_any_case() {
    let arm = Guarded::new(3);
    arm.az().get(&vm().to_lowercase()).await;
    let shouted =
        vm().replace("virtualMachines", "VIRTUALMACHINES").replace("resourceGroups", "resourcegroups");
    arm.check_write(&arm.az(), "PUT", &shouted, "{}", Some("\"3\""), &seen(3)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_the_tag_in_a_body_is_exact() {
    let arm = Guarded::new(3);
    let body = r#"{ "location": "eastus",  "etag" : "\"2\"" }"#;
    let said = r#"source=body, etag="\"2\"", result=conflict"#;
    assert_eq!(arm.check_write(&arm.az(), "PUT", &vm(), body, Some("\"2\""), said).await.status, 412);
    arm.az().get(&vm()).await;
    assert_eq!(arm.check_write(&arm.az(), "PUT", &vm(), body, Some("\"2\""), said).await.status, 412);
    arm.check_write(
        &arm.az(),
        "PATCH",
        &vm(),
        r#"{"etag":"\"3\""}"#,
        Some("\"3\""),
        &seen(3).replace("seen", "body"),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn p7_only_the_bodys_own_tag_counts() {
    for body in [
        r#"{"properties":{"etag":"\"9\""}}"#,
        r#"{"tags":{"etag":"\"9\""}}"#,
        r#"{"value":[{"etag":"\"9\""}]}"#,
        r#"{"etag":null}"#,
        r#"{"etag":""}"#,
        r#"{"etag":9}"#,
        r#"{"ETag":"\"9\""}"#,
    ] {
        let arm = Guarded::new(3);
        arm.check_write(&arm.az(), "PUT", &vm(), body, None, NONE).await;
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.check_write(&arm.az(), "PUT", &vm(), body, Some("\"3\""), &seen(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_tag_that_no_header_can_carry_guards_nothing_and_claims_nothing() {
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    for tag in ["\\n", "\\r\\nhost: x", "\\u0000", "\\u007f"] {
        let body = format!(r#"{{"etag":"{tag}"}}"#);
        let answer = arm.az().put(&vm(), &body).await;
        assert_eq!(arm.last().header("if-match"), None, "{body}");
        assert!(!answer.guard().contains("result=passed"), "{body}: {}", answer.guard());
        assert_eq!(arm.last().body, body);
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_clients_own_condition_is_never_replaced() {
    for (name, value, status, result) in [
        ("if-match", "\"3\"", 200, "passed"),
        ("if-match", "\"2\"", 412, "conflict"),
        ("if-match", "*", 412, "conflict"),
        ("if-match", "", 412, "conflict"),
        ("if-none-match", "*", 200, "passed"),
        ("if-none-match", "\"9\"", 200, "passed"),
    ] {
        for shown in [false, true] {
            for body in ["{}", r#"{"etag":"\"9\""}"#, "not json"] {
                let arm = Guarded::new(3);
                if shown {
                    arm.az().get(&vm()).await;
                }
                let request = arm.az().request("PUT", &vm()).header(name, value);
                let answer = arm.az().send(request, body).await.unwrap();
                assert_eq!(answer.status, status);
                let said = format!("source=client, etag=\"{}\", result={result}", value.replace('"', "\\\""));
                assert_eq!(answer.guard(), said);
                let call = arm.last();
                let sent = ["if-match", "if-none-match"].map(|name| call.header(name));
                assert_eq!(sent, ["if-match", "if-none-match"].map(|known| (known == name).then_some(value)));
                assert_eq!(call.body, body);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p7_several_conditions_of_a_client_all_pass() {
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    let request = arm.az().request("PUT", &vm()).header("if-match", "\"1\"").header("if-match", "\"3\"");
    arm.az().send(request.header("if-none-match", "\"7\""), "{}").await.unwrap();
    let call = arm.last();
    assert_eq!(call.headers.get_all("if-match").iter().collect::<Vec<_>>(), ["\"1\"", "\"3\""]);
    assert_eq!(call.header("if-none-match"), Some("\"7\""));
}

#[tokio::test(start_paused = true)]
async fn p7_creates_deletes_and_actions_are_never_guarded() {
    let arm = Guarded::new(0);
    assert_eq!(arm.az().get(&vm()).await.status, 404);
    arm.check(&arm.az(), None, NONE).await;
    for (method, resource) in [
        ("DELETE", VM),
        ("POST", "Microsoft.Compute/virtualMachines/a/restart"),
        ("POST", "Microsoft.Compute/virtualMachineScaleSets/a/delete"),
        ("PUT", "Microsoft.Compute/virtualMachines/a/extensions/b"),
        ("PUT", "Microsoft.Network/loadBalancers/a"),
        ("PUT", "Microsoft.Compute/disks/a"),
    ] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.az().get(&target(resource)).await;
        arm.check_write(&arm.az(), method, &target(resource), "{}", None, "").await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_versions_from_before_the_resource_ended_do_not_count() {
    // Shown to be gone.
    let arm = Guarded::new(3);
    arm.ccm().get(&vm()).await;
    arm.becomes(0);
    world::seconds(3).await;
    assert_eq!(arm.ccm().get(&vm()).await.status, 404);
    arm.check(&arm.ccm(), None, NONE).await;
    // Deleted.
    for status in [200, 202, 204] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.az().get(&vms()).await;
        let version = arm.version.clone();
        arm.world.arm.answers(move |call| match call.method.as_str() {
            "DELETE" => Reply::json(status, ""),
            _ => answers(&version, call),
        });
        assert_eq!(arm.az().delete(&vm()).await.status, status);
        arm.check(&arm.az(), None, NONE).await;
        // What is shown of the next life counts again.
        arm.check(&arm.az(), Some("\"4\""), &seen(4)).await;
    }
    // Not deleted after all.
    for status in [404, 409, 500] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        let version = arm.version.clone();
        arm.world.arm.answers(move |call| match call.method.as_str() {
            "DELETE" => Reply::error(status, "No"),
            _ => answers(&version, call),
        });
        arm.az().delete(&vm()).await;
        arm.check(&arm.az(), Some("\"3\""), &seen(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_where_several_versions_were_shown_none_is_sent() {
    // The same question twice.
    let arm = Guarded::new(3);
    arm.ccm().get(&vm()).await;
    arm.becomes(4);
    world::seconds(3).await;
    arm.ccm().get(&vm()).await;
    arm.check(&arm.ccm(), None, &ambiguous(3)).await;
    // A list, and a point read just before the write: the body comes from the list.
    let arm = Guarded::new(9);
    arm.ccm().get(&vms()).await;
    arm.becomes(10);
    arm.ccm().get(&vm()).await;
    arm.check(&arm.ccm(), None, &ambiguous(9)).await;
    // An own write moves the version, and what was shown before still counts.
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    arm.check(&arm.az(), Some("\"3\""), &seen(3)).await;
    arm.check(&arm.az(), None, &ambiguous(3)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_the_same_version_shown_twice_is_one() {
    let arm = Guarded::new(3);
    arm.ccm().get(&vm()).await;
    world::seconds(3).await;
    arm.ccm().get(&vms()).await;
    arm.ccm().get(&vm()).await;
    arm.check(&arm.ccm(), Some("\"3\""), &seen(3)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_a_version_counts_for_half_an_hour() {
    for (seconds, condition, said) in [(1799, Some("\"3\""), seen(3)), (1801, None, NONE.to_owned())] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        world::seconds(seconds).await;
        arm.check(&arm.az(), condition, &said).await;
    }
    // Each version for its own half hour.
    let arm = Guarded::new(3);
    arm.ccm().get(&vm()).await;
    world::seconds(1200).await;
    arm.becomes(4);
    arm.ccm().get(&vm()).await;
    world::seconds(590).await;
    arm.check(&arm.ccm(), None, &ambiguous(3)).await;
    arm.becomes(4);
    world::seconds(20).await;
    let neighbour = Client { peer: "127.0.0.9:1".parse().unwrap(), ..arm.ccm() };
    neighbour.get(&vm()).await;
    arm.check(&neighbour, Some("\"4\""), &seen(4)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_what_another_client_was_shown_does_not_count() {
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    for stranger in [
        arm.ccm(),
        Client { peer: "127.0.0.9:1".parse().unwrap(), ..arm.az() },
        arm.world.client("b").with_agent(AZ),
    ] {
        // Let in by ARM, but shown nothing of this.
        stranger.get(&target("Microsoft.Network/routeTables/a")).await;
        arm.check(&stranger, None, NONE).await;
    }
    // Another connection, or another token of the same principal, is the same client.
    arm.becomes(3);
    let same = Client { peer: "127.0.0.1:9".parse().unwrap(), ..arm.az() };
    let same = same.with_token(tokens::token("a", 2));
    same.get(&target("Microsoft.Network/routeTables/a")).await;
    arm.check(&same, Some("\"3\""), &seen(3)).await;
}

#[tokio::test(start_paused = true)]
async fn p7_versions_without_tags_are_not_guarded() {
    for (query, guarded) in [
        ("api-version=2023-09-01", false),
        ("api-version=2024-03-01", true),
        ("Api-Version=2024-07-01", true),
        ("api-version=2024-03-01-preview", false),
        ("", false),
    ] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        let target = format!("{GROUP}/{VM}?{query}");
        let (condition, said) = if guarded { (Some("\"3\""), seen(3)) } else { (None, String::new()) };
        arm.check_write(&arm.az(), "PUT", &target, "{}", condition, &said).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_partial_bodies_show_no_version() {
    for query in
        ["$select=id", "%24select=id", "$Select=id", "useResourceGraph=true", "UseResourceGraph=True"]
    {
        for question in [vm(), vms()] {
            let arm = Guarded::new(3);
            assert_eq!(arm.az().get(&format!("{question}&{query}")).await.status, 200);
            arm.check(&arm.az(), None, NONE).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_body_that_cannot_be_judged_passes_unchanged_and_unguarded() {
    let huge = format!(r#"{{"a":"{}"}}"#, "x".repeat(5 << 20));
    for body in [
        "",
        "not json",
        "null",
        "[]",
        "\"text\"",
        r#"{"location":"#,
        r#"{"location":"eastus"} trailing"#,
        r#"{"etag":"\"1\"","etag":"\"2\""}"#,
        r#"{"etag":"\"3\"","etag":null}"#,
        r#"{"etag":null,"etag":"\"3\""}"#,
        &huge,
    ] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        let answer = arm.az().put(&vm(), body).await;
        let (call, short) = (arm.last(), body.get(..40).unwrap_or(body));
        assert_eq!((answer.status, answer.guard()), (200, NONE), "{short}");
        assert_eq!((call.method.as_str(), call.header("if-match")), ("PUT", None), "{short}");
        assert!(call.body == body, "{short}");
    }
}

#[tokio::test(start_paused = true)]
async fn p7_the_bytes_of_a_guarded_body_are_the_clients() {
    for body in [
        "{ \"location\" :\t\"eastus\",\r\n \"a\":1.0, \"b\":1e2, \"c\":\"\\u00e9\\/\", \"tags\":{\"b\":\"1\",\"a\":\"2\"}}\n",
        "\u{feff}{\"location\":\"eastus\"}",
        &format!("{{\"a\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000)),
    ] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.check_write(&arm.az(), "PUT", &vm(), body, Some("\"3\""), &seen(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_some_profiles_only_observe() {
    for agent in [AUTOSCALER, "disk.csi.azure.com/v1.33.0 (linux)"] {
        let arm = Guarded::new(3);
        let client = arm.az().with_agent(agent);
        client.get(&vm()).await;
        arm.becomes(4);
        let said = r#"source=seen, etag="\"3\"", result=observed"#;
        assert_eq!(arm.check(&client, None, said).await.status, 200);
        let said = r#"source=body, etag="\"3\"", result=observed"#;
        arm.check_write(&client, "PUT", &vm(), r#"{"etag":"\"3\""}"#, None, said).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_an_operator_can_have_it_observe_or_off() {
    for (mode, said) in [
        (GuardMode::Enforce, seen(3)),
        (GuardMode::Observe, seen(3).replace("passed", "observed")),
        (GuardMode::Off, String::new()),
    ] {
        let arm = Guarded::with(3, Policy { guard: mode, ..Policy::default() });
        arm.az().get(&vm()).await;
        let condition = (mode == GuardMode::Enforce).then_some("\"3\"");
        arm.check(&arm.az(), condition, &said).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_412_is_arms_and_the_next_read_is_fresh() {
    for own in [false, true] {
        let arm = Guarded::new(3);
        let neighbour = Client { peer: "127.0.0.9:1".parse().unwrap(), ..arm.az() };
        arm.az().get(&vm()).await;
        arm.az().get(&vms()).await;
        arm.becomes(4);
        let request = arm.az().request("PUT", &vm());
        let request = if own { request.header("if-match", "\"3\"") } else { request };
        let answer = arm.az().send(request, "{}").await.unwrap();
        assert_eq!(answer.status, 412);
        assert_eq!(
            answer.text(),
            r#"{"error":{"code":"ConditionNotMet","message":"ConditionNotMet it is"}}"#
        );
        assert_eq!(answer.header("x-ms-failure-cause"), Some("service"), "whose refusal this is");
        let source = if own { "client" } else { "seen" };
        assert_eq!(answer.guard(), format!(r#"source={source}, etag="\"3\"", result=conflict"#));
        assert_eq!(arm.world.arm.count("PUT", "/a"), 1, "sent once");
        for target in [vm(), vms()] {
            let fresh = neighbour.get(&target).await;
            assert!(!fresh.is_hit() && fresh.text().contains(r#""etag":"\"4\"""#), "{}", fresh.text());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_blind_repeat_of_a_refused_write_is_refused_again() {
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    arm.becomes(4);
    for _ in 0..3 {
        let said = seen(3).replace("passed", "conflict");
        assert_eq!(arm.check(&arm.az(), Some("\"3\""), &said).await.status, 412);
        world::seconds(60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_what_else_arm_says_to_a_guarded_write_passes() {
    for status in [200, 201, 202, 400, 404, 409, 429, 500] {
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.world.arm.answers(move |_| Reply::error(status, "Whatever").with("retry-after", "1"));
        assert_eq!(arm.check(&arm.az(), Some("\"3\""), &seen(3)).await.status, status);
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_new_token_and_a_lapsed_voucher_change_nothing() {
    for (seconds, n) in [(1, 2), (900, 0), (900, 2)] {
        // Not shown to be let in by ARM, or not lately, and the first thing it is used for is a write.
        let client = |arm: &Guarded| arm.az().with_token(tokens::token("a", n));
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        world::seconds(seconds).await;
        arm.check(&client(&arm), Some("\"3\""), &seen(3)).await;
        // Refused, it says so, without the version: so far ARM has let nobody in with it.
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.becomes(4);
        world::seconds(seconds).await;
        let answer = arm.check(&client(&arm), Some("\"3\""), "source=seen, result=conflict").await;
        assert_eq!(answer.status, 412);
        // It is shown that the VM is gone, so what comes is a create.
        let arm = Guarded::new(3);
        arm.az().get(&vm()).await;
        arm.becomes(0);
        world::seconds(seconds.max(20)).await;
        assert_eq!(client(&arm).get(&vm()).await.status, 404);
        arm.check(&client(&arm), None, NONE).await;
    }
}

#[tokio::test(start_paused = true)]
async fn p7_a_refused_token_learns_no_version_and_takes_none_away() {
    let arm = Guarded::new(3);
    arm.az().get(&vm()).await;
    let version = arm.version.clone();
    arm.world.arm.answers(move |call| match call.token().ends_with("forged") {
        true => Reply::error(401, "InvalidAuthenticationToken"),
        false => answers(&version, call),
    });
    let forged = arm.az().with_token(format!("{}forged", tokens::token("a", 7)));
    for method in ["PUT", "PATCH", "DELETE", "GET"] {
        let answer = forged.write(method, &vm(), "{}").await;
        assert_eq!(answer.status, 401);
        let all = format!("{:?} {}", answer.headers, answer.text());
        assert!(!all.contains(r#"\"3\""#) && !all.contains("etag"), "{all}");
    }
    arm.check(&arm.az(), Some("\"3\""), &seen(3)).await;
}

/// A resource of the simulator, and a place in it that two people write.
struct Race {
    make: fn(&Simulator) -> String,
    place: [&'static str; 2],
}

const RACES: [Race; 3] = [
    Race { make: |arm| arm.add_uniform("pool", 2), place: ["tags", "owner"] },
    Race { make: |arm| arm.add_vm("a"), place: ["tags", "owner"] },
    // What somebody may write of a set's VM.
    Race {
        make: |arm| format!("{}/virtualMachines/0", arm.add_uniform("pool", 2)),
        place: ["properties", "protectionPolicy"],
    },
];

impl Race {
    /// Both write what they were shown before, changed. Gives the second answer, and whose change remains.
    async fn run(&self, policy: Policy) -> (Answer, Value) {
        let arm = Simulator::new(Options::default());
        let target = format!("{}?{VERSION}", (self.make)(&arm));
        let dialled = arm.clone();
        let world = upstream::world(Options::default().wall, policy, |_| {}, move || dialled.dial());
        let person = |name: &str| world.client(name).with_token(arm.token(&Principal::named(name)));
        let (one, other) = (person("one"), person("other"));
        let change = async |client: &Client, name: &str| {
            let mut body = client.get(&target).await.json();
            body[self.place[0]][self.place[1]] = json!(name);
            // Like clients that keep no version: all but the tag is sent back.
            body.as_object_mut().unwrap().remove("etag");
            body.to_string()
        };
        let (ones, others) = (change(&one, "one").await, change(&other, "other").await);
        let first = one.put(&target, &ones).await;
        assert!((200..300).contains(&first.status), "{}", first.text());
        world::seconds(30).await;
        let second = other.put(&target, &others).await;
        world::seconds(30).await;
        let left = one.get(&target).await.json()[self.place[0]][self.place[1]].clone();
        (second, left)
    }
}

#[tokio::test(start_paused = true)]
async fn p7_in_a_race_the_second_write_is_refused_and_the_first_survives() {
    for race in RACES {
        let (second, left) = race.run(Policy::default()).await;
        assert_eq!(second.status, 412, "{} {}", second.guard(), second.text());
        assert!(second.guard().starts_with("source=seen, etag="), "{}", second.guard());
        assert!(second.guard().ends_with(", result=conflict"), "{}", second.guard());
        assert!(second.json()["error"]["code"].is_string(), "ARM's own: {}", second.text());
        assert_eq!(left, "one");
    }
}

#[tokio::test(start_paused = true)]
async fn p7_without_the_guard_the_same_race_loses_the_first_write() {
    for race in RACES {
        let off = Policy { guard: GuardMode::Off, ..Policy::default() };
        let (second, left) = race.run(off).await;
        assert!((200..300).contains(&second.status), "{}", second.text());
        assert_eq!(left, "other");
    }
}
