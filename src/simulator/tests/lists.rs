//! Lists: merged ones, pages, lag.

use super::*;

#[tokio::test(start_paused = true)]
async fn lists_of_a_group_are_merged_and_carry_tags_in_their_items() {
    let bench = Bench::new();
    bench.arm.add_uniform("one", 1);
    bench.arm.add_group("other");
    let elsewhere = bench.arm.group().replace("/nodes", "/other");
    bench.arm.create(
        &format!("{elsewhere}/providers/Microsoft.Compute/virtualMachineScaleSets/two"),
        &json!({"location": "westeurope"}),
    );
    let sets = "providers/Microsoft.Compute/virtualMachineScaleSets";
    let subscription = bench.arm.group().split("/resourceGroups").next().unwrap().to_owned();
    let cases = [
        (format!("{}/{sets}", bench.arm.group()), 1),
        (format!("{subscription}/{sets}"), 2),
        (
            format!(
                "{subscription}/providers/Microsoft.Compute/locations/westeurope/virtualMachineScaleSets"
            ),
            1,
        ),
    ];
    for (target, count) in cases {
        let got = bench.get(&format!("{target}?{COMPUTE}")).await;
        assert_eq!(got.json()["value"].as_array().unwrap().len(), count, "{target}");
        assert!(got.bytes.starts_with(br#"{"value":[{"name":""#), "{target}");
        assert!(got.header("x-ms-original-request-ids").is_some() && got.header("etag").is_none());
        assert_eq!(got.json()["value"][0]["etag"], "\"1\"");
    }
    let vms = bench.get(&format!("{}/{sets}/one/virtualMachines?{COMPUTE}", bench.arm.group())).await;
    assert!(vms.bytes.starts_with(b"{\r\n  \"value\": [\r\n    {\r\n      \"name\": \"one_0\","));
    assert_eq!(
        (vms.header("x-ms-request-charge"), vms.header("x-ms-original-request-ids")),
        (Some("1"), None)
    );
}

#[tokio::test(start_paused = true)]
async fn pages_are_followed_by_their_links() {
    let bench = Bench::with(Options { page: Some(2), ..Options::default() });
    let set = bench.arm.add_uniform("pool", 5);
    let mut target = format!("{set}/virtualMachines?%24expand=instanceView&{COMPUTE}");
    let mut names = Vec::new();
    loop {
        let page = bench.get(&target).await.json();
        for vm in page["value"].as_array().unwrap() {
            assert!(vm["properties"]["instanceView"].is_object());
            names.push(vm["instanceId"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["nextLink"].as_str() else { break };
        assert!(
            next.starts_with("https://management.azure.com/") && next.contains("%24skiptoken="),
            "{next}"
        );
        target = next.to_owned();
        // Not a snapshot: what goes meanwhile is not on the next page.
        if names.len() == 2 {
            bench.arm.remove(&format!("{set}/virtualMachines/2"));
        }
    }
    assert_eq!(names, ["0", "1", "3", "4"]);
    let bad = bench.get(&format!("{set}/virtualMachines?{COMPUTE}&$skiptoken=AAAA")).await;
    assert_eq!((bad.status, &bad.json()["error"]["target"]), (400, &json!("$skiptoken")));
}

#[tokio::test(start_paused = true)]
async fn the_last_page_may_be_empty() {
    // managedclusterclient recording, #9 and #10.
    let bench = Bench::with(Options { empty_page: true, ..Options::default() });
    let set = bench.arm.add_uniform("pool", 3);
    let first = bench.get(&format!("{set}/virtualMachines?{COMPUTE}")).await.json();
    assert_eq!(first["value"].as_array().unwrap().len(), 3);
    let last = bench.get(first["nextLink"].as_str().unwrap()).await.json();
    assert_eq!((&last["value"], &last["nextLink"]), (&json!([]), &json!(null)));
}

#[tokio::test(start_paused = true)]
async fn a_lagging_list_shows_what_was() {
    let bench = Bench::with(Options { list_lag: Duration::from_secs(30), ..Options::default() });
    tokio::time::advance(Duration::from_secs(1)).await;
    let set = bench.arm.add_uniform("pool", 1);
    let list = format!("{}?{COMPUTE}", set.rsplit_once('/').unwrap().0);
    let point = format!("{set}?{COMPUTE}");
    assert_eq!(bench.get(&list).await.json()["value"], json!([]));
    tokio::time::advance(Duration::from_secs(31)).await;
    bench.put(&point, &json!({"tags": {"a": "b"}})).await;
    assert_eq!(bench.get(&point).await.json()["etag"], "\"2\"");
    let item = bench.get(&list).await.json()["value"][0].clone();
    assert_eq!(
        (&item["etag"], &item["properties"]["provisioningState"]),
        (&json!("\"1\""), &json!("Succeeded"))
    );
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(bench.get(&list).await.json()["value"][0]["etag"], "\"2\"");
    bench.arm.remove(&set);
    assert_eq!(bench.get(&list).await.json()["value"].as_array().unwrap().len(), 1);
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(bench.get(&list).await.json()["value"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_give_equal_bytes() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let bench = Bench::new();
        let set = bench.arm.add_uniform("pool", 20);
        let got = bench.get(&format!("{set}/virtualMachines?{COMPUTE}")).await;
        seen.push((format!("{:?}", got.headers), got.bytes));
    }
    assert_eq!(seen[0], seen[1]);
}
