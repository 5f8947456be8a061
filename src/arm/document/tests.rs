use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::arm::item::Life;

fn document(body: &str) -> Document {
    Document::parse(body.as_bytes()).unwrap()
}

fn cut<'a>(body: &'a str, span: &Range<u32>) -> &'a str {
    &body[span.start as usize..span.end as usize]
}

const SET: &str = r#"{"name":"Set","id":"/subscriptions/S/resourceGroups/Rg/providers/Microsoft.Compute/virtualMachineScaleSets/Set","type":"Microsoft.Compute/virtualMachineScaleSets","sku":{"capacity":1},"etag":"\"7\"","properties":{"orchestrationMode":"Uniform","virtualMachineProfile":{"timeCreated":"1999-01-01T00:00:00Z","provisioningState":"Inner"},"provisioningState":"Succeeded","uniqueId":"u-1","timeCreated":"2001-02-03T04:05:06Z"}}"#;
const SET_ID: &str =
    "/subscriptions/s/resourcegroups/rg/providers/microsoft.compute/virtualmachinescalesets/set";

#[test]
fn a_scale_set_is_one_item() {
    let found = document(SET);
    assert_eq!(found.shape, Shape::Point);
    assert_eq!(found.next_link, None);
    let [item] = found.items.as_slice() else { panic!("one item") };
    assert_eq!(&*item.id, SET_ID);
    assert_eq!(item.etag, Some("\"7\"".into()));
    assert_eq!(item.uniform, Some(true));
    assert_eq!(item.state, State::Terminal);
    let life =
        Life { vm_id: None, unique_id: Some("u-1".into()), time_created: Some("2001-02-03T04:05:06".into()) };
    assert_eq!(item.life, life);
    assert_eq!(cut(SET, &item.span), SET);
    assert!(!found.in_progress());
}

#[test]
fn a_list_has_items_in_its_order_and_a_link() {
    let body = format!(
        r#"{{"value":[{}, {SET} ],"nextLink":"https:\/\/management.azure.com/x?$skipToken=a\u0026b"}}"#,
        SET.replace("Set\"", "Other\"")
    );
    let found = document(&body);
    assert_eq!(found.shape, Shape::Collection);
    assert_eq!(cut(&body, &found.items[1].span), SET);
    assert_eq!(found.item(SET_ID), Some(&found.items[1]));
    assert_eq!(found.item(&SET_ID.replace("/set", "/third")), None);
    let link = found.next_link.unwrap();
    assert_eq!(cut(&body, &link.span), r"https:\/\/management.azure.com/x?$skipToken=a\u0026b");
}

