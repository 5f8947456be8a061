//! Scale sets, their VMs, and VMs, as recorded in `kubernetes-sigs/cloud-provider-azure` (`pkg/azclient`).

use super::super::Power;
use super::*;

fn set_model() -> Value {
    // virtualmachinescalesetclient recording, #5.
    json!({"location": "eastus2", "properties": {"overprovision": false,
        "upgradePolicy": {"mode": "Manual"},
        "virtualMachineProfile": {
            "networkProfile": {"networkInterfaceConfigurations": [{"name": "nic", "properties": {
                "enableIPForwarding": true, "primary": true,
                "ipConfigurations": [{"name": "ip", "properties": {"subnet": {"id": "/subnet"}}}]}}]},
            "osProfile": {"adminPassword": "secret", "adminUsername": "user", "computerNamePrefix": "vmss"},
            "storageProfile": {"imageReference": {"offer": "WindowsServer"}}}},
        "sku": {"capacity": 1, "name": "Standard_D2s_v3"}})
}

#[tokio::test(start_paused = true)]
async fn a_set_goes_through_the_recorded_states() {
    let bench = Bench::new();
    let set = format!(
        "{}/providers/Microsoft.Compute/virtualMachineScaleSets/testResource?{COMPUTE}",
        bench.arm.group()
    );
    let seen = |got: &Got| {
        (
            got.status,
            got.header("etag").map(str::to_owned),
            got.json()["etag"].clone(),
            got.json()["properties"]["provisioningState"].clone(),
            got.header("x-ms-request-charge").map(str::to_owned),
        )
    };
    let expect = |status: u16, state: &str, charge: Option<&str>| {
        (status, Some("\"1\"".to_owned()), json!("\"1\""), json!(state), charge.map(str::to_owned))
    };
    assert_eq!(bench.get(&set).await.code(), "ResourceNotFound");
    let created = bench.put(&set, &set_model()).await;
    assert_eq!(seen(&created), expect(201, "Creating", Some("1")));
    assert!(!String::from_utf8_lossy(&created.bytes).contains("secret"));
    assert!(created.bytes.starts_with(b"{\r\n  \"name\": \"testResource\",\r\n  \"id\": "));
    assert!(created.header("location").is_none());
    settle().await;
    assert_eq!(seen(&bench.get(&set).await), expect(200, "Succeeded", None));
    // The same PUT again moves nothing and costs nothing.
    assert_eq!(seen(&bench.put(&set, &set_model()).await), expect(200, "Updating", Some("0")));
    settle().await;
    assert_eq!(seen(&bench.get(&set).await), expect(200, "Succeeded", None));
    let refused = bench.call("PUT", &set, &[("if-match", "invalid")], "{}").await.unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (412, "PreconditionFailed"));
    let message = "Etag provided in if-match header \"invalid\" does not match etag \"1\" of resource.";
    assert_eq!(refused.json()["error"]["message"], message);
    assert_eq!(refused.header("etag"), None);
    let accepted =
        bench.call("PUT", &set, &[("if-match", "\"1\"")], r#"{"sku":{"capacity":3}}"#).await.unwrap();
    assert_eq!((accepted.status, accepted.header("etag")), (200, Some("\"2\"")));
}

#[tokio::test(start_paused = true)]
async fn a_sparse_put_keeps_the_model_and_scales() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 2);
    let target = format!("{set}?{COMPUTE}");
    let before = bench.get(&target).await.json();
    // What the cluster-autoscaler sends.
    let got = bench.put(&target, &json!({"name": "pool", "location": "eastus2", "sku": {"name": "Standard_D4s_v5", "capacity": 4}})).await;
    assert_eq!(got.header("etag"), Some("\"2\""));
    assert_eq!(
        got.json()["properties"]["virtualMachineProfile"],
        before["properties"]["virtualMachineProfile"]
    );
    let states = |list: Value| -> Vec<String> {
        list["value"]
            .as_array()
            .unwrap()
            .iter()
            .map(|vm| vm["properties"]["provisioningState"].as_str().unwrap().to_owned())
            .collect()
    };
    let vms = format!("{set}/virtualMachines?{COMPUTE}");
    assert_eq!(states(bench.get(&vms).await.json()), ["Succeeded", "Succeeded", "Creating", "Creating"]);
    settle().await;
    assert_eq!(states(bench.get(&vms).await.json()), ["Succeeded"; 4]);
    bench.put(&target, &json!({"sku": {"capacity": 1}})).await;
    assert_eq!(states(bench.get(&vms).await.json()), ["Succeeded", "Deleting", "Deleting", "Deleting"]);
    settle().await;
    assert_eq!(bench.arm.members(&set), [format!("{set}/virtualMachines/0")]);
}

