//! `src/proxy/fetch.rs`: one call to ARM for everybody who asks the same, in a task of its own.

use std::sync::Arc;

use armshield::arm::error::tells_of_resource;
use armshield::arm::{Document, Shape};
use armshield::cache::{Ask, Entry, Key, Keyed, NotStored, Parts, Tolerance, lasting, storable};
use armshield::classify::Scope;
use armshield::coalesce::Flight;
use armshield::identify::Token;
use armshield::scopes::{Sent, Shown, Stamp, Verdict};
use http::{HeaderMap, StatusCode};

use super::lookup::{Mark, find};
use super::send::{Received, send};
use super::{Visit, World};

/// What is fetched for whom. `Question` in `src/proxy/fetch.rs`.
pub type Together = (Key, Option<Token>);

/// How a fetch ended.
#[derive(Debug)]
pub enum Fetched {
    /// Another fetch brought the answer meanwhile.
    Landed,
    /// With an answer that all who wait may have.
    Whole(Whole),
    /// Without an answer.
    Failed,
}

/// An answer that was read.
#[derive(Debug)]
pub struct Whole {
    pub entry: Arc<Entry>,
    pub own: HeaderMap,
    pub token: Token,
    pub vouched: bool,
}

/// Which call brought an answer: every answer of this ARM says so.
pub fn number(entry: &Entry) -> usize {
    entry.parts.headers["x-call"].to_str().unwrap().parse().unwrap()
}

/// Fetches.
pub async fn fetch(
    world: Arc<World>,
    visit: Arc<Visit>,
    keyed: Keyed,
    may_have_landed: Option<Ask>,
    planned: usize,
    flight: Flight<Mark, Arc<Fetched>>,
) -> Arc<Fetched> {
    let mut call = Call { world: world.clone(), number: planned, finished: false };
    let landed = may_have_landed.is_some_and(|ask| find(&world, &visit, &keyed, &ask).is_ok());
    let ended =
        if landed { Fetched::Landed } else { fetch_whole(&world, &visit, &keyed, planned, &flight).await };
    call.finished = true;
    Arc::new(ended)
}

async fn fetch_whole(
    world: &World,
    visit: &Visit,
    keyed: &Keyed,
    planned: usize,
    flight: &Flight<Mark, Arc<Fetched>>,
) -> Fetched {
    world.pause("enters", visit).await;
    let stamp = world.scopes.stamp(&scopes_of(visit));
    world.reference().stamped(planned);
    world.pause("is stamped", visit).await;
    let sent = world.scopes.now();
    let mark = Mark { sent, stamp: stamp.clone() };
    if !flight.sent(mark.clone()) {
        std::future::pending::<()>().await;
    }
    world.reference().sent(planned, world.clock.now());
    world.marks.lock().unwrap().insert(planned, mark);
    match send(world, visit, planned).await {
        Some(received) => Fetched::Whole(take_in(world, visit, keyed, received, sent, stamp, planned).await),
        None => Fetched::Failed,
    }
}

/// The scopes an answer to this read depends on.
pub fn scopes_of(visit: &Visit) -> Vec<Scope> {
    match (&visit.asked.path, &visit.asked.kind) {
        (Some(path), Some((_, shape))) => Scope::of_read(path, visit.asked.family(), *shape),
        _ => vec![Scope::All],
    }
}

/// Takes in what an answer tells, and keeps it if it may be kept.
async fn take_in(
    world: &World,
    visit: &Visit,
    keyed: &Keyed,
    received: Received,
    sent: Sent,
    stamp: Stamp,
    planned: usize,
) -> Whole {
    let Received { status, headers, body, vouched } = received;
    let may_keep = storable(status, &headers);
    let document = Document::parse(&body).ok().map(Arc::new);
    if status == StatusCode::NOT_FOUND {
        learn_absent(world, visit, &body, sent);
    }
    let verdict = learn(world, visit, status, document.as_deref(), sent).await;
    {
        let (arm, mut reference) = (world.arm(), world.reference());
        reference.took_in(planned, &arm, world.clock.now());
    }
    world.pause("has learned", visit).await;
    let kept = may_keep.and_then(|()| judge(visit, document.as_deref(), verdict, &stamp, vouched));
    world.pause("is judged", visit).await;
    let entry = Arc::new(Entry::new(Parts {
        status,
        headers: lasting(&headers),
        body,
        document,
        path: visit.asked.path.as_ref().map_or_else(|| "".into(), |path| path.shared()),
        family: visit.asked.family(),
        sent,
        stamp,
    }));
    let kept = kept.and_then(|()| world.store.put(visit.identity.caller.bits(), keyed.key, entry.clone()));
    if kept.is_ok() {
        world.reference().kept(planned);
    }
    world.pause("is kept", visit).await;
    Whole { entry, own: headers, token: visit.identity.token, vouched }
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
    if Tolerance::of(&visit.headers).no_store {
        return Err(NotStored::NoStore);
    }
    if document.next_link.is_some() || visit.query().is_continuation() {
        return Err(NotStored::Page);
    }
    if verdict == Verdict::Lag {
        return Err(NotStored::Lag);
    }
    if vouched && stamp.is_current() { Ok(()) } else { Err(NotStored::Overtaken) }
}

/// Takes in that a resource is not there.
fn learn_absent(world: &World, visit: &Visit, body: &[u8], sent: Sent) {
    if let (Some(path), Some((_, Shape::Point))) = (&visit.asked.path, &visit.asked.kind)
        && tells_of_resource(body)
    {
        world.scopes.not_found(path, visit.asked.family(), sent);
    }
}

/// Takes in what an accepted answer tells about resources.
async fn learn(
    world: &World,
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
        world.operations.shown(&item.id, item.state, sent).await;
    }
    let whole = document.next_link.is_none() && !query.is_continuation() && !query.has("$top");
    let filter = query.raw("$filter").unwrap_or_default();
    world.scopes.learn(&Shown { path, family, document, sent, whole: whole.then_some(filter) })
}

/// A call to ARM under way: its task may be dropped.
struct Call {
    world: Arc<World>,
    number: usize,
    finished: bool,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.world.reference().over(self.number, self.finished);
        self.world.stage.stir();
    }
}
