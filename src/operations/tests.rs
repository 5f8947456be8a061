use super::*;
use crate::classify::{Scope, Touched};
use crate::clock::Wall;
use crate::scopes::{self, Outcome, Scopes};
use http::HeaderValue;

const SET: &str = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachinescalesets/a";

struct World {
    clock: Clock,
    scopes: Scopes,
    operations: Operations,
}

impl World {
    fn new() -> Self {
        let clock = Clock::tokio(Wall::from_unix(0));
        let operations = Operations::new(Settings::default(), clock);
        Self { clock, scopes: Scopes::new(scopes::Settings::default(), clock), operations }
    }

    async fn write(&self, headers: &[(&'static str, &str)], state: State) {
        let path = ArmPath::parse(SET).unwrap();
        let touched = Touched::by(Some(&path));
        let fence = self.scopes.fence(&touched).await;
        let sent = self.scopes.now();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let begun = Begun::of(200, &map, state);
        assert!(begun.any());
        let settling = fence.lift(Outcome::of(200, true)).await;
        self.operations.note(begun, settling, Some(path), false, sent).await;
    }

    fn is_unsettled(&self) -> bool {
        self.scopes.stamp(&[Scope::Unit(SET.into())]).is_unsettled(self.clock.now())
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_poll_invalidates_again_and_starts_settling() {
    let world = World::new();
    world.write(&[("azure-asyncoperation", "https://arm/ops/1?t=a&s=b%2F")], State::InProgress).await;
    tokio::time::advance(Duration::from_secs(600)).await;
    assert!(world.is_unsettled());
    assert!(world.operations.polled("/ops/1?s=b%2F&t=a").is_none(), "the query is signed: byte for byte");
    let (operation, named) = world.operations.polled("/ops/1?t=a&s=b%2F").unwrap();
    let stamp = world.scopes.stamp(&[Scope::Unit(SET.into())]);
    world.operations.answered(&operation, read(named, 200, br#"{"status":"InProgress"}"#)).await;
    assert!(stamp.is_current());
    world.operations.answered(&operation, read(named, 200, br#"{"status":"Failed"}"#)).await;
    assert!(!stamp.is_current());
    tokio::time::advance(Duration::from_secs(31)).await;
    assert!(!world.is_unsettled());
}

#[tokio::test(start_paused = true)]
async fn both_urls_of_an_operation_lead_to_its_end() {
    let world = World::new();
    world
        .write(
            &[
                ("azure-asyncoperation", "https://arm/ops/1?t=a"),
                ("location", "https://arm/ops/1?monitor=true"),
            ],
            State::Unknown,
        )
        .await;
    assert_eq!(world.operations.polled("/ops/1?t=a").unwrap().1, Named::AsyncOperation);
    assert_eq!(world.operations.polled("/ops/1?monitor=true").unwrap().1, Named::Location);
}

#[tokio::test(start_paused = true)]
async fn without_a_poll_url_the_state_of_a_later_point_read_tells_the_end() {
    let world = World::new();
    let early = world.scopes.now();
    world.write(&[], State::InProgress).await;
    let id: Arc<str> = SET.into();
    world.operations.shown(&id, State::Terminal, early).await;
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(world.is_unsettled(), "a read sent before the write tells nothing");
    world.operations.shown(&id, State::Terminal, world.scopes.now()).await;
    tokio::time::advance(Duration::from_secs(31)).await;
    assert!(!world.is_unsettled());
    assert!(world.operations.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_nobody_polls_settles_by_its_deadline_and_is_forgotten() {
    let world = World::new();
    world.write(&[("location", "https://arm/ops/1")], State::Unknown).await;
    tokio::time::advance(Duration::from_secs(1801)).await;
    assert!(!world.is_unsettled());
    world.write(&[("location", "https://arm/ops/2")], State::Unknown).await;
    assert!(world.operations.polled("/ops/1").is_none());
    assert_eq!(world.operations.len(), 1);
}

#[test]
fn only_accepted_writes_with_absolute_urls_or_a_state_begin_operations() {
    let begun = |status, headers: &[(&'static str, &'static str)], state| {
        let map = headers.iter().map(|(n, v)| ((*n).parse().unwrap(), HeaderValue::from_static(v))).collect();
        Begun::of(status, &map, state).any()
    };
    assert!(begun(202, &[("location", "https://arm/x")], State::Unknown));
    assert!(begun(201, &[], State::InProgress));
    assert!(!begun(201, &[("location", "/subscriptions/s/x")], State::Terminal));
    assert!(!begun(409, &[("location", "https://arm/x")], State::InProgress));
    assert!(!begun(200, &[], State::Terminal));
}
