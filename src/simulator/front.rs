//! The way of a call: journal, faults, who may, how much, what for; and the headers of the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, request};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::Simulator;
use super::address::Address;
use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::etags::Conditions;
use super::faults::{Canned, Fault};
use super::journal::{Call, redacted};
use super::payload::{Payload, Step};
use super::state::State;
use super::throttle::{self, Charge, Charged};
use super::tokens::{Issued, Rejection};
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

    /// Lets the call in, or says why not.
    fn admit(&mut self, ask: &mut Ask, parts: &request::Parts, faults: &[Fault], number: u64) -> Answer {
        if let Some(answer) = self.open_answer(&ask.method, &ask.target, &ask.body, &ask.base) {
            return answer;
        }
        let caller = match self.caller(parts) {
            Ok(caller) => caller,
            Err(rejection) => return self.unauthorized(rejection),
        };
        if let Some(issued) = caller {
            self.journal.note(number, |call| {
                call.principal = Some(issued.object.clone());
                call.token = Some(issued.number);
            });
            if !self.tokens.allows(&issued.object, ask.path(), !is_read(&ask.method)) {
                return forbidden(ask, &issued);
            }
            ask.principal = issued.object;
            ask.tenant = issued.tenant;
        } else {
            ask.tenant.clone_from(&self.options.tenant);
        }
        let stamp = self.time.stamp();
        let exists = self.store.find(&ask.address.key()).is_some();
        let charge = Charge { method: &ask.method, address: &ask.address, principal: &ask.principal, exists };
        for fault in faults {
            match fault {
                Fault::Throttle(throttled, after) => {
                    self.journal.note(number, |call| call.throttled = Some(format!("{throttled:?}")));
                    return throttle::refuse(throttled, *after, &charge, &stamp);
                }
                Fault::Challenge => return challenge(),
                Fault::Unauthorized => return self.unauthorized(Rejection::Invalid),
                Fault::Forbidden => return forbidden(ask, &Issued::anonymous(&ask.principal)),
                _ => {}
            }
        }
        match self.throttle.charge(self.options.throttle.as_ref(), &charge, self.now, &stamp) {
            Charged::Refused { budget, answer } => {
                self.journal.note(number, |call| call.throttled = Some(budget));
                answer
            }
            Charged::Paid(headers) => {
                let mut answer = self.dispatch(ask);
                if answer.author != Author::Gateway {
                    for (name, value) in headers {
                        answer = answer.with(name, &value);
                    }
                }
                answer
            }
        }
    }

    fn caller(&self, parts: &request::Parts) -> Result<Option<Issued>, Rejection> {
        if !self.options.authenticate {
            return Ok(None);
        }
        let value = parts.headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or(""));
        self.tokens.admit(value, self.time.unix()).map(Some)
    }

    fn unauthorized(&self, rejection: Rejection) -> Answer {
        let (code, message) = match rejection {
            Rejection::Missing => (
                "AuthenticationFailed",
                "Authentication failed. The 'Authorization' header is missing.".to_owned(),
            ),
            Rejection::Invalid => ("InvalidAuthenticationToken", "The access token is invalid.".to_owned()),
            Rejection::Expired => (
                "ExpiredAuthenticationToken",
                format!(
                    "The access token expiry UTC time is earlier than current UTC time '{}'.",
                    self.time.stamp()
                ),
            ),
        };
        let challenge = format!(
            "Bearer authorization_uri=\"https://login.microsoftonline.com/{}\", error=\"invalid_token\", \
             error_description=\"{message}\"",
            self.options.tenant
        );
        answers::gateway(401, code, &message).with("www-authenticate", &challenge)
    }

    /// The head that ARM and the providers put on every answer, as recorded.
    fn seal(&mut self, parts: &request::Parts, ask: &Ask, answer: Answer) -> Response<Payload> {
        let Answer { status, author, headers, body, .. } = answer;
        let mut response = Response::new(Payload::empty());
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut add = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().append(HeaderName::from_static(name), value);
            }
        };
        add("cache-control", "no-cache");
        add("pragma", "no-cache");
        if !body.is_empty() {
            add("content-type", "application/json; charset=utf-8");
        }
        add("expires", "-1");
        let request_id = self.random.guid();
        let own = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        if author == Author::Gateway {
            add("x-ms-failure-cause", "gateway");
        } else {
            let region = &self.options.location;
            let tenant = &ask.tenant;
            let object = if ask.principal.is_empty() { "anonymous" } else { &ask.principal };
            add(
                "x-ms-operation-identifier",
                &format!("tenantId={tenant},objectId={object}/{region}/{}", self.random.guid()),
            );
        }
        if matches!(author, Author::Compute | Author::Merged) {
            add("x-ms-need-to-refresh-epl-cache", "False");
        }
        if author == Author::Merged {
            add("x-ms-original-request-ids", &self.random.guid());
        }
        add("x-ms-request-id", &request_id);
        add("x-ms-correlation-request-id", own("x-ms-correlation-request-id").unwrap_or(&request_id));
        let routing = format!(
            "{}:{}:{request_id}",
            self.options.location.to_ascii_uppercase(),
            self.time.compact_stamp()
        );
        add("x-ms-routing-request-id", &routing);
        if own("x-ms-return-client-request-id").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            && let Some(id) = own("x-ms-client-request-id")
        {
            add("x-ms-client-request-id", id);
        }
        add("strict-transport-security", "max-age=31536000; includeSubDomains");
        add("x-content-type-options", "nosniff");
        add("x-cache", "CONFIG_NOCACHE");
        add("x-msedge-ref", &format!("Ref A: {}", self.random.guid().replace('-', "").to_ascii_uppercase()));
        let date = std::time::UNIX_EPOCH + Duration::from_secs(self.time.unix());
        add("date", &httpdate::fmt_http_date(date));
        let gzip = self.options.gzip && own("accept-encoding").is_some_and(|value| value.contains("gzip"));
        let bytes = if gzip && !body.is_empty() {
            add("content-encoding", "gzip");
            add("vary", "Accept-Encoding");
            compress(body.as_bytes())
        } else {
            Bytes::from(body)
        };
        if status != 204 {
            add("content-length", &bytes.len().to_string());
        }
        // What the call itself asked for comes last and replaces the usual.
        for name in headers.keys() {
            response.headers_mut().remove(name);
        }
        response.headers_mut().extend(headers);
        if parts.method != Method::HEAD && status != 204 {
            *response.body_mut() = Payload::full(bytes);
        }
        response
    }
}

