//! `config/armshield.toml` states every key, each with its default and why, and every key does something.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::read;

/// The file, with the keys commented out that have no default.
const FILE: &str = include_str!("../../../config/armshield.toml");

#[test]
fn the_file_states_the_defaults() {
    let (stated, default) = (shown(FILE), shown(""));
    assert_eq!(stated, default, "{:?}", changed(&default, &stated));
}

#[test]
fn the_file_lists_every_key_and_no_other() {
    assert_eq!(listed(FILE), known());
    for (section, key) in known() {
        let without: Vec<_> = lines_without(&section, &key).collect();
        assert_ne!(listed(&without.join("\n")), known(), "{section} {key} is not missed");
    }
}

#[test]
fn every_key_says_why() {
    let mut explained = BTreeSet::new();
    let mut section = "";
    let mut before = "";
    for line in FILE.lines() {
        if line.starts_with('[') {
            section = line;
        } else if let Some(key) = key_of(line) {
            let is_first = explained.insert((section, key));
            assert!(!is_first || before.starts_with("# "), "{section} {key} is not explained");
        }
        before = line;
    }
}

#[test]
fn every_key_changes_what_it_is_named_after() {
    // Files are read, and a name alone changes nothing: other tests have them.
    let elsewhere = ["tls certificate", "tls key", "upstream ca", "client name", "limits pace"];
    let default = shown("");
    for (section, key) in known() {
        if elsewhere.contains(&&*format!("{section} {key}")) {
            continue;
        }
        let value = other(&section, &key);
        let text = match &*section {
            "rule" if key == "type" => format!("[[rule]]\ntype = {value}"),
            "rule" => format!("[[rule]]\ntype = 'Microsoft.Compute/virtualMachines'\n{key} = {value}"),
            "client" => format!("[[client]]\nname = 'ccm'\n{key} = {value}"),
            _ => format!("[{section}]\n{key} = {value}"),
        };
        let field = match (&*section, &*key) {
            ("health", "address") => "health",
            ("upstream", "endpoint") => "host",
            // One more rule follows the last field of the last one.
            ("rule", "type") | ("guard", "mode") => "guard",
            ("client", "max_age") => "age",
            ("client", "network_max_age") => "network_age",
            ("operations", "quiet") => "operation",
            _ => &key,
        };
        assert_eq!(changed(&default, &shown(&text)).as_deref(), Some(field), "{text}");
    }
}

/// The field in which two configurations first differ.
fn changed(one: &str, other: &str) -> Option<String> {
    let at = one.bytes().zip(other.bytes()).position(|(one, other)| one != other)?;
    let (before, _) = one[..at].rsplit_once(": ")?;
    before.rsplit(' ').next().map(str::to_owned)
}

/// A value that is good and not the default.
fn other(section: &str, key: &str) -> String {
    let fixed = match (section, key) {
        ("listen" | "admin" | "health", "address") => "'127.0.0.1:1'",
        ("listen", "names") | ("identity", "ignorable_claims") | ("client", "words") => "['x']",
        ("cache", "neutral_headers") => "['x-*']",
        ("admin", "token") => "'/x'",
        ("upstream", "endpoint") => "'https://x.test'",
        ("upstream", "cloud") => "'china'",
        ("upstream", "address") => "'10.0.0.4'",
        ("upstream", "proxy") => "'http://x.test'",
        ("rule", "type") => "'A.b/c'",
        ("client", "repeat") => "'cached'",
        ("client", "priority") => "'low'",
        ("client", "links") => "'leave'",
        ("client", "principals") => {
            "[{ tid = '00000000-0000-0000-0000-000000000000', oid = '00000000-0000-0000-0000-000000000000' }]"
        }
        ("cache" | "client", "mode") => "'pass'",
        ("guard", "mode") | ("client", "guard") => "'off'",
        ("log", "format") => "'json'",
        ("log", "level") => "'debug'",
        _ => "",
    };
    if !fixed.is_empty() {
        return fixed.to_owned();
    }
    let value = &file()[section];
    match value.as_array().map_or(value, |tables| &tables[0])[key].clone() {
        Value::Boolean(is) => (!is).to_string(),
        Value::Integer(number) => (number + 1).to_string(),
        Value::String(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap();
            format!("'{}{}'", text[..end].parse::<u32>().unwrap() + 1, &text[end..])
        }
        value => panic!("{section} {key}: another value than {value} must be stated here"),
    }
}

/// All of a configuration but which file it is of.
fn shown(text: &str) -> String {
    let mut configuration = read(text).unwrap();
    configuration.file = None;
    format!("{configuration:?}")
}

/// The file with its examples.
fn file() -> Table {
    with_examples(FILE).parse().unwrap()
}

/// Examples are comments without a space: `#key = value`.
fn with_examples(text: &str) -> String {
    let line = |line| if key_of(line).is_some() { line.trim_start_matches('#') } else { line };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.strip_prefix('#').unwrap_or(line).split_once(" = ")?;
    key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then_some(key)
}

/// The sections and keys a text lists.
fn listed(text: &str) -> BTreeSet<(String, String)> {
    let mut listed = BTreeSet::new();
    for (section, value) in with_examples(text).parse::<Table>().unwrap() {
        let tables = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        let keys = tables.iter().flat_map(|table| table.as_table().unwrap().keys());
        listed.extend(keys.map(|key| pair(&section, key)));
    }
    listed
}

fn lines_without<'a>(section: &'a str, key: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    let mut at = "";
    FILE.lines().filter(move |line| {
        if line.starts_with('[') {
            at = line.trim_matches(['[', ']']);
        }
        at != section || key_of(line) != Some(key)
    })
}

/// The sections and keys that are read: what an unknown one is answered with.
fn known() -> BTreeSet<(String, String)> {
    let answer = |text: &str| -> Vec<String> {
        let error = read(text).map(|_| ()).unwrap_err().to_string();
        let (_, names) = error.split_once("; known here: ").unwrap_or_else(|| panic!("{error}"));
        names.split(", ").map(str::to_owned).collect()
    };
    let mut known = BTreeSet::new();
    for section in answer("unknown = 1") {
        let text = match &*section {
            "rule" | "client" => format!("[[{section}]]\nunknown = 1"),
            _ => format!("[{section}]\nunknown = 1"),
        };
        known.extend(answer(&text).iter().map(|key| pair(&section, key)));
    }
    known
}

fn pair(section: &str, key: &str) -> (String, String) {
    (section.to_owned(), key.to_owned())
}
