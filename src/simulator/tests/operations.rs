//! Long-running operations.

use super::super::{Fault, Match};
use super::*;
use http::Method;

#[tokio::test(start_paused = true)]
async fn an_operation_is_polled_to_its_end() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let got = bench.put(&format!("{set}?{COMPUTE}"), &json!({"sku": {"capacity": 2}})).await;
    let poll = got.header("azure-asyncoperation").unwrap().to_owned();
    assert!(poll.starts_with("https://management.azure.com/subscriptions/"));
    assert!((1000..4096).contains(&poll.len()), "{}", poll.len());
    assert_eq!(got.header("retry-after"), Some("5"));
    let running = bench.get(&poll).await;
    assert_eq!((running.status, &running.json()["status"]), (200, &json!("InProgress")));
    assert_eq!(running.header("retry-after"), Some("5"));
    assert!(running.json()["endTime"].is_null());
    settle().await;
    let done = bench.get(&poll).await;
    assert_eq!((&done.json()["status"], done.header("retry-after")), (&json!("Succeeded"), None));
    assert!(done.json()["endTime"].is_string());
}

#[tokio::test(start_paused = true)]
async fn a_poll_url_that_was_touched_is_refused() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let got = bench.call("DELETE", &format!("{set}?{COMPUTE}"), &[], "").await.unwrap();
    for link in ["azure-asyncoperation", "location"] {
        let link = got.header(link).unwrap();
        let touched = [
            link.replace("&t=", "&t=1"),
            link.replace("api-version", "API-version"),
            link.replace("/providers/", "/Providers/"),
            format!("{link}x"),
            link.rsplit_once("&h=").unwrap().0.to_owned(),
        ];
        for link in touched {
            assert_eq!(bench.get(&link).await.status, 403, "{link}");
        }
    }
    assert_eq!(bench.get(got.header("location").unwrap()).await.status, 202);
    settle().await;
    assert_eq!(bench.get(got.header("location").unwrap()).await.status, 204);
}

#[tokio::test(start_paused = true)]
async fn a_later_write_preempts() {
    let bench = Bench::new();
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    let first = bench.put(&set, &json!({"sku": {"capacity": 3}})).await;
    tokio::time::advance(Duration::from_secs(6)).await;
    bench.put(&set, &json!({"tags": {"a": "b"}})).await;
    let status = bench.get(first.header("azure-asyncoperation").unwrap()).await.json();
    assert_eq!(
        (&status["status"], &status["error"]["code"]),
        (&json!("Failed"), &json!("OperationPreempted"))
    );
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(bench.get(&set).await.json()["properties"]["provisioningState"], "Updating");
    settle().await;
    let vms = bench.get(&set.replace('?', "/virtualMachines?")).await.json();
    assert!(
        vms["value"]
            .as_array()
            .unwrap()
            .iter()
            .all(|vm| vm["properties"]["provisioningState"] == "Succeeded")
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_operation_leaves_a_failed_resource() {
    let bench = Bench::new();
    let set = format!("{}?{COMPUTE}", bench.arm.add_uniform("pool", 1));
    bench.arm.fail_next_operation("OverconstrainedAllocationRequest", "No room.");
    let got = bench.put(&set, &json!({"sku": {"capacity": 2}})).await;
    settle().await;
    let status = bench.get(got.header("azure-asyncoperation").unwrap()).await.json();
    assert_eq!(
        (&status["status"], &status["error"]["code"]),
        (&json!("Failed"), &json!("OverconstrainedAllocationRequest"))
    );
    assert_eq!(bench.get(&set).await.json()["properties"]["provisioningState"], "Failed");
}

#[tokio::test(start_paused = true)]
async fn a_group_goes_with_all_it_holds() {
    // ARM's own operation: /subscriptions/{id}/operationresults/{token}.
    let bench = Bench::new();
    bench.arm.add_uniform("pool", 2);
    let group = bench.arm.group();
    let got = bench.call("DELETE", &format!("{group}?api-version=2021-04-01"), &[], "").await.unwrap();
    let link = got.header("location").unwrap();
    assert!(link.contains("/operationresults/") && got.header("azure-asyncoperation").is_none());
    assert_eq!(bench.get(link).await.status, 202);
    settle().await;
    assert_eq!(bench.get(link).await.status, 200);
    assert_eq!(bench.arm.resources(), 0);
    assert_eq!(bench.get(&format!("{group}?api-version=2021-04-01")).await.code(), "ResourceGroupNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_an_applied_write() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let target = format!("{set}?{COMPUTE}");
    bench.arm.fault(Match::writes(), Fault::LostAnswer, 1);
    bench.arm.fault(Match::containing(&Method::GET, "pool"), Fault::Reset, 1);
    assert!(bench.call("PUT", &target, &[], r#"{"sku":{"capacity":2}}"#).await.is_err());
    assert!(bench.call("GET", &target, &[], "").await.is_err());
    assert_eq!(bench.get(&target).await.header("etag"), Some("\"2\""));
    let journal = bench.arm.journal();
    let seen: Vec<_> = journal.iter().map(|call| (call.applied, call.status, call.fault)).collect();
    assert_eq!(
        seen,
        [(true, None, Some("lost-answer")), (false, None, Some("reset")), (false, Some(200), None)]
    );
}
