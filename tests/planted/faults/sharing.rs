//! Writes without the right condition, and questions asked twice.

use super::{VERSIONS, WHATEVER};
use crate::fault::{Fault, Patch};

const GUARD: &str = "src/guard/mod.rs";

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "own-condition-replaced",
        breaks: &["P7"],
        means: "a client says which version it has changed, and another one is overwritten",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: GUARD,
            before: "if let Some(condition) = own_condition(write.headers) {",
            after: "if let Some(condition) = own_condition(write.headers).filter(|_| !$planted) {",
        }],
    },
    Fault {
        name: "deletes-guarded",
        breaks: &["P7"],
        means: "a deletion fails because somebody else has changed what is to go",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: GUARD,
            before: "(*method == Method::PUT || ",
            after: "(*method == Method::PUT || ($planted && *method == Method::DELETE) || ",
        }],
    },
    Fault {
        name: "own-write-forgets-what-was-shown",
        breaks: &["P7"],
        means: "a body built before the client's own last write undoes what others changed in between",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: "src/proxy/write.rs",
            before: "    if is_ruled(visit) {",
            after: "    if $planted {
        rooms.guard.end(client, path.as_str());
    }
    if is_ruled(visit) {",
        }],
    },
    Fault {
        name: "newer-answer-forgets-what-was-shown",
        breaks: &["P7"],
        means: "a body built on an older list undoes what others changed in between",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: "src/guard/memory.rs",
            before: "self.supersede(&former, document);",
            after: "if !$planted {
                self.supersede(&former, document);
            }",
        }],
    },
    Fault {
        name: "nobody-joins",
        breaks: &["P9"],
        means: "a hundred nodes that ask the same at once cost a hundred calls",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/proxy/lookup.rs",
            before: "else { return true };",
            after: "else { return !$planted };",
        }],
    },
];
