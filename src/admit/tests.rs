//! What a 429 closes, for whom and for how long, on paused time.

use std::time::Duration;

use http::{HeaderMap, HeaderName, Method, StatusCode};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{advance, sleep};

use super::*;
use crate::arm::ArmPath;
use crate::clock::Wall;

const SETS: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets";
const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// Thirty seconds before [`DATE`].
const WALL: Wall = Wall::from_unix(784_111_747);

/// Compute's 429 (Microsoft Learn, "Troubleshooting API throttling errors").
const HIGH_COST: &str = r#"{"code":"OperationNotAllowed","message":"The server rejected the request because too many requests have been received for this subscription.","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{\"operationGroup\":\"HighCostGet30Min\",\"startTime\":\"2018-06-29T19:54:21.0914017+00:00\",\"endTime\":\"2018-06-29T20:14:21.0914017+00:00\",\"allowedRequestCount\":800,\"measuredRequestCount\":1238}"}]}"#;
/// ARM's (velero-io/velero#9171).
const FRONT_DOOR: &str = r#"{"error":{"code":"SubscriptionRequestsThrottled","message":"Number of 'read' requests for subscription 's' actor 'a' exceeded. Please try again after '1' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional information."}}"#;
/// A type's (Azure/alzlib#168).
const OF_A_TYPE: &str = r#"{"error":{"code":"ResourceRequestsThrottled","message":"Number of requests for Microsoft.Authorization exceeded the limit of '120' for time interval '00:01:00'. Please try again after '5' seconds."}}"#;
const LOCK: &str = r#"{"error":{"code":"RetryableErrorDueToAnotherOperation","message":"Operation PutLoadBalancerOperation (x) is updating resource y. The call can be retried in 10 seconds."}}"#;

fn admit() -> Admit {
    admit_with(Settings::default())
}

fn admit_with(settings: Settings) -> Admit {
    Admit::new(settings, Clock::tokio(WALL))
}

fn call(method: &Method, path: &str) -> Call {
    Call::of(method, Some(&ArmPath::parse(path).unwrap()))
}

fn get(path: &str) -> Call {
    call(&Method::GET, path)
}

fn set(name: &str) -> Call {
    get(&format!("{SETS}/{name}"))
}

fn put(name: &str) -> Call {
    call(&Method::PUT, &format!("{SETS}/{name}"))
}

fn list() -> Call {
    get(SETS)
}

/// A payer ARM has accepted.
fn payer(digest: u128) -> Payer {
    Payer { claimed: digest << 96, token: digest << 96 | 1, vouched: true }
}

/// A token that claims to be `digest`'s.
fn claims(digest: u128, token: u128) -> Payer {
    Payer { claimed: digest << 96, token: token << 96 | 2, vouched: false }
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let line = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    lines.iter().map(line).collect()
}

async fn place(admit: &Admit, call: &Call, payer: Payer) -> Place {
    admit.enter(call, payer).await.unwrap_or_else(|closed| panic!("{closed}"))
}

fn settle(place: &mut Place, status: u16, lines: &[(&str, &str)], body: &str) -> Settled {
    let status = StatusCode::from_u16(status).unwrap();
    place.settle(&Answer { status, headers: &headers(lines), body: Some(body.as_bytes()) })
}

/// One call from beginning to end.
async fn answered(
    admit: &Admit,
    call: &Call,
    payer: Payer,
    status: u16,
    lines: &[(&str, &str)],
    body: &str,
) -> Settled {
    settle(&mut place(admit, call, payer).await, status, lines, body)
}

async fn throttled(admit: &Admit, call: &Call, payer: Payer, lines: &[(&str, &str)], body: &str) -> Closed {
    match answered(admit, call, payer, 429, lines, body).await {
        Settled::Throttled(closed) => closed,
        other => panic!("{other:?}"),
    }
}

