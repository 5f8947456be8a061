//! `src/proxy/read.rs`: answered from memory, or by a fetch that is joined or begun.

use std::sync::Arc;
use std::time::Duration;

use armshield::arm::Shape;
use armshield::cache::{Ask, Entry, Keyed, varies};
use armshield::clock::Moment;
use armshield::coalesce::{Asker, Ending, Phase};
use armshield::guard;
use armshield::identify::Token;

use super::fetch::{Fetched, Together, Whole, fetch, number};
use super::lookup::{Mark, ask, find, key, may_join};
use super::{Fresh, Visit, World};
use crate::rooms::reference::{self, How};

/// Answers a read.
pub async fn read(world: Arc<World>, visit: Arc<Visit>) {
    let keyed = key(&world, &visit);
    let ask = ask(&world, &visit);
    world.pause("looks", &visit).await;
    match find(&world, &visit, &keyed, &ask) {
        Ok(entry) => hit(&world, &visit, &keyed, &entry),
        Err(_) => {
            world.pause("asks", &visit).await;
            fetched(&world, &visit, keyed, ask).await;
        }
    }
}

/// An answer from memory.
fn hit(world: &World, visit: &Visit, keyed: &Keyed, entry: &Entry) {
    let (arm, mut reference) = (world.arm(), world.reference());
    reference.given(&asker(visit), number(entry), How::Memory, &arm, world.clock.now());
    drop((arm, reference));
    show(world, visit, keyed, entry, visit.identity.client.bits(), true);
}

/// Joins a fetch or begins one, and answers with what it brings.
async fn fetched(world: &Arc<World>, visit: &Arc<Visit>, keyed: Keyed, ask: Ask) {
    let joins = |phase: &Phase<Mark>| may_join(world, visit, &ask, phase);
    let Some((ended, led)) = share(world, visit, &keyed, lane(visit), Some(ask), Some(&joins)).await else {
        return;
    };
    match &*ended {
        Fetched::Landed => match find(world, visit, &keyed, &ask) {
            Ok(entry) => hit(world, visit, &keyed, &entry),
            Err(_) => again(world, visit, keyed, &ask, lane(visit)).await,
        },
        Fetched::Whole(whole) if !led && is_refusal_of_another(whole, visit) => {
            again(world, visit, keyed, &ask, Some(visit.identity.token)).await;
        }
        Fetched::Whole(whole) if !led && varies(&whole.own) => alone(world, visit, keyed).await,
        ended => conclude(world, visit, &keyed, ended, led),
    }
}

/// Asks once more, together with everybody else to whom the first answer was none.
async fn again(world: &Arc<World>, visit: &Arc<Visit>, keyed: Keyed, ask: &Ask, among: Option<Token>) {
    let joins = |phase: &Phase<Mark>| may_join(world, visit, ask, phase);
    let Some((ended, led)) = share(world, visit, &keyed, among, None, Some(&joins)).await else { return };
    match &*ended {
        Fetched::Landed => alone(world, visit, keyed).await,
        Fetched::Whole(whole) if !led && (is_refusal_of_another(whole, visit) || varies(&whole.own)) => {
            alone(world, visit, keyed).await;
        }
        ended => conclude(world, visit, &keyed, ended, led),
    }
}

fn lane(visit: &Visit) -> Option<Token> {
    (!visit.identity.is_vouched()).then_some(visit.identity.token)
}

/// Begins a fetch that was not under way when this was called.
async fn alone(world: &Arc<World>, visit: &Arc<Visit>, keyed: Keyed) {
    if let Some((ended, led)) = share(world, visit, &keyed, lane(visit), None, None).await {
        conclude(world, visit, &keyed, &ended, led);
    }
}

/// Which fetch under way will do.
type Joins<'a> = &'a (dyn Fn(&Phase<Mark>) -> bool + Sync);

