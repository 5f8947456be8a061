//! Who may, and how much: tokens, rights, budgets.

use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{Method, request};

use super::answers::{self, Answer, Author};
use super::ask::Ask;
use super::faults::Fault;
use super::refusals;
use super::state::State;
use super::throttle::{Charge, Charged};
use super::tokens::{Issued, Rejection};

impl State {
    /// Lets the call in, or says why not.
    pub(crate) fn admit(
        &mut self,
        ask: &mut Ask,
        parts: &request::Parts,
        faults: &[Fault],
        number: u64,
    ) -> Answer {
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
                    let answer = refusals::refuse(throttled, *after, &charge, &stamp);
                    self.note_refusal(number, format!("{throttled:?}"), &answer);
                    return answer;
                }
                Fault::Challenge => return challenge(),
                Fault::Unauthorized => return self.unauthorized(Rejection::Invalid),
                Fault::Forbidden => return forbidden(ask, &Issued::anonymous(&ask.principal)),
                _ => {}
            }
        }
        match self.throttle.charge(self.options.throttle.as_ref(), &charge, self.now, &stamp) {
            Charged::Refused { budget, answer } => {
                self.note_refusal(number, budget, &answer);
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

    fn note_refusal(&mut self, number: u64, budget: String, answer: &Answer) {
        let told = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        self.journal.note(number, |call| (call.throttled, call.retry_after) = (Some(budget), told));
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
}

const fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
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
