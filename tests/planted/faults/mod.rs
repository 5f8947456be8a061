//! The faults, by what they are about.

mod ages;
mod callers;
mod news;
mod sharing;
mod writes;

use crate::fault::Fault;

const WHATEVER: &str = "http::they_hold_whatever_happens";
const VERSIONS: &str = "http::they_hold_where_many_write_the_same";
const TOKENS: &str = "http::they_hold_where_tokens_and_rights_come_and_go";
const LAG: &str = "http::they_hold_where_lists_lag";

pub(crate) fn all() -> Vec<&'static Fault> {
    [ages::FAULTS, callers::FAULTS, news::FAULTS, sharing::FAULTS, writes::FAULTS]
        .into_iter()
        .flatten()
        .collect()
}