/// Waits for the end of a fetch, and tells whether this asker began it. `joins`: which fetch under way will do.
async fn share(
    world: &Arc<World>,
    visit: &Arc<Visit>,
    keyed: &Keyed,
    among: Option<Token>,
    may_have_landed: Option<Ask>,
    joins: Option<Joins<'_>>,
) -> Option<(Arc<Fetched>, bool)> {
    let together: Together = (keyed.key, among);
    let (own_world, own_visit, own_keyed) = (world.clone(), visit.clone(), keyed.clone());
    let planned = world.reference().plan(&asker(visit));
    let asks = Asker { priority: visit.identity.priority as u8, deadline: Moment::ZERO };
    let ticket = world.flights.join(
        together,
        asks,
        |phase| joins.is_some_and(|joins| joins(phase)),
        move |flight| fetch(own_world, own_visit, own_keyed, may_have_landed, planned, flight),
    );
    let led = ticket.led;
    let aboard = Aboard::new(world, visit, among.is_some(), led.then_some(planned), joins.is_some());
    let ending = ticket.wait().await;
    world.pause("is told", visit).await;
    match ending {
        Ending::Done(fetched) => {
            if let Fetched::Whole(Whole { entry, .. }) = &*fetched
                && number(entry) != aboard.fetch
            {
                let (got, waited) = (number(entry), aboard.fetch);
                world.reference().wrong(format!("P9: waited for call {waited} and got {got}"));
            }
            Some((fetched, led))
        }
        Ending::Abandoned | Ending::Panicked => {
            world.reference().wrong("P9: a call that somebody waits for was given up");
            None
        }
    }
}

/// An asker's part in a fetch, as the reference knows it, until it leaves.
struct Aboard {
    world: Arc<World>,
    fetch: usize,
}

impl Aboard {
    fn new(world: &Arc<World>, visit: &Visit, apart: bool, led: Option<usize>, willing: bool) -> Self {
        let (asker, now) = (asker(visit), world.clock.now());
        let (arm, mut reference) = (world.arm(), world.reference());
        let together = reference.together(&asker, apart.then_some(visit.token));
        let fetch = match led {
            Some(planned) => {
                reference.led(&asker, together, planned, willing, now);
                planned
            }
            None => reference.joined(&asker, together, &arm, now),
        };
        Self { world: world.clone(), fetch }
    }
}

impl Drop for Aboard {
    fn drop(&mut self) {
        self.world.reference().left(self.fetch);
        self.world.stage.stir();
    }
}

fn is_refusal_of_another(whole: &Whole, visit: &Visit) -> bool {
    matches!(whole.entry.parts.status.as_u16(), 401 | 403) && whole.token != visit.identity.token
}

/// Answers with what a fetch brought.
fn conclude(world: &World, visit: &Visit, keyed: &Keyed, fetched: &Fetched, led: bool) {
    if let Fetched::Whole(whole) = fetched {
        world.reference().came(&asker(visit), number(&whole.entry), led);
        let refused = matches!(whole.entry.parts.status.as_u16(), 401 | 403);
        if refused && whole.token != visit.identity.token {
            world.reference().wrong("P9: another token's refusal was shared");
        }
        let proven = whole.vouched && whole.token == visit.identity.token;
        let known = proven || visit.identity.is_vouched();
        show(world, visit, keyed, &whole.entry, visit.client(proven), known);
    }
}

/// Notes what a client is being shown: for the repeat rule, and as a base of writes to come.
fn show(world: &World, visit: &Visit, keyed: &Keyed, entry: &Entry, client: u128, known: bool) {
    entry.show(client);
    if known {
        world.reference().shown(visit.person, number(entry));
    }
    let Some((kind, shape)) = &visit.asked.kind else { return };
    if !visit.policy.rule(kind).is_some_and(|rule| rule.guard) || visit.query().is_partial() {
        return;
    }
    let parts = &entry.parts;
    match (&parts.document, parts.status.as_u16()) {
        (Some(document), 200) => {
            let question = guard::Question { key: keyed.question.short(), path: &parts.path };
            world.guard.show(&visit.viewer(client), &question, document);
            if known {
                let (arm, mut reference) = (world.arm(), world.reference());
                reference.showed_answer(visit.person, number(entry), &arm, world.clock.now());
            }
        }
        (_, 404) if *shape == Shape::Point => {
            world.guard.end(visit.identity.claimed_client().bits(), &parts.path);
            world.reference().saw_the_end_of(visit.person, visit.question.unwrap());
        }
        _ => {}
    }
}

/// Who asks, for the reference.
pub fn asker(visit: &Visit) -> reference::Asker {
    reference::Asker {
        person: visit.person,
        question: visit.question.unwrap(),
        vouched: visit.identity.is_vouched(),
        no_cache: visit.fresh == Fresh::NoCache,
        max_age: if let Fresh::MaxAge(seconds) = visit.fresh {
            Some(Duration::from_secs(seconds))
        } else {
            None
        },
    }
}
