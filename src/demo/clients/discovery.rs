//! Prometheus' service discovery: lists everything once a minute (`prometheus/prometheus`, `discovery/azure`).

use std::sync::Arc;

use super::super::caller::Caller;
use super::super::scale::seconds;
use super::super::stage::Places;
use super::at;

const COMPUTE: &str = "api-version=2024-07-01";

pub(super) async fn run(prometheus: Caller, places: Arc<Places>) {
    loop {
        prometheus.list(&at(&places.of("Microsoft.Compute/virtualMachines"), COMPUTE)).await;
        prometheus.list(&at(&places.of("Microsoft.Compute/virtualMachineScaleSets"), COMPUTE)).await;
        for set in places.sets.iter().chain([&places.runners]) {
            prometheus.list(&at(&format!("{set}/virtualMachines"), COMPUTE)).await;
        }
        prometheus.done();
        if !prometheus.span().rest(seconds(60)).await {
            return;
        }
    }
}
