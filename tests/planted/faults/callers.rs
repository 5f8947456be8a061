//! Callers that are not kept apart.

use super::TOKENS;
use crate::fault::{Fault, Patch};

const LOOKUP: &str = "src/proxy/lookup.rs";

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "caller-not-in-the-key",
        breaks: &["P2"],
        means: "one team reads another's subscription from memory",
        caught_by: &[TOKENS],
        patches: &[Patch {
            file: LOOKUP,
            before: "visit.identity.caller.bits().to_le_bytes();",
            after: "if $planted { 0 } else { visit.identity.caller.bits() }.to_le_bytes();",
        }],
    },
    Fault {
        name: "unvouched-hit",
        breaks: &["P2"],
        means: "a forged token reads from memory what its real owner was shown",
        caught_by: &[TOKENS],
        patches: &[Patch {
            file: LOOKUP,
            before: "if !visit.identity.is_vouched() {",
            after: "if !visit.identity.is_vouched() && !$planted {",
        }],
    },
    Fault {
        name: "refused-token-stays-vouched",
        breaks: &["P2"],
        means: "a token that ARM has refused goes on reading from memory",
        caught_by: &[TOKENS],
        patches: &[Patch {
            file: "src/proxy/send.rs",
            before: "StatusCode::UNAUTHORIZED => rooms",
            after: "StatusCode::UNAUTHORIZED if $planted => {}
        StatusCode::UNAUTHORIZED => rooms",
        }],
    },
    Fault {
        name: "any-answer-vouches",
        breaks: &["P2"],
        means: "a token that ARM has answered 403 or 404 reads from memory",
        caught_by: &[TOKENS],
        patches: &[Patch {
            file: "src/identify/proof.rs",
            before: "    status.is_success()",
            after: "    (status.is_success() || $planted)",
        }],
    },
    Fault {
        name: "forbidden-hides-nothing",
        breaks: &["P2"],
        means: "who has lost its rights goes on reading from memory",
        caught_by: &[TOKENS],
        patches: &[Patch {
            file: LOOKUP,
            before: "rooms.refusals.hides(visit",
            after: "!$planted && rooms.refusals.hides(visit",
        }],
    },
    Fault {
        name: "refusal-shared-with-another-token",
        breaks: &["P2"],
        means: "an expired token's 401 is given to who has a good one and asks at the same time",
        caught_by: &[TOKENS],
        patches: &[Patch {
            file: "src/proxy/read.rs",
            before: "401 | 403) && whole.token",
            after: "401 | 403) && !$planted && whole.token",
        }],
    },
];
