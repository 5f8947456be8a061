//! The cluster-autoscaler: lists every ten seconds or every minute, scales the first set up and down.
//!
//! `kubernetes/autoscaler`, `cluster-autoscaler/cloudprovider/azure`: a capacity PUT has name, location and
//! SKU and no condition; VMs go by POST `…/delete`; the VMs of a set are listed every five minutes, and while
//! their number is not the capacity.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::caller::Caller;
use super::super::lost::Field;
use super::super::scale::seconds;
use super::super::stage::Places;
use super::super::writing::{Meant, Outcome, Write};
use super::{COMPUTE, at, is_named, text};

/// Nodes that come or go at once.
const STEP: usize = 3;

pub(super) async fn run(caller: Caller, places: Arc<Places>, nodes: watch::Sender<u64>) {
    let mut scaler = Autoscaler { caller, places, nodes, own: Vec::new() };
    for set in scaler.places.sets.clone() {
        scaler.members(&set).await;
    }
    for turn in 0_u64.. {
        // The lists every minute, a decision every forty seconds.
        if turn % 6 == 0 {
            scaler.refresh().await;
        }
        if turn % 4 == 2 {
            let done = if scaler.own.is_empty() { scaler.up().await } else { scaler.down().await };
            if done.is_some() {
                scaler.caller.done();
            }
        }
        if turn % 30 == 29 {
            for set in scaler.places.sets.clone() {
                scaler.members(&set).await;
            }
        }
        if !scaler.caller.span().rest(seconds(10)).await {
            return;
        }
    }
}

struct Autoscaler {
    caller: Caller,
    places: Arc<Places>,
    nodes: watch::Sender<u64>,
    /// The VMs it added and has not taken away: numbers.
    own: Vec<String>,
}

impl Autoscaler {
    fn set(&self) -> &str {
        &self.places.sets[0]
    }

    fn list_of(set: &str) -> String {
        format!("{set}/virtualMachines")
    }

    async fn refresh(&self) {
        self.sets().await;
        self.caller.list(&at(&self.places.of("Microsoft.Compute/virtualMachines"), COMPUTE)).await;
    }

    async fn sets(&self) -> Option<Vec<Value>> {
        self.caller.list(&at(&self.places.of("Microsoft.Compute/virtualMachineScaleSets"), COMPUTE)).await
    }

    async fn members(&self, set: &str) -> Option<Vec<Value>> {
        self.caller.list(&at(&Self::list_of(set), &format!("%24expand=instanceView&{COMPUTE}"))).await
    }

    /// Kubernetes learns of each node by itself.
    async fn announce(&self) {
        for _ in 0..STEP {
            self.nodes.send_modify(|count| *count += 1);
            self.caller.span().rest(seconds(4)).await;
        }
    }

    async fn up(&mut self) -> Option<()> {
        let set = self.set().to_owned();
        let from = self.sets().await?.into_iter().find(|item| is_named(item, &set))?;
        let before = self.members(&set).await?;
        let capacity = from["sku"]["capacity"].as_u64()? + STEP as u64;
        let body = json!({"name": from["name"], "location": from["location"], "sku":
            {"name": from["sku"]["name"], "tier": from["sku"]["tier"], "capacity": capacity}});
        let meant =
            Meant { resource: &set, field: Field::Capacity, from: &from, wrote: Some(capacity.to_string()) };
        let (target, poll) = (at(&set, COMPUTE), seconds(10));
        let write = Write {
            method: Method::PUT,
            target: &target,
            body: Some(body),
            condition: None,
            meant: Some(meant),
            poll,
        };
        let accepted = self.caller.begin(&write).await.ok()?;
        let least = before.len() + STEP;
        self.caller.witness(|witness, now| witness.grown(&Self::list_of(&set), least, now));
        // What it had cached is dropped with the write, and asked for at once.
        let after = self.members(&set).await;
        let Outcome::Done(_) = self.caller.finish(write, accepted).await else { return None };
        let after = after?;
        let number = |vm: &Value| text(&vm["instanceId"]).to_owned();
        let known: Vec<_> = before.iter().map(number).collect();
        self.own = after.iter().map(number).filter(|number| !known.contains(number)).collect();
        self.announce().await;
        self.members(&set).await.map(drop)
    }

    async fn down(&mut self) -> Option<()> {
        let set = self.set().to_owned();
        let from = self.sets().await?.into_iter().find(|item| is_named(item, &set))?;
        let own = std::mem::take(&mut self.own);
        let capacity = from["sku"]["capacity"].as_u64()?.saturating_sub(own.len() as u64);
        let meant =
            Meant { resource: &set, field: Field::Capacity, from: &from, wrote: Some(capacity.to_string()) };
        let target = at(&format!("{set}/delete"), &format!("forceDeletion=false&{COMPUTE}"));
        let (body, poll) = (Some(json!({"instanceIds": own})), seconds(10));
        self.caller.witness(|witness, now| witness.grown(&Self::list_of(&set), 0, now));
        let write =
            Write { method: Method::POST, target: &target, body, condition: None, meant: Some(meant), poll };
        let accepted = self.caller.begin(&write).await.ok()?;
        self.caller.witness(|witness, now| {
            for number in &own {
                witness.deleted(&format!("{}/{number}", Self::list_of(&set)), now);
            }
        });
        self.members(&set).await;
        let Outcome::Done(_) = self.caller.finish(write, accepted).await else { return None };
        self.announce().await;
        self.members(&set).await.map(drop)
    }
}
