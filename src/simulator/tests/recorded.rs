//! The simulator beside real recordings: the same requests, and what must come out alike.

use super::super::Replay;
use super::super::replay::Exchange;
use super::*;

/// Recorded exchanges lie in the directory named by `ARMSHIELD_RECORDINGS`.
#[expect(clippy::disallowed_methods, reason = "a test reads where its recordings are")]
fn recordings() -> Vec<(String, Replay)> {
    let Ok(directory) = std::env::var("ARMSHIELD_RECORDINGS") else { return Vec::new() };
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    let load = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), Replay::load(&text).unwrap())
    };
    files.into_iter().map(load).collect()
}

/// What is compared of two answers.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    status: u16,
    headers: Vec<(&'static str, String)>,
    state: Value,
    code: Value,
    tag: Value,
    fields: Vec<String>,
    indented: bool,
}

const PRESENT: [&str; 8] = [
    "azure-asyncoperation",
    "azure-asyncnotification",
    "location",
    "x-ms-failure-cause",
    "x-ms-original-request-ids",
    "x-ms-need-to-refresh-epl-cache",
    "cache-control",
    "content-type",
];

impl Shape {
    fn of(status: u16, headers: &HeaderMap, bytes: &[u8], target: &str) -> Self {
        let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let compute = target.contains("Microsoft.Compute");
        let mut seen = Vec::new();
        for name in PRESENT {
            seen.extend(headers.contains_key(name).then(|| (name, String::new())));
        }
        for name in ["etag", "x-ms-request-charge"] {
            let value = headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            // Network's GUIDs were zeroed by the recorder.
            seen.extend(value.map(|value| (name, if compute { value } else { String::new() })));
        }
        let tag = if compute { body["etag"].clone() } else { json!(body["etag"].is_string()) };
        let item = if body["value"][0].is_object() { &body["value"][0] } else { &body };
        let mut fields: Vec<_> =
            item.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        fields.retain(|name| !matches!(name.as_str(), "tags" | "location" | "managedBy"));
        let indented = bytes.starts_with(b"{\r\n");
        Self {
            status,
            headers: seen,
            state: body["properties"]["provisioningState"].clone(),
            code: body["error"]["code"].clone(),
            tag,
            fields,
            indented,
        }
    }
}

/// Answers that the simulator does not try to give.
fn is_out_of_scope(exchange: &Exchange, name: &str) -> bool {
    let target = exchange.target();
    // Poll URLs were normalised; AKS is only sketched; an interface's deletion was seen with 200 and with 202.
    let interface = exchange.method == http::Method::DELETE && target.contains("/networkInterfaces/");
    interface
        || target.contains("/operations/")
        || target.contains("/operationresults/")
        || name == "managed-cluster.jsonl"
}

#[tokio::test(start_paused = true)]
async fn answers_what_was_recorded() {
    let mut compared = 0;
    for (name, replay) in recordings() {
        let subscription = "00000000-0000-0000-0000-000000000000".to_owned();
        let bench = Bench::with(Options { subscription, ..Options::default() });
        for (at, exchange) in replay.exchanges().iter().enumerate() {
            if is_out_of_scope(exchange, &name) {
                continue;
            }
            let target = exchange.target();
            let headers: Vec<_> = exchange
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
                .collect();
            let body = String::from_utf8(exchange.body.to_vec()).unwrap();
            let got = bench.call(exchange.method.as_str(), &target, &headers, &body).await.unwrap();
            let real =
                Shape::of(exchange.status.as_u16(), &exchange.answer_headers, &exchange.answer_body, &target);
            let ours = Shape::of(got.status, &got.headers, &got.bytes, &target);
            assert_eq!(ours, real, "{name} #{at} {} {target}", exchange.method);
            settle().await;
            compared += 1;
        }
    }
    println!("{compared} answers compared");
}
