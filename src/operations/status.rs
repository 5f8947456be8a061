//! What the answer to a poll says about its operation (ARM RPC, asynchronous operations).

use serde::Deserialize;

use crate::arm::State;

use super::Named;

/// What a poll's answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// It is under way.
    Under,
    /// It ended.
    Ended {
        /// Whether it did what was asked.
        well: bool,
    },
    /// Nothing: the poll itself failed.
    Unsaid,
}

impl Progress {
    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Under => "under-way",
            Self::Ended { well: true } => "succeeded",
            Self::Ended { well: false } => "failed",
            Self::Unsaid => "unsaid",
        }
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    status: Option<std::borrow::Cow<'a, str>>,
    properties: Option<Properties<'a>>,
}

#[derive(Deserialize)]
struct Properties<'a> {
    #[serde(borrow, rename = "provisioningState")]
    provisioning_state: Option<std::borrow::Cow<'a, str>>,
}

/// Reads the answer to a poll.
#[must_use]
pub fn read(named: Named, status: u16, body: &[u8]) -> Progress {
    match status {
        202 => Progress::Under,
        200..=299 => {
            let body: Option<Body<'_>> = serde_json::from_slice(body).ok();
            let said = body.as_ref().and_then(|body| {
                let state =
                    body.properties.as_ref().and_then(|properties| properties.provisioning_state.as_deref());
                body.status.as_deref().or(state)
            });
            match said.map(State::of) {
                Some(State::InProgress) => Progress::Under,
                Some(State::Terminal) => {
                    Progress::Ended { well: said.is_some_and(|said| said.eq_ignore_ascii_case("succeeded")) }
                }
                // A missing state is success (ARM RPC); a status URL without a status says nothing.
                Some(State::Unknown) | None if named == Named::Location => Progress::Ended { well: true },
                Some(State::Unknown) | None => Progress::Unsaid,
            }
        }
        404 | 410 => Progress::Ended { well: false },
        401 | 403 | 408 | 429 => Progress::Unsaid,
        400..=499 if named == Named::Location => Progress::Ended { well: false },
        _ => Progress::Unsaid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_polls() {
        use Named::{AsyncOperation, Location};
        let ended = |well| Progress::Ended { well };
        let check = |named, status, body: &str, progress| {
            assert_eq!(read(named, status, body.as_bytes()), progress, "{named:?} {status} {body}");
        };
        check(AsyncOperation, 200, r#"{"status":"InProgress"}"#, Progress::Under);
        check(AsyncOperation, 200, r#"{"status":"Succeeded"}"#, ended(true));
        check(AsyncOperation, 200, r#"{"name":"x","status":"succeeded","properties":{}}"#, ended(true));
        check(
            AsyncOperation,
            200,
            r#"{"status":"Failed","error":{"code":"OperationPreempted"}}"#,
            ended(false),
        );
        check(AsyncOperation, 200, r#"{"status":"Canceled"}"#, ended(false));
        check(AsyncOperation, 200, "{}", Progress::Unsaid);
        check(AsyncOperation, 500, "", Progress::Unsaid);
        check(AsyncOperation, 409, "", Progress::Unsaid);
        check(AsyncOperation, 404, "", ended(false));
        check(Location, 202, "", Progress::Under);
        check(Location, 200, "", ended(true));
        check(Location, 204, "", ended(true));
        check(Location, 200, r#"{"properties":{"provisioningState":"Updating"}}"#, Progress::Under);
        check(Location, 409, "", ended(false));
        check(Location, 429, "", Progress::Unsaid);
        check(Location, 503, "", Progress::Unsaid);
    }
}
