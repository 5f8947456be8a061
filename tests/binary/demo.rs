//! The demo as somebody new runs it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use super::process::{ARMSHIELD, Running, command, get};

/// The cells of the table in a text, by their labels.
fn table(said: &str) -> HashMap<String, Vec<String>> {
    let rows = said.lines().filter_map(|line| {
        let mut cells = line.trim().split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        Some((cells.next()?.to_owned(), cells.map(str::to_owned).collect()))
    });
    rows.collect()
}

#[test]
fn the_demo_shows_what_is_lost_directly_and_not_through_armshield() {
    let state = tempfile::tempdir().unwrap();
    let words = ["demo", "--once", "--seconds", "4", "--nodes", "10"];
    let output = command(ARMSHIELD, state.path()).args(words).stdout(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains('\u{1b}'), "no terminal, no escapes: {said}");
    let table = table(&said);
    let row = |label: &str| -> [usize; 2] {
        let cells = table.get(label).unwrap_or_else(|| panic!("no row {label}: {said}"));
        [0, 1].map(|at| cells[at].parse().unwrap_or_else(|_| panic!("{label}: {cells:?}")))
    };
    let [direct, through] = row("calls ARM saw");
    assert!(0 < through && through < direct, "{said}");
    let [direct, through] = row("lost updates");
    assert!(direct > 0, "{said}");
    assert_eq!(through, 0, "{said}");
    assert_eq!(row("reads stale after own writes")[1], 0, "{said}");
    let [direct, through] = row("reads answered from memory");
    assert!(direct == 0 && through > 0, "{said}");
    for label in [
        "reads of one resource",
        "lists",
        "writes",
        "polls of operations",
        "answers of 429 by ARM",
        "reads merged with another one's call",
        "writes guarded, and applied",
        "conflicts shown to people",
    ] {
        row(label);
    }
    assert_eq!(row("other failures"), [0, 0], "{said}");
    for label in ["time clients waited because of them", "p99", "their ages: p50/max"] {
        assert!(table.contains_key(label), "no row {label}: {said}");
    }
    assert!(said.contains("Lost directly:\n  "), "{said}");
    assert!(!said.contains("Lost through"), "{said}");
}

#[test]
fn the_demo_stays_up_for_whoever_wants_to_look_and_ends_with_ctrl_c() {
    let state = tempfile::tempdir().unwrap();
    let words = ["demo", "--seconds", "1", "--nodes", "4"];
    let mut child = command(ARMSHIELD, state.path()).args(words).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let mut running = Running { child, address: nowhere, admin: nowhere };
    let mut said = Vec::new();
    for line in lines.lines() {
        said.push(line.unwrap());
        if said.last().is_some_and(|line| line.starts_with("Ctrl-C")) {
            break;
        }
    }
    let behind = |word: &str| {
        let line = said.iter().find_map(|line| line.trim().strip_prefix(word));
        line.unwrap_or_else(|| panic!("no {word}: {said:#?}")).trim().trim_matches('\'').to_owned()
    };
    let address = |word: &str| behind(word).strip_prefix("http://").unwrap().parse::<SocketAddr>().unwrap();
    let (armshield, door) = (address("armshield  "), address("its door"));
    let (token, sets) = (behind("token="), behind("sets="));
    let target = sets.strip_prefix(&format!("http://{armshield}")).unwrap();
    let fields = format!("\r\nuser-agent: AZURECLI\r\nauthorization: Bearer {token}");
    let first = get(armshield, target, &fields);
    assert!(first.contains("armshield; fwd=miss; stored"), "{first}");
    let second = get(armshield, target, &fields);
    assert!(second.contains("armshield; hit; ttl="), "{}", second.split("\r\n\r\n").next().unwrap());
    assert!(get(door, "/api/status", "").contains("\"mode\""));
    assert!(get(door, "/metrics", "").contains("armshield_requests_total"));
    for line in said.iter().filter(|line| line.starts_with("curl")) {
        assert!(line.contains("$sets") || line.contains(&door.to_string()), "{line}");
    }
    let pid = running.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn words_the_demo_does_not_know_are_refused() {
    for words in [["--nodes", "0"], ["--nodes", "many"], ["--seconds", "0"], ["--speed", "2"]] {
        let state = tempfile::tempdir().unwrap();
        let output = command(ARMSHIELD, state.path()).arg("demo").args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{words:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(words[0]), "{words:?}");
    }
}
