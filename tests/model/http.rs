//! P3, P4, P5, P6 and P11 under random interleavings: reads, writes, operations and changes behind
//! everybody's back by several clients, against a small reference of what may be shown.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::clock::{Clock, Moment};
use proptest::prelude::*;

use crate::seed;
use crate::support::arm::Ending;
use crate::support::client::{AZ, CCM};
use crate::support::eras::address;
use crate::support::shelf::list;
use crate::support::{Answer, Call, Client, Reply, World, world};

const NAMES: [&str; 2] = ["a", "b"];
const LISTS: [&str; 2] = ["CMP/virtualMachines", "SUB/providers/Microsoft.Compute/virtualMachines"];
/// How far lists lag where they do.
const LAG: Duration = Duration::from_millis(1500);

/// Where operations are polled, by their names.
const POLLS: &str = "/subscriptions/1/providers/Microsoft.Compute/locations/e/operations/";

/// What a client or somebody else does.
#[derive(Debug, Clone, Copy)]
enum Step {
    Read { client: usize, what: usize, slow: u64, no_cache: bool },
    Put { client: usize, vm: usize, slow: u64, answer: Said },
    Delete { client: usize, vm: usize, slow: u64 },
    Poll { client: usize },
    Change { vm: usize },
    Replace { vm: usize },
    Pass { time: u64 },
}

/// How a PUT is answered; it is applied as it comes in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Body,
    Nothing,
    Lost,
}

fn step(lags: bool) -> impl Strategy<Value = Step> {
    // All begins at whole hundredths of a second and is answered between them: nothing happens at once.
    let slow = || prop::sample::select(vec![5_u64, 5, 25, 105, 1005, 3005]);
    let said = prop::sample::select(vec![Said::Body, Said::Body, Said::Nothing, Said::Lost]);
    let (client, vm) = (0..3_usize, 0..2_usize);
    let read = (client.clone(), 0..4_usize, slow(), prop::bool::weighted(0.1))
        .prop_map(|(client, what, slow, no_cache)| Step::Read { client, what, slow, no_cache });
    let put = (client.clone(), vm.clone(), slow(), said).prop_map(|(client, vm, slow, answer)| Step::Put {
        client,
        vm,
        slow,
        answer,
    });
    let delete =
        (client.clone(), vm.clone(), slow()).prop_map(|(client, vm, slow)| Step::Delete { client, vm, slow });
    let ends = u32::from(!lags);
    prop_oneof![
        10 => read,
        3 => put,
        ends => delete,
        2 * ends => client.prop_map(|client| Step::Poll { client }),
        2 => vm.clone().prop_map(|vm| Step::Change { vm }),
        ends => vm.prop_map(|vm| Step::Replace { vm }),
        4 => prop::sample::select(vec![10_u64, 10, 50, 400, 2000, 5000]).prop_map(|time| Step::Pass { time }),
    ]
}

/// One state of a VM; `None`: there is none.
type State = Option<Shown>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shown {
    life: usize,
    etag: u32,
    deleting: bool,
}

/// ARM, and the reference: the states of each VM from when each held. A state's place is its number.
#[derive(Debug)]
struct Truth {
    lags: bool,
    vms: [Vec<(Moment, State)>; 2],
    /// What armshield was told by when: the VM and the number of its state.
    told: Vec<(Moment, usize, usize)>,
    /// Until when which write or end was answered, and what it brought about.
    answered: Vec<(Moment, usize, usize)>,
    /// Operations, each with its place as its name.
    operations: Vec<Operation>,
}

/// A deletion: of which VM, when its beginning was answered, until when it goes on, which state was there
/// when it was over, and whether it was pushed out of its way by another.
#[derive(Debug)]
struct Operation {
    vm: usize,
    answered: Moment,
    until: Moment,
    brought: Option<usize>,
    preempted: bool,
}

