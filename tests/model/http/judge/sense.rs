//! Everybody is answered, in time, with what ARM said or with an error for which there is a reason.

use std::time::Duration;

use armshield::clock::Moment;

use super::knowledge::{Standing, standing};
use super::{Case, Told, p10_gates};
use crate::http::people::{Token, principal_of};
use crate::http::records::{Call, Fault, Request, What};
use crate::support::Answer;

/// Nobody waits longer where nothing stands still.
const LONGEST: Duration = Duration::from_secs(45);

/// What is wrong with how a read was answered with what ARM said.
pub fn told(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    let Told { question, call, answer, .. } = told;
    let maker = case.arm.request_of(call);
    if maker.question() != Some(*question) {
        return Some(format!("the answer to {}", maker.target));
    }
    if call.status != Some(answer.status) {
        return Some(format!("{}, and ARM said {:?}", answer.status, call.status));
    }
    let body = String::from_utf8_lossy(&call.body).replace("http://arm.test", "http://localhost:7788");
    if *answer.body != *body.as_bytes() {
        return Some(format!("P1: {}, and ARM said {body}", answer.text()));
    }
    if !told.own && maker.plan.fault == Fault::Varies && answer.status == 200 {
        return Some("it was for its asker alone".into());
    }
    if !told.own && answer.header("x-ms-request-id").is_some() {
        return Some("it repeats what is of one exchange".into());
    }
    let said = answer.cache();
    let fits = if told.own {
        !told.hit && !said.ends_with("collapsed")
    } else {
        told.hit || said.ends_with("collapsed")
    };
    (!fits).then(|| {
        format!("Cache-Status says {said}, and it was {}", if told.own { "its own" } else { "another's" })
    })
}

/// What is wrong with all else that was answered, or was not.
pub fn all(case: &Case<'_>) -> Vec<String> {
    let records = &case.arm.records;
    let mut wrong = Vec::new();
    for (id, request) in records.requests.iter().enumerate() {
        let calls: Vec<_> = records.calls.iter().filter(|call| call.request == id).collect();
        let said = match &request.answer {
            None if request.left.is_some() || calls.iter().any(|call| !call.whole) => continue,
            None => Some("it was not answered".to_owned()),
            Some(answer) => answered(case, id, request, &calls, answer),
        };
        wrong.extend(said.map(|why| {
            format!("sense: {why}\n    request {id} of step {}: {:?}", request.step, request.what)
        }));
    }
    wrong
}

fn answered(
    case: &Case<'_>,
    id: usize,
    request: &Request,
    calls: &[&Call],
    answer: &Answer,
) -> Option<String> {
    let took = answer.at.since(request.begun);
    let stalls = case.arm.records.calls.iter().any(|call| call.ended > call.answered);
    if took > LONGEST && !stalls {
        return Some(format!("it took {took:?}"));
    }
    if let Some((_, origin)) = case.arm.records.origin(answer) {
        if request.question().is_some() {
            return None;
        }
        let own = origin.request == id && origin.status == Some(answer.status);
        return (!own).then(|| format!("{} of request {}", answer.status, origin.request));
    }
    if answer.header("x-ms-failure-cause") != Some("armshield") {
        return Some(format!("{} {} is neither ARM's nor armshield's", answer.status, answer.text()));
    }
    let excused = match answer.status {
        429 => is_throttled(case, request, answer.at) || is_rated(case, request, answer.at),
        502 | 504 => has_failed(case, request, calls, answer.at),
        _ => false,
    };
    (!excused).then(|| format!("{} {} without a reason", answer.status, answer.text()))
}

/// Whether ARM has said to stop.
fn is_throttled(case: &Case<'_>, request: &Request, at: Moment) -> bool {
    case.arm.records.calls.iter().any(|call| {
        p10_gates::closes(case, call, request)
            .is_some_and(|closed| call.answered <= at && at <= call.answered + closed)
    })
}

/// Whether so many tokens that came from the same address were refused that those nobody knows have to wait.
fn is_rated(case: &Case<'_>, request: &Request, at: Moment) -> bool {
    let refused = case.arm.records.calls.iter().filter(|call| {
        let from = case.arm.request_of(call).stranger == request.stranger;
        from && call.status == Some(401)
            && call.answered <= at
            && at <= call.answered + Duration::from_secs(60)
    });
    standing(case.arm, request.token, request.begun) != Standing::Vouched && refused.count() >= 20
}

/// Whether the connection to ARM failed, for this request or for one that asked the same.
fn has_failed(case: &Case<'_>, request: &Request, calls: &[&Call], at: Moment) -> bool {
    let fails = |call: &Call| (call.status.is_none() || !call.whole) && call.ended == at;
    let shared = |call: &Call| {
        let other = case.arm.request_of(call);
        let same_token = |one: Token, other: Token| one.caller == other.caller;
        matches!(request.what, What::Read(_))
            && other.what == request.what
            && same_token(other.token, request.token)
            && principal_of(other.token.caller) == principal_of(request.token.caller)
    };
    calls.iter().any(|call| fails(call))
        || case.arm.records.calls.iter().any(|call| shared(call) && fails(call))
}
