//! Who is let in, and what happens to the others.

use super::super::{Fault, Grant, Limits, Match, Throttled};
use super::*;

#[tokio::test(start_paused = true)]
async fn only_good_tokens_are_let_in() {
    let mut bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let target = format!("{set}?{COMPUTE}");
    let good = bench.token.clone();
    let altered = good.replace(".ey", ".eY");
    let revoked = bench.arm.token(&Principal::named("client"));
    bench.arm.revoke(&revoked);
    let cases = [
        (good.clone(), 200, ""),
        (altered, 401, "InvalidAuthenticationToken"),
        (revoked, 401, "InvalidAuthenticationToken"),
    ];
    for (token, status, code) in cases {
        bench.token = token;
        let got = bench.get(&target).await;
        assert_eq!(got.status, status);
        if status == 401 {
            assert_eq!(got.code(), code);
            assert!(got.header("www-authenticate").unwrap().starts_with("Bearer authorization_uri="));
        }
    }
    bench.token = good;
    tokio::time::advance(Duration::from_secs(3_901)).await;
    assert_eq!(bench.get(&target).await.code(), "ExpiredAuthenticationToken");
    let journal = format!("{:?}", bench.arm.journal());
    assert!(!journal.contains(&bench.token[..40]));
}

#[tokio::test(start_paused = true)]
async fn rights_bound_a_principal() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    bench.arm.restrict(&Principal::named("client"), [Grant::read(&set)]);
    let target = format!("{set}?{COMPUTE}");
    assert_eq!(bench.get(&target).await.status, 200);
    let refused = bench.put(&target, &json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "AuthorizationFailed"));
    let group = format!("{}?api-version=2021-04-01", bench.arm.group());
    assert_eq!(bench.get(&group).await.status, 403);
    bench.arm.permit_all(&Principal::named("client"));
    assert_eq!(bench.get(&group).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn some_paths_need_no_token() {
    let mut bench = Bench::new();
    bench.token = "none".to_owned();
    let array = bench.get("/metadata/endpoints?api-version=2019-05-01").await.json();
    assert_eq!(array[0]["resourceManager"], "https://management.azure.com/");
    assert!(
        bench.get("/metadata/endpoints?api-version=2022-09-01").await.json()["authentication"]["audiences"]
            [0]
        .is_string()
    );
    assert_eq!(bench.call("OPTIONS", "/subscriptions", &[], "").await.unwrap().status, 200);
    let form = "grant_type=client_credentials&client_id=aaaa&client_secret=x&scope=https%3A%2F%2Fmanagement.azure.com%2F.default";
    let granted = bench.call("POST", "/my-tenant/oauth2/v2.0/token", &[], form).await.unwrap().json();
    bench.token = granted["access_token"].as_str().unwrap().to_owned();
    assert_eq!(bench.get("/subscriptions?api-version=2021-04-01").await.status, 200);
    assert!(bench.arm.journal().last().unwrap().principal.is_some());
}

#[tokio::test(start_paused = true)]
async fn injected_refusals_have_their_scheme() {
    let bench = Bench::new();
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    let cases = [
        (Fault::Throttle(Throttled::Subscription, Some(3)), 429, "SubscriptionRequestsThrottled", Some("3")),
        (
            Fault::Throttle(Throttled::Collection, Some(17)),
            429,
            "ResourceCollectionRequestsThrottled",
            Some("17"),
        ),
        (
            Fault::Throttle(Throttled::Compute("GetVMScaleSet3Min".into()), Some(60)),
            429,
            "OperationNotAllowed",
            Some("60"),
        ),
        (Fault::Throttle(Throttled::NetworkLock, None), 429, "RetryableErrorDueToAnotherOperation", None),
        (Fault::Challenge, 401, "InvalidAuthenticationToken", None),
        (Fault::Forbidden, 403, "AuthorizationFailed", None),
    ];
    for (fault, status, code, after) in cases {
        bench.arm.fault(Match::any(), fault.clone(), 1);
        let got = bench.get(&set).await;
        assert_eq!(
            (got.status, got.code().as_str(), got.header("retry-after")),
            (status, code, after),
            "{fault:?}"
        );
        assert_eq!(bench.get(&set).await.status, 200, "{fault:?}");
    }
    bench.arm.fault(Match::any(), Fault::Throttle(Throttled::ComputeBare("X".into()), None), 1);
    let bare = bench.get(&set).await.json();
    let inner: Value = serde_json::from_str(bare["details"][0]["message"].as_str().unwrap()).unwrap();
    assert_eq!((&bare["code"], &inner["operationGroup"]), (&json!("OperationNotAllowed"), &json!("X")));
}

#[tokio::test(start_paused = true)]
async fn a_lasting_throttle_counts_down() {
    let bench = Bench::new();
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    bench.arm.fault_for(
        Match::any(),
        Fault::Throttle(Throttled::Subscription, Some(0)),
        Duration::from_secs(20),
    );
    assert_eq!(bench.get(&set).await.header("retry-after"), Some("20"));
    tokio::time::advance(Duration::from_millis(15_500)).await;
    assert_eq!(bench.get(&set).await.header("retry-after"), Some("5"));
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(bench.get(&set).await.status, 200);
    let journal = bench.arm.journal();
    let told = journal.iter().map(|call| (call.throttled.as_deref(), call.retry_after));
    let lasting = Some("Subscription");
    assert_eq!(told.collect::<Vec<_>>(), [(lasting, Some(20)), (lasting, Some(5)), (None, None)]);
}

#[tokio::test(start_paused = true)]
async fn published_limits_refuse_the_thirteenth_update_of_a_set() {
    let bench = Bench::with(Options { throttle: Some(Limits::published()), ..Options::default() });
    let (one, two) = (bench.arm.add_uniform("one", 0), bench.arm.add_uniform("two", 0));
    let put = async |set: &str| bench.put(&format!("{set}?{COMPUTE}"), &json!({})).await;
    for left in (0..12).rev() {
        let got = put(&one).await;
        let policies = got.header("x-ms-ratelimit-remaining-resource").unwrap();
        assert!(policies.ends_with(&format!("UpdateVMScaleSetResourceMaximum;{left}")), "{policies}");
    }
    let refused = put(&one).await;
    assert_eq!(
        (refused.status, refused.code().as_str(), refused.header("retry-after")),
        (429, "OperationNotAllowed", Some("15"))
    );
    assert_eq!(refused.json()["error"]["details"][0]["target"], "UpdateVMScaleSetResourceMaximum");
    assert_eq!(put(&two).await.status, 200);
    tokio::time::advance(Duration::from_secs(15)).await;
    assert_eq!(put(&one).await.status, 200);
    let refused: Vec<_> = bench
        .arm
        .journal()
        .into_iter()
        .filter(|call| call.throttled.is_some())
        .map(|call| (call.number, call.applied, call.retry_after))
        .collect();
    assert_eq!(refused, [(13, false, Some(15))]);
}
