//! Network types, as recorded in `kubernetes-sigs/cloud-provider-azure`.

use super::*;

#[tokio::test(start_paused = true)]
async fn writes_answer_without_the_header_and_reads_with_it() {
    let bench = Bench::new();
    let address = bench.arm.add_public_ip("ip");
    let balancer = bench.arm.add_load_balancer("lb", &[&address]);
    let cases = [
        (balancer, Some(412)),
        (address, Some(412)),
        (bench.arm.add_security_group("nsg"), Some(412)),
        (bench.arm.add_route_table("rt"), Some(412)),
        (bench.arm.add_interface("nic"), Some(200)),
    ];
    for (id, wrong) in cases {
        let target = format!("{id}?{NETWORK}");
        let read = bench.get(&target).await;
        let tag = read.header("etag").unwrap().to_owned();
        assert!(tag.starts_with("W/\"") && read.json()["etag"] == tag.as_str(), "{id}");
        let body = bench.arm.read(&id).unwrap().to_string();
        let put = bench.call("PUT", &target, &[("if-match", &tag)], &body).await.unwrap();
        assert_eq!((put.status, put.header("etag")), (200, None), "{id}");
        assert_ne!(put.json()["etag"], tag.as_str(), "{id}");
        let refused = bench.call("PUT", &target, &[("if-match", &tag)], &body).await.unwrap();
        assert_eq!(Some(refused.status), wrong, "{id}");
        if refused.status == 412 {
            assert_eq!(refused.json()["error"]["details"][0]["code"], "PreconditionFailedEtagMismatch");
        }
        let list = id.rsplit_once('/').unwrap().0;
        let list = bench.get(&format!("{list}?{NETWORK}")).await;
        assert_eq!(list.header("etag"), None);
        assert!(list.json()["value"][0]["etag"].is_string());
        assert!(list.bytes.starts_with(br#"{"value":[{"name":"#));
    }
}

#[tokio::test(start_paused = true)]
async fn a_frontends_change_moves_the_tag_of_its_address() {
    // .agents/references/etag-cache.md of cloud-provider-azure; issue 9729.
    let bench = Bench::new();
    let (one, two) = (bench.arm.add_public_ip("one"), bench.arm.add_public_ip("two"));
    let balancer = bench.arm.add_load_balancer("lb", &[&one]);
    let tags = || (bench.arm.etag(&one).unwrap(), bench.arm.etag(&two).unwrap());
    let before = tags();
    let target = format!("{balancer}?{NETWORK}");
    let mut body = bench.arm.read(&balancer).unwrap();
    body["properties"]["probes"] = json!([{"name": "p", "properties": {}}]);
    bench.put(&target, &body).await;
    assert_eq!(tags(), before, "the frontend is as it was");
    body["properties"]["frontendIPConfigurations"][0]["properties"]["publicIPAddress"]["id"] = json!(two);
    bench.put(&target, &body).await;
    let moved = tags();
    assert!(moved.0 != before.0 && moved.1 != before.1);
    assert!(bench.arm.read(&two).unwrap()["properties"]["ipConfiguration"]["id"].is_string());
    bench.call("DELETE", &target, &[], "").await.unwrap();
    settle().await;
    assert_ne!(tags().1, moved.1);
    assert!(bench.arm.read(&two).unwrap()["properties"]["ipConfiguration"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_pool_lives_in_its_balancer() {
    // backendaddresspoolclient recording.
    let bench = Bench::new();
    let balancer = bench.arm.add_load_balancer("lb", &[]);
    let pool = format!("{balancer}/backendAddressPools/pool");
    let before = bench.arm.etag(&balancer).unwrap();
    let made = bench.put(&format!("{pool}?{NETWORK}"), &json!({"name": "pool", "properties": {}})).await;
    assert_eq!((made.status, made.header("etag")), (201, None));
    let got = bench.get(&format!("{pool}?{NETWORK}")).await;
    let tag = bench.arm.etag(&balancer).unwrap();
    assert_eq!(got.header("etag"), Some(tag.as_str()));
    assert_ne!(tag, before);
    assert_eq!(
        bench.get(&format!("{balancer}?{NETWORK}")).await.json()["properties"]["backendAddressPools"][1]["etag"],
        tag.as_str()
    );
    let list = bench.get(&format!("{balancer}/backendAddressPools?{NETWORK}")).await.json();
    assert_eq!(list["value"].as_array().unwrap().len(), 2);
    let missing = bench.get(&format!("{pool}notfound?{NETWORK}")).await;
    assert_eq!((missing.code().as_str(), missing.header("x-ms-failure-cause")), ("NotFound", None));
    assert!(missing.header("x-ms-ratelimit-remaining-subscription-global-reads").is_some());
    assert_eq!(bench.call("DELETE", &format!("{pool}?{NETWORK}"), &[], "").await.unwrap().status, 202);
    assert_eq!(bench.get(&format!("{pool}?{NETWORK}")).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_put_is_the_whole_resource() {
    let bench = Bench::new();
    let table = bench.arm.add_route_table("rt");
    let target = format!("{table}?{NETWORK}");
    let routes = json!({"location": "eastus2", "tags": {"a": "b"}, "properties": {"routes": [{"name": "r", "properties": {"addressPrefix": "10.0.0.0/24"}}]}});
    bench.put(&target, &routes).await;
    let got = bench.put(&target, &json!({"location": "eastus2"})).await.json();
    assert_eq!((&got["properties"]["routes"], &got["tags"]), (&json!([]), &json!(null)));
}

#[tokio::test(start_paused = true)]
async fn an_interface_needs_no_operation() {
    // interfaceclient recording, #4 and #10.
    let bench = Bench::new();
    let target = format!("{}/providers/Microsoft.Network/networkInterfaces/nic?{NETWORK}", bench.arm.group());
    let made =
        bench.put(&target, &json!({"location": "eastus", "properties": {"ipConfigurations": []}})).await;
    assert_eq!((made.status, made.header("azure-asyncoperation")), (201, None));
    let gone = bench.call("DELETE", &target, &[], "").await.unwrap();
    assert_eq!(gone.status, 200);
    assert!(
        gone.header("azure-asyncoperation").is_some()
            && gone.header("location").unwrap().contains("operationResults")
    );
    assert_eq!(bench.get(&target).await.status, 404);
}
