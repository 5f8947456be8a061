//! P3: after a client has seen an answer to a write, no read begun after that shows it the state from before.

use crate::support::{Reply, World, world};

const VM: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01";

fn vm(etag: u32) -> String {
    let id = VM.split('?').next().unwrap();
    format!(
        r#"{{"id":"{id}","etag":"\"{etag}\"","properties":{{"vmId":"x","provisioningState":"Succeeded"}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn p3_a_read_after_a_writes_answer_goes_to_arm() {
    let mut etag = 1;
    let world = World::new(move |call| {
        if call.method == "PUT" {
            etag += 1;
        }
        Reply::ok(vm(etag)).with("etag", &format!("\"{etag}\""))
    });
    let az = world.client("a");
    assert!(az.get(VM).await.text().contains(r#"\"1\""#));
    world::seconds(1).await;
    assert!(az.get(VM).await.is_hit());
    assert_eq!(az.put(VM, r#"{"location":"eastus"}"#).await.status, 200);
    let after = az.get(VM).await;
    assert!(!after.is_hit());
    assert!(after.text().contains(r#"\"2\""#));
}
