//! Bounds of age that do not hold.

use super::WHATEVER;
use crate::fault::{Fault, Patch};

const AGE: &str = "src/cache/age.rs";

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "profiles-age-ignored",
        breaks: &["P5"],
        means: "the cloud-controller-manager deletes the Nodes of VMs that are not in a list of 30 s ago",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: AGE,
            before: "Some((Bound::Profile, self.profile_age)),",
            after: "(!$planted).then_some((Bound::Profile, self.profile_age)),",
        }],
    },
    Fault {
        name: "unsettled-ignored",
        breaks: &["P5"],
        means: "while a change is under way its states stand still for a quarter of a minute",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: AGE,
            before: "unsettled.then_some((",
            after: "(unsettled && !$planted).then_some((",
        }],
    },
    Fault {
        name: "repeat-ignored",
        breaks: &["P5"],
        means: "the autoscaler, which keeps a cache itself, asks for news and is given what it has",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: AGE,
            before: "repeated.then_some((",
            after: "(repeated && !$planted).then_some((",
        }],
    },
    Fault {
        name: "no-cache-ignored",
        breaks: &["P5"],
        means: "who asks for an answer of now is given one of a while ago",
        caught_by: &[WHATEVER],
        patches: &[
            Patch {
                file: AGE,
                before: "    if ask.tolerance.no_cache {",
                after: "    if ask.tolerance.no_cache && !$planted {",
            },
            Patch {
                file: "src/proxy/lookup.rs",
                before: "if ask.tolerance.no_cache",
                after: "if ask.tolerance.no_cache && !$planted",
            },
        ],
    },
    Fault {
        name: "join-without-a-bound-of-age",
        breaks: &["P5"],
        means: "a read waits for the answer to a question that was sent half a minute ago",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/proxy/lookup.rs",
            before: "now.since(sent.at) <= bound",
            after: "$planted || now.since(sent.at) <= bound",
        }],
    },
];
