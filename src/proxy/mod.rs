//! The journey of a request, and the rooms it passes.
//!
//! `journey` dispatches; `read`, `write`, `poll` and `pass` are one async function each over a plain struct
//! of rooms, because each step needs the value of the step before. Rooms do not call each other: what one
//! says to another is said here.

mod account;
mod answer;
mod collect;
mod discovery;
pub mod explain;
mod fetch;
mod gunzip;
mod journey;
mod lookup;
mod notes;
mod pass;
mod poll;
mod purge;
mod read;
mod refuse;
mod rooms;
mod route;
mod send;
mod shadow;
mod splice;
mod visit;
mod write;

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use crate::body::Body;
use crate::identify;
use crate::listen::{Connection, Handler};

pub use purge::NotPurged;
pub use refuse::refusal;
pub use rooms::{Parts, Rooms, Settings, Unbuilt};

/// Answers requests.
#[derive(Debug, Clone)]
pub struct Proxy(Arc<Rooms>);

impl Proxy {
    /// A proxy of these rooms.
    #[must_use]
    pub const fn new(rooms: Arc<Rooms>) -> Self {
        Self(rooms)
    }

    /// The rooms, for those who look at them from outside.
    #[must_use]
    pub const fn rooms(&self) -> &Arc<Rooms> {
        &self.0
    }
}

impl Handler for Proxy {
    type Memory = identify::Memory;

    async fn handle(
        &self,
        request: Request<Incoming>,
        connection: Arc<Connection<identify::Memory>>,
    ) -> Response<Body> {
        journey::answer(&self.0, request.map(Body::stream), &connection).await
    }
}
