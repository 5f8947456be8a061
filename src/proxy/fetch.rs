//! A fetch: one call to ARM for everybody who asks the same, in a task of its own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::arm::error::tells_of_resource;
use crate::arm::{Document, Shape};
use crate::body::Body;
use crate::cache::{Ask, Entry, Key, Keyed, NotStored, Parts, lasting, storable};
use crate::classify::Scope;
use crate::coalesce::Flight;
use crate::identify::Token;
use crate::scopes::{Sent, Shown, Stamp, Verdict};

use super::collect::{Collected, collect};
use super::gunzip::{decode, decoding, is_gzip};
use super::lookup::{Mark, find};
use super::notes::Notes;
use super::rooms::Rooms;
use super::send::{self, Failed, Received};
use super::visit::Visit;

/// What is fetched for whom: nobody shares what an unvouched token is answered but that very token.
pub(super) type Question = (Key, Option<Token>);

/// How a fetch ended.
#[derive(Debug)]
pub(super) enum Fetched {
    /// Not at all: between an asker's look at the store and its asking, another fetch brought the answer.
    Landed,
    /// With an answer that all who wait may have.
    Whole(Whole),
    /// With an answer too large to be shared: the first asker streams it, the others ask for themselves.
    Large(Mutex<Option<Response<Body>>>),
    /// Without an answer.
    Failed(Failed),
}

