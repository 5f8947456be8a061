//! What went wrong in public, and the tests that show it does not go wrong here: `table.md` names them.

mod cases;

use std::collections::BTreeSet;
use std::path::Path;

const TABLE: &str = include_str!("table.md");
/// How many incidents are known.
const KNOWN: usize = 37;

/// The rows of the table: number, what happened, what armshield does, tests.
fn rows() -> Vec<[&'static str; 4]> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| #"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("four cells a row: {cells:?}"))
    })
    .collect()
}

/// Whether there is a test of this name in a file or folder of that name.
fn exists(test: &str) -> bool {
    let Some((place, name)) = test.rsplit_once("::") else { return false };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = |path: &Path| std::fs::read_to_string(path).is_ok_and(|text| is_test(&text, name));
    let path = place.replace("::", "/");
    ["tests", "src"].iter().any(|base| {
        let at = root.join(base).join(&path);
        found(&at.with_extension("rs")) || found(&at.join("mod.rs"))
    })
}

fn is_test(text: &str, name: &str) -> bool {
    let Some(at) = text.find(&format!("fn {name}(")) else { return false };
    let before = text[..at].trim_end().lines().rev().take_while(|line| !line.trim().is_empty());
    before.take(4).any(|line| line.contains("test]") || line.contains("::test("))
}

#[test]
fn every_incident_has_a_row_with_its_sources() {
    let numbers: Vec<usize> = rows().iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=KNOWN).collect::<Vec<_>>());
    for row in rows() {
        assert!(row[1].contains("https://github.com/"), "{row:?}");
    }
}

#[test]
fn every_row_names_tests_that_exist_or_says_why_there_are_none() {
    for [number, _, does, tests] in rows() {
        let named: BTreeSet<_> = tests.split('`').skip(1).step_by(2).collect();
        for test in &named {
            assert!(exists(test), "incident {number}: there is no test {test}");
        }
        let open = ["Not ours:", "Not yet:"].iter().any(|word| does.contains(word));
        assert!(open || !named.is_empty(), "incident {number} names no test and does not say why");
    }
}
