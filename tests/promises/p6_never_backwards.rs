//! P6: armshield adds no step back. From memory or by joining, nobody is shown a resource older than
//! armshield already knew; ARM's own lag is passed on, not kept.

use std::time::Duration;

use crate::support::arm::Ending;
use crate::support::client::CCM;
use crate::support::eras::address;
use crate::support::shelf::{Shelf, list, resource};
use crate::support::simulated::{COMPUTE, NETWORK};
use crate::support::{Answer, Client, Reply, Simulated, World, world};

const VM: &str = "CMP/virtualMachines/a";
const OTHER: &str = "CMP/virtualMachines/b";
const OLD: &str = "CMP/virtualMachines/a?api-version=2024-07-01";
const EXPANDED: &str = "CMP/virtualMachines/a?$expand=instanceView";
const VMS: &str = "CMP/virtualMachines";
const OLD_VMS: &str = "CMP/virtualMachines?api-version=2024-07-01";
const ALL_VMS: &str = "SUB/providers/Microsoft.Compute/virtualMachines";
const FILTERED: &str = "CMP/virtualMachines?$filter='virtualMachineScaleSet/id'%20eq%20's'";
const MEMBER: &str = "CMP/virtualMachineScaleSets/s/virtualMachines/0";
const MEMBERS: &str = "CMP/virtualMachineScaleSets/s/virtualMachines";
const ADDRESS: &str = "NET/publicIPAddresses/p";
const ADDRESSES: &str = "NET/publicIPAddresses";
const ALL_ADDRESSES: &str = "SUB/providers/Microsoft.Network/publicIPAddresses";

/// A world, what its ARM answers, and a client ARM has let in.
async fn world() -> (World, Shelf, Client) {
    let shelf = Shelf::default();
    let world = World::new(shelf.script());
    let az = world.client("a");
    shelf.put("NET/loadBalancers/l", "{}");
    az.get(&address("NET/loadBalancers/l")).await;
    (world, shelf, az)
}

/// A VM of the life `x`.
fn vm(at: &str, etag: u32) -> String {
    living(at, etag, "x")
}

