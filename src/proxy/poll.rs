//! A poll: passed, and read on its way back for what it says about its operation.

use std::sync::Arc;

use http::Response;

use crate::body::Body;
use crate::observe::Cache;
use crate::operations::{Progress, read};
use crate::policy::Family;
use crate::upstream::hop;

use super::collect::{Collected, collect, decode, is_gzip};
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
    let known = rooms.operations.polled(&visit.target);
    let outbound = visit.outbound(rooms, visit.headers.clone(), body, false);
    let received = match send::send(rooms, visit, entered, outbound).await {
        Ok(received) => received,
        Err(failed) => return failed.answered(visit, notes),
    };
    notes.upstream = received.head;
    let mut response = received.into_streamed();
    if let Some((operation, named)) = known {
        let status = response.status().as_u16();
        let progress = match read_status(rooms, &mut response).await {
            Ok(body) => read(named, status, &body),
            Err(error) => return send::Failed::Broken(error).answered(visit, notes),
        };
        if let Progress::Ended { well } = progress {
            rooms.metrics.operation_ended(progress.as_str());
            if let (true, true, Some(path)) = (well, operation.deletes, &operation.path) {
                let family = path.resource().map_or(Family::Other, |(kind, _)| Family::of(&kind));
                rooms.scopes.deleted(path, family, rooms.scopes.now());
            }
        }
        rooms.operations.answered(&operation, progress).await;
    }
    hop::strip(response.headers_mut());
    splice::headers(rooms, visit, response.headers_mut());
    answer::status(response.headers_mut(), "armshield; fwd=bypass; detail=poll");
    Answered::new(response, notes)
}

/// Reads the body of a poll's answer and puts it back as it came. One too large to be a status is none.
async fn read_status(
    rooms: &Rooms,
    response: &mut Response<Body>,
) -> Result<bytes::Bytes, crate::body::BodyError> {
    let body = std::mem::replace(response.body_mut(), Body::empty());
    match collect(body, STATUS, &rooms.fills).await? {
        Collected::Whole(bytes) => {
            *response.body_mut() = Body::full(bytes.clone());
            match is_gzip(response.headers()).then(|| decode(bytes.clone(), STATUS)) {
                Some(Ok(Collected::Whole(plain))) => Ok(plain),
                _ => Ok(bytes),
            }
        }
        Collected::Large(body) => {
            *response.body_mut() = body;
            Ok(bytes::Bytes::new())
        }
    }
}