/// How long a call would have to stay away, in milliseconds; 0: it may go.
async fn away(admit: &Admit, call: &Call, payer: Payer) -> u128 {
    let (before, foretold) = (admit.status(), admit.look(call, payer));
    assert_eq!(admit.status(), before, "looking changes nothing");
    let entered = admit.enter(call, payer).await;
    match (&entered, foretold) {
        (Ok(_), Look::Enter) => {}
        (Err(closed), Look::Closed(foretold)) => assert_eq!(*closed, foretold),
        (entered, foretold) => panic!("{foretold:?} was foretold, and it was {entered:?}"),
    }
    match entered {
        Ok(mut place) => {
            // Leaves no trace: an answer that says nothing about any budget.
            let _ = settle(&mut place, 401, &[], "");
            0
        }
        Err(closed) => closed.remaining.as_millis(),
    }
}

async fn teach(admit: &Admit, call: &Call, names: &str) {
    let _ = answered(admit, call, payer(99), 200, &[("x-ms-ratelimit-remaining-resource", names)], "").await;
}

#[tokio::test(start_paused = true)]
async fn no_call_enters_a_used_up_budget_whoever_calls_and_whatever_for() {
    let admit = admit();
    // A policy that counts lists and points, learned from answers.
    teach(&admit, &set("0"), "Microsoft.Compute/HighCostGet30Min;700").await;
    teach(&admit, &list(), "Microsoft.Compute/HighCostGet3Min;90,Microsoft.Compute/HighCostGet30Min;699")
        .await;
    let closed = throttled(&admit, &set("0"), payer(1), &[("retry-after", "300")], HIGH_COST).await;
    assert_eq!(closed.budget.kind(), "provider");
    assert_eq!(closed.seconds(), 300);

    let mut calls = JoinSet::new();
    let admit = Arc::new(admit);
    let entered_before = admit.status().counts.entered;
    for after in [0, 1, 150, 299] {
        for url in 0..50 {
            for who in 0..5 {
                let admit = admit.clone();
                calls.spawn(async move {
                    let call = if url == 49 { list() } else { set(&url.to_string()) };
                    sleep(Duration::from_secs(after)).await;
                    admit.enter(&call, payer(who)).await.map(drop)
                });
            }
        }
    }
    while let Some(entered) = calls.join_next().await {
        assert_eq!(entered.unwrap().unwrap_err().budget, closed.budget);
    }
    let counts = admit.status().counts;
    assert_eq!(counts.entered, entered_before, "not one call went into the closed gate");
    assert_eq!(counts.refused.iter().collect::<Vec<_>>()[2], ("provider", 1_000));
    assert_eq!(counts.refused.total(), 1_000);
    // Other classes and other subscriptions are none of that budget's.
    assert_eq!(away(&admit, &put("0"), payer(1)).await, 0);
    let elsewhere = SETS.replace("/s/", "/other/");
    assert_eq!(away(&admit, &get(&elsewhere), payer(1)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_times_count_in_every_form() {
    let check = async |lines: &[(&str, &str)], body: &str, millis: u128| {
        let admit = admit();
        let closed = throttled(&admit, &list(), payer(1), lines, body).await;
        assert_eq!(closed.remaining.as_millis(), millis, "{lines:?} {body}");
        assert_eq!(away(&admit, &list(), payer(1)).await, millis, "{lines:?} {body}");
        advance(Duration::from_millis(u64::try_from(millis).unwrap() - 1)).await;
        assert_eq!(away(&admit, &list(), payer(1)).await, 1, "{lines:?} {body}");
        advance(Duration::from_millis(1)).await;
        assert_eq!(away(&admit, &list(), payer(1)).await, 0, "{lines:?} {body}");
    };
    check(&[("retry-after", "17")], HIGH_COST, 17_000).await;
    check(&[("retry-after", DATE)], HIGH_COST, 30_000).await;
    check(&[("retry-after-ms", "1500")], HIGH_COST, 1_500).await;
    check(&[("x-ms-retry-after-ms", "250"), ("retry-after", "9")], HIGH_COST, 250).await;
    check(&[], OF_A_TYPE, 5_000).await;
    check(&[("retry-after", "7")], OF_A_TYPE, 7_000).await;
    check(&[("retry-after", "0")], OF_A_TYPE, 5_000).await;
    check(&[], HIGH_COST, 1_000).await;
    check(&[("retry-after", "0")], HIGH_COST, 1_000).await;
    check(&[("retry-after", "soon")], "", 1_000).await;
    check(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], HIGH_COST, 1_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_429_that_does_not_say_doubles_while_it_goes_on() {
    let admit = admit();
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        let closed = throttled(&admit, &list(), payer(1), &[("retry-after", "0")], HIGH_COST).await;
        assert_eq!(closed.seconds(), seconds);
        advance(closed.remaining).await;
    }
    // The first call after that is slow, so the others follow before it is answered: no success yet.
    let mut slow = place(&admit, &list(), payer(1)).await;
    advance(Duration::from_secs(3)).await;
    let closed = throttled(&admit, &list(), payer(1), &[], HIGH_COST).await;
    assert_eq!(closed.seconds(), 60);
    let _ = settle(&mut slow, 429, &[], HIGH_COST);
    assert_eq!(away(&admit, &list(), payer(1)).await, 60_000, "the slow one knows no more");
    advance(closed.remaining).await;
    let _ = answered(&admit, &list(), payer(1), 200, &[], "").await;
    let closed = throttled(&admit, &list(), payer(1), &[], HIGH_COST).await;
    assert_eq!(closed.seconds(), 1, "a success begins anew");
}

#[tokio::test(start_paused = true)]
async fn many_refusals_at_once_double_nothing() {
    let admit = admit();
    let mut places = Vec::new();
    for _ in 0..50 {
        places.push(place(&admit, &list(), payer(1)).await);
    }
    for place in &mut places {
        let _ = settle(place, 429, &[], HIGH_COST);
    }
    assert_eq!(away(&admit, &list(), payer(1)).await, 1_000);
}

#[tokio::test(start_paused = true)]
async fn each_429_closes_the_budget_it_names_and_no_other() {
    let check = async |call: &Call,
                       lines: &[(&str, &str)],
                       body: &str,
                       kind: &str,
                       shut: &[&Call],
                       open: &[&Call]| {
        let admit = admit();
        let closed = throttled(&admit, call, payer(1), lines, body).await;
        assert_eq!(closed.budget.kind(), kind, "{}", closed.budget);
        for (calls, refused) in [(&[call][..], true), (shut, true), (open, false)] {
            for call in calls {
                assert_eq!(
                    away(&admit, call, payer(1)).await > 0,
                    refused,
                    "{} by {}",
                    call.class,
                    closed.budget
                );
            }
        }
    };
    let other_provider = get("/subscriptions/s/providers/Microsoft.Network/loadBalancers");
    let other_subscription = get("/subscriptions/t/resourceGroups/g");
    let delete = call(&Method::DELETE, &format!("{SETS}/a"));
    let tenant_read = get("/providers/Microsoft.Management/managementGroups/m");
    let tenant = FRONT_DOOR.replace("Subscription", "Tenant");

    check(
        &list(),
        &[],
        FRONT_DOOR,
        "arm",
        &[&set("a"), &other_provider],
        &[&put("a"), &delete, &other_subscription, &tenant_read],
    )
    .await;
    let writes = FRONT_DOOR.replace("'read'", "'write'");
    check(&put("a"), &[], &writes, "arm", &[&put("b")], &[&set("a"), &delete]).await;
    // Should ARM count a call as something else than we do, both are closed.
    check(&delete, &[], &writes, "arm", &[&put("b")], &[&set("a")]).await;
    check(&tenant_read, &[], &tenant, "arm_tenant", &[&get("/subscriptions")], &[&list()]).await;
    check(&list(), &[], &tenant, "arm_tenant", &[&tenant_read, &set("a")], &[&put("a"), &other_subscription])
        .await;
    check(&list(), &[], OF_A_TYPE, "class", &[], &[&set("a"), &other_subscription]).await;
    check(&list(), &[], HIGH_COST, "class", &[], &[&set("a")]).await;
    check(&list(), &[], "", "class", &[], &[&set("a")]).await;
    check(&list(), &[("x-ms-failure-cause", "gateway")], "<html>", "arm", &[&set("a")], &[&put("a")]).await;
    let named = &[(
        "x-ms-ratelimit-remaining-resource",
        "Microsoft.Compute/HighCostGet3Min;5,Microsoft.Compute/HighCostGet30Min;0",
    )];
    check(&list(), named, HIGH_COST, "provider", &[], &[&set("a")]).await;
    check(&list(), named, "", "provider", &[], &[&set("a")]).await;

    // Compute's tightest limits are per resource; they show in writes. A name may also say it.
    let unheard_of = HIGH_COST.replace("HighCostGet30Min", "UpdateVMScaleSet");
    check(&put("a"), &[], &unheard_of, "resource", &[], &[&put("b"), &set("a"), &delete]).await;
    check(&set("a"), &[], &unheard_of, "class", &[&set("b")], &[&list()]).await;
    let of_resource = HIGH_COST.replace("HighCostGet30Min", "GetVMScaleSetResourceMaximum");
    check(&set("a"), &[], &of_resource, "resource", &[], &[&set("b"), &list()]).await;
    let of_subscription = HIGH_COST.replace("HighCostGet30Min", "UpdateVMScaleSetSubscriptionMaximum");
    check(&put("a"), &[], &of_subscription, "class", &[&put("b")], &[&set("a")]).await;
    let by_window = HIGH_COST.replace("HighCostGet30Min", "DeleteVMScaleSet30Min");
    check(&put("a"), &[], &by_window, "class", &[&put("b")], &[&set("a")]).await;
    let network = r#"{"error":{"code":"TooManyRequests","message":"Subscription 's' was used to perform too many calls within last 5 minutes. The call can be retried in 64 seconds."}}"#;
    let balancer = |name: &str| {
        call(
            &Method::PUT,
            &format!("/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/loadBalancers/{name}"),
        )
    };
    check(&balancer("a"), &[], network, "class", &[&balancer("b")], &[&put("a")]).await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_had_more_left_than_a_resource_can_is_of_the_subscription() {
    let admit = admit();
    let unheard_of = HIGH_COST.replace("HighCostGet30Min", "VmssQueuedVMOperations");
    teach(
        &admit,
        &put("a"),
        "Microsoft.Compute/VmssQueuedVMOperations;4720,Microsoft.Compute/UpdateVMScaleSet;11",
    )
    .await;
    let closed = throttled(&admit, &put("a"), payer(1), &[], &unheard_of).await;
    assert_eq!(closed.budget.kind(), "provider");
    assert!(away(&admit, &put("b"), payer(1)).await > 0);
    advance(Duration::from_secs(5)).await;
    let of_resource = HIGH_COST.replace("HighCostGet30Min", "UpdateVMScaleSet");
    let closed = throttled(&admit, &put("a"), payer(1), &[], &of_resource).await;
    assert_eq!(closed.budget.kind(), "resource");
}

#[tokio::test(start_paused = true)]
async fn a_429_with_several_policies_closes_them_all() {
    let admit = admit();
    let both = HIGH_COST.replace(
        "\"details\":[",
        r#""details":[{"code":"TooManyRequests","target":"HighCostGet3Min","message":"{}"},"#,
    );
    teach(&admit, &list(), "Microsoft.Compute/HighCostGet3Min;90,Microsoft.Compute/HighCostGet30Min;699")
        .await;
    teach(&admit, &set("a"), "Microsoft.Compute/HighCostGet3Min;89").await;
    teach(&admit, &get(&format!("{SETS}/a/instanceView")), "Microsoft.Compute/HighCostGet30Min;698").await;
    let _ = throttled(&admit, &list(), payer(1), &[], &both).await;
    for path in [format!("{SETS}/b"), format!("{SETS}/b/instanceView"), SETS.to_owned()] {
        assert_eq!(away(&admit, &get(&path), payer(2)).await, 1_000, "{path}");
    }
    assert_eq!(admit.status().gates.len(), 2);
    assert_eq!(admit.status().counts.throttled.total(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_class_that_draws_a_429_of_a_known_policy_belongs_to_it() {
    let admit = admit();
    teach(&admit, &list(), "Microsoft.Compute/HighCostGet30Min;699").await;
    let view = get(&format!("{SETS}/a/instanceView"));
    assert_eq!(throttled(&admit, &view, payer(1), &[], HIGH_COST).await.budget.kind(), "provider");
    assert!(away(&admit, &view, payer(1)).await > 0);
    assert!(away(&admit, &list(), payer(2)).await > 0);
}

#[tokio::test(start_paused = true)]
async fn a_lock_closes_nothing() {
    let admit = admit();
    assert_eq!(
        answered(&admit, &put("a"), payer(1), 429, &[("retry-after", "10")], LOCK).await,
        Settled::Locked
    );
    assert_eq!(away(&admit, &put("a"), payer(1)).await, 0);
    let status = admit.status();
    assert!(status.gates.is_empty());
    assert_eq!((status.counts.locks, status.counts.throttled.total()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_an_answer_to_the_call_that_goes_first() {
    let admit = admit();
    let closed = throttled(&admit, &put("a"), payer(1), &[("retry-after", "30")], "").await;
    advance(closed.remaining).await;
    let mut first = place(&admit, &put("a"), payer(1)).await;
    assert_eq!(settle(&mut first, 429, &[], LOCK), Settled::Locked);
    let started = tokio::time::Instant::now();
    let _second = place(&admit, &put("b"), payer(1)).await;
    let _third = place(&admit, &put("c"), payer(1)).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn arms_budgets_are_each_principals_own() {
    let admit = admit();
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "20")], FRONT_DOOR).await;
    let rotated = Payer { token: 77, ..payer(1) };
    assert_eq!(away(&admit, &set("a"), rotated).await, 20_000);
    assert_eq!(away(&admit, &set("a"), payer(2)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_an_unvouched_token_draws_at_the_front_door_is_its_own() {
    for (lines, body) in [
        (&[("retry-after", "20")][..], FRONT_DOOR),
        (&[("retry-after", "20")], &FRONT_DOOR.replace("Subscription", "Tenant")),
        (&[("retry-after", "20")], "<html>"),
        (&[("retry-after", "20"), ("x-ms-failure-cause", "gateway")], ""),
    ] {
        let admit = admit();
        let _ = throttled(&admit, &list(), claims(1, 8), lines, body).await;
        assert_eq!(away(&admit, &list(), claims(1, 8)).await, 20_000, "{body}");
        assert_eq!(away(&admit, &list(), payer(1)).await, 0, "{body}");
        assert_eq!(away(&admit, &list(), claims(1, 9)).await, 0, "{body}");
        // Also once ARM has accepted it: what ARM said to this token holds.
        assert!(away(&admit, &list(), Payer { vouched: true, ..claims(1, 8) }).await > 0, "{body}");
    }
    let admit = admit();
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "20")], FRONT_DOOR).await;
    assert_eq!(away(&admit, &list(), claims(1, 8)).await, 20_000, "the principal's closed gate stops it");
    assert_eq!(away(&admit, &put("a"), claims(1, 8)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_providers_429_is_everybodys_whoever_drew_it() {
    let admit = admit();
    let _ = throttled(&admit, &list(), claims(1, 8), &[("retry-after", "20")], HIGH_COST).await;
    assert_eq!(away(&admit, &list(), payer(2)).await, 20_000);
}

/// Fifty callers at a gate that reopens: who has entered, and after how long.
async fn crowd(admit: &Arc<Admit>) -> JoinSet<Result<(Place, Duration), Closed>> {
    let mut waiting = JoinSet::new();
    let started = tokio::time::Instant::now();
    for who in 0..50 {
        let admit = admit.clone();
        waiting.spawn(async move { Ok((admit.enter(&list(), payer(who)).await?, started.elapsed())) });
    }
    for _ in 0..100 {
        yield_now().await;
    }
    waiting
}

async fn reopening() -> Arc<Admit> {
    let admit = Arc::new(admit());
    let closed = throttled(&admit, &list(), payer(1), &[("retry-after", "30")], HIGH_COST).await;
    advance(closed.remaining).await;
    admit
}

#[tokio::test(start_paused = true)]
async fn reopening_lets_one_call_through_and_the_others_follow_its_answer() {
    for status in [200, 404, 500] {
        let admit = reopening().await;
        let mut waiting = crowd(&admit).await;
        let (mut first, _) = waiting.join_next().await.unwrap().unwrap().unwrap();
        assert_eq!(admit.status().in_flight, 1, "the others wait");
        assert_eq!(admit.status().gates[0].remaining, Duration::ZERO);
        assert_eq!(admit.look(&list(), payer(77)), Look::Wait(Duration::from_secs(2)));
        assert!(waiting.try_join_next().is_none());
        advance(Duration::from_millis(700)).await;
        let _ = settle(&mut first, status, &[], "");
        while let Some(entered) = waiting.join_next().await {
            let (mut place, after) = entered.unwrap().unwrap();
            assert_eq!(after, Duration::from_millis(700));
            let _ = settle(&mut place, 200, &[], "");
        }
        let status = admit.status();
        assert!(status.gates.is_empty());
        assert_eq!((status.in_flight, status.counts.refused.total()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn if_the_first_call_is_refused_again_so_are_the_others() {
    let admit = reopening().await;
    let mut waiting = crowd(&admit).await;
    let (mut first, _) = waiting.join_next().await.unwrap().unwrap().unwrap();
    let _ = settle(&mut first, 429, &[("retry-after", "40")], HIGH_COST);
    while let Some(refused) = waiting.join_next().await {
        assert_eq!(refused.unwrap().unwrap_err().seconds(), 40);
    }
    assert_eq!(admit.status().counts.entered, 2);
}

#[tokio::test(start_paused = true)]
async fn a_lost_or_slow_first_call_keeps_nobody_waiting_for_long() {
    for (lost, expected) in [(true, 0), (false, 2)] {
        let admit = reopening().await;
        let mut waiting = crowd(&admit).await;
        let (first, _) = waiting.join_next().await.unwrap().unwrap().unwrap();
        let slow = if lost {
            drop(first);
            None
        } else {
            Some(first)
        };
        let mut places = Vec::new();
        while let Some(entered) = waiting.join_next().await {
            let (place, after) = entered.unwrap().unwrap();
            assert_eq!(after, Duration::from_secs(expected));
            places.push(place);
        }
        assert_eq!(places.len(), 49);
        drop(slow);
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_call_that_never_came_as_far_passes_its_turn_on() {
    // Refused for its token, or by another budget: in both cases nothing was learned about this one.
    for (status, body) in [(401, ""), (403, ""), (429, FRONT_DOOR)] {
        let admit = reopening().await;
        let mut waiting = crowd(&admit).await;
        let (mut first, _) = waiting.join_next().await.unwrap().unwrap().unwrap();
        let _ = settle(&mut first, status, &[], body);
        for _ in 0..100 {
            yield_now().await;
        }
        assert_eq!(waiting.len(), 49, "{status}");
        let (mut second, after) = waiting.join_next().await.unwrap().unwrap().unwrap();
        assert_eq!(after, Duration::ZERO);
        assert_eq!(waiting.len(), 48);
        assert!(waiting.try_join_next().is_none(), "one at a time");
        let _ = settle(&mut second, 200, &[], "");
        while let Some(entered) = waiting.join_next().await {
            let (_, after) = entered.unwrap().unwrap();
            assert_eq!(after, Duration::ZERO);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_of_rejected_tokens_cannot_keep_a_reopened_gate_to_itself() {
    let admit = reopening().await;
    let started = tokio::time::Instant::now();
    let mut first = place(&admit, &list(), claims(1, 1)).await;
    let honest = tokio::spawn({
        let admit = admit.clone();
        async move { admit.enter(&list(), payer(2)).await.map(|place| (place, started.elapsed())) }
    });
    sleep(Duration::from_millis(1_500)).await;
    let _ = settle(&mut first, 401, &[], "");
    // Another is quicker than the one that waited.
    let _second = place(&admit, &list(), claims(1, 2)).await;
    let (_, after) = honest.await.unwrap().unwrap();
    assert_eq!(after, Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_holds_nothing() {
    let admit = reopening().await;
    let mut waiting = crowd(&admit).await;
    let (first, _) = waiting.join_next().await.unwrap().unwrap().unwrap();
    waiting.shutdown().await;
    assert_eq!(admit.status().in_flight, 1);
    drop(first);
    assert_eq!(away(&admit, &list(), payer(1)).await, 0);
    assert_eq!(admit.status().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_with_two_reopening_gates_tries_both_or_none() {
    let admit = Arc::new(admit());
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "10")], FRONT_DOOR).await;
    // Another principal's list closes the class.
    let _ = throttled(&admit, &list(), payer(2), &[("retry-after", "10")], HIGH_COST).await;
    advance(Duration::from_secs(10)).await;
    let of_class = place(&admit, &list(), payer(3)).await;
    let both = tokio::spawn({
        let admit = admit.clone();
        async move { admit.enter(&list(), payer(1)).await }
    });
    for _ in 0..20 {
        yield_now().await;
    }
    // It waits at the class's gate and does not hold the principal's meanwhile.
    let point = place(&admit, &set("a"), payer(1)).await;
    drop((of_class, point));
    let _ = both.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_late_429_may_extend_but_never_shorten() {
    let check = async |late: &str, after: u64, seconds: u128| {
        let admit = admit();
        let mut before = place(&admit, &list(), payer(2)).await;
        let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "60")], HIGH_COST).await;
        advance(Duration::from_secs(after)).await;
        let _ = settle(&mut before, 429, &[("retry-after", late)], HIGH_COST);
        assert_eq!(away(&admit, &list(), payer(3)).await, seconds * 1000, "{late} after {after}");
    };
    check("10", 20, 40).await;
    check("0", 20, 40).await;
    check("90", 20, 90).await;
    // After the gate reopened it is news again.
    check("10", 70, 10).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_success_opens_nothing() {
    let admit = admit();
    let mut before = place(&admit, &list(), payer(2)).await;
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "60")], HIGH_COST).await;
    advance(Duration::from_secs(1)).await;
    let _ = settle(&mut before, 200, &[], "");
    assert_eq!(away(&admit, &list(), payer(1)).await, 59_000);
}

#[tokio::test(start_paused = true)]
async fn a_long_gate_is_probed_by_one_call_in_five_minutes() {
    let admit = admit();
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "1235")], HIGH_COST).await;
    let mut probes = Vec::new();
    for second in 0..1235 {
        for who in 0..3 {
            if let Ok(mut place) = admit.enter(&list(), payer(who)).await {
                probes.push(second);
                let _ = settle(&mut place, 503, &[], "");
            }
        }
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(probes, [300, 600, 900, 1_200]);
    assert_eq!(away(&admit, &list(), payer(1)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_gate_of_ten_minutes_is_not_probed() {
    let admit = admit();
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "600")], HIGH_COST).await;
    for second in 0..600 {
        assert_eq!(away(&admit, &list(), payer(1)).await, (600 - second) * 1000);
        advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_probe_brings_back_decides() {
    let check = async |status, lines: &[(&str, &str)], body: &str, seconds: u128| {
        let admit = admit();
        let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "1200")], HIGH_COST).await;
        advance(Duration::from_secs(300)).await;
        let _ = answered(&admit, &list(), payer(2), status, lines, body).await;
        assert_eq!(away(&admit, &list(), payer(1)).await, seconds * 1000, "{status} {lines:?}");
    };
    check(200, &[], "", 0).await;
    check(401, &[], "", 900).await;
    check(404, &[], "", 900).await;
    check(500, &[], "", 900).await;
    // ARM's newest word holds, longer or shorter.
    check(429, &[("retry-after", "30")], HIGH_COST, 30).await;
    check(429, &[("retry-after", "1500")], HIGH_COST, 1_500).await;
    check(429, &[], FRONT_DOOR, 900).await;
}

#[tokio::test(start_paused = true)]
async fn late_429s_do_not_put_off_the_probe() {
    let admit = admit();
    let mut before = Vec::new();
    for _ in 0..5 {
        before.push(place(&admit, &list(), payer(2)).await);
    }
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "1200")], HIGH_COST).await;
    for late in &mut before {
        advance(Duration::from_secs(50)).await;
        let _ = settle(late, 429, &[("retry-after", "1200")], HIGH_COST);
    }
    assert_eq!(away(&admit, &list(), payer(1)).await, 1_200_000);
    advance(Duration::from_secs(50)).await;
    assert_eq!(away(&admit, &list(), payer(1)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_probe_is_followed_by_another_in_five_minutes() {
    let admit = admit();
    let _ = throttled(&admit, &list(), payer(1), &[("retry-after", "1200")], HIGH_COST).await;
    advance(Duration::from_secs(300)).await;
    drop(place(&admit, &list(), payer(1)).await);
    assert_eq!(away(&admit, &list(), payer(1)).await, 900_000);
    advance(Duration::from_secs(300)).await;
    drop(place(&admit, &list(), payer(1)).await);
    assert_eq!(admit.status().counts.lost, 2);
}

#[tokio::test(start_paused = true)]
async fn gates_and_names_are_bounded_and_tokens_go_first() {
    let admit = admit_with(Settings { gates: 10, classes: 5, ..Settings::default() });
    for digest in 0..5 {
        let _ = throttled(&admit, &list(), payer(digest), &[("retry-after", "60")], FRONT_DOOR).await;
    }
    for token in 0..1_000 {
        let _ = throttled(&admit, &list(), claims(900, token), &[("retry-after", "600")], FRONT_DOOR).await;
    }
    let gates = admit.status().gates;
    assert_eq!(gates.len(), 10);
    assert_eq!(gates.iter().filter(|gate| gate.remaining == Duration::from_secs(60)).count(), 5);
    for at in 0..100 {
        teach(&admit, &get(&format!("/subscriptions/s/providers/P/t{at}")), &format!("P/N{at};1")).await;
    }
    assert_eq!(admit.status().learned, 5);
    advance(Duration::from_secs(600)).await;
    assert!(admit.status().gates.is_empty(), "nothing is closed any more");
}

#[tokio::test(start_paused = true)]
async fn the_status_tells_people_what_is_closed_and_why() {
    let admit = admit();
    teach(&admit, &list(), "Microsoft.Compute/HighCostGet30Min;699").await;
    let _ = throttled(&admit, &list(), payer(0xabcd), &[("retry-after", "60")], HIGH_COST).await;
    let _ = throttled(&admit, &set("a"), payer(0xabcd), &[], FRONT_DOOR).await;
    let status = admit.status();
    let gates: Vec<_> =
        status.gates.iter().map(|gate| (gate.budget.to_string(), &*gate.code, gate.told)).collect();
    assert_eq!(
        gates,
        [
            (
                "the provider's budget microsoft.compute/highcostget30min in subscription s".to_owned(),
                "OperationNotAllowed",
                true
            ),
            ("ARM's read budget in subscription s".to_owned(), "SubscriptionRequestsThrottled", true),
        ]
    );
    assert_eq!(status.gates[0].budget.subscription(), Some("s"));
    let counts: Vec<_> = status.counts.throttled.iter().collect();
    assert_eq!(counts, [("arm", 1), ("arm_tenant", 0), ("provider", 1), ("class", 0), ("resource", 0)]);
    assert_eq!((status.counts.entered, status.counts.lost, status.in_flight), (3, 0, 0));
    let closed = admit.enter(&list(), payer(2)).await.unwrap_err();
    assert_eq!(
        closed.to_string(),
        "the provider's budget microsoft.compute/highcostget30min in subscription s is used up for another 60 s"
    );
}

#[test]
fn a_payers_digests_are_not_shown_whole() {
    let payer = Payer { claimed: u128::MAX, token: u128::MAX, vouched: true };
    assert_eq!(format!("{payer:?}"), "Payer { claimed: ffffffff, token: ffffffff, vouched: true }");
    assert_eq!(format!("{:?}", payer.account()), "principal ffffffff");
}

#[test]
fn seconds_are_never_too_few() {
    let check = |nanos, seconds| {
        let budget = Budget::ArmTenant { payer: Account::Token(0), charge: crate::classify::Charge::Read };
        let closed = Closed { budget, until: Moment::ZERO, remaining: Duration::from_nanos(nanos) };
        assert_eq!(closed.seconds(), seconds);
    };
    check(0, 1);
    check(1_000_000_000, 1);
    check(1_000_000_001, 2);
    check(59_100_000_000, 60);
}

#[tokio::test(start_paused = true)]
async fn looking_at_calls_does_not_keep_what_is_known_of_their_class() {
    let admit = admit_with(Settings { classes: 2, ..Settings::default() });
    let known = |call: &Call| admit.books.ledger().learned.of(&call.class).count();
    teach(&admit, &set("a"), "Microsoft.Compute/A;300").await;
    teach(&admit, &list(), "Microsoft.Compute/B;300").await;
    for _ in 0..10 {
        assert_eq!(admit.look(&set("a"), payer(1)), Look::Enter);
    }
    teach(&admit, &put("a"), "Microsoft.Compute/C;300").await;
    assert_eq!((known(&set("a")), known(&list())), (0, 1), "the class not called for longest was forgotten");
}
