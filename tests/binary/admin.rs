//! The admin port.

use super::process::{Running, armshield, ask, get, simulator};

const LIST: &str = "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachineScaleSets?api-version=2025-04-01";
const ME: &str = "\r\nauthorization: Bearer me\r\nuser-agent: AZURECLI/2.70";

fn post(running: &Running, path: &str, fields: &str, body: &str) -> String {
    let address = running.admin;
    ask(address, &format!("POST {path} HTTP/1.1\r\nhost: {address}{fields}"), body)
}

#[test]
fn health_and_metrics_need_no_token_and_nothing_else_goes_without() {
    let state = tempfile::tempdir().unwrap();
    let running = armshield("http://127.0.0.1:9", &[], state.path());
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert!(get(running.admin, path, "").starts_with("HTTP/1.1 200"), "{path}");
    }
    for path in ["/", "/api/status", "/api/explain?url=/", "/api/nothing"] {
        assert!(get(running.admin, path, "").starts_with("HTTP/1.1 401"), "{path}");
    }
    for path in ["/api/purge", "/api/mode"] {
        assert!(
            post(&running, path, "", r#"{"mode":"pass","id":"/"}"#).starts_with("HTTP/1.1 401"),
            "{path}"
        );
    }
    let token = std::fs::read_to_string(state.path().join("admin-token")).unwrap();
    let with_token = format!("\r\nauthorization: Bearer {token}");
    let status = get(running.admin, "/api/status", &with_token);
    for key in ["mode", "cache", "clients", "budgets", "operations", "guard"] {
        assert!(status.contains(&format!("\"{key}\":")), "{key} is missing: {status}");
    }
    assert!(!status.contains(&token));
    let rebound =
        ask(running.admin, &format!("GET /api/status HTTP/1.1\r\nhost: evil.example{with_token}"), "");
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    let cross = post(
        &running,
        "/api/mode",
        &format!("{with_token}\r\norigin: http://evil.example"),
        r#"{"mode":"pass"}"#,
    );
    assert!(cross.starts_with("HTTP/1.1 403"), "{cross}");
}

#[test]
fn modes_and_purges_take_effect_at_once() {
    let state = tempfile::tempdir().unwrap();
    let arm = simulator(&["--nodes", "3", "--sets", "1", "--no-auth"], state.path());
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), "[admin]\nopen = true\n").unwrap();
    let words = ["--config", file.path().to_str().unwrap()];
    let running = armshield(&format!("http://{}", arm.address), &words, state.path());
    let read = || get(running.address, LIST, ME);
    read();
    assert!(read().contains("armshield; hit"));

    let purged =
        post(&running, "/api/purge", "", r#"{"id":"/subscriptions/11111111-1111-4111-a111-111111111111"}"#);
    assert!(purged.starts_with("HTTP/1.1 200"), "{purged}");
    assert!(read().contains("fwd=miss"));
    assert!(read().contains("armshield; hit"));

    let changed = post(&running, "/api/mode", "", r#"{"mode":"pass"}"#);
    assert!(changed.starts_with("HTTP/1.1 200"), "{changed}");
    assert!(read().contains("fwd=bypass; detail=pass"));
    assert!(get(running.admin, "/api/status", "").contains(r#""mode":"pass""#));
    post(&running, "/api/mode", "", r#"{"mode":"active"}"#);
    assert!(!read().contains("detail=pass"));

    for (path, body) in [
        ("/api/mode", r#"{"mode":"fast"}"#),
        ("/api/mode", r#"{"mode":"pass","profile":"nobody"}"#),
        ("/api/purge", r#"{"id":"nonsense"}"#),
        ("/api/purge", "not json"),
    ] {
        let answer = post(&running, path, "", body);
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("\"message\""),
            "{path} {body}: {answer}"
        );
    }
    let metrics = get(running.admin, "/metrics", "");
    assert!(metrics.contains("armshield_reads_total"), "{metrics}");
    assert!(metrics.trim_end().ends_with("# EOF"), "{metrics}");
    let samples = metrics.lines().filter(|line| line.contains('{') || line.starts_with("# TYPE"));
    assert!(samples.clone().count() > 10);
    assert!(
        samples.into_iter().all(|line| line.trim_start_matches("# TYPE ").starts_with("armshield_")),
        "{metrics}"
    );
}

#[test]
fn a_request_is_explained_and_what_is_none_is_400() {
    let state = tempfile::tempdir().unwrap();
    let arm = simulator(&["--nodes", "3", "--sets", "1", "--no-auth"], state.path());
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), "[admin]\nopen = true\n").unwrap();
    let words = ["--config", file.path().to_str().unwrap()];
    let running = armshield(&format!("http://{}", arm.address), &words, state.path());
    assert!(get(running.admin, "/", "").contains("/api/explain"));
    let url = LIST.replace('?', "%3F").replace('=', "%3D");
    let explained = || {
        let answer = get(running.admin, &format!("/api/explain?url={url}&user_agent=AZURECLI/2.70"), "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str::<serde_json::Value>(body).unwrap()
    };
    assert_eq!(explained()["askers"], serde_json::json!([]));
    get(running.address, LIST, ME);
    let explained = explained();
    assert_eq!(explained["route"], "read");
    assert_eq!(explained["type"], "microsoft.compute/virtualmachinescalesets");
    assert_eq!(explained["askers"][0]["caller"], "caller-1");
    assert_eq!(explained["askers"][0]["outcome"], "hit");
    assert_eq!(explained["askers"][0]["kept"]["smallest_bound"], "profile");
    assert_eq!(explained["unvouched"]["why"], "unvouched");
    for query in [
        "",
        "url=",
        "url=ftp://x/y",
        "url=https%3A%2F%2Fevil.example%2Fa",
        "url=/a%20b",
        "url=/a&url=/b",
        "url=/a&method=CONNECT",
        "url=/a&header=Authorization:Bearer%20x",
        "url=/a&peer=x",
        "url=%ff",
        "nonsense",
    ] {
        let answer = get(running.admin, &format!("/api/explain?{query}"), "");
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("\"message\""), "{query}: {answer}");
    }
    assert!(post(&running, "/api/explain", "", "{}").starts_with("HTTP/1.1 404"));
}
