//! The disk driver: attaches and detaches one disk after another.
//!
//! `kubernetes-sigs/azuredisk-csi-driver` with `pkg/provider/azure_controller_vmss.go`: a PUT of the VM with
//! the whole `dataDisks` and nothing else, no condition, polls every five seconds; what the last GET shows is
//! kept, and after an error the VMs of the set are listed again.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::super::caller::Caller;
use super::super::lost::Field;
use super::super::random::Random;
use super::super::scale::seconds;
use super::super::stage::Places;
use super::super::writing::{Meant, Outcome, Write};
use super::{COMPUTE, at, text};

/// Nodes worked on at the same time.
pub(super) const WORKERS: usize = 2;
const DISK: &str = "api-version=2025-01-02";

pub(super) async fn run(caller: Caller, places: Arc<Places>, worker: usize, random: Random) {
    let disks = places.disks.iter().skip(worker).step_by(WORKERS).cloned().collect();
    let mut driver =
        Driver { caller, places, worker, random, free: disks, attached: Vec::new(), kept: HashMap::new() };
    loop {
        let pause = driver.random.between(8, 24);
        if !driver.caller.span().rest(seconds(pause)).await {
            return;
        }
        let attach = driver.attached.len() < 2 || driver.random.between(0, 1) == 0;
        let done = if attach { driver.attach().await } else { driver.detach().await };
        if done.is_some() {
            driver.caller.done();
        }
    }
}

struct Driver {
    caller: Caller,
    places: Arc<Places>,
    worker: usize,
    random: Random,
    free: Vec<String>,
    /// Disk and VM.
    attached: Vec<(String, String)>,
    /// The driver's cache of VMs, by id.
    kept: HashMap<String, Value>,
}

impl Driver {
    /// A VM of this worker: no two write the same one.
    async fn pick(&mut self) -> Option<String> {
        let sets = self.places.sets.len() as u64;
        let set = usize::try_from(self.random.between(1, sets - 1)).ok()?;
        let set = self.places.sets[set].clone();
        if !self.kept.keys().any(|id| id.starts_with(&set)) {
            self.list(&set).await?;
        }
        let mut own: Vec<_> = self.kept.keys().filter(|id| id.starts_with(&set)).cloned().collect();
        own.sort();
        let many = own.len() as u64;
        let pick = self.random.between(0, many.checked_sub(1)?);
        own.get(usize::try_from(pick).ok()?).cloned()
    }

    async fn list(&mut self, set: &str) -> Option<()> {
        let list = at(&format!("{set}/virtualMachines"), &format!("%24expand=instanceView&{COMPUTE}"));
        for vm in self.caller.list(&list).await? {
            let number = text(&vm["instanceId"]).parse::<usize>().ok()?;
            if number % WORKERS == self.worker {
                let id = format!("{set}/virtualMachines/{number}");
                self.kept.insert(id, vm);
            }
        }
        Some(())
    }

    async fn attach(&mut self) -> Option<()> {
        let vm = self.pick().await?;
        let disk = self.free.pop()?;
        self.caller.get(&at(&disk, DISK)).await;
        let attach = |disks: &mut Vec<Value>| {
            let is_free = |lun: &usize| !disks.iter().any(|disk| disk["lun"] == *lun);
            let lun = (0..64).find(is_free).unwrap_or(0);
            disks.push(json!({"lun": lun, "createOption": "Attach", "caching": "ReadOnly",
                "managedDisk": {"id": disk}}));
        };
        let done = self.change(&vm, &disk, attach).await;
        // Attached or not known to be: it is not attached elsewhere.
        self.attached.push((disk, vm));
        done
    }

    async fn detach(&mut self) -> Option<()> {
        let (disk, vm) = self.attached.remove(0);
        let gone = |disks: &mut Vec<Value>| {
            disks.retain(|own| !text(&own["managedDisk"]["id"]).eq_ignore_ascii_case(&disk));
        };
        let done = self.change(&vm, &disk, gone).await;
        match done {
            Some(()) => self.free.insert(0, disk),
            None => self.attached.push((disk, vm)),
        }
        done
    }

    async fn change(&mut self, vm: &str, disk: &str, change: impl FnOnce(&mut Vec<Value>)) -> Option<()> {
        if !self.kept.contains_key(vm) {
            let (set, _) = vm.rsplit_once("/virtualMachines/")?;
            self.list(set).await?;
        }
        let from = self.kept.get(vm)?.clone();
        let mut disks =
            from["properties"]["storageProfile"]["dataDisks"].as_array().cloned().unwrap_or_default();
        change(&mut disks);
        let body =
            json!({"location": from["location"], "properties": {"storageProfile": {"dataDisks": disks}}});
        let field = Field::Disk(disk.to_owned());
        let wrote = field.of(&body);
        let meant = Some(Meant { resource: vm, field, from: &from, wrote });
        let (target, poll) = (at(vm, COMPUTE), seconds(5));
        let write =
            Write { method: Method::PUT, target: &target, body: Some(body), condition: None, meant, poll };
        match self.caller.write(write).await {
            Outcome::Done(shown) => {
                self.kept.insert(vm.to_owned(), shown);
                self.caller.get(&at(disk, DISK)).await;
                Some(())
            }
            Outcome::Conflict | Outcome::Failed | Outcome::Refused => {
                self.kept.remove(vm);
                None
            }
        }
    }
}
