//! `src/proxy/write.rs`: guarded, fenced, carried to its end, and its answer passed on only when everything it
//! made wrong has been dropped.

use std::sync::Arc;

use armshield::arm::{ArmPath, Document, Shape, State};
use armshield::classify::Touched;
use armshield::guard::{self, Choice, is_guardable};
use armshield::operations::Begun;
use armshield::policy::GuardMode;
use armshield::scopes::{Fence, Outcome, Sent, Shown};
use bytes::Bytes;
use http::{Method, header};

use super::send::{Received, receive};
use super::{Visit, World};
use crate::rooms::arm::{Answered, Wanted};
use crate::rooms::reference::{Ending, Guarded, Settles, Telling, Tick};
use crate::rooms::stage::Fate;
use crate::rooms::table::{SET, Target};

/// What a client writes: what ARM is to do with it, and what the body says it was built on.
#[derive(Debug, Clone)]
pub struct Write {
    pub wanted: Wanted,
    pub stated: Option<String>,
}

impl Write {
    fn body(&self) -> Bytes {
        self.stated
            .as_ref()
            .map_or_else(|| "{}".into(), |etag| serde_json::json!({"etag": etag}).to_string().into())
    }
}

/// Answers a write.
pub async fn write(world: Arc<World>, visit: Arc<Visit>, mut write: Write) {
    world.pause("is read", &visit).await;
    let choice = guarded(&world, &visit, &write);
    world.pause("is guarded", &visit).await;
    if let Some(etag) = choice.as_ref().filter(|choice| choice.send).and_then(|choice| choice.etag.as_ref()) {
        write.wanted.if_match = Some(etag.as_str().to_owned());
    }
    let touched = Touched::by(visit.asked.path.as_ref());
    let vouched = visit.identity.is_vouched();
    let uniform = world.reference().is_known(SET);
    let fence = match vouched {
        true => world.scopes.fence(&touched).await,
        false => world.scopes.fence_at_answer(&touched).await,
    };
    let settles = world.reference().write_sent(write.wanted.target, uniform, vouched, world.clock.now());
    let sent = world.scopes.now();
    let lost = |reached| {
        if reached { (Outcome::Unknown, Ending::Unknown) } else { (Outcome::NeverSent, Ending::Never) }
    };
    if world.pause("is sent", &visit).await == Fate::Lost {
        return give_up(&world, &visit, fence, settles, lost(false)).await;
    }
    let answered = world.arm().write(&visit.who(&world), &write.wanted);
    if world.pause("was applied", &visit).await == Fate::Lost {
        return give_up(&world, &visit, fence, settles, lost(true)).await;
    }
    world.reference().heard(settles);
    let brought = answered.clone();
    let received = receive(&world, &visit, answered, false).await;
    received_answer(&world, &visit, &write, received, fence, (sent, settles), &brought).await;
}

/// There was no answer.
async fn give_up(world: &World, visit: &Visit, fence: Fence, settles: Settles, lost: (Outcome, Ending)) {
    let (outcome, ending) = lost;
    world.reference().heard(settles);
    fence.lift(outcome).await;
    world.reference().write_lifted(settles, ending, world.clock.now());
    world.pause("is lifted", visit).await;
    world.reference().write_answered(settles, ending);
}

fn is_ruled(visit: &Visit) -> bool {
    visit.asked.kind.as_ref().is_some_and(|(kind, shape)| {
        *shape == Shape::Point && visit.policy.rule(kind).is_some_and(|rule| rule.guard)
    })
}

/// The resource of a write that is for the guard, and what the guard may do.
fn ruled(visit: &Visit) -> Option<(&ArmPath, GuardMode)> {
    let mode = visit.policy.guard_of(visit.profile());
    let path = visit.asked.path.as_ref().filter(|_| is_ruled(visit))?;
    if mode == GuardMode::Off {
        return None;
    }
    is_guardable(&visit.method, visit.query().api_version()).then_some((path, mode))
}

