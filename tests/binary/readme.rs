//! What the README says works as it is written there.

use std::path::Path;
use std::process::Command;

use super::process::{ARMSHIELD, SIMULATOR, command, free};

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The fenced blocks of one language, indentation removed.
fn blocks(language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in readme().lines() {
        let text = line.trim_start();
        if let Some(info) = text.strip_prefix("```") {
            match open.take() {
                Some((true, block)) => blocks.push(block),
                Some((false, _)) => {}
                None => open = Some((info == language, String::new())),
            }
        } else if let Some((_, block)) = &mut open {
            block.push_str(text);
            block.push('\n');
        }
    }
    blocks
}

#[test]
fn every_configuration_in_the_readme_is_good() {
    let blocks = blocks("toml");
    assert!(blocks.len() >= 2);
    for block in blocks {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("armshield.toml");
        std::fs::write(&file, &block).unwrap();
        let output = command(ARMSHIELD, state.path()).args(["check", "--config"]).arg(file).output().unwrap();
        assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_json_in_the_readme_is_json() {
    let blocks = blocks("json");
    assert!(!blocks.is_empty());
    for block in blocks {
        serde_json::from_str::<serde_json::Value>(&block).unwrap_or_else(|error| panic!("{error}: {block}"));
    }
}

/// Runs blocks of the README on free ports, one after another, and gives back what they print.
fn played(blocks: &[String]) -> (String, String) {
    let (arm, front, admin) = (free(), free(), free());
    let script = blocks
        .concat()
        .replace("cargo build --release\n", "")
        .replace("cargo run --release --bin arm-simulator --", &format!("{SIMULATOR} --listen {arm}"))
        .replace("cargo run --release --", ARMSHIELD)
        .replace("http://127.0.0.1:7790", &format!("http://{arm}"))
        .replace("localhost:7788", &format!("localhost:{}", front.port()));
    let state = tempfile::tempdir().unwrap();
    let output = Command::new("bash")
        .args(["-c", &format!("trap 'kill $(jobs -p)' EXIT\n{script}")])
        .env("ARMSHIELD_LISTEN", front.to_string())
        .env("ARMSHIELD_ADMIN", admin.to_string())
        .env("STATE_DIRECTORY", state.path())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn first_example() -> String {
    blocks("sh").into_iter().find(|block| block.contains("arm-simulator")).unwrap()
}

#[test]
fn the_first_example_says_what_the_readme_says_it_does() {
    let (said, complained) = played(&[first_example()]);
    let told: Vec<_> = said.lines().filter(|line| line.to_lowercase().starts_with("cache-status")).collect();
    assert_eq!(told.len(), 2, "{said}\n{complained}");
    assert!(told[0].contains("armshield; fwd=miss; stored"), "{told:?}");
    assert!(told[1].contains("armshield; hit; ttl=1"), "{told:?}");
}

#[test]
fn what_is_explained_reads_as_the_readme_shows_it() {
    let explain = blocks("sh").into_iter().find(|block| block.contains("-- explain")).unwrap();
    let (said, complained) = played(&[first_example(), explain]);
    let shown = blocks("text").into_iter().find(|block| block.starts_with("caller-1")).unwrap();
    for line in shown.lines() {
        // How old it is depends on the machine.
        let (begins, ends) = line.split_once("1.4 s").unwrap_or((line, ""));
        let is_line = |said: &str| said.trim_start().starts_with(begins) && said.ends_with(ends);
        assert!(said.lines().any(is_line), "{line} is missing: {said}\n{complained}");
    }
    assert!(said.contains("source seen, If-Match"), "{said}\n{complained}");
}
