//! The command that explains.

use std::path::Path;

use super::process::{ARMSHIELD, armshield, command, free, get, simulator};

const SET: &str = "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool0-vmss?api-version=2025-04-01";

/// Exit code, standard output, standard error.
fn explain(state: &Path, words: &[&str]) -> (i32, String, String) {
    let output = command(ARMSHIELD, state)
        .stdout(std::process::Stdio::piped())
        .arg("explain")
        .args(words)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_says_what_would_be_done_and_why() {
    let state = tempfile::tempdir().unwrap();
    let arm = simulator(&["--nodes", "3", "--sets", "1", "--no-auth"], state.path());
    let running = armshield(&format!("http://{}", arm.address), &[], state.path());
    let admin = running.admin.to_string();
    let agent = "AZURECLI/2.70";
    let ask = |more: &[&str]| {
        let words = [&[SET, "--admin", &admin, "--user-agent", agent][..], more].concat();
        let (code, said, complained) = explain(state.path(), &words);
        assert_eq!((code, &*complained), (0, ""), "{words:?}: {said}");
        said
    };
    let check = |said: &str, parts: &[&str]| {
        for part in parts {
            assert!(said.contains(part), "{part} is missing: {said}");
        }
    };
    check(
        &ask(&[]),
        &["profile az", "any other caller that ARM lets in: miss (absent)", "whatever query: 0 answers"],
    );

    let me = format!("\r\nauthorization: Bearer me\r\nuser-agent: {agent}");
    get(running.address, SET, &me);
    check(
        &ask(&[]),
        &[
            "caller-1, vouched for another 9 min: hit (fresh)",
            "smallest: profile",
            "shown to 1 client, this one among them",
            "an answer depends on\n    all\n",
            "has not let in yet, or not lately: miss (unvouched)",
        ],
    );
    assert!(get(running.address, SET, &me).contains("armshield; hit"));
    check(&ask(&["--header", "Cache-Control: no-cache"]), &["miss (wanted)", "the request says no-cache"]);
    check(
        &ask(&["--method", "put"]),
        &[
            "PUT /subscriptions",
            "write of",
            "source seen, If-Match \"",
            ", sent",
            "client-1 of caller-1",
            "the write counts up",
            "unit /subscriptions",
        ],
    );
    check(&ask(&["--json"]), &["\"askers\":[{\"caller\":\"caller-1\""]);
    assert!(serde_json::from_str::<serde_json::Value>(&ask(&["--json"])).is_ok());
}

#[test]
fn it_is_clear_where_nothing_can_be_explained() {
    let state = tempfile::tempdir().unwrap();
    let check = |words: &[&str], code, part: &str| {
        let (ended, said, complained) = explain(state.path(), words);
        assert_eq!((ended, &*said), (code, ""), "{words:?}: {complained}");
        assert!(
            complained.starts_with("armshield: ") && complained.contains(part),
            "{words:?}: {complained}"
        );
        assert_eq!(complained.lines().count(), 1, "{complained}");
    };
    let nobody = free().to_string();
    check(&["/a", "--admin", &nobody], 1, "does not answer");

    let running = armshield("http://127.0.0.1:9", &[], state.path());
    let admin = running.admin.to_string();
    check(&["https://evil.example/a", "--admin", &admin], 64, "is not a name of this proxy");
    check(&["/a b", "--admin", &admin], 64, "this is no URL");
    check(&["ftp://x/y", "--admin", &admin], 64, "https://");
    check(&["/a", "--admin", &admin, "-H", "Authorization: Bearer secret"], 64, "wants to see no token");
    check(&["/a", "--admin", &admin, "--peer", "nobody"], 64, "is no IP address");
    // The port of clients is no door, and ARM's answers are no explanation.
    check(&["/a", "--admin", &running.address.to_string()], 1, "is no admin port");

    let token = state.path().join("admin-token");
    let written = std::fs::read_to_string(&token).unwrap();
    std::fs::write(&token, "another token, as long as one").unwrap();
    check(&["/a", "--admin", &admin], 1, "does not take the token");
    std::fs::remove_file(&token).unwrap();
    check(&["/a", "--admin", &admin], 1, "admin-token");
    assert!(!token.exists(), "who asks makes no token");
    std::fs::write(&token, written).unwrap();
    check(&["/a", "--admin", &admin], 1, "chmod 600");
}

#[test]
fn its_words_are_checked_like_those_of_any_command() {
    let state = tempfile::tempdir().unwrap();
    assert_eq!(explain(state.path(), &[]).0, 64);
    assert_eq!(explain(state.path(), &["/a", "--nonsense"]).0, 64);
    assert_eq!(explain(state.path(), &["/a", "--admin", "nowhere"]).0, 64);
    let (code, said, _) = explain(state.path(), &["--help"]);
    assert_eq!(code, 0);
    for word in ["--user-agent", "--method", "--header", "--peer", "--json", "--admin"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}
