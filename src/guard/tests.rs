use super::*;
use crate::arm::Life;
use crate::clock::{Moment, Wall};
use crate::policy::Policy;
use http::HeaderValue;

const ID: &str = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachinescalesets/a";
const WINDOW: Duration = Duration::from_secs(30 * 60);

fn guard(bytes: usize) -> Guard {
    Guard::new(Settings { bytes, ..Settings::default() }, Clock::tokio(Wall::from_unix(0)))
}

fn document(id: &str, etag: u32) -> Arc<Document> {
    let body = format!(r#"{{"value":[{{"id":"{id}","etag":"\"{etag}\""}}]}}"#);
    Arc::new(Document::parse(body.as_bytes()).unwrap())
}

fn show(guard: &Guard, client: u128, key: u64, document: &Arc<Document>) {
    let path: Arc<str> = ID.rsplit_once('/').unwrap().0.into();
    let policy = Policy::default();
    let viewer = Viewer { client, caller: client + 100, profile: &policy.other };
    assert_eq!(viewer.profile.base_window, WINDOW);
    guard.show(&viewer, &Question { key, path: &path }, document);
}

fn choose(guard: &Guard, headers: &HeaderMap, body: &str, mode: GuardMode) -> Choice {
    let path = ArmPath::parse(ID).unwrap();
    guard.choose(&Write {
        client: 1,
        method: &Method::PUT,
        path: &path,
        api_version: Some("2025-04-01"),
        headers,
        body: Some(body.as_bytes()),
        window: WINDOW,
        mode,
        present: None,
    })
}

fn chosen(guard: &Guard) -> (Source, Option<String>, bool) {
    let choice = choose(guard, &HeaderMap::new(), "{}", GuardMode::Enforce);
    (choice.source, choice.etag.map(|etag| etag.to_string()), choice.send)
}

#[tokio::test(start_paused = true)]
async fn one_version_shown_is_the_condition() {
    let guard = guard(1 << 20);
    assert_eq!(chosen(&guard), (Source::None, None, false));
    show(&guard, 1, 7, &document(ID, 3));
    assert_eq!(chosen(&guard), (Source::Seen, Some("\"3\"".into()), true));
    show(&guard, 2, 7, &document(ID, 4));
    assert_eq!(chosen(&guard).0, Source::Seen, "what another client was shown does not count");
}

#[tokio::test(start_paused = true)]
async fn several_versions_are_reported_and_not_sent() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    show(&guard, 1, 8, &document(ID, 4));
    assert_eq!(chosen(&guard), (Source::Ambiguous, Some("\"3\"".into()), false));
}

#[tokio::test(start_paused = true)]
async fn a_superseded_version_still_counts_until_its_window_ends() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    show(&guard, 1, 7, &document(ID, 4));
    assert_eq!(chosen(&guard).0, Source::Ambiguous);
    tokio::time::advance(Duration::from_secs(29 * 60)).await;
    show(&guard, 1, 7, &document(ID, 4));
    tokio::time::advance(Duration::from_secs(2 * 60)).await;
    assert_eq!(chosen(&guard), (Source::Seen, Some("\"4\"".into()), true));
    tokio::time::advance(WINDOW).await;
    assert_eq!(chosen(&guard).0, Source::None);
}

#[tokio::test(start_paused = true)]
async fn an_end_makes_the_next_put_a_create() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    guard.end(1, ID);
    assert_eq!(chosen(&guard).0, Source::None);
    show(&guard, 1, 8, &document(ID, 1));
    assert_eq!(chosen(&guard), (Source::Seen, Some("\"1\"".into()), true));
}

#[tokio::test(start_paused = true)]
async fn a_number_that_came_again_in_another_life_is_no_condition() {
    let guard = guard(1 << 20);
    let life = |mark: &str| Life { unique_id: Some(mark.into()), ..Life::default() };
    let body = format!(r#"{{"id":"{ID}","etag":"\"3\"","properties":{{"uniqueId":"a"}}}}"#);
    show(&guard, 1, 7, &Arc::new(Document::parse(body.as_bytes()).unwrap()));
    let path = ArmPath::parse(ID).unwrap();
    let check = |present: (Life, &str), source| {
        let choice = guard.choose(&Write {
            client: 1,
            method: &Method::PUT,
            path: &path,
            api_version: Some("2025-04-01"),
            headers: &HeaderMap::new(),
            body: Some(b"{}"),
            window: WINDOW,
            mode: GuardMode::Enforce,
            present: Some((&present.0, &present.1.into())),
        });
        assert_eq!(choice.source, source, "{present:?}");
    };
    check((life("a"), "\"3\""), Source::Seen);
    check((life("a"), "\"4\""), Source::Seen);
    check((Life::default(), "\"3\""), Source::Seen);
    check((life("b"), "\"3\""), Source::None);
    // Here the number tells, and ARM refuses it.
    check((life("b"), "\"1\""), Source::Seen);
}

#[tokio::test(start_paused = true)]
async fn a_clients_own_condition_and_the_bodys_tag_come_first() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static("*"));
        let choice = choose(&guard, &headers, r#"{"etag":"\"9\""}"#, GuardMode::Enforce);
        assert_eq!((choice.source, choice.send), (Source::Client, false));
    }
    let choice = choose(&guard, &HeaderMap::new(), r#"{"etag":"\"9\""}"#, GuardMode::Enforce);
    assert_eq!(choice, Choice { source: Source::Body, etag: Some(ETag::from("\"9\"")), send: true });
}