impl Truth {
    fn new(lags: bool) -> Self {
        let first = Shown { life: 0, etag: 1, deleting: false };
        let vms = [vec![(Moment::ZERO, Some(first))], vec![(Moment::ZERO, Some(first))]];
        Self { lags, vms, told: Vec::new(), answered: Vec::new(), operations: Vec::new() }
    }

    fn now(&self, vm: usize) -> State {
        self.vms[vm].last().unwrap().1
    }

    fn become_(&mut self, vm: usize, at: Moment, state: State) -> usize {
        self.vms[vm].push((at, state));
        self.vms[vm].len() - 1
    }

    /// One version further, or made anew.
    fn advance(&mut self, vm: usize, at: Moment) -> usize {
        let lives = self.vms[vm].len();
        let next = match self.now(vm) {
            Some(shown) => Shown { etag: shown.etag + 1, ..shown },
            None => Shown { life: lives, etag: 1, deleting: false },
        };
        self.become_(vm, at, Some(next))
    }

    fn settle(&mut self, now: Moment) {
        for at in 0..self.operations.len() {
            let Operation { vm, until, brought, .. } = self.operations[at];
            if brought.is_none() && until <= now {
                self.become_(vm, until, None);
                self.end_all(vm, false);
            }
        }
    }

    /// Operations on a VM are over: by their time, or because something else happened to it.
    fn end_all(&mut self, vm: usize, preempted: bool) {
        let number = self.vms[vm].len() - 1;
        for operation in self.operations.iter_mut().filter(|operation| operation.vm == vm) {
            if operation.brought.is_none() {
                (operation.brought, operation.preempted) = (Some(number), preempted);
            }
        }
    }

    /// The operation whose beginning was answered last.
    fn latest(&self, now: Moment) -> Option<usize> {
        self.operations.iter().rposition(|operation| operation.answered < now)
    }

    /// The number of the state that held then.
    fn number_at(&self, vm: usize, at: Moment) -> usize {
        self.vms[vm].iter().rposition(|(from, _)| *from <= at).unwrap_or(0)
    }

    fn item(&self, vm: usize, number: usize) -> Option<String> {
        let shown = self.vms[vm][number].1?;
        let id = address(&format!("CMP/virtualMachines/{}", NAMES[vm]));
        let id = id.split('?').next().unwrap();
        let state = if shown.deleting { "Deleting" } else { "Succeeded" };
        Some(format!(
            r#"{{"id":"{id}","etag":"\"{}\"","properties":{{"vmId":"{}","provisioningState":"{state}","n":{number}}}}}"#,
            shown.etag, shown.life
        ))
    }

