//! The simulator against the facts.

mod access;
mod compute;
mod lists;
mod network;
mod operations;
mod recorded;
mod wire;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{Cut, Options, Principal, Simulator};

/// An answer read to its end.
#[derive(Debug)]
struct Got {
    status: u16,
    headers: HeaderMap,
    bytes: Bytes,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("no JSON: {:?}", self.bytes))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// A simulator and one client.
struct Bench {
    arm: Simulator,
    token: String,
}

const COMPUTE: &str = "api-version=2025-04-01";
const NETWORK: &str = "api-version=2025-05-01";

impl Bench {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let arm = Simulator::new(options);
        let token = arm.token(&Principal::named("client"));
        Self { arm, token }
    }

    async fn call(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Got, Cut> {
        let mut request = Request::builder()
            .method(method)
            .uri(target.replace("https://management.azure.com", ""))
            .header("host", "management.azure.com")
            .header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.arm.handle(request.body(body.to_owned()).unwrap()).await?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map_err(|_| Cut)?.to_bytes();
        Ok(Got { status: parts.status.as_u16(), headers: parts.headers, bytes })
    }

    async fn get(&self, target: &str) -> Got {
        self.call("GET", target, &[], "").await.unwrap()
    }

    async fn put(&self, target: &str, body: &Value) -> Got {
        self.call("PUT", target, &[], &body.to_string()).await.unwrap()
    }
}

/// Long enough for every operation and every late move.
async fn settle() {
    tokio::time::advance(Duration::from_secs(60)).await;
}
