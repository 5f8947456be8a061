//! P10, stop when told: after a 429 nothing is sent to that budget before it may.

use std::time::Duration;

use super::Case;
use super::knowledge::{Standing, standing};
use crate::http::people::principal_of;
use crate::http::records::{Call, Fault, Request};

/// How long a 429 closes the budget it names, and for whom.
pub fn closes(case: &Case<'_>, throttled: &Call, request: &Request) -> Option<Duration> {
    let drawn = case.arm.request_of(throttled);
    let Fault::Throttled { by_compute, seconds } = drawn.plan.fault else { return None };
    if throttled.status != Some(429) {
        return None;
    }
    let by_compute = by_compute && !drawn.path().contains("Microsoft.Network");
    let reaches = match by_compute {
        true => drawn.class() == request.class(),
        false => {
            let standing = standing(case.arm, drawn.token, drawn.begun);
            drawn.bucket() == request.bucket()
                && in_subscription(drawn) == in_subscription(request)
                && principal_of(drawn.token.caller) == principal_of(request.token.caller)
                && (standing == Standing::Vouched || drawn.token == request.token)
        }
    };
    reaches.then(|| Duration::from_secs(seconds))
}

fn in_subscription(request: &Request) -> bool {
    request.path().starts_with("/subscriptions")
}

pub fn calls(case: &Case<'_>) -> Vec<String> {
    let calls = &case.arm.records.calls;
    let mut wrong = Vec::new();
    for throttled in calls.iter().filter(|call| call.status == Some(429)) {
        for call in calls {
            let request = case.arm.request_of(call);
            let Some(closed) = closes(case, throttled, request) else { continue };
            // Compute counts writes by the resource.
            let by_class =
                request.bucket() == "read" || request.target == case.arm.request_of(throttled).target;
            if by_class && throttled.answered < call.at && call.at < throttled.answered + closed {
                wrong.push(format!(
                    "P10: request {} of step {} was sent at {:?}, and request {} was throttled at {:?}",
                    call.request, request.step, call.at, throttled.request, throttled.answered
                ));
            }
        }
    }
    wrong
}
