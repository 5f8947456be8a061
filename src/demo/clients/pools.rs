//! The cloud-controller-manager's backend pools: a set joins one, first its model, then each of its VMs.
//!
//! `kubernetes-sigs/cloud-provider-azure`, `pkg/provider/azure_vmss.go` and `azure_vmss_repo.go`: bodies come
//! from lists and hold little more than the interfaces and the `etag`, which is also the condition; the set
//! is read just before its PUT, for its state alone; after a 412 everything is listed again.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::caller::Caller;
use super::super::lost::{Field, pools_mut};
use super::super::scale::seconds;
use super::super::stage::Places;
use super::super::writing::{Meant, Outcome, Write};
use super::{COMPUTE, at, beginning, is_named, joined, joins_in, text};

/// VMs written at the same time (`putVMSSVMBatchSize`).
const BATCH: usize = 8;
/// How often what met a 412 is begun again.
const TRIES: usize = 6;

pub(super) async fn run(ccm: Caller, places: Arc<Places>) {
    for round in (0..).filter(|round| joins_in(*round)) {
        // One that came too late for its round waits for the next.
        let start = beginning(round) + seconds(5);
        let late = ccm.span().began.elapsed() > start;
        if !ccm.span().reach(start).await {
            return;
        }
        if late {
            continue;
        }
        let (set, _) = joined(&places, round);
        let pool = format!("{}/backendAddressPools/pool{round}", places.balancer);
        if join_set(&ccm, &places, set, &pool).await && join_vms(&ccm, set, &pool).await {
            ccm.done();
        }
    }
}

async fn join_set(ccm: &Caller, places: &Places, set: &str, pool: &str) -> bool {
    let sets = at(&places.of("Microsoft.Compute/virtualMachineScaleSets"), COMPUTE);
    for _ in 0..TRIES {
        let listed = ccm.list(&sets).await;
        let Some(from) = listed.into_iter().flatten().find(|item| is_named(item, set)) else { return false };
        let network = &from["properties"]["virtualMachineProfile"]["networkProfile"];
        let body = json!({"location": from["location"], "etag": from["etag"],
            "properties": {"virtualMachineProfile": {"networkProfile": {
                "networkInterfaceConfigurations": network["networkInterfaceConfigurations"]}}}});
        // It looks at the state only.
        ccm.get(&at(set, COMPUTE)).await;
        match put(ccm, set, &from, with_pool(body, pool), pool, 5).await {
            Outcome::Done(_) => return true,
            Outcome::Refused => return false,
            Outcome::Conflict | Outcome::Failed => {}
        }
        if !ccm.span().rest(seconds(5)).await {
            return false;
        }
    }
    false
}

async fn join_vms(ccm: &Caller, set: &str, pool: &str) -> bool {
    let list = at(&format!("{set}/virtualMachines"), &format!("%24expand=instanceView&{COMPUTE}"));
    let field = Field::Pool(pool.to_owned());
    let mut left: Option<Vec<String>> = None;
    for _ in 0..TRIES {
        let Some(vms) = ccm.list(&list).await else { return false };
        let is_left = |vm: &Value| left.as_ref().is_none_or(|left| left.iter().any(|id| is_named(vm, id)));
        let missing: Vec<_> = vms.into_iter().filter(|vm| field.of(vm).is_none() && is_left(vm)).collect();
        let mut again = Vec::new();
        for batch in missing.chunks(BATCH) {
            let mut writes = JoinSet::new();
            for vm in batch {
                let (ccm, pool, vm) = (ccm.clone(), pool.to_owned(), vm.clone());
                writes.spawn(async move { join_vm(&ccm, &vm, &pool).await });
            }
            while let Some(joined) = writes.join_next().await {
                again.extend(joined.ok().flatten());
            }
            if ccm.span().is_over() {
                return false;
            }
        }
        if again.is_empty() {
            return true;
        }
        // What went well is not looked at again: the next list is for the others.
        left = Some(again);
    }
    false
}

/// Joins one VM; its id if it has to be tried again.
async fn join_vm(ccm: &Caller, vm: &Value, pool: &str) -> Option<String> {
    let properties = &vm["properties"];
    let interfaces = &properties["networkProfileConfiguration"]["networkInterfaceConfigurations"];
    let body = json!({"location": vm["location"], "etag": vm["etag"], "properties": {
        "hardwareProfile": properties["hardwareProfile"],
        "networkProfileConfiguration": {"networkInterfaceConfigurations": interfaces}}});
    let id = text(&vm["id"]);
    match put(ccm, id, vm, with_pool(body, pool), pool, 10).await {
        Outcome::Conflict | Outcome::Failed => Some(id.to_owned()),
        Outcome::Done(_) | Outcome::Refused => None,
    }
}

fn with_pool(mut body: Value, pool: &str) -> Value {
    if let Some(pools) = pools_mut(&mut body).and_then(Value::as_array_mut) {
        pools.push(json!({"id": pool}));
    }
    body
}

async fn put(ccm: &Caller, id: &str, from: &Value, body: Value, pool: &str, poll: u64) -> Outcome {
    let field = Field::Pool(pool.to_owned());
    let wrote = field.of(&body);
    let write = Write {
        method: Method::PUT,
        target: &at(id, COMPUTE),
        body: Some(body),
        condition: from["etag"].as_str(),
        meant: Some(Meant { resource: id, field, from, wrote }),
        poll: seconds(poll),
    };
    ccm.write(write).await
}