#[test]
fn the_tag_is_the_items_own_wherever_it_stands() {
    let check = |fields: &str, tag: Option<&str>| {
        for body in [format!("{{{fields}}}"), format!(r#"{{"value":[{{{fields}}}]}}"#)] {
            assert_eq!(document(&body).items[0].etag, tag.map(Into::into), "{body}");
        }
    };
    check(r#""etag":"\"1\"","properties":{"etag":"\"9\""}"#, Some("\"1\""));
    check(r#""properties":{"subnets":[{"etag":"W/\"9\""}]},"etag":"W/\"1\"""#, Some("W/\"1\""));
    check(r#""properties":{"etag":"\"9\""}"#, None);
    check(r#""etag":"\"1\"","etag":"\"1\"""#, Some("\"1\""));
    check(r#""etag":"\"1\"","etag":"\"2\"""#, None);
    check(r#""etag":"\"1\"","etag":"\"2\"","etag":"\"2\"""#, None);
    check(r#""etag":"\"1\"","\u0065tag":"\"2\"""#, None);
    check(r#""etag":null"#, None);
    check(r#""etag":7"#, None);
    check(r#""etag":{"etag":"\"9\""}"#, None);
    check(r#""ETag":"\"1\"""#, None);
}

#[test]
fn indented_bodies_with_carriage_returns_are_cut_at_the_braces() {
    let item = "{\r\n      \"id\": \"/a/b\",\r\n      \"properties\": {\r\n        \"vmId\": \"v\"\r\n      },\r\n      \"etag\": \"\\\"1\\\"\"\r\n    }";
    let body = format!("\u{feff}\r\n{{\r\n  \"value\": [\r\n    {item},\r\n    {item}\r\n  ]\r\n}}\r\n");
    let found = document(&body);
    assert_eq!(found.items.len(), 2);
    for item_found in &found.items {
        assert_eq!(cut(&body, &item_found.span), item);
        assert_eq!(&*item_found.id, "/a/b");
        assert_eq!(item_found.etag, Some("\"1\"".into()));
    }
    let point = format!("  {item}\r\n");
    assert_eq!(cut(&point, &document(&point).items[0].span), item);
}

#[test]
fn ids_are_folded_and_unescaped() {
    let check = |id: &str, folded: &str| {
        let body = format!(r#"{{"value":[{{"id":{id}}}]}}"#);
        let found = document(&body);
        assert_eq!(&*found.items[0].id, folded, "{id}");
        assert_eq!(found.items[0].hash, hash(folded), "{id}");
    };
    check(r#""/Subscriptions\/S/a\u0042c""#, "/subscriptions/s/abc");
    check(r#""/a%20b/\u00e4""#, "/a b/ä");
    check(r#""not absolute""#, "");
    check(r#""/a//b""#, "");
    check(r#""\ud800""#, "");
    check("null", "");
    check("[\"/a\"]", "");
}

#[test]
fn states_come_from_properties_or_statuses() {
    let check = |body: &str, state| assert_eq!(document(body).items[0].state, state, "{body}");
    check(r#"{"properties":{"provisioningState":"Updating"}}"#, State::InProgress);
    check(r#"{"properties":{"provisioningState":"succeeded"}}"#, State::Terminal);
    check(r#"{"properties":{"provisioningState":null}}"#, State::Unknown);
    check(r#"{"properties":[1,"x",{"provisioningState":"Updating"}]}"#, State::Unknown);
    check(r#"{"properties":{"provisioningState":"Updating"},"properties":{}}"#, State::Unknown);
    check("{}", State::Unknown);
    let view = |codes: &str| {
        format!(
            r#"{{"vmAgent":{{"statuses":[{{"code":"ProvisioningState/updating"}}]}},"statuses":[{codes}]}}"#
        )
    };
    check(
        &view(r#"{"code":"ProvisioningState/succeeded","level":"Info"},{"code":"PowerState/running"}"#),
        State::Terminal,
    );
    check(
        &view(r#"{"code":"provisioningState/updating"},{"code":"ProvisioningState/succeeded"}"#),
        State::InProgress,
    );
    check(&view(r#"{"code":"ProvisioningState/failed/AllocationFailed"}"#), State::Terminal);
    check(&view(r#"{"code":"PowerState/running"},3,null"#), State::Unknown);
    let list = r#"{"value":[{"properties":{"provisioningState":"Succeeded"}},{"properties":{"provisioningState":"Creating"}}]}"#;
    assert!(document(list).in_progress());
}

#[test]
fn kinds_of_scale_sets_are_told_apart() {
    let check = |mode: &str, uniform| {
        let body = format!(r#"{{"properties":{{"orchestrationMode":{mode}}}}}"#);
        assert_eq!(document(&body).items[0].uniform, uniform, "{mode}");
    };
    check(r#""Uniform""#, Some(true));
    check(r#""flexible""#, Some(false));
    check(r#""Other""#, None);
    check("1", None);
}

#[test]
fn pages_end_where_there_is_no_link() {
    let check = |body: &str, link: Option<&str>| {
        assert_eq!(
            document(body).next_link.map(|link| cut(body, &link.span).to_owned()).as_deref(),
            link,
            "{body}"
        );
    };
    check(r#"{"value":[],"nextLink":"x"}"#, Some("x"));
    check(r#"{"nextLink":"x","value":[]}"#, Some("x"));
    check(r#"{"value":[],"next\u004cink":"x"}"#, Some("x"));
    check(r#"{"value":[],"nextLink":"x","nextLink":"y"}"#, Some("y"));
    check(r#"{"value":[],"nextLink":"x","nextLink":null}"#, None);
    check(r#"{"value":[],"nextLink":""}"#, None);
    check(r#"{"value":[],"nextLink":["x"]}"#, None);
    check(r#"{"value":[{"nextLink":"x"}]}"#, None);
    check(r#"{"value":[]}"#, None);
}

#[test]
fn lists_may_be_empty_and_hold_anything() {
    assert_eq!(document(r#"{"value":[]}"#).items, []);
    let odd = r#"{"value":[1,"a",null,[{"id":"/x"}],{}]}"#;
    let found = document(odd);
    let cuts: Vec<_> = found.items.iter().map(|item| cut(odd, &item.span)).collect();
    assert_eq!(cuts, ["1", "\"a\"", "null", "[{\"id\":\"/x\"}]", "{}"]);
    assert!(found.items.iter().all(|item| item.id.is_empty()));
    assert_eq!(found.item(""), None);
    for no_list in [r#"{"value":null}"#, r#"{"value":"x"}"#, r#"{"value":{"a":[]}}"#, "{}"] {
        assert_eq!(document(no_list).shape, Shape::Point, "{no_list}");
    }
    assert_eq!(document(r#"{"value":[{},{}],"value":[{}]}"#).items.len(), 1);
}

#[test]
fn what_is_no_document_says_why() {
    let check = |body: &[u8], why| assert_eq!(Document::parse(body), Err(why), "{body:?}");
    check(b"", NotADocument::NotAnObject);
    check(b"[]", NotADocument::NotAnObject);
    check(b"\"x\"", NotADocument::NotAnObject);
    check(b"\x1f\x8b\x08", NotADocument::NotText);
    check(b"{\"a\":\"\xff\"}", NotADocument::NotText);
    check(b"{\"value\":[", NotADocument::Broken { line: 1, column: 10 });
    check(b"{}\n{}", NotADocument::Broken { line: 2, column: 1 });
    assert!(matches!(Document::parse(br#"{"value":[{"id":}]}"#), Err(NotADocument::Broken { .. })));
    assert!(!format!("{:?}", Document::parse(b"{\"value\":[{\"id\":\"secret\"],}")).contains("secret"));
}

#[test]
fn depth_is_no_danger() {
    let deep = "[".repeat(200_000);
    for body in [
        format!(r#"{{"a":{deep}"#),
        format!(r#"{{"value":[{{"a":{deep}"#),
        r#"{"value":[{"properties":"#.repeat(50_000),
    ] {
        assert!(Document::parse(body.as_bytes()).is_err());
    }
    let closed = format!(r#"{{"a":{deep}{}}}"#, "]".repeat(200_000));
    assert_eq!(document(&closed).items.len(), 1);
}

#[test]
fn a_hundred_thousand_items_are_read_and_found() {
    let items: Vec<_> = (0..100_000).map(|n| format!(r#"{{"id":"/s/vm{n}","etag":"\"{n}\""}}"#)).collect();
    let body = format!(r#"{{"value":[{}]}}"#, items.join(","));
    let started = tokio::time::Instant::now();
    let found = document(&body);
    assert!(started.elapsed() < Duration::from_secs(20), "an unoptimised build takes about a second");
    assert_eq!(found.items.len(), 100_000);
    for n in (0..100_000).step_by(997) {
        let item = found.item(&format!("/s/vm{n}")).unwrap();
        assert_eq!(item, &found.items[n]);
        assert_eq!(cut(&body, &item.span), items[n]);
    }
}

#[test]
fn of_two_items_with_one_id_the_first_is_found() {
    let found = document(r#"{"value":[{"id":"/a"},{"id":"/b"},{"id":"/A","etag":"2"}]}"#);
    assert_eq!(found.item("/a"), Some(&found.items[0]));
}

/// JSON text with odd spacing and escapes.
fn json() -> impl Strategy<Value = String> {
    let space = prop_oneof![Just(""), Just(" "), Just("\r\n\t")];
    let name = prop_oneof![
        4 => "[a-z]{0,3}",
        1 => prop_oneof![Just("id"), Just("etag"), Just("properties"), Just("value"), Just("nextLink"), Just("statuses"), Just("code")].prop_map(String::from),
        1 => Just(r#"\"}],\\{[\u0041\/é"#.to_owned()),
    ];
    let leaf = prop_oneof![
        name.clone().prop_map(|text| format!("\"{text}\"")),
        any::<i32>().prop_map(|number| number.to_string()),
        prop_oneof![Just("null"), Just("true"), Just("-1.5e3")].prop_map(String::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let member = (name.clone(), space.clone(), inner.clone());
        prop_oneof![
            (prop::collection::vec((inner, space.clone()), 0..5)).prop_map(|elements| {
                let all: Vec<_> =
                    elements.iter().map(|(element, space)| format!("{space}{element}{space}")).collect();
                format!("[{}]", all.join(","))
            }),
            (prop::collection::vec(member, 0..5), space.clone()).prop_map(|(members, space)| {
                let all: Vec<_> = members
                    .iter()
                    .map(|(name, gap, value)| format!("{gap}\"{name}\"{gap}:{gap}{value}"))
                    .collect();
                format!("{{{}{space}}}", all.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn spans_cut_exactly_the_items(items in prop::collection::vec(json(), 0..8), gap in "[ \r\n\t]{0,3}", rest in json()) {
        let joined: Vec<_> = items.iter().map(|item| format!("{gap}{item}{gap}")).collect();
        let body = format!("{gap}{{{gap}\"x\"{gap}:{rest},\"value\":{gap}[{}]{gap}}}{gap}", joined.join(","));
        let found = Document::parse(body.as_bytes()).unwrap();
        let cuts: Vec<_> = found.items.iter().map(|item| cut(&body, &item.span)).collect();
        prop_assert_eq!(cuts, items);
    }

    #[test]
    fn broken_bodies_never_panic_and_spans_stay_inside(body in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), keep in any::<prop::sample::Index>()) {
        let mut bytes = format!(r#"{{"value":[{body}],"nextLink":"/x"}}"#).into_bytes();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        for bytes in [&bytes[..], &bytes[..keep.index(bytes.len())]] {
            if let Ok(found) = Document::parse(bytes) {
                for item in &found.items {
                    let text = &bytes[item.span.start as usize..item.span.end as usize];
                    prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok());
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Document::parse(&bytes);
    }
}

#[test]
fn a_request_states_a_tag_only_at_its_top_level() {
    let check = |body: &str, expected: Result<Option<&str>, NotADocument>| {
        assert_eq!(stated_etag(body.as_bytes()), expected.map(|tag| tag.map(ETag::from)), "{body}");
    };
    check(r#"{"properties":{"etag":"1"},"etag":"\"2\""}"#, Ok(Some("\"2\"")));
    check(r#"{"value":[{"etag":"1"}]}"#, Ok(None));
    check(r#"{"value":[],"etag":"1"}"#, Ok(Some("1")));
    check(r#"{"etag":""}"#, Ok(None));
    check(r#"{"etag":null}"#, Ok(None));
    check("{}", Ok(None));
    check(r#"{"etag":"1","etag":"1"}"#, Ok(Some("1")));
    check(r#"{"etag":"1","etag":"2"}"#, Err(NotADocument::TwoTags));
    check("[]", Err(NotADocument::NotAnObject));
}
