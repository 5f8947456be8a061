//! Holds the shape of the source: which room may use which, and what a room and a file must have.
//!
//! Every path that starts at the root of the crate must go through a room by name: what would hide an edge
//! (`use crate::*`, `use crate as x`, `#[path]`, `include!`, `#[macro_use]`, `extern crate`) is refused to everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

#[path = "architecture/planted.rs"]
mod planted;
#[path = "architecture/reader.rs"]
mod reader;

use reader::{Edge, Reader};

/// What each room may use besides itself, `clock` and `body`. The order is that of a request's way.
///
/// `*` is every room, `*::Settings` only items of that name, `*::enum` only enums of the rooms before it.
const MAY_USE: [(&str, &str); 24] = [
    ("clock", ""),
    ("body", ""),
    ("arm", ""),
    ("policy", "arm"),
    ("listen", ""),
    ("identify", "arm policy"),
    ("classify", "arm policy"),
    ("scopes", "arm classify policy"),
    ("cache", "arm policy identify classify scopes"),
    ("coalesce", ""),
    ("guard", "arm policy identify classify"),
    ("admit", "arm policy classify"),
    ("operations", "arm policy identify classify scopes"),
    ("rewrite", "arm"),
    ("upstream", "arm"),
    ("observe", "policy *::enum"),
    // Words become types where they are read: clouds, upstreams, the format of logs.
    ("config", "arm policy upstream observe *::Settings"),
    (
        "proxy",
        "arm policy listen identify classify scopes cache coalesce guard admit operations rewrite upstream observe config",
    ),
    ("admin", "policy observe proxy"),
    ("simulator", ""),
    ("demo", "simulator proxy admin config policy listen upstream observe"),
    ("commands", "*"),
    ("main", "*"),
    ("arm-simulator", "simulator"),
];

#[test]
fn rooms_use_only_what_they_may() {
    let files = sources();
    assert!(files.len() > 20, "found only {} source files", files.len());
    let found = complaints(&files);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn no_room_of_the_proxy_knows_the_simulator() {
    let knows: Vec<_> =
        MAY_USE.iter().filter(|(_, may)| may.contains("simulator")).map(|(room, _)| *room).collect();
    assert_eq!(knows, ["demo", "arm-simulator"]);
    assert!(MAY_USE.contains(&("simulator", "")));
}

#[test]
fn every_room_says_what_it_is_for() {
    let files: BTreeMap<_, _> = sources().into_iter().collect();
    for path in files.keys().filter(|path| !path.starts_with("src/bin/")) {
        let Some((room, _)) = path["src/".len()..].split_once('/') else { continue };
        let home = files.get(&format!("src/{room}/mod.rs")).unwrap_or_else(|| panic!("{room} has no mod.rs"));
        let (doc, code): (Vec<_>, Vec<_>) = home.lines().partition(|line| line.starts_with("//! "));
        let is_sentence = doc.iter().any(|line| line.trim_end().ends_with(['.', ':', ';']));
        assert!(
            is_sentence || code.is_empty() && !doc.is_empty(),
            "{room}/mod.rs does not say what {room} is for"
        );
    }
}

#[test]
fn no_file_names_a_machine() {
    // In two halves, or this file would find itself.
    let mut words: Vec<_> = ["home", "root", "Users", "work"].map(|folder| format!("/{folder}/")).into();
    words.push(["C:", "Users"].join("\\"));
    let here = root().display().to_string();
    words.extend((here.matches('/').count() > 1).then_some(here));
    let inside_a_path = |c: char| c.is_alphanumeric() || "._-*}$)~".contains(c);
    for (path, text) in texts(root()).expect("the repository can be read") {
        for (number, line) in text.lines().enumerate() {
            for word in &words {
                let named = line.match_indices(word).any(|(at, _)| !line[..at].ends_with(inside_a_path));
                assert!(!named, "{path}:{}: a path of somebody's machine: {word}", number + 1);
            }
        }
    }
}

/// What the files do that [`MAY_USE`] does not allow, one line each.
fn complaints(files: &[(String, String)]) -> Vec<String> {
    let read: Vec<_> = files.iter().map(|(path, text)| (path, Reader::read(path, text))).collect();
    let enums: BTreeSet<_> = read.iter().flat_map(|(_, file)| &file.enums).collect();
    let test_files: Vec<_> = read.iter().flat_map(|(_, file)| &file.test_files).collect();
    let place = |room: &str| MAY_USE.iter().position(|(name, _)| *name == room);

    let allows = |file: &Reader, edge: &Edge| {
        let (room, Some(target)) = (file.room.as_str(), edge.path.first()) else { return false };
        let (Some(at), Some(target_at)) = (place(room), place(target)) else { return room == target };
        let in_test = edge.in_test || test_files.iter().any(|test| file.module.starts_with(test));
        let has = |is: &dyn Fn(&String) -> bool| edge.is_alias || edge.path.iter().any(is);
        room == target
            || (room != "simulator" && (target == "clock" || target == "body"))
            || (in_test && target == "simulator")
            || MAY_USE[at].1.split(' ').any(|may| match may {
                "*" => true,
                "*::Settings" => has(&|item| item == "Settings"),
                "*::enum" => target_at < at && has(&|item| enums.contains(&(target.clone(), item.clone()))),
                _ => may == target,
            })
    };
    let complain = |path: &str, file: &Reader, edge: &Edge| {
        let target = if edge.path.is_empty() { "crate".to_owned() } else { edge.path.join("::") };
        format!("{path}:{}: {} may not use {target}", edge.line, file.room)
    };
    let bad = |(path, file): &(&String, Reader)| -> Vec<String> {
        file.edges.iter().filter(|edge| !allows(file, edge)).map(|edge| complain(path, file, edge)).collect()
    };
    read.iter().flat_map(bad).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source files, by their path from the root of the repository.
fn sources() -> Vec<(String, String)> {
    texts(&root().join("src")).expect("the source can be read")
}

/// The text files below a folder, built ones left out.
fn texts(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != ".git" && name != "target" {
            found.extend(texts(&path)?);
        } else if let (true, Ok(text)) = (path.is_file() && name != ".git", fs::read_to_string(&path)) {
            let path = path.strip_prefix(root()).unwrap_or(&path);
            found.push((path.display().to_string(), text));
        }
    }
    Ok(found)
}
