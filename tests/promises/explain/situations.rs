//! One situation after another: what is said, in particular, and that it happens.

use std::collections::BTreeSet;

use armshield::policy::Policy;
use armshield::proxy::Settings;
use armshield::proxy::explain::{Kept, NotExplained};

use super::*;

const VM: &str = "CMP/virtualMachines/a";
const VMS: &str = "CMP/virtualMachines";
const BALANCER: &str = "NET/loadBalancers/l";
const GROUP: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourcegroups/g";

fn unit() -> String {
    format!("unit {GROUP}/providers/microsoft.compute/virtualmachines/a")
}

async fn seconds(seconds: f64) {
    world::pass(Duration::from_secs_f64(seconds)).await;
}

fn kept(asker: &Asker) -> &Kept {
    asker.kept.as_ref().unwrap_or_else(|| panic!("nothing is kept: {asker:?}"))
}

/// Outcome, reason and smallest bound.
fn told(asker: &Asker) -> (&str, &str, &str) {
    let bound = asker.kept.as_ref().map_or("", |kept| &kept.smallest_bound);
    (&asker.outcome, &asker.why, bound)
}

#[tokio::test(start_paused = true)]
async fn the_smallest_bound_is_named() {
    let mut stage = Stage::new().await;
    let (az, ccm) = (Request::get(0, BALANCER), Request::get(1, BALANCER));
    assert_eq!(told(&stage.check(&az).await.0), ("miss", "absent", ""));
    seconds(3.0).await;
    assert_eq!(told(&stage.foretold(&az)), ("hit", "fresh", "profile"));
    let first = stage.foretold(&ccm);
    assert_eq!(told(&first), ("hit", "fresh", "profile"));
    assert_eq!((kept(&first).shown_to, kept(&first).shown_to_this_client), (1, false));
    assert_eq!(kept(&first).ttl_seconds, Some(2.0));
    let shown = kept(&first).if_shown.as_ref().unwrap();
    assert_eq!((shown.usable, shown.why.as_deref()), (false, Some("repeated")));
    stage.check(&ccm).await;
    let again = stage.check(&ccm).await.0;
    assert_eq!(told(&again), ("miss", "repeated", "repeated"));
    let bounds: Vec<_> = kept(&again).bounds.iter().map(|one| (&*one.bound, one.seconds)).collect();
    assert_eq!(bounds, [("rule", 30.0), ("profile", 5.0), ("repeated", 2.0)]);
    assert!(again.because.contains("wants one of the last 2 s"), "{}", again.because);
    let wants = az.clone().with("cache-control", "max-age=1");
    seconds(1.5).await;
    assert_eq!(told(&stage.foretold(&wants)), ("miss", "wanted", "wanted"));
    let fresh = stage.check(&az.clone().with("cache-control", "no-cache")).await.0;
    assert_eq!(told(&fresh), ("miss", "wanted", "profile"));
    assert!(fresh.because.contains("no-cache"), "{}", fresh.because);
    seconds(16.0).await;
    assert_eq!(told(&stage.check(&az).await.0), ("miss", "aged", "profile"));
}

#[tokio::test(start_paused = true)]
async fn a_write_names_the_scope_that_moved_and_how_long_it_settles() {
    let mut stage = Stage::new().await;
    let (read, put) = (Request::get(0, VM), Request::of(2, "PUT", VM));
    stage.check(&read).await;
    let explained = stage.explain(&put);
    let resource: Vec<_> = explained.scopes.iter().filter(|scope| scope.role == "resource").collect();
    assert_eq!(resource[0].scope, unit());
    assert_eq!(resource.len(), 3);
    assert!(explained.scopes.iter().any(|scope| scope.role == "along" && scope.scope.contains("network")));
    stage.check(&put).await;
    let fallen = stage.foretold(&read);
    assert_eq!((&*fallen.outcome, &*fallen.why), ("miss", "written"));
    let moved: Vec<_> = kept(&fallen).moved.iter().map(|moved| (&*moved.scope, &*moved.how)).collect();
    assert!(moved.contains(&(&*unit(), "written")), "{moved:?}");
    assert!(fallen.because.contains(&unit()), "{}", fallen.because);
    let unsettled = |stage: &Stage| {
        let scopes = stage.explain(&read).scopes;
        let scope = scopes.into_iter().find(|scope| scope.scope == unit()).unwrap();
        scope.unsettled.map(|until| until.seconds)
    };
    assert_eq!(unsettled(&stage), Some(30.0));
    stage.check(&read).await;
    seconds(2.5).await;
    assert_eq!(told(&stage.check(&read).await.0), ("miss", "unsettled", "unsettled"));
    seconds(27.5).await;
    assert_eq!(unsettled(&stage), None);
    stage.arm().operations = true;
    stage.check(&put).await;
    assert_eq!(unsettled(&stage), Some(1800.0));
}

