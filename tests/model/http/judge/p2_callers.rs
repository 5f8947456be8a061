//! P2, callers apart: no cached byte reaches a caller that ARM has not itself let in.

use super::knowledge::{Standing, standing};
use super::{Case, Told};
use crate::http::places::is_at_or_below;

pub fn told(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    let Told { request, call, answer, .. } = told;
    let maker = case.arm.request_of(call);
    if maker.token.caller != request.token.caller {
        return Some(format!("P2: made for caller {}", maker.token.caller));
    }
    let standing = standing(case.arm, request.token, request.begun);
    let token = request.token;
    if standing == Standing::Unvouched && (told.hit || maker.token != token) {
        return Some(format!("P2: {token:?} was not let in, and got what {:?} was answered", maker.token));
    }
    if maker.token != token && matches!(answer.status, 401 | 403) {
        return Some(format!("P2: a refusal of {:?}", maker.token));
    }
    let hidden = case.arm.records.calls.iter().find(|refusal| {
        let refused = case.arm.request_of(refusal);
        refusal.status == Some(403)
            && refused.token.caller == token.caller
            && call.at < refusal.answered
            && refusal.answered < request.begun
            && is_at_or_below(request.path(), refused.path())
            && super::knowledge::standing(case.arm, refused.token, refused.begun) == Standing::Vouched
    });
    hidden.map(|refusal| {
        format!(
            "P2: from {:?}, before a 403 at {:?} to request {}",
            call.at, refusal.answered, refusal.request
        )
    })
}