fn compress(bytes: &[u8]) -> Bytes {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map(Bytes::from).unwrap_or_default()
}

const fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
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

fn forbidden(ask: &Ask, caller: &Issued) -> Answer {
    let verb = match ask.method {
        Method::GET | Method::HEAD => "read",
        Method::DELETE => "delete",
        Method::POST => "action",
        _ => "write",
    };
    let message = format!(
        "The client '{}' with object id '{}' does not have authorization to perform action '{}/{verb}' over scope \
         '{}' or the scope is invalid. If access was recently granted, please refresh your credentials.",
        caller.app,
        caller.object,
        ask.address.kind(),
        ask.address.id()
    );
    answers::gateway(403, "AuthorizationFailed", &message)
}

/// Continuous access evaluation wants another token.
fn challenge() -> Answer {
    let claims = "eyJhY2Nlc3NfdG9rZW4iOnsibmJmIjp7ImVzc2VudGlhbCI6dHJ1ZSwidmFsdWUiOiIxNzgwMDAwMDAwIn19fQ==";
    let value = format!(
        "Bearer realm=\"\", authorization_uri=\"https://login.microsoftonline.com/common/oauth2/authorize\", \
         error=\"insufficient_claims\", claims=\"{claims}\""
    );
    answers::gateway(401, "InvalidAuthenticationToken", "The access token has been revoked.")
        .with("www-authenticate", &value)
}