#[tokio::test(start_paused = true)]
async fn news_name_where_something_newer_is_known() {
    let mut stage = Stage::new().await;
    let read = Request::get(0, VM);
    stage.check(&read).await;
    stage.arm().version += 1;
    stage.check(&Request::get(2, VMS)).await;
    let old = stage.check(&read).await.0;
    assert_eq!((&*old.outcome, &*old.why), ("miss", "news"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_takes_away_what_is_kept() {
    let mut stage = Stage::new().await;
    let read = Request::get(0, VM);
    stage.check(&read).await;
    stage.arm().next.push_back(Reply::error(403, "AuthorizationFailed"));
    stage.check(&Request::of(0, "DELETE", "CMP/disks/d")).await;
    assert_eq!(stage.foretold(&read).why, "fresh", "refused elsewhere");
    stage.arm().next.push_back(Reply::error(403, "AuthorizationFailed"));
    stage.check(&read.clone().with("cache-control", "no-cache")).await;
    let refused = stage.foretold(&read);
    assert_eq!((&*refused.why, kept(&refused).refused_since), ("refused", true));
    stage.check(&read).await;
}

#[tokio::test(start_paused = true)]
async fn a_fetch_under_way_is_joined_or_not() {
    let mut stage = Stage::new().await;
    let (az, ccm) = (Request::get(0, VM), Request::get(1, VM));
    assert_eq!(stage.foretold(&az).fetch, None);
    stage.arm().slow = Duration::from_secs(10);
    let begun = stage.client(0).begin("GET", &az.target, "");
    seconds(1.0).await;
    let joining = stage.foretold(&ccm);
    assert_eq!((&*joining.outcome, &*joining.why), ("collapsed", "absent"));
    let fetch = joining.fetch.unwrap();
    assert_eq!((fetch.joins, fetch.sent_seconds_ago), (true, Some(1.0)));
    assert_eq!(stage.foretold(&Request::get(2, VM)).fetch, None, "another caller's");
    let wants = az.clone().with("cache-control", "no-cache");
    assert_eq!(
        (&*stage.foretold(&wants).outcome, stage.foretold(&wants).fetch.unwrap().joins),
        ("miss", false)
    );
    seconds(1.5).await;
    assert_eq!(stage.foretold(&ccm).outcome, "miss", "sent longer ago than it tolerates");
    let calls = stage.world.arm.calls().len();
    assert_eq!(told(&stage.check(&az).await.0), ("collapsed", "absent", ""));
    assert_eq!(stage.world.arm.calls().len(), calls);
    begun.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_closed_gate_says_whose_budget_and_until_when() {
    let mut stage = Stage::new().await;
    let hit = Request::get(0, VM);
    stage.check(&hit).await;
    let throttled = Reply::error(429, "SubscriptionRequestsThrottled").with("retry-after", "17");
    stage.arm().next.push_back(throttled);
    stage.check(&Request::get(0, VMS)).await;
    seconds(2.5).await;
    let (refused, _) = stage.check(&Request::get(0, VMS)).await;
    assert_eq!((&*refused.outcome, &*refused.why, refused.gate.open), ("refused", "gate", false));
    assert!(refused.gate.budget.unwrap().starts_with("ARM's read budget in subscription"));
    assert_eq!(refused.gate.opens.unwrap().seconds, 14.5);
    let still = stage.check(&hit).await.0;
    assert_eq!((&*still.outcome, still.gate.open), ("hit", false), "memory needs no gate");
    assert_eq!(stage.check(&Request::of(0, "PUT", VM)).await.0.outcome, "sent", "another budget");
    assert_eq!(stage.check(&Request::get(2, VMS)).await.0.outcome, "miss", "another principal");
    assert!(stage.explain(&hit).newcomer.gate.open);

    let named = r#"{"code":"OperationNotAllowed","message":"m","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{}"}]}"#;
    stage.arm().next.push_back(Reply::json(429, named).with("retry-after", "9"));
    stage.check(&Request::get(2, "SUB/providers/Microsoft.Compute/virtualMachines")).await;
    let everybody = stage.explain(&Request::get(2, VMS).with("cache-control", "no-cache"));
    for asker in everybody.askers.iter().chain([&everybody.newcomer, &everybody.unvouched]) {
        assert_eq!((&*asker.outcome, &*asker.why), ("refused", "gate"), "a provider's budget is everybody's");
    }
    // The first call after a gate reopens goes first, and the others wait for it.
    seconds(9.0).await;
    stage.arm().slow = Duration::from_secs(1);
    let first = stage.client(2).begin("GET", &Request::get(2, VMS).target, "");
    world::pass(Duration::from_millis(500)).await;
    let waiting = stage.foretold(&Request::get(3, "CMP/virtualMachines?$expand=instanceView"));
    assert_eq!((waiting.gate.open, waiting.gate.waits_seconds), (true, Some(1.5)));
    first.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_is_not_vouched_is_explained_as_any_other() {
    let mut stage = Stage::new().await;
    let read = Request::get(0, VM);
    stage.check(&read).await;
    let explained = stage.explain(&read);
    assert_eq!((&*explained.newcomer.outcome, &*explained.newcomer.why), ("miss", "absent"));
    assert_eq!((&*explained.unvouched.outcome, &*explained.unvouched.why), ("miss", "unvouched"));
    let labels: Vec<_> = explained.askers.iter().map(|asker| (&*asker.caller, &*asker.standing)).collect();
    assert_eq!(labels, [("caller-1", "vouched"), ("caller-2", "vouched")]);
    assert_eq!(explained.askers[0].vouched_seconds, Some(600.0));
    // A voucher that lapsed evicts nothing.
    seconds(601.0).await;
    let lapsed = stage.explain(&read).askers;
    assert_eq!(lapsed.len(), 1, "of whom nothing is kept nothing is said");
    assert_eq!(
        (&*lapsed[0].caller, &*lapsed[0].standing, &*lapsed[0].why),
        ("caller-1", "unvouched", "unvouched")
    );
    assert!(!kept(&lapsed[0]).usable);
    stage.check(&read).await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_whose_tokens_were_refused_is_slowed_down() {
    let mut stage = Stage::new().await;
    let read = Request::get(5, VM);
    for _ in 0..21 {
        stage.check(&read).await;
    }
    let (rated, _) = stage.check(&read).await;
    assert_eq!((&*rated.outcome, &*rated.why), ("refused", "unvouched"));
    assert!(rated.gate.opens.unwrap().seconds <= 1.0);
    assert_eq!(stage.explain(&Request::get(0, VM)).unvouched.outcome, "miss", "from another peer");
}

#[tokio::test(start_paused = true)]
async fn too_many_variants_are_passed_and_explaining_counts_none() {
    let mut stage = Stage::new().await;
    let variant = |n: usize| Request::get(0, VM).with("x-splits", &n.to_string());
    for n in 0..100 {
        assert_eq!(stage.foretold(&variant(n)).outcome, "miss");
    }
    for n in 0..8 {
        assert_eq!(told(&stage.check(&variant(n)).await.0), ("miss", "absent", ""));
    }
    assert_eq!(told(&stage.check(&variant(8)).await.0), ("bypass", "variants", ""));
    assert_eq!(stage.check(&variant(3)).await.0.outcome, "hit");
    assert_eq!(stage.explain(&variant(3)).kept_at_path.unwrap().entries, 8);
}

#[tokio::test(start_paused = true)]
async fn modes_and_ways_are_told() {
    let mut stage = Stage::new().await;
    let read = Request::get(0, VM);
    stage.check(&read).await;
    stage.switch(Mode::Shadow, Some("az"));
    assert_eq!(told(&stage.check(&read).await.0), ("miss", "shadow", "profile"));
    assert_eq!(stage.explain(&read).profile.mode, "shadow");
    stage.arm().slow = Duration::from_secs(1);
    let begun = stage.client(0).begin("GET", &address(VMS), "");
    world::pass(Duration::from_millis(1)).await;
    let apart = stage.check(&Request::get(0, VMS)).await.0;
    assert_eq!((&*apart.outcome, apart.fetch.unwrap().joins), ("miss", false), "shadow mode merges nothing");
    begun.await.unwrap();
    stage.switch(Mode::Pass, Some("az"));
    assert_eq!(told(&stage.check(&read).await.0), ("bypass", "pass", ""));
    assert!(stage.explain(&read).hints.iter().any(|hint| hint.contains("pass mode")));
    stage.switch(Mode::Active, None);
    for (request, route, outcome, why) in [
        (Request::get(0, VM).with("range", "bytes=0-1"), "pass", "bypass", "range"),
        (Request::get(0, "CMP/disks/d"), "pass", "bypass", "no-rule"),
        (Request::of(0, "HEAD", VM), "pass", "bypass", "no-rule"),
        (Request::get(0, POLL), "poll", "bypass", "poll"),
        (Request::get(0, "/metadata/endpoints"), "discovery", "hit", "discovery"),
        (Request::of(0, "PUT", VM), "write", "sent", "write"),
        (
            Request::of(0, "POST", "SUB/providers/Microsoft.X/checkNameAvailability"),
            "pass",
            "bypass",
            "no-rule",
        ),
    ] {
        assert_eq!(stage.explain(&request).route, route, "{request:?}");
        let (asker, _) = stage.check(&request).await;
        assert_eq!((&*asker.outcome, &*asker.why), (outcome, why), "{request:?}");
    }
    assert_eq!(stage.explain(&Request::of(0, "PUT", "CMP//virtualMachines/a")).scopes[0].scope, "all");
    let odd = stage.explain(&Request { target: format!("{GROUP}//x"), ..Request::get(0, VM) });
    assert_eq!(odd.hints.len(), 1, "{:?}", odd.hints);
}

#[tokio::test(start_paused = true)]
async fn what_every_client_of_the_profile_was_shown_is_told() {
    let mut stage = Stage::new().await;
    stage.arm().version = 3;
    stage.check(&Request::get(2, VM)).await;
    stage.arm().version = 4;
    seconds(3.0).await;
    stage.check(&Request::get(2, VM)).await;
    stage.check(&Request::get(3, VM)).await;
    stage.check(&Request::get(0, VM)).await;
    seconds(1.0).await;
    let put = Request::of(2, "PUT", VM);
    let guard = stage.explain(&put).guard.unwrap();
    assert!(guard.applies && guard.mode == "enforce", "{guard:?}");
    let clients: Vec<_> = guard
        .clients
        .iter()
        .map(|client| {
            let versions: Vec<_> = client
                .versions
                .iter()
                .map(|one| (&*one.etag, one.shown_seconds_ago, one.superseded))
                .collect();
            (&*client.caller, &*client.condition.source, client.condition.sends, versions)
        })
        .collect();
    let both = vec![("\"3\"", 4.0, true), ("\"4\"", 1.0, false)];
    let ambiguous = ("caller-2", "ambiguous", false, both);
    let seen = ("caller-2", "seen", true, vec![("\"4\"", 1.0, false)]);
    assert_eq!(clients.len(), 2, "those of the profile ccm: {clients:?}");
    assert!(clients.contains(&ambiguous) && clients.contains(&seen), "{clients:?}");
    for (request, source, sends) in [
        (put.clone().with("if-match", "\"9\""), "client", false),
        (put.clone(), "ambiguous", false),
        (Request::of(3, "PATCH", VM), "seen", true),
        (Request::of(4, "PUT", VM), "none", false),
    ] {
        let (asker, _) = stage.check(&request).await;
        let condition = asker.condition.unwrap();
        assert_eq!((&*condition.source, condition.sends), (source, sends), "{request:?}");
    }
    let applies = |request: &Request| stage.explain(request).guard.unwrap().applies;
    assert!(!applies(&Request::of(2, "DELETE", VM)) && !applies(&Request::of(2, "PUT", BALANCER)));
    assert!(!applies(&Request::of(2, "PUT", &format!("{VM}?api-version=2023-09-01"))));
    assert!(!applies(&Request::of(2, "POST", &format!("{VM}/restart"))));
    stage.switch(Mode::Shadow, Some("ccm"));
    assert_eq!(stage.explain(&put).guard.unwrap().mode, "observe");
    stage.check(&Request::of(3, "PATCH", VM)).await;
    stage.switch(Mode::Pass, Some("ccm"));
    assert!(!stage.explain(&put).guard.unwrap().applies);
    stage.check(&put).await;
}

#[tokio::test(start_paused = true)]
async fn the_scopes_of_a_write_foretell_what_it_makes_unusable() {
    let reads =
        [VM, VMS, "CMP/virtualMachines/b", "CMP/virtualMachineScaleSets/s", BALANCER, "NET/routeTables/r"];
    let writes = [
        ("PUT", VM),
        ("POST", "CMP/virtualMachines/b/restart"),
        ("PUT", "CMP/virtualMachineScaleSets/s"),
        ("DELETE", BALANCER),
        ("PUT", "CMP/disks/d"),
        ("PUT", "GRP/providers/Microsoft.ContainerService/managedClusters/c"),
        ("PUT", "GRP/providers/Microsoft.Storage/storageAccounts/s"),
        ("POST", "/batch"),
    ];
    let names = |stage: &Stage, request: &Request| -> BTreeSet<String> {
        stage.explain(request).scopes.into_iter().map(|scope| scope.scope).collect()
    };
    for (method, written) in writes {
        let mut stage = Stage::new().await;
        for read in reads {
            stage.check(&Request::get(0, read)).await;
        }
        let write = Request::of(2, method, written);
        let reached = names(&stage, &write);
        stage.check(&write).await;
        for read in reads.map(|read| Request::get(0, read)) {
            let depends = names(&stage, &read);
            let moved: BTreeSet<_> =
                kept(&stage.foretold(&read)).moved.iter().map(|moved| moved.scope.clone()).collect();
            let expected: BTreeSet<_> = depends.intersection(&reached).cloned().collect();
            assert_eq!(moved, expected, "{method} {written} and {}", read.target);
            stage.check(&read).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn urls_of_arm_and_of_armshield_are_explained_and_others_are_not() {
    let mut stage = Stage::new().await;
    let read = Request::get(0, VM);
    stage.check(&read).await;
    let outcome =
        |url: String| stage.explain(&Request { target: url, ..read.clone() }).askers[0].outcome.clone();
    let path = address(VM);
    for url in [
        path.clone(),
        path.trim_start_matches('/').to_owned(),
        format!("https://management.azure.com{path}"),
        format!("http://localhost:7788{path}"),
        format!("https://127.0.0.1:7788{path}#fragment"),
        format!("http://arm.test{path}"),
        format!(
            "https://Management.Azure.com:443{}",
            path.to_uppercase().replace("API-VERSION", "api-version")
        ),
    ] {
        assert_eq!(outcome(url.clone()), "hit", "{url}");
    }
    // What is named in `Connection` would not come as far as being looked at.
    let inquiry = format!("{}&header=Connection:range&header=Range:bytes%3D0-1", read.inquiry());
    let explained = stage.world.proxy.rooms().explain(&Inquiry::read(&inquiry).unwrap()).unwrap();
    assert_eq!((&*explained.route, &*explained.askers[0].outcome), ("read", "hit"));
    let builder =
        stage.client(0).request("GET", &path).header("connection", "range").header("range", "bytes=0-1");
    assert!(stage.client(0).send(builder, "").await.unwrap().is_hit());
    // Regions answer for themselves.
    let regional = "eastus.management.azure.com";
    assert_eq!(outcome(format!("https://{regional}{path}")), "miss");
    stage.client(0).dialling(regional).get(&path).await;
    assert_eq!(
        stage.explain(&Request { target: format!("https://{regional}{path}"), ..read.clone() }).askers[0]
            .outcome,
        "hit"
    );
    let refused = |url: &str| {
        let inquiry = Inquiry::read(&Request { target: url.into(), ..read.clone() }.inquiry()).unwrap();
        stage.world.proxy.rooms().explain(&inquiry).unwrap_err()
    };
    for url in ["https://evil.example/a", "https://management.azure.com.evil.example/a", "http://armshield/a"]
    {
        assert!(matches!(refused(url), NotExplained::Dialled(_)), "{url}");
        assert!(refused(url).to_string().contains("names"), "it says what to set: {}", refused(url));
    }
    for url in ["http://local_host:x/a", "http://a,b/c", "http://[::1/a"] {
        assert!(matches!(refused(url), NotExplained::Dialled(_) | NotExplained::Host), "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_secret_is_told() {
    let mut stage = Stage::new().await;
    let read = Request::get(0, &format!("{VM}?sig=SECRET&api-version=2025-04-01"));
    stage.check(&read).await;
    stage.check(&Request::of(2, "PUT", VM)).await;
    let rooms = stage.world.proxy.rooms();
    let digests: Vec<String> = rooms
        .identify
        .known(&rooms.policy.load())
        .iter()
        .flat_map(|known| {
            let bits = known.caller().bits();
            [format!("{bits:032x}"), format!("{:08x}", bits >> 96), bits.to_string()]
        })
        .collect();
    assert!(digests.len() >= 6);
    for request in [read, Request::of(2, "PUT", VM), Request::get(0, POLL)] {
        let text = serde_json::to_string(&stage.explain(&request)).unwrap();
        for secret in ["SECRET", "signature", "eyJ", "oid-a", "app-a"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(digests.iter().all(|digest| !text.contains(digest)), "{text}");
        let read: Explanation = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text, "what is written can be read");
    }
}

#[tokio::test(start_paused = true)]
async fn many_callers_are_told_in_part_those_with_something_kept_first() {
    let mut stage = Stage::new().await;
    for n in 0..80 {
        stage.world.client(&format!("p{n}")).get(&address("SUB/resourceGroups")).await;
    }
    stage.check(&Request::get(2, VM)).await;
    let explained = stage.explain(&Request::get(2, VM));
    assert_eq!((explained.askers.len(), explained.more_askers), (64, 18));
    assert_eq!((&*explained.askers[0].caller, explained.askers[0].kept.is_some()), ("caller-2", true));
    assert_eq!(explained.askers[1].caller, "caller-1");
}

#[tokio::test(start_paused = true)]
async fn explaining_does_not_keep_what_nobody_uses() {
    /// Which of many answers are left in a small store, if meanwhile one is used, explained, or left alone.
    async fn left(use_of: Option<bool>) -> Vec<usize> {
        let arm = Scripted::default();
        let script = arm.clone();
        let small = |settings: &mut Settings| {
            (settings.cache.bytes, settings.cache.entry_max) = (128 << 10, 32 << 10);
        };
        let world = World::with(Policy::default(), small, move |call| script.answer(call));
        let stage = Stage::of(world, arm, Written::default()).await;
        let vm = |n: usize| Request::get(0, &format!("CMP/virtualMachines/{n}"));
        // Not by one caller, or its share would decide.
        let by = |n: usize| stage.world.client(&format!("p{}", n % 9));
        let clients: Vec<_> = (0..9).map(by).collect();
        for n in 0..250 {
            clients[n % 9].get(&vm(n).target).await;
            let recent = n - n % 20;
            match use_of {
                Some(true) => drop(clients[recent % 9].get(&vm(recent).target).await),
                Some(false) => drop(stage.explain(&vm(recent))),
                None => {}
            }
        }
        let kept = |n: &usize| stage.explain(&vm(*n)).kept_at_path.unwrap().entries > 0;
        (0..250).filter(kept).collect()
    }
    let alone = left(None).await;
    assert!(alone.len() > 20 && alone.len() < 200);
    assert_ne!(left(Some(true)).await, alone, "use decides what is let go");
    assert_eq!(left(Some(false)).await, alone);
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_voucher_lapsed_is_told_where_it_differs_from_strangers() {
    let mut stage = Stage::new().await;
    stage.check(&Request::get(2, VMS)).await;
    world::pass(Duration::from_secs(601)).await;
    assert_eq!(stage.explain(&Request::get(2, VM)).askers, []);
    let told = stage.explain(&Request::of(2, "PUT", VM)).askers;
    assert_eq!((&*told[0].caller, &*told[0].standing), ("caller-2", "unvouched"));
    assert_eq!(told[0].condition.as_ref().unwrap().source, "seen");
    stage.check(&Request::of(2, "PUT", VM)).await;
}
