//! Whatever went before: what is explained happens, and a world in which everything is explained all the time
//! is the same as one in which nothing is.

use armshield::policy::Mode;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::*;

const READS: [&str; 9] = [
    "CMP/virtualMachines/a",
    "CMP/virtualMachines/A?$expand=instanceView",
    "CMP/virtualMachines",
    "SUB/providers/Microsoft.Compute/virtualMachines",
    "NET/loadBalancers/l",
    "CMP/disks/d",
    "CMP//virtualMachines/a",
    "/metadata/endpoints",
    POLL,
];
const WRITTEN: [&str; 4] = [
    "CMP/virtualMachines/a",
    "CMP/virtualMachines/b",
    "NET/loadBalancers/l",
    "CMP/virtualMachines/a/restart",
];

/// What happens.
#[derive(Debug, Clone)]
enum Step {
    /// A request is made, and explained before if anything is.
    Ask(Request),
    /// A request takes its time, meanwhile others go on.
    Begin(Request),
    /// What ARM answers next.
    Next(&'static str),
    Pass(u64),
    Mode(Mode, Option<&'static str>),
    Purge(&'static str),
    Operations(bool),
    /// Somebody else changes everything.
    Change,
}

fn request() -> impl Strategy<Value = Request> {
    let header = prop::sample::select(vec![
        None,
        None,
        None,
        None,
        Some(("cache-control", "no-cache")),
        Some(("cache-control", "max-age=1")),
        Some(("range", "bytes=0-1")),
        Some(("x-splits", "")),
        Some(("if-match", "\"7\"")),
    ]);
    let read = prop::sample::select(READS.to_vec()).prop_map(|read| ("GET", read));
    let methods = prop::sample::select(vec!["PUT", "PATCH", "DELETE", "POST"]);
    let write = (methods, prop::sample::select(WRITTEN.to_vec()));
    let what = prop_oneof![12 => read, 4 => write, 1 => Just(("HEAD", READS[0]))];
    (0..CLIENTS.len(), what, header, 0..12_u8).prop_map(|(who, (method, read), header, value)| {
        let request = Request::of(who, method, read);
        match header {
            Some((name, "")) => request.with(name, &value.to_string()),
            Some((name, value)) => request.with(name, value),
            None => request,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let modes = prop::sample::select(vec![Mode::Active, Mode::Active, Mode::Shadow, Mode::Pass]);
    let profiles = prop::sample::select(vec![None, Some("az"), Some("ccm")]);
    prop_oneof![
        16 => request().prop_map(Step::Ask),
        3 => request().prop_map(Step::Begin),
        2 => prop::sample::select(vec!["429", "429-other", "403", "401", "404", "500", "no-store"]).prop_map(Step::Next),
        // Between whole seconds, so that nothing happens at once.
        6 => prop::sample::select(vec![7_u64, 407, 2007, 5007, 16_007, 31_007, 601_007]).prop_map(Step::Pass),
        1 => (modes, profiles).prop_map(|(mode, profile)| Step::Mode(mode, profile)),
        1 => prop::sample::select(vec!["/", "CMP/virtualMachines/a", "GRP"]).prop_map(Step::Purge),
        1 => prop::bool::ANY.prop_map(Step::Operations),
        1 => Just(Step::Change),
    ]
}

fn next(word: &str) -> Reply {
    match word {
        "429" => Reply::error(429, "SubscriptionRequestsThrottled").with("retry-after", "17"),
        "429-other" => {
            let named = r#"{"code":"OperationNotAllowed","message":"m","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{}"}]}"#;
            Reply::json(429, named).with("retry-after", "9")
        }
        "403" => Reply::error(403, "AuthorizationFailed"),
        "401" => Reply::error(401, "ExpiredAuthenticationToken"),
        "500" => Reply::error(500, "InternalServerError"),
        "no-store" => Reply::ok("{}").with("cache-control", "no-store"),
        _ => Reply::not_found(),
    }
}

/// What a world shows of itself: every answer, and what ARM was asked.
type Seen = (Vec<String>, Vec<String>);

/// Plays the steps. `explained`: each request is explained before it is made, and held to that; and before each
/// step everything that one of the clients could ask is explained.
async fn play(steps: &[Step], explained: bool) -> Seen {
    let mut stage = Stage::new().await;
    let mut answers = Vec::new();
    let mut background = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if explained {
            explain_everything(&stage, number % CLIENTS.len());
        }
        match step {
            Step::Ask(request) if explained => answers.push(say(&stage.check(request).await.1)),
            Step::Ask(request) => answers.push(say(&stage.make(request).await.0)),
            Step::Begin(request) => {
                stage.arm().slow = Duration::from_millis(3003);
                background.push(stage.client(request.who).begin(request.method, &request.target, ""));
                world::pass(Duration::from_millis(1)).await;
                stage.arm().slow = Duration::ZERO;
            }
            Step::Next(word) => stage.arm().next.push_back(next(word)),
            Step::Pass(millis) => world::pass(Duration::from_millis(*millis)).await,
            Step::Mode(mode, profile) => stage.switch(*mode, *profile),
            Step::Purge(at) => {
                let id = address(at);
                let id = if *at == "/" { "/" } else { id.split('?').next().unwrap() };
                stage.world.proxy.rooms().purge(id).unwrap();
            }
            Step::Operations(begin) => stage.arm().operations = *begin,
            Step::Change => stage.arm().version += 1,
        }
    }
    for answer in background {
        answers.push(say(&answer.await.unwrap()));
    }
    let calls = stage.world.arm.calls();
    let calls =
        calls.iter().map(|call| format!("{} {} {:?} {:?}", call.method, call.target, call.headers, call.at));
    (answers, calls.collect())
}

/// An answer, without the date that hyper reads from the system's clock.
fn say(answer: &Answer) -> String {
    let mut headers = answer.headers.clone();
    headers.remove("date");
    format!("{} {headers:?} {}", answer.status, answer.text())
}

/// Explains everything that a client could ask, and holds that to changing nothing.
fn explain_everything(stage: &Stage, who: usize) {
    let before = stage.picture();
    let reads = READS.iter().map(|read| Request::get(who, read));
    let all: Vec<_> = reads.chain(WRITTEN.iter().map(|write| Request::of(who, "PUT", write))).collect();
    let first: Vec<_> = all.iter().map(|request| stage.explain(request)).collect();
    let again: Vec<_> = all.iter().map(|request| stage.explain(request)).collect();
    assert_eq!(first, again, "explaining changed what is explained");
    assert_eq!(before, stage.picture(), "explaining left a trace");
}

fn in_paused_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(work)
}

fn config() -> ProptestConfig {
    let failures = FileFailurePersistence::Direct("tests/promises/explain/random.regressions");
    ProptestConfig { cases: 24, failure_persistence: Some(Box::new(failures)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_explained_happens_and_explaining_changes_nothing(steps in prop::collection::vec(step(), 5..40)) {
        let explained = in_paused_time(play(&steps, true));
        let unexplained = in_paused_time(play(&steps, false));
        for (one, other) in [(&explained.0, &unexplained.0), (&explained.1, &unexplained.1)] {
            prop_assert_eq!(one.len(), other.len());
            for (one, other) in one.iter().zip(other) {
                prop_assert_eq!(one, other);
            }
        }
    }
}
