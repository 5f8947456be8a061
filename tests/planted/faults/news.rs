//! Steps back.

use super::{LAG, VERSIONS, WHATEVER};
use crate::fault::{Fault, Patch};

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "news-ignored",
        breaks: &["P6"],
        means: "a list that shows a VM's new version is followed by a read of the VM that shows the old one",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: "src/scopes/news.rs",
            before: "for (meaning, scopes) in raised {",
            after: "for (meaning, scopes) in raised.into_iter().filter(|_| !$planted) {",
        }],
    },
    Fault {
        name: "absence-ignored",
        breaks: &["P6"],
        means: "a VM that is not there any more is there again in the next list",
        caught_by: &[WHATEVER],
        patches: &[Patch {
            file: "src/proxy/fetch.rs",
            before: "if status == StatusCode::NOT_FOUND {",
            after: "if status == StatusCode::NOT_FOUND && !$planted {",
        }],
    },
    Fault {
        name: "lag-stored",
        breaks: &["P6"],
        means: "a list of ARM's that lags is repeated after it has caught up",
        caught_by: &[LAG],
        patches: &[Patch {
            file: "src/proxy/fetch.rs",
            before: "if verdict == Verdict::Lag {",
            after: "if verdict == Verdict::Lag && !$planted {",
        }],
    },
    Fault {
        name: "join-of-a-fetch-from-before-news",
        breaks: &["P6"],
        means: "a read joins one whose answer is older than what armshield has shown since it was sent",
        caught_by: &[VERSIONS],
        patches: &[Patch {
            file: "src/scopes/stamp.rs",
            before: "!state.is_before_news(sent)",
            after: "($planted || !state.is_before_news(sent))",
        }],
    },
];