    fn answer(&mut self, call: &Call) -> Reply {
        self.settle(call.at);
        let slow = Duration::from_millis(call.header("x-ms-client-request-id").unwrap().parse().unwrap());
        let by = call.at + slow;
        let path = call.path().to_owned();
        if path.contains("/operations/") {
            let at: usize = path.rsplit('/').next().unwrap().parse().unwrap();
            let Operation { vm, brought, preempted, .. } = self.operations[at];
            // What it brought about is known from the answer on.
            self.answered.extend(brought.map(|number| (by, vm, number)));
            let status = match brought {
                None => "InProgress",
                Some(_) if preempted => "Canceled",
                Some(_) => "Succeeded",
            };
            return Reply::ok(format!(r#"{{"status":"{status}"}}"#)).after(slow);
        }
        let Some(vm) = NAMES.iter().position(|name| path.ends_with(&format!("/{name}"))) else {
            let at =
                if self.lags { Moment::from_nanos(call.at.nanos() - LAG.as_nanos() as u64) } else { call.at };
            let numbers = [0, 1].map(|vm| self.number_at(vm, at));
            self.told.extend(numbers.iter().enumerate().map(|(vm, number)| (by, vm, *number)));
            let items = [0, 1].map(|vm| self.item(vm, numbers[vm]));
            return Reply::ok(list(&items.into_iter().flatten().collect::<Vec<_>>())).after(slow);
        };
        let say = |truth: &mut Self, number: usize| {
            truth.told.push((by, vm, number));
            truth.item(vm, number).map_or_else(Reply::not_found, Reply::ok)
        };
        match call.method.as_str() {
            "GET" => {
                let number = self.vms[vm].len() - 1;
                say(self, number).after(slow)
            }
            "DELETE" => {
                let Some(shown) = self.now(vm) else {
                    self.answered.push((by, vm, self.vms[vm].len() - 1));
                    return Reply::json(204, "").after(slow);
                };
                self.end_all(vm, true);
                let number = self.become_(vm, call.at, Some(Shown { deleting: true, ..shown }));
                self.answered.push((by, vm, number));
                let until = call.at + Duration::from_millis(2503);
                self.operations.push(Operation { vm, answered: by, until, brought: None, preempted: false });
                let poll = format!("http://arm.test{POLLS}{}", self.operations.len() - 1);
                Reply::json(202, "").with("azure-asyncoperation", &poll).after(slow)
            }
            _ => {
                let number = self.advance(vm, call.at);
                self.answered.push((by, vm, number));
                match call.body.first() {
                    Some(b'n') => Reply::json(204, "").after(slow),
                    Some(b'l') => Reply::ok("").after(slow).ending(Ending::Never),
                    _ => say(self, number).after(slow),
                }
            }
        }
    }

    /// Whether an answer to a read begun then may show this; if not, why.
    fn judge(&self, vm: usize, number: Option<usize>, read: &Read, answer: &Answer) -> Result<(), String> {
        let least = |known: &[(Moment, usize, usize)]| {
            known.iter().filter(|(at, of, _)| *at < read.begun && *of == vm).map(|known| known.2).max()
        };
        let (hit, joined) = (answer.is_hit(), answer.cache().ends_with("collapsed"));
        let mut bounds = Vec::new();
        if !self.lags || read.what < 2 {
            bounds.push(("P3, P4: a write was answered", least(&self.answered)));
        }
        if hit || (joined && !self.lags) {
            bounds.push(("P6: armshield was told", least(&self.told)));
        }
        // Who shows nothing may show any time at which there was nothing.
        let shown = number.or_else(|| self.vms[vm].iter().rposition(|(_, state)| state.is_none()));
        let shown = shown.ok_or("it was there all the time")?;
        for (why, bound) in bounds {
            if bound.is_some_and(|bound| shown < bound) {
                return Err(format!("{why}: {shown} is older than {bound:?}"));
            }
        }
        let until = self.vms[vm].get(shown + 1).map(|(until, _)| *until);
        let lag = if self.lags && read.what >= 2 { LAG } else { Duration::ZERO };
        match until {
            Some(until) if read.begun.since(until) > read.bound + lag => {
                Err(format!("P5: {shown} was over for {:?}", read.begun.since(until)))
            }
            _ => Ok(()),
        }
    }
}

struct Read {
    what: usize,
    begun: Moment,
    bound: Duration,
}

struct Play {
    clock: Clock,
    truth: Arc<Mutex<Truth>>,
    clients: [(Client, Duration); 3],
    wrong: Arc<Mutex<Vec<String>>>,
}

impl Play {
    async fn new(lags: bool) -> Self {
        let truth = Arc::new(Mutex::new(Truth::new(lags)));
        let own = truth.clone();
        let world = World::new(move |call| match call.path().contains("loadBalancers") {
            true => Reply::ok("{}"),
            false => own.lock().unwrap().answer(call),
        });
        let seconds = Duration::from_secs;
        let clients = [
            (world.client("one").with_agent(AZ), seconds(15)),
            (world.client("one").with_agent(CCM), seconds(2)),
            (world.client("two").with_agent(AZ), seconds(15)),
        ];
        // Let in by ARM, and everything that lags has something to lag behind.
        for (client, _) in &clients {
            client.get(&address("NET/loadBalancers/l")).await;
        }
        world::seconds(10).await;
        Self { clock: world.clock, truth, clients, wrong: Arc::default() }
    }

    /// Begins a step, and what it takes until the next.
    async fn begin(&self, at: usize, step: Step) -> Option<tokio::task::JoinHandle<()>> {
        let vm_target = |vm: usize| address(&format!("CMP/virtualMachines/{}", NAMES[vm]));
        let call = |client: usize, method: &str, target: &str, slow: u64, body: &'static str| {
            let client = self.clients[client].0.clone();
            let request = client.request(method, target).header("x-ms-client-request-id", slow.to_string());
            (client, request, body)
        };
        let now = self.clock.now();
        let (client, request, body) = match step {
            Step::Pass { time } => {
                world::pass(Duration::from_millis(time)).await;
                return None;
            }
            Step::Change { vm } | Step::Replace { vm } => {
                let mut truth = self.truth.lock().unwrap();
                truth.settle(now);
                let exists = truth.now(vm).is_some();
                if matches!(step, Step::Replace { .. }) {
                    if exists {
                        truth.become_(vm, now, None);
                    }
                    truth.end_all(vm, false);
                    truth.advance(vm, now);
                } else if exists {
                    truth.advance(vm, now);
                }
                return None;
            }
            Step::Read { client: who, what, slow, no_cache } => {
                let target = if what < 2 { vm_target(what) } else { address(LISTS[what - 2]) };
                let (client, mut request, _) = call(who, "GET", &target, slow, "");
                if no_cache {
                    request = request.header("cache-control", "no-cache");
                }
                let read = Read { what, begun: now, bound: self.clients[who].1 };
                let (truth, wrong) = (self.truth.clone(), self.wrong.clone());
                return Some(tokio::spawn(async move {
                    let answer = client.send(request, "").await.unwrap();
                    let said = check(&truth.lock().unwrap(), &read, &answer);
                    let told =
                        said.map_err(|why| format!("step {at}, {step:?}: {why}\n  {}", answer.cache()));
                    wrong.lock().unwrap().extend(told.err());
                }));
            }
            Step::Put { client, vm, slow, answer } => {
                let body = ["{}", "nothing", "lost"][answer as usize];
                call(client, "PUT", &vm_target(vm), slow, body)
            }
            Step::Delete { client, vm, slow } => call(client, "DELETE", &vm_target(vm), slow, ""),
            Step::Poll { client } => {
                let latest = self.truth.lock().unwrap().latest(now)?;
                let target = format!("{POLLS}{latest}");
                call(client, "GET", &target, 5, "")
            }
        };
        Some(tokio::spawn(async move { drop(client.send(request, body).await) }))
    }
}

fn check(truth: &Truth, read: &Read, answer: &Answer) -> Result<(), String> {
    let number = |item: &serde_json::Value| item["properties"]["n"].as_u64().map(|n| n as usize);
    if answer.status == 404 && read.what < 2 {
        return truth.judge(read.what, None, read, answer);
    }
    if answer.status != 200 {
        return Err(format!("{} {}", answer.status, answer.text()));
    }
    let body = answer.json();
    if read.what < 2 {
        return truth.judge(read.what, number(&body), read, answer);
    }
    for vm in [0, 1] {
        let end = format!("/{}", NAMES[vm]);
        let item = body["value"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"].as_str().unwrap().ends_with(&end));
        truth.judge(vm, item.and_then(number), read, answer)?;
    }
    Ok(())
}

fn play(lags: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let play = Play::new(lags).await;
        let mut begun = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            begun.extend(play.begin(at, *step).await);
            world::pass(Duration::from_millis(10)).await;
        }
        for begun in begun {
            begun.await.unwrap();
        }
        let wrong = play.wrong.lock().unwrap();
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
}

proptest! {
    #![proptest_config(seed::config(100, "tests/model/http.regressions"))]

    #[test]
    fn p3_p4_p6_hold_however_reads_writes_and_changes_meet(steps in prop::collection::vec(step(false), 5..40)) {
        play(false, &steps)?;
    }

    #[test]
    fn p6_holds_however_lists_lag(steps in prop::collection::vec(step(true), 5..40)) {
        play(true, &steps)?;
    }
}
