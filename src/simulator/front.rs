//! The way of a call: journal, faults, who may, how much, what for; and the headers of the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, request};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::Simulator;
use super::address::Address;
use super::answers::{Answer, Author};
use super::ask::Ask;
use super::etags::Conditions;
use super::faults::{Canned, Fault};
use super::journal::{Call, redacted};
use super::payload::{Payload, Step};
use super::state::State;
use super::transport;

/// The call gets no answer: its stream is reset, or its connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulator cut the call off")]
pub struct Cut;

/// The connection a call came on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) breaker: Option<Arc<Notify>>,
}

impl Simulator {
    /// Answers one call, in process. The answer is what would be on the wire, its body perhaps scripted.
    ///
    /// # Errors
    ///
    /// [`Cut`] if the call gets no head: a fault was injected, or its body broke off.
    pub async fn handle<B>(&self, request: Request<B>) -> Result<Response<Payload>, Cut>
    where
        B: Body + Unpin,
    {
        let (parts, body) = request.into_parts();
        let (number, at) = self.with(|state| state.arrive(&parts));
        if parts.uri.path().starts_with("/_test/") {
            let response = transport::answer(&parts, body).await.ok_or(Cut)?;
            self.note(number, |call| call.status = Some(response.status().as_u16()));
            return Ok(response);
        }
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        self.note(number, |call| call.body = body.clone());
        let (faults, latency) = self.with(|state| {
            let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
            (state.faults.draw(&parts.method, target, at), state.latency())
        });
        self.note(number, |call| call.fault = faults.first().map(Fault::name));
        for fault in &faults {
            if let Fault::Late(time) = fault {
                sleep(*time).await;
            }
        }
        pause(latency / 2).await;
        let response = self.carry_out(&parts, body, &faults, number)?;
        for fault in &faults {
            if let Fault::Slow(time) = fault {
                sleep(*time).await;
            }
        }
        pause(latency / 2).await;
        if faults.iter().any(|fault| matches!(fault, Fault::LostAnswer)) {
            return Err(Cut);
        }
        self.with(|state| {
            let now = state.now;
            state.journal.note(number, |call| {
                call.status = Some(response.status().as_u16());
                call.answered = Some(now);
            });
        });
        Ok(scripted(response, &faults))
    }

    fn carry_out(
        &self,
        parts: &request::Parts,
        body: Bytes,
        faults: &[Fault],
        number: u64,
    ) -> Result<Response<Payload>, Cut> {
        self.with(|state| {
            let mut ask = state.ask(parts, body);
            let mut answer = None;
            let mut instead = None;
            for fault in faults {
                match fault {
                    Fault::Reset => return Err(Cut),
                    Fault::Disconnect => {
                        if let Some(breaker) =
                            parts.extensions.get::<Line>().and_then(|line| line.breaker.as_ref())
                        {
                            breaker.notify_one();
                        }
                        return Err(Cut);
                    }
                    Fault::Answer(canned) => answer = Some(canned_answer(canned)),
                    Fault::Instead(canned) => instead = Some(canned),
                    _ => {}
                }
            }
            let answer = match answer {
                Some(answer) => answer,
                None => state.admit(&mut ask, parts, faults, number),
            };
            state.journal.note(number, |call| call.applied = answer.applied);
            let answer = match instead {
                Some(canned) => canned_answer(canned),
                None => answer,
            };
            let mut response = state.seal(parts, &ask, answer);
            for fault in faults {
                if let Fault::Headers(fields) = fault {
                    set(response.headers_mut(), fields);
                }
            }
            Ok(response)
        })
    }

    fn note(&self, number: u64, write: impl FnOnce(&mut Call)) {
        self.with(|state| state.journal.note(number, write));
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

fn canned_answer(canned: &Canned) -> Answer {
    let text = String::from_utf8_lossy(&canned.body).into_owned();
    let mut answer = Answer::new(canned.status, Author::Other, text);
    set(&mut answer.headers, &canned.headers);
    answer
}

fn set(headers: &mut HeaderMap, fields: &[(&'static str, String)]) {
    for (name, value) in fields {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            headers.insert(name, value);
        }
    }
}

/// Cuts or stalls the body as the faults say.
fn scripted(response: Response<Payload>, faults: &[Fault]) -> Response<Payload> {
    let plan = faults.iter().find_map(|fault| match fault {
        Fault::Truncate(after) => Some((*after, vec![Step::Break])),
        Fault::Stall(after, Some(time)) => Some((*after, vec![Step::Pause(*time)])),
        Fault::Stall(after, None) => Some((*after, vec![Step::Hang])),
        _ => None,
    });
    let Some((after, steps)) = plan else { return response };
    let Some(bytes) = response.body().bytes() else { return response };
    let after = after.min(bytes.len());
    let ends = matches!(steps[0], Step::Break | Step::Hang);
    let mut script = vec![Step::Data(bytes.slice(..after))];
    script.extend(steps);
    if !ends {
        script.push(Step::Data(bytes.slice(after..)));
    }
    script.retain(|step| !matches!(step, Step::Data(bytes) if bytes.is_empty()));
    response.map(|_| Payload::scripted(script))
}

impl State {
    /// Writes the call into the journal.
    fn arrive(&mut self, parts: &request::Parts) -> (u64, Duration) {
        let line = parts.extensions.get::<Line>().cloned().unwrap_or_default();
        let call = Call {
            number: 0,
            at: self.now,
            answered: None,
            method: parts.method.clone(),
            target: parts.uri.path_and_query().map_or("", |target| target.as_str()).to_owned(),
            host: host_of(parts),
            headers: redacted(&parts.headers),
            body: Bytes::new(),
            version: parts.version,
            connection: line.number,
            principal: None,
            token: None,
            status: None,
            applied: false,
            fault: None,
            throttled: None,
            retry_after: None,
        };
        (self.journal.open(call), self.now)
    }

    fn latency(&mut self) -> Duration {
        let (least, most) = (self.options.latency.least, self.options.latency.most);
        let spread = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(0);
        least + Duration::from_micros(self.random.below(spread + 1))
    }

    fn ask(&self, parts: &request::Parts, body: Bytes) -> Ask {
        let host = host_of(parts);
        let scheme = self.options.scheme.unwrap_or_else(|| if is_arm_name(&host) { "https" } else { "http" });
        Ask {
            method: parts.method.clone(),
            target: parts.uri.path_and_query().map_or("", |target| target.as_str()).to_owned(),
            address: Address::parse(parts.uri.path()).unwrap_or_default(),
            conditions: Conditions::of(&parts.headers),
            body,
            base: format!("{scheme}://{host}"),
            principal: String::new(),
            tenant: String::new(),
        }
    }
}

fn host_of(parts: &request::Parts) -> String {
    if let Some(authority) = parts.uri.authority() {
        return authority.to_string();
    }
    let host = parts.headers.get("host").and_then(|value| value.to_str().ok());
    host.unwrap_or("management.azure.com").to_owned()
}

/// ARM links with https wherever it is dialled; other hosts are this simulator's own address.
fn is_arm_name(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or("").to_ascii_lowercase();
    let names = ["management.azure.com", "management.chinacloudapi.cn", "management.usgovcloudapi.net"];
    names.iter().any(|own| name == *own || name.strip_suffix(own).is_some_and(|region| region.ends_with('.')))
}
