//! Errors become answers here, in ARM's shape, saying what to do. Rooms never pick status codes.

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::admit::Closed;
use crate::arm::error::arm_error;
use crate::arm::headers::FAILURE_CAUSE;
use crate::body::Body;
use crate::identify::{Rated, Refused};
use crate::listen::Refusal;
use crate::upstream::{Kind, SendError};

/// An error of armshield in ARM's shape.
#[must_use]
pub fn refusal(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    let mut response = Response::new(Body::full(arm_error(code, message)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert(FAILURE_CAUSE, HeaderValue::from_static("armshield"));
    response
}

fn with(mut response: Response<Body>, name: HeaderName, value: u64) -> Response<Body> {
    response.headers_mut().insert(name, HeaderValue::from(value));
    response
}

/// `CONNECT` is not taken.
pub(super) fn connect() -> Response<Body> {
    refusal(
        StatusCode::METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "armshield does not open tunnels here: set it as the client's ARM endpoint instead",
    )
}

/// The request dialled no name of ours.
pub(super) fn misdialled(why: &Refusal) -> Response<Body> {
    let status = match why {
        Refusal::Misdirected { .. } => StatusCode::MISDIRECTED_REQUEST,
        Refusal::Plain => StatusCode::FORBIDDEN,
        Refusal::Coding => StatusCode::NOT_IMPLEMENTED,
        Refusal::NoHost | Refusal::TwoHosts | Refusal::Malformed | Refusal::Contradiction => {
            StatusCode::BAD_REQUEST
        }
    };
    refusal(status, code_of(status), &why.to_string())
}

/// The request cannot be said to come from anybody.
pub(super) fn unidentified(why: &Refused) -> Response<Body> {
    refusal(StatusCode::BAD_REQUEST, "BadRequest", &why.to_string())
}

/// A closed gate: ARM's shape of 429, with the seconds that remain.
pub(super) fn closed(closed: &Closed) -> Response<Body> {
    let seconds = closed.seconds();
    let message = format!(
        "ARM throttles {}; armshield sends no call to that budget before it may. Please try again after '{seconds}' seconds.",
        closed.budget
    );
    let response = refusal(StatusCode::TOO_MANY_REQUESTS, "SubscriptionRequestsThrottled", &message);
    with(response, header::RETRY_AFTER, seconds)
}

/// Too many of the peer's calls were refused for their tokens.
pub(super) fn rated(rated: &Rated) -> Response<Body> {
    let seconds = rated.retry_after.as_secs_f64().ceil().max(1.0);
    let response = refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", &rated.to_string());
    // At most the pace of the lane: a small number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
    with(response, header::RETRY_AFTER, seconds as u64)
}

/// ARM did not answer.
pub(super) fn unanswered(error: &SendError, writes: bool) -> Response<Body> {
    let status = match error.kind {
        Kind::HeadTimeout => StatusCode::GATEWAY_TIMEOUT,
        Kind::Unread => StatusCode::BAD_REQUEST,
        Kind::Dns | Kind::Connect | Kind::Tls | Kind::NeverSent | Kind::Lost => StatusCode::BAD_GATEWAY,
    };
    let outcome = match (writes, error.may_have_reached()) {
        (true, true) => " Whether ARM applied the write is not known: read the resource before trying again.",
        (true, false) => " The write was not sent.",
        (false, _) => "",
    };
    refusal(status, code_of(status), &format!("{error}.{outcome}"))
}

/// ARM's answer broke off before it was whole.
pub(super) fn broken(reason: &str) -> Response<Body> {
    refusal(StatusCode::BAD_GATEWAY, "BadGateway", &format!("ARM's answer broke off: {reason}."))
}

/// The client's own body broke off. Whoever left does not read this; who wrote bad chunks does.
pub(super) fn unread(reason: &str) -> Response<Body> {
    let message = format!("the request's body broke off: {reason}. ARM got no whole request.");
    refusal(StatusCode::BAD_REQUEST, "BadRequest", &message)
}

/// A write whose task ended before its answer.
pub(super) fn lost_write() -> Response<Body> {
    let message = "armshield lost the answer to this write. Whether ARM applied it is not known: read the resource before trying again.";
    refusal(StatusCode::BAD_GATEWAY, "BadGateway", message)
}

fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::MISDIRECTED_REQUEST => "MisdirectedRequest",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_IMPLEMENTED => "NotImplemented",
        StatusCode::BAD_GATEWAY => "BadGateway",
        StatusCode::GATEWAY_TIMEOUT => "GatewayTimeout",
        _ => "BadRequest",
    }
}

/// What `Cache-Status` says about an error of armshield, where its request was a GET.
pub(super) fn mark(headers: &mut HeaderMap, detail: &'static str) {
    let value = format!("armshield; fwd=bypass; detail={detail}");
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(crate::arm::headers::CACHE_STATUS, value);
    }
}
