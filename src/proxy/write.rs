//! A write: guarded, fenced, carried to its end though its client leaves, and its answer passed on only
//! when everything it made wrong has been dropped.

use std::sync::Arc;

use http::{HeaderValue, Method, Response, header};
use tokio::sync::oneshot;

use crate::arm::{ArmPath, Document, Shape, State, headers::GUARD};
use crate::body::Body;
use crate::classify::Touched;
use crate::guard::{self, Choice, Report, Source, is_guardable};
use crate::operations::Begun;
use crate::policy::GuardMode;
use crate::scopes::{Fence, Outcome, Sent, Shown};

use super::collect::{Collected, collect, peek, says_json};
use super::gunzip::is_gzip;
use super::notes::{Answered, Notes};
use super::rooms::Rooms;
use super::send::{self, Failed, Received};
use super::splice;
use super::visit::Visit;

/// Answers up to this size are read for what they show; others are streamed.
const READ: usize = 4 << 20;

/// Answers a write. It goes on in a task of its own, whoever leaves.
pub(super) async fn write(rooms: &Arc<Rooms>, visit: &Arc<Visit>, body: Body) -> Answered {
    let (answer, answered) = oneshot::channel();
    let (rooms, own) = (rooms.clone(), visit.clone());
    // A stop waits for writes whose clients are gone.
    let under_way = rooms.writes.guard();
    tokio::spawn(async move {
        // Who left gets no answer; everything else has happened.
        let _ = answer.send(carry(&rooms, &own, body).await);
        drop(under_way);
    });
    match answered.await {
        Ok(answered) => answered,
        Err(_) => {
            tracing::error!(path = visit.path(), "a write did not come to its end");
            let response = super::refuse::lost_write();
            Answered::new(response, Notes { refused: "unfinished", ..Notes::default() })
        }
    }
}

async fn carry(rooms: &Rooms, visit: &Visit, body: Body) -> Answered {
    let mut notes = Notes::default();
    let (body, choice) = match guarded(rooms, visit, body).await {
        Ok(guarded) => guarded,
        Err(failed) => return failed.answered(visit, notes),
    };
    let entered = match send::enter(rooms, visit).await {
        Ok(entered) => entered,
        Err(failed) => return failed.answered(visit, notes),
    };
    notes.queue = entered.queued;
    let mut headers = visit.headers.clone();
    if let Some(etag) = choice.as_ref().filter(|choice| choice.send).and_then(|choice| choice.etag.as_ref())
        && let Ok(condition) = HeaderValue::from_str(etag.as_str())
    {
        headers.insert(header::IF_MATCH, condition);
    }
    let touched = Touched::by(visit.asked.path.as_ref());
    let fence = match visit.identity.is_vouched() {
        true => rooms.scopes.fence(&touched).await,
        false => rooms.scopes.fence_at_answer(&touched).await,
    };
    let outbound = visit.outbound(rooms, headers, body, false);
    match send::send(rooms, visit, entered, outbound).await {
        Ok(received) => {
            notes.upstream = received.head;
            received_answer(rooms, visit, received, fence, choice, notes).await
        }
        Err(failed) => {
            let reached = match &failed {
                Failed::Unanswered(error) => error.may_have_reached(),
                Failed::Broken(_) => true,
                Failed::Closed(_) | Failed::Rated(_) | Failed::Unread(_) => false,
            };
            fence.lift(if reached { Outcome::Unknown } else { Outcome::NeverSent }).await;
            failed.answered(visit, notes)
        }
    }
}

/// Whether a rule asks for the guard of writes to this very resource.
fn is_ruled(visit: &Visit) -> bool {
    visit.asked.kind.as_ref().is_some_and(|(kind, shape)| {
        *shape == Shape::Point && visit.policy.rule(kind).is_some_and(|rule| rule.guard)
    })
}

/// Why a write is none for the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unruled {
    /// No rule asks for the guard of writes to this very resource.
    NoRule,
    /// The guard is off for this client.
    Off,
    /// It is no PUT or PATCH, or its api-version has no entity tags.
    NotGuardable,
}

/// The resource of a write that is for the guard, and what the guard may do.
pub(super) fn ruled(visit: &Visit) -> Result<(&ArmPath, GuardMode), Unruled> {
    let mode = visit.policy.guard_of(visit.profile());
    let path = visit.asked.path.as_ref().filter(|_| is_ruled(visit)).ok_or(Unruled::NoRule)?;
    if mode == GuardMode::Off {
        return Err(Unruled::Off);
    }
    let guardable = is_guardable(&visit.method, visit.query().api_version());
    if guardable { Ok((path, mode)) } else { Err(Unruled::NotGuardable) }
}

/// Chooses the condition of a write of `client`. No effects.
pub(super) fn choose(
    rooms: &Rooms,
    visit: &Visit,
    (path, mode): (&ArmPath, GuardMode),
    client: u128,
    body: Option<&[u8]>,
) -> Choice {
    let present = rooms.scopes.present(path);
    rooms.guard.choose(&guard::Write {
        client,
        method: &visit.method,
        path,
        api_version: visit.query().api_version(),
        headers: &visit.headers,
        body,
        window: visit.profile().base_window,
        mode,
        present: present.as_ref().map(|(life, etag)| (life, etag)),
    })
}