/// Chooses the condition of a write of `client`.
fn choose(
    world: &World,
    visit: &Visit,
    (path, mode): (&ArmPath, GuardMode),
    client: u128,
    body: Option<&[u8]>,
) -> Choice {
    let present = world.scopes.present(path);
    world.guard.choose(&guard::Write {
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

/// Chooses the condition of a write that is to be guarded.
fn guarded(world: &World, visit: &Visit, write: &Write) -> Option<Choice> {
    let ruled = ruled(visit)?;
    let client = visit.identity.claimed_client().bits();
    let choice = choose(world, visit, ruled, client, Some(&write.body()));
    if let Target::Thing(thing) = write.wanted.target {
        let own = visit.headers.get(header::IF_MATCH).or_else(|| visit.headers.get(header::IF_NONE_MATCH));
        let own = own.map(|value| value.to_str().unwrap());
        let stated = write.stated.as_deref();
        let asked = Guarded { person: visit.person, thing, method: &visit.method, own, stated };
        let (arm, mut reference) = (world.arm(), world.reference());
        reference.chose(&asked, &choice, &arm, world.clock.now());
    }
    Some(choice)
}

/// Takes in what the answer to a write says, then gives it.
async fn received_answer(
    world: &World,
    visit: &Visit,
    write: &Write,
    received: Received,
    fence: Fence,
    (sent, settles): (Sent, Settles),
    brought: &Answered,
) {
    let proven = received.vouched;
    let status = received.status.as_u16();
    let document = Document::parse(&received.body).ok().map(Arc::new);
    let state = document
        .as_ref()
        .and_then(|document| document.items.first())
        .map_or(State::Unknown, |item| item.state);
    let begun = Begun::of(status, &received.headers, state);
    let refused_unproven = !visit.identity.is_vouched() && !proven && matches!(status, 401 | 403);
    let outcome = if refused_unproven { Outcome::NeverSent } else { Outcome::of(status, begun.any()) };
    let settling = fence.lift(outcome).await;
    let ending = if refused_unproven { Ending::Never } else { Ending::of(status, brought.began.is_some()) };
    world.reference().write_lifted(settles, ending, world.clock.now());
    world.pause("is lifted", visit).await;
    if (200..300).contains(&status) {
        took_effect(world, visit, write, status, proven, document.as_ref(), (sent, settles.asked()), brought);
    }
    world.pause("took effect", visit).await;
    if begun.any() {
        let deletes = visit.method == Method::DELETE;
        let answered = world.scopes.now();
        world.operations.note(begun, settling, visit.asked.path.clone(), deletes, answered).await;
    }
    if let (Some(at), Target::Thing(thing)) = (brought.began, write.wanted.target) {
        world.begun.lock().unwrap().insert(at, settles);
        if brought.headers.is_empty() {
            world.reference().will_show_its_end(thing, settles);
        }
    }
    world.pause("is noted", visit).await;
    world.reference().write_answered(settles, ending);
    if let Some(at) = brought.began.filter(|_| !brought.headers.is_empty()) {
        world.polls.lock().unwrap().push(at);
    }
}

/// What a write that was accepted means for what is known and was shown.
#[expect(clippy::too_many_arguments, reason = "as many as the journey's own, and who has to be told")]
fn took_effect(
    world: &World,
    visit: &Visit,
    write: &Write,
    status: u16,
    proven: bool,
    document: Option<&Arc<Document>>,
    (sent, asked): (Sent, Tick),
    brought: &Answered,
) {
    let (Some(path), Some((kind, Shape::Point))) = (&visit.asked.path, &visit.asked.kind) else { return };
    let Target::Thing(thing) = write.wanted.target else { return };
    let family = visit.asked.family();
    let (client, known) = (visit.client(proven), proven || visit.identity.is_vouched());
    if visit.method == Method::DELETE {
        world.guard.end(client, path.as_str());
        if known {
            world.reference().saw_the_end(visit.person, thing);
        }
        if status != 202 {
            world.scopes.deleted(path, family, world.scopes.now());
            let mut reference = world.reference();
            let now = reference.now();
            reference.told(&Telling {
                seen: &brought.brought,
                sent: now,
                tagged: true,
                listed: false,
                by: None,
            });
        }
        return;
    }
    let shows = visit.method == Method::PUT || visit.method == Method::PATCH;
    let Some(document) = document.filter(|document| shows && document.shape == Shape::Point) else { return };
    if visit.policy.rule(kind).is_none() {
        return;
    }
    let _ = world.scopes.learn(&Shown { path, family, document, sent, whole: None });
    world.reference().told(&Telling {
        seen: &brought.brought,
        sent: asked,
        tagged: true,
        listed: false,
        by: None,
    });
    if is_ruled(visit) {
        let question =
            guard::Question { key: armshield::arm::document::hash(path.as_str()), path: &path.shared() };
        world.guard.show(&visit.viewer(client), &question, document);
        if known {
            let (arm, mut reference) = (world.arm(), world.reference());
            reference.showed(visit.person, &brought.brought, false, &arm, world.clock.now());
        }
    }
}