fn living(at: &str, etag: u32, life: &str) -> String {
    resource(at, &format!("\"{etag}\""), &format!(r#""vmId":"{life}""#))
}

fn is_list(read: &str) -> bool {
    let last = address(read).split('?').next().unwrap().rsplit('/').next().unwrap().to_lowercase();
    last.ends_with('s') || last.ends_with("addresses")
}

/// What a read shows of one resource, `item`.
fn showing(read: &str, item: &str) -> String {
    if is_list(read) { list(&[item.to_owned()]) } else { item.to_owned() }
}

async fn get(client: &Client, read: &str) -> Answer {
    client.get(&address(read)).await
}

/// An answer that is yet to be asked for, whatever is kept.
async fn fresh(client: &Client, read: &str) -> Answer {
    let request = client.request("GET", &address(read)).header("cache-control", "no-cache");
    client.send(request, "").await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn p6_what_one_answer_tells_every_older_answer_about_it_stops_being_used() {
    let check = async |first: &str, second: &str, before: &str, after: &str| {
        let (_, shelf, az) = world().await;
        shelf.put(first, showing(first, before));
        shelf.put(second, showing(second, before));
        // What is there at first is known at first.
        for read in [second, first] {
            fresh(&az, read).await;
        }
        world::seconds(1).await;
        assert!(get(&az, first).await.is_hit(), "{first} before {second}");
        shelf.put(first, showing(first, after));
        shelf.put(second, showing(second, after));
        fresh(&az, second).await;
        let name = format!("{first} after {second}: {before} {after}");
        assert!(get(&az, second).await.is_hit(), "news never harms its own fill: {name}");
        let again = get(&az, first).await;
        assert!(!again.is_hit(), "{name}");
        assert_eq!(again.text(), showing(first, after));
        for read in [first, second] {
            assert!(get(&az, read).await.is_hit(), "and both are kept again: {read}, {name}");
        }
    };
    let of = |at: &str, etag: &str, properties: &str| resource(at, etag, properties);
    let vms = [VM, OLD, EXPANDED, VMS, ALL_VMS, FILTERED];
    let members = [MEMBER, MEMBERS];
    let addresses = [ADDRESS, ADDRESSES, ALL_ADDRESSES];
    for (at, reads) in [(VM, &vms[..]), (MEMBER, &members[..]), (ADDRESS, &addresses[..])] {
        for first in reads {
            for second in reads.iter().filter(|second| *second != first) {
                let network = at == ADDRESS;
                let (one, two) = if network { ("W/\"p\"", "W/\"q\"") } else { ("\"9\"", "\"10\"") };
                check(first, second, &of(at, one, ""), &of(at, two, "")).await;
                check(first, second, &of(at, "", r#""vmId":"x""#), &of(at, "", r#""vmId":"y""#)).await;
                check(first, second, &of(at, "", r#""uniqueId":"x""#), &of(at, "", r#""uniqueId":"y""#))
                    .await;
                let state = |state: &str| of(at, one, &format!(r#""provisioningState":"{state}""#));
                check(first, second, &state("Succeeded"), &state("Updating")).await;
                check(first, second, &state("Updating"), &state("Succeeded")).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p6_answers_that_tell_nothing_new_leave_each_other_alone() {
    let (_, shelf, az) = world().await;
    let reads = [VM, OLD, EXPANDED, VMS, OLD_VMS, ALL_VMS, FILTERED];
    for read in reads {
        shelf.put(read, showing(read, &vm(VM, 1)));
        fresh(&az, read).await;
    }
    for read in reads {
        fresh(&az, read).await;
    }
    for read in reads {
        assert!(get(&az, read).await.is_hit(), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn p6_compared_is_only_what_both_sides_carry() {
    let (_, shelf, az) = world().await;
    shelf.put(VM, vm(VM, 1));
    // Older versions show no ETag, and skeletons nothing at all.
    shelf.put(OLD_VMS, list(&[resource(VM, "", r#""vmId":"x""#)]));
    shelf.put(VMS, list(&[resource(VM, "", "")]));
    for read in [OLD_VMS, VMS, VM, OLD_VMS, VMS] {
        fresh(&az, read).await;
    }
    for read in [OLD_VMS, VMS, VM] {
        assert!(get(&az, read).await.is_hit(), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn p6_selected_fields_and_resource_graph_take_no_part() {
    for partial in ["CMP/virtualMachines?useResourceGraph=true", "CMP/virtualMachines?$select=id,etag"] {
        for (known, seen) in [(5, 4), (5, 6)] {
            let (_, shelf, az) = world().await;
            shelf.put(VM, vm(VM, known));
            shelf.put(partial, list(&[vm(VM, seen), vm(OTHER, 1)]));
            get(&az, VM).await;
            let cache = get(&az, partial).await.cache().to_owned();
            assert_eq!(cache, "armshield; fwd=miss; stored", "{partial}: {seen} after {known}");
            assert!(get(&az, VM).await.is_hit(), "{partial}: {seen} after {known}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p6_what_answers_to_writes_show_is_known() {
    for method in ["PUT", "PATCH"] {
        let (_, shelf, az) = world().await;
        shelf.put(VMS, list(&[vm(VM, 1)]));
        get(&az, VMS).await;
        shelf.answer(method, VM, vm(VM, 3));
        az.write(method, &address(VM), "{}").await;
        // A list that has not heard of it yet: given to who asks, and to nobody else.
        for _ in 0..2 {
            let lagging = get(&az, VMS).await;
            assert_eq!(lagging.cache(), "armshield; fwd=miss; detail=lag", "{method}");
            assert_eq!(lagging.text(), list(&[vm(VM, 1)]));
        }
        shelf.put(VMS, list(&[vm(VM, 3)]));
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; stored", "{method}");
        assert!(get(&az, VMS).await.is_hit());
    }
}

#[tokio::test(start_paused = true)]
async fn p6_who_is_in_a_list_is_an_item_of_its_own() {
    let both = || list(&[vm(VM, 1), vm(OTHER, 1)]);
    let one = || list(&[vm(VM, 1)]);
    // Before and after, as a list shows them.
    for (before, after) in [(both(), one()), (one(), both())] {
        let (_, shelf, az) = world().await;
        shelf.put(VM, vm(VM, 1));
        shelf.put(OTHER, vm(OTHER, 1));
        for read in [VMS, OLD_VMS, ALL_VMS] {
            shelf.put(read, before.clone());
        }
        for read in [VM, OTHER, VMS, OLD_VMS, ALL_VMS, VM, OTHER, VMS, OLD_VMS] {
            fresh(&az, read).await;
        }
        for read in [VMS, OLD_VMS, ALL_VMS, OTHER] {
            assert!(get(&az, read).await.is_hit(), "{read}");
        }
        shelf.put(ALL_VMS, after.clone());
        fresh(&az, ALL_VMS).await;
        let gone = after == one();
        for read in [VMS, OLD_VMS] {
            assert!(!get(&az, read).await.is_hit(), "{read}: {before} {after}");
        }
        assert_eq!(get(&az, OTHER).await.is_hit(), !gone, "what is missing may be gone: {before} {after}");
        assert!(get(&az, ALL_VMS).await.is_hit(), "its own fill stays");
    }
}

#[tokio::test(start_paused = true)]
async fn p6_a_list_with_another_filter_is_another_list() {
    let (_, shelf, az) = world().await;
    shelf.put(VMS, list(&[vm(VM, 1), vm(OTHER, 1)]));
    shelf.put(FILTERED, list(&[vm(VM, 1)]));
    for read in [VMS, FILTERED, VMS, FILTERED, VMS] {
        fresh(&az, read).await;
    }
    for read in [VMS, FILTERED] {
        assert!(get(&az, read).await.is_hit(), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn p6_a_list_never_seen_before_may_miss_what_is_gone() {
    let (_, shelf, az) = world().await;
    shelf.put(VM, vm(VM, 1));
    shelf.put(OTHER, vm(OTHER, 1));
    for read in [VM, OTHER] {
        get(&az, read).await;
    }
    shelf.put(OTHER, Reply::not_found());
    shelf.put(ALL_VMS, list(&[vm(VM, 1)]));
    get(&az, ALL_VMS).await;
    assert_eq!(get(&az, OTHER).await.status, 404, "the list showed that it is gone");
}

#[tokio::test(start_paused = true)]
async fn p6_a_resource_never_seen_before_is_news() {
    let (_, shelf, az) = world().await;
    shelf.put(VMS, list(&[vm(VM, 1)]));
    get(&az, VMS).await;
    assert!(get(&az, VMS).await.is_hit());
    shelf.put(OTHER, vm(OTHER, 1));
    get(&az, OTHER).await;
    assert!(!get(&az, VMS).await.is_hit(), "the list does not show it");
}

/// A world whose reads take as long as `slow` says, by what their path ends with, from their second on.
async fn slow_world(shelf: &Shelf, slow: &'static [(&'static str, u64)]) -> (World, Client) {
    let mut script = shelf.script();
    let mut seen: Vec<String> = Vec::new();
    let world = World::new(move |call| {
        let reply = script(call);
        let delay = slow.iter().find(|(end, _)| call.path().ends_with(end));
        let first = !seen.contains(&call.path().to_owned());
        seen.push(call.path().to_owned());
        match delay {
            Some((_, seconds)) if first => reply.after(Duration::from_secs(*seconds)),
            _ => reply,
        }
    });
    let az = world.client("a");
    shelf.put("NET/loadBalancers/l", "{}");
    az.get(&address("NET/loadBalancers/l")).await;
    (world, az)
}

#[tokio::test(start_paused = true)]
async fn p6_a_fetch_sent_before_news_became_known_is_not_joined_after_that() {
    let shelf = Shelf::default();
    shelf.put(VMS, list(&[vm(VM, 1)]));
    let (world, az) = slow_world(&shelf, &[("/virtualMachines", 6)]).await;
    let before = az.begin("GET", &address(VMS), "");
    world::seconds(1).await;
    let joins = az.begin("GET", &address(VMS), "");
    world::seconds(1).await;
    assert_eq!(world.arm.count("GET", "/virtualMachines"), 1);
    shelf.put(VM, vm(VM, 2));
    shelf.put(VMS, list(&[vm(VM, 2)]));
    get(&az, VM).await;
    let after = get(&az, VMS).await;
    assert_eq!(world.arm.count("GET", "/virtualMachines"), 2, "not joined");
    assert_eq!(after.text(), list(&[vm(VM, 2)]));
    for older in [before, joins] {
        assert_eq!(older.await.unwrap().text(), list(&[vm(VM, 1)]), "who waited for it gets it");
    }
    assert_eq!(get(&az, VMS).await.text(), list(&[vm(VM, 2)]), "and it took nobody's place");
}

#[tokio::test(start_paused = true)]
async fn p6_of_two_answers_the_one_sent_later_stays_however_they_arrive() {
    // Nothing in these bodies says which is newer.
    let shelf = Shelf::default();
    shelf.put(VM, r#"{"n":1}"#);
    let (_, az) = slow_world(&shelf, &[("/a", 6)]).await;
    let early = az.begin("GET", &address(VM), "");
    world::seconds(1).await;
    shelf.put(VM, r#"{"n":2}"#);
    assert_eq!(fresh(&az, VM).await.text(), r#"{"n":2}"#);
    assert_eq!(early.await.unwrap().text(), r#"{"n":1}"#);
    assert_eq!(get(&az, VM).await.text(), r#"{"n":2}"#);
}

#[tokio::test(start_paused = true)]
async fn p6_an_answer_is_as_new_as_the_sending_that_brought_it() {
    let (world, _, az) = world().await;
    let (before, changes) = (world.arm.calls().len(), world.clock.now() + Duration::from_millis(100));
    world.arm.answers(move |call| {
        let tag = if call.at < changes { "W/\"p\"" } else { "W/\"q\"" };
        let item = resource(ADDRESS, tag, r#""provisioningState":"Succeeded""#);
        match (call.path().ends_with("/p"), call.number - before) {
            // It dies with its connection, and is sent again.
            (true, 0) => Reply::ok(item).after(Duration::from_millis(500)).ending(Ending::Never),
            (true, _) => Reply::ok(item),
            (false, _) => Reply::ok(list(&[item])).after(Duration::from_secs(1)),
        }
    });
    let point = az.begin("GET", &address(ADDRESS), "");
    world::pass(Duration::from_millis(10)).await;
    let listed = az.begin("GET", &address(ADDRESSES), "");
    let point = point.await.unwrap();
    assert!(point.text().contains("W/\\\"q\\\""), "{}", point.text());
    assert!(listed.await.unwrap().text().contains("W/\\\"p\\\""));
    for read in [ADDRESSES, ADDRESS] {
        let answer = get(&az, read).await;
        assert!(answer.text().contains("W/\\\"q\\\""), "{read} {} {}", answer.cache(), answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn p6_where_nothing_tells_which_of_two_is_newer_neither_is_used() {
    let shelf = Shelf::default();
    let state = |state: &str| resource(VM, "", &format!(r#""provisioningState":"{state}""#));
    shelf.put(VMS, list(&[state("Updating")]));
    let (_, az) = slow_world(&shelf, &[("/virtualMachines", 2)]).await;
    let early = az.begin("GET", &address(VMS), "");
    world::seconds(1).await;
    shelf.put(VM, state("Succeeded"));
    get(&az, VM).await;
    early.await.unwrap();
    assert!(!get(&az, VM).await.is_hit());
    assert!(!get(&az, VMS).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p6_arms_lag_is_given_to_all_who_wait_and_kept_for_nobody() {
    let of = |etag: &str, life: &str| resource(VM, etag, &format!(r#""vmId":"{life}""#));
    // What is known, what it was before, what a list shows then.
    let cases = [
        ("a smaller number", vec![of("\"9\"", "x"), of("\"10\"", "x")], of("\"9\"", "x")),
        ("a smaller number never seen", vec![of("\"10\"", "x")], of("\"7\"", "x")),
        ("a smaller number without a mark", vec![resource(VM, "\"10\"", "")], resource(VM, "\"7\"", "")),
        ("a former GUID", vec![of("W/\"p\"", "x"), of("W/\"q\"", "x")], of("W/\"p\"", "x")),
        (
            "a GUID from long before",
            (0..6).map(|n| of(&format!("W/\"{n}\""), "x")).collect(),
            of("W/\"0\"", "x"),
        ),
        ("a former life", vec![of("\"9\"", "x"), of("\"1\"", "y")], of("\"9\"", "x")),
    ];
    for (name, known, lagging) in cases {
        let shelf = Shelf::default();
        let (world, az) = slow_world(&shelf, &[("/virtualMachines", 1)]).await;
        for known in &known {
            shelf.put(VM, known.clone());
            fresh(&az, VM).await;
        }
        shelf.put(VMS, list(&[lagging]));
        let waiting: Vec<_> = (0..5).map(|_| az.begin("GET", &address(VMS), "")).collect();
        for one in waiting {
            assert!(one.await.unwrap().cache().contains("fwd=miss"), "{name}");
        }
        assert_eq!(world.arm.count("GET", "/virtualMachines"), 1, "{name}: one call for all of them");
        assert!(get(&az, VM).await.is_hit(), "{name}: what is known stays");
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; detail=lag", "{name}");
        assert!(get(&az, VM).await.is_hit(), "{name}");
        // ARM has caught up.
        shelf.put(VMS, list(&[known.last().unwrap().clone()]));
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; stored", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn p6_a_point_read_corrects_a_list_that_showed_what_nobody_had_seen_before() {
    let of = |etag: &str, life: &str| resource(VM, etag, &format!(r#""vmId":"{life}""#));
    for (old, new) in [(of("\"9\"", "x"), of("\"1\"", "y")), (of("W/\"p\"", "x"), of("W/\"q\"", "x"))] {
        let (_, shelf, az) = world().await;
        shelf.put(VM, new.clone());
        shelf.put(VMS, list(&[old]));
        get(&az, VM).await;
        // Never seen, and asked for later: nothing tells that it is older.
        get(&az, VMS).await;
        assert_eq!(get(&az, VM).await.cache(), "armshield; fwd=miss; stored", "{new}");
        assert!(get(&az, VM).await.is_hit(), "{new}");
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; detail=lag", "{new}");
        shelf.put(VMS, list(std::slice::from_ref(&new)));
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; stored", "{new}");
        assert!(get(&az, VM).await.is_hit(), "{new}");
    }
}

#[tokio::test(start_paused = true)]
async fn p6_a_point_that_lags_is_not_kept_either() {
    let (_, shelf, az) = world().await;
    shelf.put(VMS, list(&[vm(VM, 5)]));
    get(&az, VMS).await;
    shelf.put(VM, vm(VM, 4));
    assert_eq!(get(&az, VM).await.cache(), "armshield; fwd=miss; detail=lag");
    assert!(get(&az, VMS).await.is_hit());
}

/// What ends a life of the VM that was known with version 9.
#[derive(Debug, Clone, Copy)]
enum End {
    NotFound,
    Deleted(u16),
    OperationOver,
    AnotherMark,
    SmallerNumber,
}

#[tokio::test(start_paused = true)]
async fn p6_a_life_ends_and_what_still_shows_it_is_lag() {
    let poll = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o?api-version=1";
    let ends = [
        End::NotFound,
        End::Deleted(200),
        End::Deleted(204),
        End::OperationOver,
        End::AnotherMark,
        End::SmallerNumber,
    ];
    for end in ends {
        let (_, shelf, az) = world().await;
        let unmarked = matches!(end, End::SmallerNumber);
        let of = |etag: u32, life: &str| match unmarked {
            true => resource(VM, &format!("\"{etag}\""), ""),
            false => living(VM, etag, life),
        };
        shelf.put(VM, of(9, "x"));
        shelf.put(VMS, list(&[of(9, "x")]));
        for read in [VMS, VM, VMS, VM] {
            fresh(&az, read).await;
        }
        assert!(get(&az, VMS).await.is_hit());
        match end {
            End::NotFound => {
                shelf.put(VM, Reply::not_found());
                assert_eq!(fresh(&az, VM).await.status, 404);
            }
            End::Deleted(status) => {
                shelf.answer("DELETE", VM, Reply::json(status, ""));
                az.delete(&address(VM)).await;
            }
            End::OperationOver => {
                let link = format!("http://arm.test{poll}");
                shelf.answer("DELETE", VM, Reply::json(202, "").with("azure-asyncoperation", &link));
                shelf.put(poll, r#"{"status":"Succeeded"}"#);
                az.delete(&address(VM)).await;
                assert_eq!(get(&az, VM).await.text(), of(9, "x"), "it goes on existing until then");
                az.get(poll).await;
            }
            End::AnotherMark | End::SmallerNumber => {}
        }
        // A new one of that name counts from the beginning.
        if matches!(end, End::AnotherMark | End::SmallerNumber) {
            shelf.put(VM, of(1, "y"));
            assert_eq!(fresh(&az, VM).await.cache(), "armshield; fwd=miss; stored", "{end:?}");
        }
        if unmarked {
            // The list cannot be told from one that is newer still: it is news, and no harm.
            shelf.put(VMS, list(&[of(1, "y")]));
            assert_eq!(get(&az, VMS).await.text(), list(&[of(1, "y")]), "{end:?}");
            continue;
        }
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; detail=lag", "{end:?}");
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; detail=lag", "{end:?}");
        shelf.put(VM, of(1, "y"));
        assert_eq!(fresh(&az, VM).await.cache(), "armshield; fwd=miss; stored", "{end:?}");
        shelf.put(VMS, list(&[of(1, "y")]));
        assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; stored", "{end:?}");
        for read in [VM, VMS] {
            assert!(get(&az, read).await.is_hit(), "{end:?}: {read}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p6_the_end_of_a_deletion_ends_the_life_it_was_begun_in() {
    let poll = "/subscriptions/1/providers/Microsoft.Compute/locations/eastus/operations/o?api-version=1";
    let (_, shelf, az) = world().await;
    shelf.put(VM, living(VM, 9, "x"));
    get(&az, VM).await;
    let link = format!("http://arm.test{poll}");
    shelf.answer("DELETE", VM, Reply::json(202, "").with("azure-asyncoperation", &link));
    shelf.put(poll, r#"{"status":"Succeeded"}"#);
    az.delete(&address(VM)).await;
    // Over, made again and seen before anybody asks how the deletion went.
    shelf.put(VM, living(VM, 1, "y"));
    shelf.put(VMS, list(&[living(VM, 1, "y")]));
    get(&az, VM).await;
    az.get(poll).await;
    for read in [VMS, VM] {
        assert_eq!(get(&az, read).await.cache(), "armshield; fwd=miss; stored", "{read}");
    }
    shelf.put(ALL_VMS, list(&[living(VM, 9, "x")]));
    assert_eq!(get(&az, ALL_VMS).await.cache(), "armshield; fwd=miss; detail=lag");
    assert!(get(&az, VM).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p6_what_was_seen_while_a_deletion_was_on_its_way_is_gone_at_its_answer() {
    let (_, shelf, az) = world().await;
    shelf.put(VM, living(VM, 9, "x"));
    shelf.put(VMS, list(&[living(VM, 9, "x")]));
    get(&az, VM).await;
    shelf.answer("DELETE", VM, Reply::json(204, "").after(Duration::from_secs(2)));
    let deletion = az.begin("DELETE", &address(VM), "");
    world::seconds(1).await;
    fresh(&az, VM).await;
    deletion.await.unwrap();
    assert_eq!(get(&az, VMS).await.cache(), "armshield; fwd=miss; detail=lag");
}

#[tokio::test(start_paused = true)]
async fn p6_a_404_that_was_the_lag_is_corrected_by_the_next_point_read() {
    let (_, shelf, az) = world().await;
    shelf.put(VM, vm(VM, 9));
    fresh(&az, VM).await;
    shelf.put(VM, Reply::not_found());
    fresh(&az, VM).await;
    shelf.put(VM, vm(VM, 9));
    assert_eq!(get(&az, VM).await.cache(), "armshield; fwd=miss; stored");
    assert!(get(&az, VM).await.is_hit());
}

#[tokio::test(start_paused = true)]
async fn p6_a_404_takes_every_list_and_version_of_it_along() {
    let (_, shelf, az) = world().await;
    for read in [VM, OLD, VMS, ALL_VMS] {
        shelf.put(read, showing(read, &vm(VM, 1)));
    }
    for read in [VM, OLD, VMS, ALL_VMS, VM, OLD, VMS] {
        fresh(&az, read).await;
    }
    shelf.put(VM, Reply::not_found());
    assert_eq!(fresh(&az, VM).await.status, 404);
    for read in [OLD, VMS, ALL_VMS] {
        assert!(!get(&az, read).await.is_hit(), "{read}");
    }
    assert!(!get(&az, VM).await.is_hit(), "nor is what was kept before the 404 used again");
}

#[tokio::test(start_paused = true)]
async fn p6_one_callers_news_counts_for_all() {
    let (world, shelf, az) = world().await;
    let ccm = world.client("b").with_agent(CCM);
    shelf.put(VM, vm(VM, 1));
    for client in [&az, &ccm] {
        get(client, VM).await;
        assert!(get(client, VM).await.is_hit());
    }
    shelf.put(VM, vm(VM, 2));
    fresh(&ccm, VM).await;
    assert_eq!(get(&az, VM).await.text(), vm(VM, 2));
}

/// The number of an ETag of Compute, wherever an answer shows the resource.
fn number(answer: &Answer, id: &str) -> Option<u64> {
    let body = answer.json();
    let items = body["value"].as_array().cloned().unwrap_or_else(|| vec![body]);
    let item =
        items.into_iter().find(|item| item["id"].as_str().is_some_and(|of| of.eq_ignore_ascii_case(id)))?;
    item["etag"].as_str()?.trim_matches('"').parse().ok()
}

#[tokio::test(start_paused = true)]
async fn p6_lists_that_lag_take_nobody_back_with_an_arm_as_it_is() {
    let world = Simulated::new();
    let vm = world.sim.add_vm("alone");
    world.sim.set_list_lag(Duration::from_secs(20));
    let all = format!("{}/providers/Microsoft.Compute/virtualMachines{COMPUTE}", world.sim.group());
    let point = format!("{vm}{COMPUTE}");
    let (az, ccm) = (world.client("reader"), world.client("reader").with_agent(CCM));
    let (mut known, mut lagged) = (0, 0);
    for second in 0..90 {
        if second % 9 == 4 {
            world.sim.touch(&vm);
        }
        for (client, target) in [(&az, &all), (&ccm, &point), (&az, &point), (&ccm, &all)] {
            let answer = client.get(target).await;
            let shown = number(&answer, &vm).unwrap();
            let from_memory = answer.is_hit() || answer.cache().ends_with("collapsed");
            assert!(!from_memory || shown >= known, "{shown} after {known} at {second} s: {target}");
            lagged += u32::from(answer.cache().ends_with("detail=lag"));
            known = known.max(shown);
        }
        world::seconds(1).await;
    }
    assert!(lagged > 10, "the lists lag, or this shows nothing");
}

#[tokio::test(start_paused = true)]
async fn p6_a_vms_write_moves_its_sets_version_later_and_nobody_is_taken_back() {
    let world = Simulated::new();
    let set = world.sim.add_uniform("pool", 2);
    let (member, parent) = (format!("{set}/virtualMachines/0{COMPUTE}"), format!("{set}{COMPUTE}"));
    let az = world.client("reader");
    let before = az.get(&parent).await;
    let mut body = az.get(&member).await.json();
    body["properties"]["protectionPolicy"] = serde_json::json!({"protectFromScaleIn": true});
    let answer = az.put(&member, &body.to_string()).await;
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    let mut moved = None;
    for half in 0..80 {
        let (truth, shown) = (world.sim.etag(&set).unwrap(), az.get(&parent).await);
        if moved.is_none() && truth != before.json()["etag"] {
            moved = Some(half);
        }
        let late = moved.is_some_and(|moved| half - moved > 4);
        assert!(!late || shown.json()["etag"] == truth, "the set's version moved two seconds ago");
        world::pass(Duration::from_millis(500)).await;
    }
    assert!(moved.is_some_and(|moved| moved > 10), "after the VM's operation: {moved:?}");
}

#[tokio::test(start_paused = true)]
async fn p6_deleted_and_made_again_with_an_arm_as_it_is() {
    let world = Simulated::new();
    let az = world.client("reader");
    let group = world.sim.group();
    let sets = format!("{group}/providers/Microsoft.Compute/virtualMachineScaleSets{COMPUTE}");
    let set = world.sim.add_uniform("pool", 2);
    let target = format!("{set}{COMPUTE}");
    let model = az.get(&target).await.json();
    for _ in 0..3 {
        world.sim.touch(&set);
    }
    az.get(&sets).await;
    world.sim.set_list_lag(Duration::from_secs(40));
    let old = fresh_at(&az, &target).await.json()["properties"]["uniqueId"].clone();
    let deleted = az.delete(&target).await;
    let poll = deleted.header("azure-asyncoperation").unwrap().replace("http://localhost:7788", "");
    world::seconds(11).await;
    assert_eq!(az.get(&poll).await.json()["status"], "Succeeded");
    assert_eq!(az.get(&target).await.status, 404);
    // The list still shows it: passed on, not kept.
    for _ in 0..2 {
        let lagging = az.get(&sets).await;
        assert_eq!(lagging.json()["value"][0]["properties"]["uniqueId"], old);
        assert_eq!(lagging.cache(), "armshield; fwd=miss; detail=lag");
    }
    let made = serde_json::json!({"location": model["location"], "sku": model["sku"], "properties": {
        "virtualMachineProfile": model["properties"]["virtualMachineProfile"]}});
    // The versions of the life that ended are no base of what is made now, though the list showed them again.
    let answer = az.put(&target, &made.to_string()).await;
    assert_eq!((answer.status, answer.guard()), (201, "source=none, result=unguarded"));
    let new = az.get(&target).await;
    assert_ne!(new.json()["properties"]["uniqueId"], old);
    assert_eq!(new.json()["etag"], "\"1\"");
    assert_eq!(az.get(&sets).await.cache(), "armshield; fwd=miss; detail=lag");
    world::seconds(60).await;
    assert_eq!(az.get(&sets).await.cache(), "armshield; fwd=miss; stored");
    assert_ne!(az.get(&sets).await.json()["value"][0]["properties"]["uniqueId"], old);
}

async fn fresh_at(client: &Client, target: &str) -> Answer {
    let request = client.request("GET", target).header("cache-control", "no-cache");
    client.send(request, "").await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn p6_network_shows_changes_behind_everybodys_back_and_never_takes_them_back() {
    let world = Simulated::new();
    let address = world.sim.add_public_ip("front");
    world.sim.set_list_lag(Duration::from_secs(15));
    let point = format!("{address}{NETWORK}");
    let all = format!("{}/providers/Microsoft.Network/publicIPAddresses{NETWORK}", world.sim.group());
    let az = world.client("reader");
    let mut versions: Vec<String> = Vec::new();
    let mut known = 0;
    for second in 0..100 {
        if second % 11 == 3 {
            world.sim.edit(&address, |body| body["tags"] = serde_json::json!({"at": second}));
        }
        let truth = world.sim.etag(&address).unwrap();
        if versions.last() != Some(&truth) {
            versions.push(truth);
        }
        // The point shows each version; an ETag that was never seen is news wherever it shows.
        for target in [&all, &point, &all] {
            let answer = if *target == point { fresh_at(&az, target).await } else { az.get(target).await };
            let body = answer.json();
            let shown = body["value"][0]["etag"].as_str().or(body["etag"].as_str()).unwrap().to_owned();
            let shown = versions.iter().position(|version| *version == shown).unwrap();
            assert!(!answer.is_hit() || shown >= known, "{shown} after {known} at {second} s: {target}");
            known = known.max(shown);
        }
        world::seconds(1).await;
    }
}