/// Reads the body of a write that is to be guarded, and chooses its condition.
async fn guarded(rooms: &Rooms, visit: &Visit, body: Body) -> Result<(Body, Option<Choice>), Failed> {
    let Ok(ruled) = ruled(visit) else { return Ok((body, None)) };
    // Slow bodies of strangers must not use up what the writes of others need to be guarded.
    let uploads = if visit.identity.is_vouched() { &rooms.uploads } else { &rooms.strangers };
    let (body, read) = match collect(body, rooms.guard.body_max(), uploads).await {
        Ok(Collected::Whole(bytes)) => (Body::full(bytes.clone()), Some(bytes)),
        // Too large to be judged: it goes out as it came.
        Ok(Collected::Large(body)) => (body, None),
        // The client left before it had said what to write.
        Err(error) => return Err(Failed::Unread(error)),
    };
    // A token that ARM has yet to let in changes nothing about whose write this is: if it is not who it
    // says, ARM refuses the write whatever its condition.
    let client = visit.identity.claimed_client().bits();
    let choice = choose(rooms, visit, ruled, client, read.as_deref());
    Ok((body, Some(choice)))
}

/// Takes in what the answer to a write says, then gives it.
async fn received_answer(
    rooms: &Rooms,
    visit: &Visit,
    received: Received,
    fence: Fence,
    choice: Option<Choice>,
    mut notes: Notes,
) -> Answered {
    let (proven, sent) = (received.vouched, received.left);
    let mut response = received.into_streamed();
    let status = response.status().as_u16();
    let document = read_shown(rooms, &mut response).await.map(Arc::new);
    let state = document
        .as_ref()
        .and_then(|document| document.items.first())
        .map_or(State::Unknown, |item| item.state);
    let begun = Begun::of(status, response.headers(), state);
    // Who has no rights drops nothing that others have.
    let refused_unproven = !visit.identity.is_vouched() && !proven && matches!(status, 401 | 403);
    let outcome = if refused_unproven { Outcome::NeverSent } else { Outcome::of(status, begun.any()) };
    let settling = fence.lift(outcome).await;
    if (200..300).contains(&status) {
        took_effect(rooms, visit, visit.client(proven), status, document.as_ref(), sent);
    }
    if begun.any() {
        let deletes = visit.method == Method::DELETE;
        let answered = rooms.scopes.now();
        rooms.operations.note(begun, settling, visit.asked.path.clone(), deletes, answered).await;
    }
    if let Some(choice) = choice {
        let choice = if proven { choice } else { choice.to_unproven() };
        notes.guard = Some(report(rooms, visit, choice, &mut response));
    }
    splice::headers(rooms, visit, response.headers_mut());
    Answered::new(response, notes)
}

/// Reads an answer that shows a resource, and puts it back as it came.
async fn read_shown(rooms: &Rooms, response: &mut Response<Body>) -> Option<Document> {
    let known = http_body::Body::size_hint(response.body()).exact().is_some_and(|size| size <= READ as u64);
    let coded = is_gzip(response.headers());
    if !says_json(response.headers()) || !(known || coded || response.headers().contains_key(header::ETAG)) {
        return None;
    }
    match peek(response, READ, &rooms.fills).await {
        Ok(body) => Document::parse(&body?).ok(),
        // The head has come, so the outcome is known; the client sees the body break off as it did.
        Err(error) => {
            *response.body_mut() = Body::broken(error);
            None
        }
    }
}

/// What a write that was accepted means for what is known and was shown.
fn took_effect(
    rooms: &Rooms,
    visit: &Visit,
    client: u128,
    status: u16,
    document: Option<&Arc<Document>>,
    sent: Sent,
) {
    let (Some(path), Some((kind, Shape::Point))) = (&visit.asked.path, &visit.asked.kind) else { return };
    let family = visit.asked.family();
    if visit.method == Method::DELETE {
        rooms.guard.end(client, path.as_str());
        // 202: it goes on existing until the operation ends.
        if status != 202 {
            rooms.scopes.deleted(path, family, rooms.scopes.now());
        }
        return;
    }
    let shows = visit.method == Method::PUT || visit.method == Method::PATCH;
    let Some(document) = document.filter(|document| shows && document.shape == Shape::Point) else { return };
    if visit.policy.rule(kind).is_none() {
        return;
    }
    // Lag or not, the answer to a write is not kept.
    let _ = rooms.scopes.learn(&Shown { path, family, document, sent, whole: None });
    if is_ruled(visit) {
        let question =
            guard::Question { key: crate::arm::document::hash(path.as_str()), path: &path.shared() };
        rooms.guard.show(&visit.viewer(client), &question, document);
    }
}

/// Says what the guard did, in header, log and numbers.
fn report(
    rooms: &Rooms,
    visit: &Visit,
    choice: Choice,
    response: &mut Response<Body>,
) -> (&'static str, &'static str) {
    let report = Report::new(choice, response.status().as_u16());
    response.headers_mut().insert(GUARD, report.header());
    let said = (report.choice.source.as_str(), report.outcome.as_str());
    let mode = visit.policy.guard_of(visit.profile());
    rooms.metrics.guarded(&visit.profile().name, said.0, said.1, mode.as_str());
    if report.outcome == guard::Outcome::Conflict && report.choice.source != Source::Client {
        tracing::info!(
            path = visit.path(),
            source = said.0,
            etag = report.choice.etag.as_ref().map(|etag| etag.as_str()),
            "somebody else changed what this write was built on"
        );
    }
    said
}
