//! A client: one HTTP/1.1 connection to armshield, in memory. Or to the simulator, past armshield.

use armshield::clock::Moment;
use armshield::simulator::Simulator;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;

use super::World;

/// The User-Agents of clients that matter.
pub const CCM: &str = "kubernetes-cloudprovider/v1.34.0";
pub const AUTOSCALER: &str = "cluster-autoscaler/v1.34.0";
pub const AZ: &str = "AZURECLI/2.70.0 (DEB) azsdk-python-core/1.31.0 Python/3.12.3 (Linux)";

/// A client. Cheap to clone; every request takes a connection of its own.
#[derive(Debug, Clone)]
pub struct Client {
    pub world: World,
    pub token: String,
    pub agent: String,
    /// The name it dials.
    pub host: String,
    /// Where it seems to come from.
    pub peer: std::net::SocketAddr,
    /// What it dials instead of armshield.
    pub past: Option<Simulator>,
}

/// What it was answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// When the whole answer was there.
    pub at: Moment,
}

/// The answer did not come whole.
#[derive(Debug)]
pub struct Broken(pub String);

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// What `Cache-Status` says.
    pub fn cache(&self) -> &str {
        self.header("cache-status").unwrap_or("")
    }

    pub fn is_hit(&self) -> bool {
        self.cache().starts_with("armshield; hit")
    }

    /// What `Armshield-Guard` says.
    pub fn guard(&self) -> &str {
        self.header("armshield-guard").unwrap_or("")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Client {
    pub fn with_token(&self, token: impl Into<String>) -> Self {
        Self { token: token.into(), ..self.clone() }
    }

    pub fn with_agent(&self, agent: &str) -> Self {
        Self { agent: agent.into(), ..self.clone() }
    }

    /// The same client as it was before there was armshield: it dials the simulator by ARM's own name.
    pub fn past_armshield(&self, simulator: &Simulator) -> Self {
        Self { host: "management.azure.com".into(), past: Some(simulator.clone()), ..self.clone() }
    }

    pub fn dialling(&self, host: &str) -> Self {
        Self { host: host.into(), ..self.clone() }
    }

    /// A request with this client's token and name, to be changed and given to [`Client::send`].
    pub fn request(&self, method: &str, target: &str) -> http::request::Builder {
        let builder = Request::builder().method(method).uri(target).header("host", &self.host);
        let builder = if self.agent.is_empty() { builder } else { builder.header("user-agent", &self.agent) };
        if self.token.is_empty() {
            builder
        } else {
            builder.header("authorization", format!("Bearer {}", self.token))
        }
    }

    pub async fn get(&self, target: &str) -> Answer {
        self.send(self.request("GET", target), "").await.unwrap()
    }

    pub async fn put(&self, target: &str, body: &str) -> Answer {
        self.write("PUT", target, body).await
    }

    pub async fn delete(&self, target: &str) -> Answer {
        self.send(self.request("DELETE", target), "").await.unwrap()
    }

    pub async fn write(&self, method: &str, target: &str, body: &str) -> Answer {
        let request = self.request(method, target).header("content-type", "application/json");
        self.send(request, body).await.unwrap()
    }

    pub async fn send(&self, request: http::request::Builder, body: &str) -> Result<Answer, Broken> {
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
        let mut sender = self.connect().await;
        let broken = |error: hyper::Error| Broken(error.to_string());
        let response = sender.send_request(request).await.map_err(broken)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(broken)?.to_bytes();
        let at = self.world.clock.now();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body, at })
    }

    /// Begins a request in the background; dropping or aborting the handle is leaving.
    pub fn begin(&self, method: &str, target: &str, body: &str) -> tokio::task::JoinHandle<Answer> {
        let (client, method, target, body) =
            (self.clone(), method.to_owned(), target.to_owned(), body.to_owned());
        tokio::spawn(async move { client.send(client.request(&method, &target), &body).await.unwrap() })
    }

    async fn connect(&self) -> SendRequest<Full<Bytes>> {
        let io = match &self.past {
            Some(simulator) => simulator.dial(),
            None => self.world.dial(self.peer),
        };
        let (sender, connection) = handshake(TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        sender
    }
}
