//! What is noted of a request on its way, for its log line and the numbers.

use std::time::Duration;

use http::Response;

use crate::body::Body;
use crate::observe::Cache;

/// What is noted of a request on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Notes {
    pub(super) cache: Cache,
    pub(super) guard: Option<(&'static str, &'static str)>,
    pub(super) queue: Duration,
    pub(super) upstream: Duration,
    pub(super) refused: &'static str,
}

/// An answer with what is noted of it.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) response: Response<Body>,
    pub(super) notes: Notes,
}

impl Answered {
    pub(super) const fn new(response: Response<Body>, notes: Notes) -> Self {
        Self { response, notes }
    }
}
