use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, PartialEq)]
enum Json {
    Plain(String),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl Json {
    /// One of the many ways to write it: order and whitespace follow from `style`.
    fn write(&self, style: u64, out: &mut String) {
        let space = ["", " ", "\n\t", "  "][(style % 4) as usize];
        let next = style.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match self {
            Self::Plain(text) => out.push_str(text),
            Self::Text(text) if style.is_multiple_of(3) => {
                let escaped = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                write!(out, "\"{}\"", escaped.collect::<String>()).unwrap();
            }
            Self::Text(text) => out.push_str(&serde_json::to_string(text).unwrap()),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(space);
                    item.write(next, out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let by = style as usize % members.len().max(1);
                members.rotate_left(by);
                if style & 8 != 0 {
                    members.reverse();
                }
                out.push('{');
                for (at, (name, value)) in members.into_iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(space);
                    Self::Text(name.clone()).write(next >> 8, out);
                    write!(out, "{space}:{space}").unwrap();
                    value.write(next >> 16, out);
                }
                out.push_str(space);
                out.push('}');
            }
        }
    }

    fn headers(claims: &BTreeMap<String, Self>, style: u64) -> HeaderMap {
        let mut text = String::new();
        Self::Object(claims.clone()).write(style, &mut text);
        bearer(&text)
    }
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9])?".prop_map(Json::Plain),
        prop_oneof!["true", "false", "null"].prop_map(|text: String| Json::Plain(text)),
        "[ab\u{e9}\u{1f600}\"\\\\]{0,3}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::List),
            btree_map("[ab]{0,2}", inner, 0..3).prop_map(Json::Object),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(IGNORABLE.to_vec()).prop_map(str::to_owned),
        proptest::sample::select(vec!["appid", "scp", "roles", "wids", "groups", "idtyp", "a", "EXP", "ex"])
            .prop_map(str::to_owned),
        "[a-z_\u{e9}]{0,4}",
    ]
}

fn token() -> impl Strategy<Value = BTreeMap<String, Json>> {
    btree_map(name(), json(), 0..8).prop_map(|mut claims| {
        claims.insert("tid".into(), Json::Text(TID.into()));
        claims.insert("oid".into(), Json::Text(OID.into()));
        claims
    })
}

fn counting(claims: &BTreeMap<String, Json>) -> BTreeMap<String, Json> {
    claims
        .iter()
        .filter(|(name, _)| !IGNORABLE.contains(&name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

proptest! {
    /// Two tokens share a caller exactly if they differ in nothing that counts.
    #[test]
    fn only_ignorable_claims_may_differ_inside_a_caller(
        one in token(),
        changes in vec((name(), proptest::option::of(json())), 0..3),
        styles in any::<(u64, u64)>(),
    ) {
        let mut other = one.clone();
        for (name, value) in changes {
            match value {
                Some(value) => other.insert(name, value),
                None => other.remove(&name),
            };
        }
        let same = counting(&one) == counting(&other);
        let (caller, _) = shared(&Json::headers(&one, styles.0), &Json::headers(&other, styles.1));
        prop_assert_eq!(caller, same);
    }

    /// Whatever a request carries, it is identified without a panic, and only by its own bytes.
    #[test]
    fn any_header_identifies_somebody(one in "[ -~]{0,40}", other in "[ -~]{0,40}", payload in ".{0,60}") {
        prop_assert_eq!(shared(&header(&one), &header(&other)).0, one == other);
        let room = room();
        prop_assert_eq!(identify(&room, &bearer(&payload)).standing, Standing::Unvouched);
    }
}
