//! P6, never backwards: from memory or by joining, nobody is shown a thing older than armshield knew it.
//!
//! armshield can know only what it was told and can tell apart: versions by their tags inside a life, lives
//! by their marks, states at rest from states under way; and nothing orders a GUID but the time it was asked
//! for.

use armshield::clock::Moment;

use super::{Case, Told};
use crate::http::arm::Arm;
use crate::http::places::{About, Question, THINGS, is_tagged};
use crate::http::records::{Call, What, Write, name};
use crate::http::truth::Shown;

/// Something armshield was told about a thing.
#[derive(Clone, Copy)]
struct Sight {
    at: Moment,
    answered: Moment,
    /// The number of its state.
    number: usize,
    shown: Option<Shown>,
    /// Whether it came with its tag.
    tagged: bool,
    /// Whether it came in a list.
    listed: bool,
}

pub fn told(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    if told.own || told.request.begun <= told.call.at {
        return None;
    }
    for (thing, number) in &told.call.sights {
        let sights = sights(case.arm, *thing);
        let shown = sight(case.arm, *thing, *number, told.call, told.question);
        let known = sights.iter().filter(|known| known.answered < told.request.begun);
        for known in known.clone() {
            if is_older(case, told, *thing, &shown, known, &sights) {
                return Some(format!(
                    "P6: {} is shown as it was at {number}, and {} was known at {:?}",
                    name(*thing),
                    known.number,
                    known.answered
                ));
            }
        }
    }
    None
}

fn sight(arm: &Arm, thing: usize, number: usize, call: &Call, question: Question) -> Sight {
    Sight {
        at: call.at,
        answered: call.answered,
        number,
        shown: arm.truth.state(thing, number),
        tagged: question.shows_tags(),
        listed: question.about.is_list(),
    }
}

/// Everything armshield was told about a thing under its own id.
fn sights(arm: &Arm, thing: usize) -> Vec<Sight> {
    let mut sights = Vec::new();
    for call in &arm.records.calls {
        let seen = call.sights.iter().find(|(of, _)| *of == thing).map(|(_, number)| *number);
        match arm.request_of(call).what {
            What::Read(question) => {
                let Some(number) = seen else { continue };
                let point = question.about == About::Point(thing);
                let told = match call.status {
                    Some(200) => call.whole && !matches!(question.about, About::View(_)),
                    // That one is not there says its own address.
                    Some(404) => point && call.whole,
                    _ => false,
                };
                if told {
                    sights.push(sight(arm, thing, number, call, question));
                }
            }
            What::Write(Write::Put(_) | Write::Patch(_), version) if call.status == Some(200) => {
                let Some(number) = seen.filter(|_| call.whole) else { continue };
                sights.push(Sight {
                    at: call.at,
                    answered: call.answered,
                    number,
                    shown: arm.truth.state(thing, number),
                    tagged: THINGS[thing].is_network() || is_tagged(version),
                    listed: false,
                });
            }
            What::Write(..) | What::Poll(_) => {}
        }
    }
    sights
}

/// Whether what is shown is older than what was known, as far as armshield can tell.
fn is_older(
    case: &Case<'_>,
    told: &Told<'_>,
    thing: usize,
    shown: &Sight,
    known: &Sight,
    sights: &[Sight],
) -> bool {
    let lags = case.arm.lags;
    let view = matches!(told.question.about, About::View(_));
    if known.number <= shown.number || known.shown == shown.shown {
        return false;
    }
    // Something like what is shown had been taken in, under the thing's own id, before the other became known.
    let taken_in = |tagged: bool| {
        sights.iter().any(|before| {
            before.number <= shown.number
                && before.shown.is_some()
                && (before.tagged || !tagged)
                && before.answered < known.answered
                && before.at < known.at
        })
    };
    let lives =
        |one: Option<Shown>, other: Option<Shown>| (one.map(|one| one.life), other.map(|one| one.life));
    let (old, new) = lives(shown.shown, known.shown);
    let network = THINGS[thing].is_network();
    let tells = if old != new && !network {
        // A life that ended, or one that was not known to have begun.
        !view || taken_in(false)
    } else if shown.shown.map(|shown| shown.version()) != known.shown.map(|known| known.version()) {
        known.shown.is_none() || (known.tagged && (shown.tagged && !view || taken_in(true)))
    } else {
        // The same version in another state.
        let at_rest = |sight: &Sight| sight.shown.is_none_or(|shown| shown.state.is_terminal());
        !lags && !view && at_rest(shown) != at_rest(known) && shown.at < known.at
    };
    if !tells || !lags {
        return tells;
    }
    // What lags and shows a number that is too small, or a life or a GUID accepted before the present one, is
    // not kept. Who waits for it gets it.
    let same_life = old == new && !network;
    let first = |sight: &Sight| {
        sights.iter().any(|before| {
            before.shown.map(|before| before.version()) == sight.shown.map(|shown| shown.version())
                && before.at < known.at
                && before.answered < known.answered
                && !known.listed
        })
    };
    told.hit
        && shown.tagged
        && known.tagged
        && (same_life || (known.at > shown.at && !known.listed) || {
            known.answered < shown.at && first(shown) && !may_be_corrected(sights, known, shown)
        })
}

/// Whether a list that lagged may have been taken for the present in between.
fn may_be_corrected(sights: &[Sight], known: &Sight, shown: &Sight) -> bool {
    sights.iter().any(|sight| sight.listed && sight.at > known.at && sight.at < shown.at)
}