#[tokio::test(start_paused = true)]
async fn an_instances_write_moves_its_sets_tag_later() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let vm = format!("{set}/virtualMachines/0?{COMPUTE}");
    let tags = |bench: &Bench| {
        (bench.arm.etag(&set).unwrap(), bench.arm.etag(&format!("{set}/virtualMachines/0")).unwrap())
    };
    let is = |one: &str, two: &str| (format!("\"{one}\""), format!("\"{two}\""));
    // Only tags: nothing moves (recording of the VMSS VM client, #10).
    let got = bench.put(&vm, &json!({"tags": {"key1": "value1"}})).await;
    assert_eq!(
        (got.status, got.header("etag"), got.header("x-ms-request-charge")),
        (200, Some("\"1\""), Some("0"))
    );
    assert_eq!(got.json()["properties"]["provisioningState"], "Updating");
    assert!(got.json()["tags"]["key1"].is_null());
    settle().await;
    assert_eq!(tags(&bench), is("1", "1"));
    let disks = json!({"properties": {"storageProfile": {"dataDisks": [{"lun": 0}]}}});
    assert_eq!(bench.put(&vm, &disks).await.header("etag"), Some("\"2\""));
    assert_eq!(tags(&bench), is("1", "2"));
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(tags(&bench), is("1", "2"), "the operation's end moves nothing");
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(tags(&bench), is("2", "2"));
}

#[tokio::test(start_paused = true)]
async fn a_vm_counts_every_put_and_its_disk() {
    // virtualmachineclient recording, #9 to #14.
    let bench = Bench::new();
    let vm =
        format!("{}/providers/Microsoft.Compute/virtualMachines/testResource?{COMPUTE}", bench.arm.group());
    let body = json!({"location": "eastus2", "identity": {"type": "None"}, "properties": {"storageProfile": {"osDisk": {"name": "disk1"}}}});
    assert_eq!(bench.put(&vm, &body).await.header("etag"), Some("\"1\""));
    settle().await;
    let got = bench.get(&vm).await;
    assert_eq!(got.header("etag"), Some("\"2\""));
    assert!(got.json()["properties"]["storageProfile"]["osDisk"]["managedDisk"]["id"].is_string());
    assert!(got.json()["identity"].is_null());
    let again = bench.put(&vm, &body).await;
    assert_eq!((again.header("etag"), again.header("x-ms-request-charge")), (Some("\"3\""), None));
    settle().await;
    assert_eq!(bench.get(&vm).await.json()["etag"], "\"3\"");
}

#[tokio::test(start_paused = true)]
async fn conditions_are_honoured_on_writes_of_models_only() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 2);
    let vm = bench.arm.add_vm("alone");
    let wrong = [("if-match", "\"99\"")];
    let cases = [
        ("PUT", format!("{set}?{COMPUTE}"), 412),
        ("PATCH", format!("{set}?{COMPUTE}"), 412),
        ("PUT", format!("{set}/virtualMachines/0?{COMPUTE}"), 412),
        ("PUT", format!("{vm}?{COMPUTE}"), 412),
        ("PATCH", format!("{vm}?{COMPUTE}"), 412),
        ("PUT", format!("{set}?api-version=2023-07-01"), 200),
        ("GET", format!("{set}?{COMPUTE}"), 200),
        ("POST", format!("{set}/start?{COMPUTE}"), 202),
        ("DELETE", format!("{set}/virtualMachines/1?{COMPUTE}"), 202),
        ("DELETE", format!("{vm}?{COMPUTE}"), 202),
    ];
    for (method, target, status) in cases {
        let got = bench.call(method, &target, &wrong, "{}").await.unwrap();
        assert_eq!(got.status, status, "{method} {target}: {:?}", got.bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_get_never_answers_304() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 0);
    let got =
        bench.call("GET", &format!("{set}?{COMPUTE}"), &[("if-none-match", "\"1\"")], "").await.unwrap();
    assert_eq!(got.status, 200);
}

