//! Which way a request goes, decided by what it is before anything is done.

use http::{Method, header};

use crate::classify::Intent;
use crate::policy::Mode;

use super::rooms::Rooms;
use super::visit::Visit;

/// The way of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Answered from memory, naming the name dialled.
    Discovery,
    /// Guarded, fenced, carried to its end.
    Write,
    /// Passed, and read for what it says about its operation.
    Poll,
    /// Passed, for this reason.
    Pass(&'static str),
    /// Answered from memory, or by a fetch that many share.
    Read,
}

impl Route {
    /// The word used for people.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Discovery => "discovery",
            Self::Write => "write",
            Self::Poll => "poll",
            Self::Pass(_) => "pass",
            Self::Read => "read",
        }
    }
}

/// The way of a request with or without a body.
pub(super) fn route(rooms: &Rooms, visit: &Visit, has_body: bool) -> Route {
    match visit.asked.intent {
        Intent::Discovery => Route::Discovery,
        // A write drops what it made wrong in every mode: others may be in another one.
        Intent::Write => Route::Write,
        Intent::Poll => Route::Poll,
        _ if visit.method == Method::GET && visit.is_poll(rooms) => Route::Poll,
        Intent::Pass => Route::Pass("no-rule"),
        Intent::Read if visit.mode == Mode::Pass => Route::Pass("pass"),
        // A part of an answer, or an answer to a body, is nothing to keep.
        Intent::Read if visit.headers.contains_key(header::RANGE) => Route::Pass("range"),
        Intent::Read if has_body => Route::Pass("body"),
        Intent::Read => Route::Read,
    }
}
