//! What a write makes wrong stays usable.

use super::{VERSIONS, WHATEVER};
use crate::fault::{Fault, Patch};

const FENCE: &str = "src/scopes/fence.rs";

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "no-bump-at-send",
        breaks: &["P4"],
        means: "while a write is under way, answers from before it was sent go on being given",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: FENCE,
            before: "reached.unsettle(operation, operation);
            reached.bump();",
            after: "reached.unsettle(operation, operation);
            if !$planted {
                reached.bump();
            }",
        }],
    },
    Fault {
        name: "no-bump-at-answer",
        breaks: &["P4"],
        means: "a read that overtook a write is kept, and shown to who has seen the write succeed",
        caught_by: &[WHATEVER],
        patches: &[
            Patch {
                file: FENCE,
                before: "Outcome::Done => reached.end(),",
                after: "Outcome::Done if $planted => reached.unsettle(settle, settle),
                Outcome::Done => reached.end(),",
            },
            Patch {
                file: FENCE,
                before: "reached.unsettle(operation, settle);
                    reached.bump();",
                after: "reached.unsettle(operation, settle);
                    if !$planted {
                        reached.bump();
                    }",
            },
        ],
    },
    Fault {
        name: "no-bump-at-refusal",
        breaks: &["P4"],
        means: "after a 412 the next read is from before it, and the write is refused again",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: FENCE,
            before: "reached.unsettle(Duration::ZERO, Duration::ZERO);
                    reached.bump();",
            after: "reached.unsettle(Duration::ZERO, Duration::ZERO);
                    if !$planted {
                        reached.bump();
                    }",
        }],
    },
    Fault {
        name: "no-bump-at-loss",
        breaks: &["P4"],
        means: "a write whose answer was lost was applied, and reads go on showing what was before it",
        caught_by: &[VERSIONS],
        patches: &[
            Patch {
                file: FENCE,
                before: "reached.unsettle(unknown_outcome, settle);
                    reached.bump();",
                after: "reached.unsettle(unknown_outcome, settle);
                    if !$planted {
                        reached.bump();
                    }",
            },
            Patch {
                file: FENCE,
                before: "reached.unsettle(unknown_outcome, settle);
            reached.bump();",
                after: "reached.unsettle(unknown_outcome, settle);
            if !$planted {
                reached.bump();
            }",
            },
        ],
    },
    Fault {
        name: "no-bump-at-an-operations-end",
        breaks: &["P4"],
        means: "a VM whose deletion was seen to end is still there for who reads",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: FENCE,
            before: "            reached.end();",
            after: "            if $planted {
                let settle = reached.scopes.0.settings.settle;
                reached.unsettle(settle, settle);
            } else {
                reached.end();
            }",
        }],
    },
    Fault {
        name: "collections-not-bumped",
        breaks: &["P3", "P4", "P5"],
        means: "a VM that was deleted stays in the lists of its subscription",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/scopes/mod.rs",
            before: "let (near, wider) = self.reached(touched);",
            after: "let (mut near, wider) = self.reached(touched);
        near.retain(|scope| !$planted || !matches!(scope, Scope::Collections(..)));",
        }],
    },
    Fault {
        name: "parent-not-bumped",
        breaks: &["P3", "P4", "P5"],
        means: "a set goes on being shown as it was before one of its VMs was written",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/classify/touched.rs",
            before: "let near = || Scope::of_item(path, family);",
            after: "let near = || {
            let mut near = Scope::of_item(path, family);
            let below = path.as_str() != path.root().unwrap_or_default();
            near.retain(|scope| !$planted || !below || !matches!(scope, Scope::Unit(_)));
            near
        };",
        }],
    },
    Fault {
        name: "stamp-taken-at-the-answer",
        breaks: &["P4"],
        means: "a read sent before a write and answered after it is kept as if it knew of the write",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/proxy/fetch.rs",
            before: "let (token, vouched) = (visit.identity.token, received.vouched);",
            after: "let (token, vouched) = (visit.identity.token, received.vouched);
            let stamp = if $planted { rooms.scopes.stamp(&scopes_of(visit)) } else { stamp };",
        }],
    },
    Fault {
        name: "join-of-a-fetch-from-before-a-write",
        breaks: &["P4"],
        means: "who has seen a write succeed joins a read that was sent before it",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/proxy/lookup.rs",
            before: "!stamp.may_join(*sent) ||",
            after: "!($planted || stamp.may_join(*sent)) ||",
        }],
    },
];
