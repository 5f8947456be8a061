//! `src/proxy/poll.rs`: what a poll tells takes effect before its answer is passed on.

use std::sync::Arc;

use armshield::operations::{Progress, read};
use armshield::policy::Family;

use super::send::receive;
use super::{Visit, World};
use crate::rooms::arm::{Operation, Sighting};
use crate::rooms::reference::Telling;
use crate::rooms::stage::Fate;

/// Passes a poll of the operation with this number.
pub async fn poll(world: Arc<World>, visit: Arc<Visit>, at: usize) {
    world.pause("polls", &visit).await;
    let known = world.operations.polled(&visit.target);
    world.pause("is sent", &visit).await;
    let (answered, operation) = {
        let arm = world.arm();
        (arm.poll(&visit.who(&world), at), arm.operations[at])
    };
    if world.pause("was looked at", &visit).await == Fate::Lost {
        return;
    }
    let write = world.begun.lock().unwrap()[&at];
    world.reference().heard(write);
    let received = receive(&world, &visit, answered, true).await;
    let mut over = false;
    if let Some((begun, named)) = known {
        let status = received.status.as_u16();
        let progress = read(named, status, &received.body);
        if let Progress::Ended { well } = progress
            && let (true, true, Some(path)) = (well, begun.deletes, &begun.path)
        {
            let family = path.resource().map_or(Family::Other, |(kind, _)| Family::of(&kind));
            world.scopes.deleted(path, family, begun.begun);
            world.pause("has deleted", &visit).await;
        }
        world.operations.answered(&begun, progress).await;
        over = hear(&world, at, &operation, status);
        world.pause("has ended", &visit).await;
    }
    if over {
        // The answer is passed on.
        world.reference().end_answered(write);
    }
}

/// The reference hears the same. Gives back whether the operation is over.
fn hear(world: &World, at: usize, operation: &Operation, status: u16) -> bool {
    let write = world.begun.lock().unwrap()[&at];
    let mut reference = world.reference();
    match (status, operation.ended) {
        (401 | 403, _) => false,
        (_, None) => {
            reference.goes_on(write, world.clock.now());
            false
        }
        (_, Some(well)) => {
            if let (true, Some(number)) = (well, operation.gone) {
                let seen = [Sighting { thing: operation.thing, number, lags: false }];
                let sent = reference.now();
                reference.told(&Telling { seen: &seen, sent, tagged: true, listed: false, by: None });
            }
            reference.ended(write, world.clock.now());
            true
        }
    }
}