#[tokio::test(start_paused = true)]
async fn instances_that_do_not_exist() {
    // VMSS VM client recording, #15; unknown numbers are the provider's 404.
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let cases = [
        (format!("{set}/virtualMachines/0notfound"), 400, "InvalidParameter", false),
        (format!("{set}/virtualMachines/7"), 404, "NotFound", false),
        (format!("{set}x/virtualMachines/0"), 404, "ResourceNotFound", true),
        (format!("{set}x/virtualMachines"), 404, "ResourceNotFound", true),
        (
            format!("{}x/providers/Microsoft.Compute/virtualMachines", bench.arm.group()),
            404,
            "ResourceGroupNotFound",
            true,
        ),
    ];
    for (target, status, code, gateway) in cases {
        let got = bench.get(&format!("{target}?{COMPUTE}")).await;
        assert_eq!((got.status, got.code().as_str()), (status, code), "{target}");
        assert_eq!(got.header("x-ms-failure-cause"), gateway.then_some("gateway"), "{target}");
        let counted = got.headers.keys().any(|name| name.as_str().contains("ratelimit"));
        assert_eq!(counted, !gateway, "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn deleting_instances_lowers_the_capacity() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 3);
    let delete = format!("{set}/delete?{COMPUTE}");
    let got = bench.call("POST", &delete, &[], r#"{"instanceIds":["1"]}"#).await.unwrap();
    assert_eq!((got.status, got.bytes.len()), (202, 0));
    assert!(got.header("location").unwrap().contains("monitor=true"));
    assert!(got.header("azure-asyncoperation").is_some());
    let read = bench.arm.read(&set).unwrap();
    assert_eq!((&read["sku"]["capacity"], &read["etag"]), (&json!(2), &json!("\"2\"")));
    let vms = format!("{set}/virtualMachines?{COMPUTE}");
    assert_eq!(bench.get(&vms).await.json()["value"][1]["properties"]["provisioningState"], "Deleting");
    settle().await;
    assert_eq!(bench.get(&vms).await.json()["value"].as_array().unwrap().len(), 2);
    // A new instance gets a new number.
    bench.put(&format!("{set}?{COMPUTE}"), &json!({"sku": {"capacity": 3}})).await;
    assert_eq!(bench.arm.members(&set).last().unwrap(), &format!("{set}/virtualMachines/3"));
    let unknown = bench.call("POST", &delete, &[], r#"{"instanceIds":["1"]}"#).await.unwrap();
    assert_eq!((unknown.status, unknown.code().as_str()), (400, "InvalidParameter"));
}

#[tokio::test(start_paused = true)]
async fn power_shows_in_views_and_not_in_tags() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let view = format!("{set}/virtualMachines/0/instanceView?{COMPUTE}");
    let got = bench.get(&view).await;
    assert_eq!((got.header("etag"), got.header("x-ms-request-charge")), (None, Some("1")));
    let power = |got: &Got| got.json()["statuses"][1]["code"].as_str().unwrap().to_owned();
    assert_eq!(power(&got), "PowerState/running");
    bench.call("POST", &format!("{set}/deallocate?{COMPUTE}"), &[], "").await.unwrap();
    assert_eq!(power(&bench.get(&view).await), "PowerState/deallocating");
    settle().await;
    assert_eq!(power(&bench.get(&view).await), "PowerState/deallocated");
    assert_eq!(bench.arm.etag(&format!("{set}/virtualMachines/0")).unwrap(), "\"1\"");
    bench.arm.set_power(&format!("{set}/virtualMachines/0"), Power::Running);
    let expanded = bench.get(&format!("{set}/virtualMachines/0?$expand=instanceView&{COMPUTE}")).await.json();
    assert_eq!(expanded["properties"]["instanceView"]["statuses"][1]["code"], "PowerState/running");
}

#[tokio::test(start_paused = true)]
async fn a_flexible_sets_vms_are_vms_and_its_list_a_skeleton() {
    let bench = Bench::new();
    let set = bench.arm.add_flexible("flex", 2);
    bench.arm.add_vm("alone");
    let own = bench.get(&format!("{set}/virtualMachines?{COMPUTE}")).await.json();
    assert_eq!(own["value"].as_array().unwrap().len(), 2);
    assert!(own["value"][0]["properties"].is_null() && own["value"][0]["etag"].is_null());
    assert_eq!(own["value"][0]["instanceId"], own["value"][0]["name"]);
    let all = format!("{}/providers/Microsoft.Compute/virtualMachines", bench.arm.group());
    let filter = format!("%24filter=%27virtualMachineScaleSet%2Fid%27+eq+%27{}%27", set.replace('/', "%2F"));
    let filtered = bench.get(&format!("{all}?{filter}&{COMPUTE}")).await.json();
    assert_eq!(filtered["value"].as_array().unwrap().len(), 2);
    assert_eq!(bench.get(&format!("{all}?{COMPUTE}")).await.json()["value"].as_array().unwrap().len(), 3);
    // Made and provisioned: the platform has written the disk.
    assert_eq!(filtered["value"][0]["etag"], "\"2\"");
}

#[tokio::test(start_paused = true)]
async fn a_set_made_again_counts_from_one() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let target = format!("{set}?{COMPUTE}");
    bench.put(&target, &json!({"sku": {"capacity": 0}})).await;
    let old = bench.arm.read(&set).unwrap()["properties"]["uniqueId"].clone();
    assert_eq!(bench.call("DELETE", &target, &[], "").await.unwrap().status, 202);
    assert_eq!(bench.get(&target).await.json()["properties"]["provisioningState"], "Deleting");
    settle().await;
    assert_eq!(bench.get(&target).await.status, 404);
    assert_eq!(bench.call("DELETE", &target, &[], "").await.unwrap().status, 204);
    bench.put(&target, &set_model()).await;
    let new = bench.arm.read(&set).unwrap();
    assert_eq!(new["etag"], "\"1\"");
    assert_ne!(new["properties"]["uniqueId"], old);
}

#[tokio::test(start_paused = true)]
async fn old_versions_know_no_tags() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    for target in [set.clone(), format!("{set}/virtualMachines")] {
        let got = bench.get(&format!("{target}?api-version=2023-07-01")).await;
        assert!(got.header("etag").is_none());
        assert!(!String::from_utf8_lossy(&got.bytes).contains("etag"), "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn ids_ignore_case_and_keep_it() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("Pool", 1);
    let got = bench.get(&format!("{}?{COMPUTE}", set.to_uppercase())).await;
    assert_eq!((got.status, &got.json()["id"]), (200, &json!(set)));
    let again = set.replace("/Pool", "/POOL");
    bench.put(&format!("{again}?{COMPUTE}"), &json!({})).await;
    assert_eq!(bench.get(&format!("{set}?{COMPUTE}")).await.json()["name"], "POOL");
}

#[tokio::test(start_paused = true)]
async fn odd_bodies_do_no_harm() {
    let bench = Bench::new();
    let set = bench.arm.add_uniform("pool", 1);
    let cases = [
        ("not json", 400),
        ("[]", 400),
        (r#"{"properties":"x"}"#, 400),
        ("", 200),
        ("{}", 200),
        (r#"{"properties":{"virtualMachineProfile":7}}"#, 200),
        (
            r#"{"properties":{"virtualMachineProfile":{"networkProfile":{"networkInterfaceConfigurations":[1,{"properties":2}]}}}}"#,
            200,
        ),
        (r#"{"sku":{"capacity":2}}"#, 200),
    ];
    for (body, status) in cases {
        let got = bench.call("PUT", &format!("{set}?{COMPUTE}"), &[], body).await.unwrap();
        assert_eq!(got.status, status, "{body}: {:?}", got.bytes);
    }
}