#[tokio::test(start_paused = true)]
async fn observing_sends_nothing() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    let choice = choose(&guard, &HeaderMap::new(), "{}", GuardMode::Observe);
    assert_eq!((choice.source, choice.send), (Source::Seen, false));
    assert_eq!(Report::new(choice, 412).outcome, Outcome::Observed);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_be_read_goes_out_as_it_came() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    for body in ["", "not json", r#"{"tags":"#] {
        assert_eq!(choose(&guard, &HeaderMap::new(), body, GuardMode::Enforce).source, Source::None);
    }
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_what_was_forgotten_is_not_guessed() {
    let guard = guard(64 << 10);
    show(&guard, 1, 0, &document(ID, 3));
    for n in 1..1000 {
        show(&guard, 1, n, &document(&format!("{ID}{n}"), 1));
    }
    assert!(guard.size().0 <= 64 << 10);
    assert_eq!(chosen(&guard).0, Source::None);
    show(&guard, 1, 0, &document(ID, 4));
    assert_eq!(chosen(&guard).0, Source::None, "an older version may have been shown");
}

#[test]
fn only_puts_and_patches_of_versions_with_tags_are_guarded() {
    let check = |method, version, guarded| {
        assert_eq!(is_guardable(&method, version), guarded, "{method} {version:?}")
    };
    check(Method::PUT, Some("2024-03-01"), true);
    check(Method::PATCH, Some("2025-04-01"), true);
    check(Method::PUT, Some("2023-09-01"), false);
    check(Method::PUT, None, false);
    check(Method::DELETE, Some("2025-04-01"), false);
    check(Method::POST, Some("2025-04-01"), false);
}

#[test]
fn the_header_says_source_version_and_result() {
    let choice = Choice { source: Source::Seen, etag: Some(ETag::from("\"3\"")), send: true };
    let header =
        |choice: &Choice, status| Report::new(choice.clone(), status).header().to_str().unwrap().to_owned();
    assert_eq!(header(&choice, 200), r#"source=seen, etag="\"3\"", result=passed"#);
    assert_eq!(header(&choice, 412), r#"source=seen, etag="\"3\"", result=conflict"#);
    let none = Choice { source: Source::None, etag: None, send: false };
    assert_eq!(header(&none, 412), "source=none, result=unguarded");
}

#[tokio::test(start_paused = true)]
async fn what_each_client_of_a_profile_was_shown_can_be_looked_at() {
    let guard = guard(1 << 20);
    let (path, policy) = (ArmPath::parse(ID).unwrap(), Policy::default());
    let look = |profile: &str| guard.look(&path, policy.named(profile).unwrap(), None);
    assert_eq!(look("other"), []);
    show(&guard, 2, 7, &document(ID, 3));
    tokio::time::advance(Duration::from_secs(5)).await;
    show(&guard, 2, 7, &document(ID, 4));
    show(&guard, 1, 7, &document(ID, 4));
    show(&guard, 3, 7, &document("/subscriptions/s/elsewhere", 4));
    let version = |etag: &str, second, superseded| Version {
        etag: etag.into(),
        last: Moment::ZERO + Duration::from_secs(second),
        superseded,
    };
    let four = version("\"4\"", 5, false);
    let both = vec![version("\"3\"", 0, true), four.clone()];
    let first = Seen { client: 1, caller: 101, versions: Some(vec![four]) };
    assert_eq!(look("other"), [first, Seen { client: 2, caller: 102, versions: Some(both) }]);
    assert_eq!(look("ccm"), []);
    tokio::time::advance(WINDOW + Duration::from_secs(1)).await;
    assert_eq!(look("other"), []);
}

#[tokio::test(start_paused = true)]
async fn a_view_forgotten_for_space_is_told_from_one_that_showed_nothing() {
    let guard = guard(1000);
    show(&guard, 1, 7, &document(ID, 3));
    show(&guard, 1, 8, &document(ID, 4));
    let path = ArmPath::parse(ID).unwrap();
    let seen = guard.look(&path, &Policy::default().other, None);
    assert_eq!(seen, [Seen { client: 1, caller: 101, versions: None }]);
}

#[tokio::test(start_paused = true)]
async fn a_version_shown_more_than_once_counts_from_the_last_time() {
    let guard = guard(1 << 20);
    show(&guard, 1, 7, &document(ID, 3));
    tokio::time::advance(Duration::from_secs(5)).await;
    show(&guard, 1, 7, &document(ID, 4));
    show(&guard, 1, 8, &document(ID, 3));
    let path = ArmPath::parse(ID).unwrap();
    let versions = guard.look(&path, &Policy::default().other, None).remove(0).versions.unwrap();
    let told: Vec<_> = versions.iter().map(|one| (one.etag.as_str(), one.last, one.superseded)).collect();
    let five = Moment::ZERO + Duration::from_secs(5);
    assert_eq!(told, [("\"3\"", five, false), ("\"4\"", five, false)]);
}
