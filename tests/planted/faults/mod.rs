//! The faults, by what they are about.

mod ages;
mod callers;
mod news;
mod sharing;
mod writes;

use crate::fault::Fault;

pub(crate) fn all() -> Vec<&'static Fault> {
    [ages::FAULTS, callers::FAULTS, news::FAULTS, sharing::FAULTS, writes::FAULTS]
        .into_iter()
        .flatten()
        .collect()
}