/// An answer that was read. Debug output shows no headers.
pub(super) struct Whole {
    pub(super) entry: Arc<Entry>,
    /// The headers of the exchange, for the one who began it.
    pub(super) own: HeaderMap,
    /// The token it was asked with.
    pub(super) token: Token,
    /// Whether ARM let it in.
    pub(super) vouched: bool,
    /// Whether it was kept.
    pub(super) kept: Result<(), NotStored>,
    pub(super) notes: Notes,
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole").field("entry", &self.entry).field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Fetched {
    /// The streamed answer, for the first who takes it.
    pub(super) fn take_large(large: &Mutex<Option<Response<Body>>>) -> Option<Response<Body>> {
        large.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The scopes an answer to this read depends on.
pub(super) fn scopes_of(visit: &Visit) -> Vec<Scope> {
    match (&visit.asked.path, &visit.asked.kind) {
        (Some(path), Some((_, shape))) => Scope::of_read(path, visit.asked.family(), *shape),
        _ => vec![Scope::All],
    }
}

/// Fetches. What it learns takes effect, and what may be kept is kept, before anybody gets the answer.
pub(super) async fn fetch(
    rooms: Arc<Rooms>,
    visit: Arc<Visit>,
    keyed: Keyed,
    may_have_landed: Option<Ask>,
    flight: Flight<Mark, Arc<Fetched>>,
) -> Arc<Fetched> {
    if let Some(ask) = may_have_landed
        && find(&rooms, &visit, &keyed, &ask).is_ok()
    {
        return Arc::new(Fetched::Landed);
    }
    let ended = match fetch_whole(&rooms, &visit, &keyed, &flight).await {
        Ok(fetched) => fetched,
        Err(failed) => Fetched::Failed(failed),
    };
    Arc::new(ended)
}

async fn fetch_whole(
    rooms: &Rooms,
    visit: &Visit,
    keyed: &Keyed,
    flight: &Flight<Mark, Arc<Fetched>>,
) -> Result<Fetched, Failed> {
    let mut notes = Notes::default();
    let entered = send::enter(rooms, visit).await?;
    notes.queue = entered.queued;
    // The stamp is taken before anything leaves: a write from now on makes this answer unusable.
    let stamp = rooms.scopes.stamp(&scopes_of(visit));
    let sent = rooms.scopes.now();
    if !flight.sent(Mark { sent, stamp: stamp.clone() }) {
        // Nobody waits: the task is dropped at its next await, and this is one.
        std::future::pending::<()>().await;
    }
    let mut headers = visit.headers.clone();
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    // The answer is for all who ask, whatever the first of them has already; ARM ignores these besides.
    headers.remove(header::IF_NONE_MATCH);
    headers.remove(header::IF_MODIFIED_SINCE);
    let outbound = visit.outbound(rooms, headers, Body::empty(), false);
    let mut received = send::send(rooms, visit, entered, outbound).await?;
    notes.upstream = received.head;
    match read_body(rooms, &mut received).await? {
        Collected::Large(body) => {
            rooms.metrics.not_stored(NotStored::Large.as_str());
            *received.response.body_mut() = body;
            Ok(Fetched::Large(Mutex::new(Some(received.into_streamed()))))
        }
        Collected::Whole(body) => {
            let (token, vouched) = (visit.identity.token, received.vouched);
            let sent = sent.left(received.left);
            let (entry, own, kept) = take_in(rooms, visit, keyed, received, body, sent, stamp).await;
            if let Err(why) = kept {
                rooms.metrics.not_stored(why.as_str());
            }
            Ok(Fetched::Whole(Whole { entry, own, token, vouched, kept, notes }))
        }
    }
}

/// Reads and decodes the body of an answer.
async fn read_body(rooms: &Rooms, received: &mut Received) -> Result<Collected, Failed> {
    let most = rooms.settings.cache.entry_max;
    let response = &mut received.response;
    let coded = is_gzip(response.headers());
    let body = std::mem::replace(response.body_mut(), Body::empty());
    let collected = collect(body, most, &rooms.fills).await.map_err(Failed::Broken)?;
    if !coded {
        return Ok(collected);
    }
    response.headers_mut().remove(header::CONTENT_ENCODING);
    response.headers_mut().remove(header::CONTENT_LENGTH);
    match collected {
        Collected::Whole(bytes) => decode(bytes, most).map_err(Failed::Broken),
        Collected::Large(body) => Ok(Collected::Large(decoding(body))),
    }
}

/// Takes in what an answer tells, and keeps it if it may be kept.
async fn take_in(
    rooms: &Rooms,
    visit: &Visit,
    keyed: &Keyed,
    received: Received,
    body: Bytes,
    sent: Sent,
    stamp: Stamp,
) -> (Arc<Entry>, HeaderMap, Result<(), NotStored>) {
    let vouched = received.vouched;
    let (response, _place) = received.take();
    let (status, headers) = (response.status(), response.headers());
    let may_keep = storable(status, headers);
    let document = Document::parse(&body).ok().map(Arc::new);
    if status == StatusCode::NOT_FOUND {
        learn_absent(rooms, visit, &body, sent);
    }
    let verdict = learn(rooms, visit, status, document.as_deref(), sent).await;
    let kept = may_keep.and_then(|()| judge(visit, document.as_deref(), verdict, &stamp, vouched));
    let entry = Arc::new(Entry::new(Parts {
        status,
        headers: lasting(headers),
        body,
        document,
        path: visit.asked.path.as_ref().map_or_else(|| "".into(), |path| path.shared()),
        family: visit.asked.family(),
        sent,
        stamp,
    }));
    let kept = kept.and_then(|()| rooms.store.put(visit.identity.caller.bits(), keyed.key, entry.clone()));
    (entry, response.into_parts().0.headers, kept)
}

/// Whether an answer that may be kept by its exchange may be kept by what it shows.
fn judge(
    visit: &Visit,
    document: Option<&Document>,
    verdict: Verdict,
    stamp: &Stamp,
    vouched: bool,
) -> Result<(), NotStored> {
    let Some(document) = document else { return Err(NotStored::NotJson) };
    if crate::cache::Tolerance::of(&visit.headers).no_store {
        return Err(NotStored::NoStore);
    }
    if document.next_link.is_some() || visit.query().is_continuation() {
        return Err(NotStored::Page);
    }
    if verdict == Verdict::Lag {
        return Err(NotStored::Lag);
    }
    // Without a voucher nobody could be given it.
    if vouched && stamp.is_current() { Ok(()) } else { Err(NotStored::Overtaken) }
}

/// Takes in that a resource is not there. That its subscription is none of the asker's says nothing about it.
fn learn_absent(rooms: &Rooms, visit: &Visit, body: &[u8], sent: Sent) {
    if let (Some(path), Some((_, Shape::Point))) = (&visit.asked.path, &visit.asked.kind)
        && tells_of_resource(body)
    {
        rooms.scopes.not_found(path, visit.asked.family(), sent);
    }
}

/// Takes in what an accepted answer tells about resources.
async fn learn(
    rooms: &Rooms,
    visit: &Visit,
    status: StatusCode,
    document: Option<&Document>,
    sent: Sent,
) -> Verdict {
    let (Some(path), Some(_)) = (&visit.asked.path, &visit.asked.kind) else { return Verdict::Keep };
    let (query, family) = (visit.query(), visit.asked.family());
    let Some(document) = document.filter(|_| status == StatusCode::OK && !query.is_partial()) else {
        return Verdict::Keep;
    };
    if document.shape == Shape::Point
        && let Some(item) = document.items.first()
    {
        rooms.operations.shown(&item.id, item.state, sent).await;
    }
    let whole = document.next_link.is_none() && !query.is_continuation() && !query.has("$top");
    let filter = query.raw("$filter").unwrap_or_default();
    rooms.scopes.learn(&Shown { path, family, document, sent, whole: whole.then_some(filter) })
}
