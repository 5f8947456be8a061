//! A poll: passed, and read on its way back for what it says about its operation.

use std::sync::Arc;

use crate::body::Body;
use crate::observe::Cache;
use crate::operations::{Progress, read};
use crate::policy::Family;

use super::collect::peek;
use super::notes::{Answered, Notes};
use super::rooms::Rooms;
use super::visit::Visit;
use super::{answer, send, splice};

/// How much of a poll's answer is read; a final result can be a resource.
const STATUS: usize = 4 << 20;

/// Passes a poll. What it tells takes effect before its answer is passed on.
pub(super) async fn poll(rooms: &Arc<Rooms>, visit: &Visit, body: Body) -> Answered {
    let mut notes = Notes { cache: Cache::Bypass("poll"), ..Notes::default() };
    let entered = match send::enter(rooms, visit).await {
        Ok(entered) => entered,
        Err(failed) => return failed.answered(visit, notes),
    };
    notes.queue = entered.queued;
    let known = rooms.operations.polled(visit.target.as_str());
    let outbound = visit.outbound(rooms, visit.headers.clone(), body, false);
    let received = match send::send(rooms, visit, entered, outbound).await {
        Ok(received) => received,
        Err(failed) => return failed.answered(visit, notes),
    };
    notes.upstream = received.head;
    let mut response = received.into_streamed();
    if let Some((operation, named)) = known {
        let status = response.status().as_u16();
        let progress = match peek(&mut response, STATUS, &rooms.fills).await {
            // One too large to be a status is none.
            Ok(body) => read(named, status, &body.unwrap_or_default()),
            Err(error) => return send::Failed::Broken(error).answered(visit, notes),
        };
        if let Progress::Ended { well } = progress {
            rooms.metrics.operation_ended(progress.as_str());
            if let (true, true, Some(path)) = (well, operation.deletes, &operation.path) {
                let family = path.resource().map_or(Family::Other, |(kind, _)| Family::of(&kind));
                rooms.scopes.deleted(path, family, operation.begun);
            }
        }
        rooms.operations.answered(&operation, progress).await;
    }
    splice::headers(rooms, visit, response.headers_mut());
    answer::status(response.headers_mut(), "armshield; fwd=bypass; detail=poll");
    Answered::new(response, notes)
}
