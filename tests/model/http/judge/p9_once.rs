//! P9, one call for one question, whoever leaves; and what was fetched a moment ago, with nothing happening
//! since but refusals, is not asked for again.

use armshield::clock::Moment;

use super::knowledge::{Standing, standing};
use super::p5_age::{SHORT, stated};
use super::{Case, effects};
use crate::http::places::{Question, THINGS};
use crate::http::records::{Call, Fault, Request, What, Write};

pub fn calls(case: &Case<'_>) -> Vec<String> {
    let records = &case.arm.records;
    let mut wrong = Vec::new();
    for (at, call) in records.calls.iter().enumerate() {
        let request = case.arm.request_of(call);
        let attempts = records.calls.iter().filter(|other| other.request == call.request).count();
        let most = match request.what {
            What::Write(..) => 1,
            What::Poll(_) => 2,
            // Its own, one that was to be shared, and the second attempts of both.
            What::Read(_) => 4,
        };
        if attempts > most {
            wrong.push(format!("P9: request {} was sent {attempts} times", call.request));
        }
        let What::Read(question) = request.what else { continue };
        // Begun in the moment it was asked: nothing had been joined in vain before.
        if call.at != request.begun || standing(case.arm, request.token, request.begun) != Standing::Vouched {
            continue;
        }
        let before = &records.calls[..at];
        let same = |other: &&Call| {
            let first = case.arm.request_of(other);
            first.token.caller == request.token.caller
                && first.question() == Some(question)
                && other.request != call.request
        };
        let latest = before.iter().rposition(|other| same(&other) && other.at <= call.at);
        for (number, other) in before.iter().enumerate().filter(|(_, other)| same(other)) {
            // Of several fetches of one question the latest is the one that is joined.
            if Some(number) == latest && could_join(case, question, request, other) {
                wrong.push(format!(
                    "P9: request {} of step {} made a call of its own beside that of request {}",
                    call.request, request.step, other.request
                ));
            } else if could_hit(case, question, request, other) {
                wrong.push(format!(
                    "P2, P9: request {} of step {} was sent though nothing had happened to what request {} had brought",
                    call.request, request.step, other.request
                ));
            }
        }
    }
    wrong
}

/// Whether a read could have waited for this call.
fn could_join(case: &Case<'_>, question: Question, request: &Request, call: &Call) -> bool {
    let first = case.arm.request_of(call);
    let sent = case.first_attempt(call);
    // Who had waited in vain asks for those alone who hold the same token.
    sent == first.begun
        && sent <= request.begun
        && call.at <= request.begun
        && request.begun < call.ended
        && !too_old(question, request, sent)
        && standing(case.arm, first.token, first.begun) == Standing::Vouched
        && is_quiet(case, question, request, sent, None)
}

/// Whether a read could have had what this call brought.
fn could_hit(case: &Case<'_>, question: Question, request: &Request, call: &Call) -> bool {
    let fault = case.arm.request_of(call).plan.fault;
    let kept = call.status == Some(200) && call.whole && !call.more && question.skip == 0;
    kept && fault != Fault::Varies
        && call.ended < request.begun
        && !too_old(question, request, case.first_attempt(call))
        && !(case.arm.lags && question.about.is_list())
        && !question.about.things().into_iter().any(|thing| was_deleted(case, thing))
        && is_quiet(case, question, request, case.first_attempt(call), Some(call))
}

/// Whether a thing was deleted at some time: a life that began meanwhile may be taken for the one that ended.
fn was_deleted(case: &Case<'_>, thing: usize) -> bool {
    let root = THINGS[thing].root;
    let deletes = |effect: &&effects::Effect<'_>| {
        [Write::Delete(thing), Write::Delete(root)].contains(&effect.write) && effect.call.succeeded()
    };
    case.effects.iter().any(|effect| deletes(&effect))
}

fn too_old(question: Question, request: &Request, sent: Moment) -> bool {
    let bound = stated(request, question).min(SHORT);
    request.fresh.no_cache || request.begun.since(sent) >= bound
}

/// Whether nothing came in between that could speak against an answer asked for then, but this.
fn is_quiet(
    case: &Case<'_>,
    question: Question,
    request: &Request,
    sent: Moment,
    but: Option<&Call>,
) -> bool {
    let within = |at: Moment| sent <= at && at <= request.begun;
    let quiet_writes =
        case.effects.iter().filter(|effect| !effect.is_nothing()).all(|effect| {
            !effect.may_reach(question) || !(within(effect.call.at) || effect.bumps().any(within))
        });
    let speaks = |call: &Call| {
        let told = case.arm.request_of(call);
        let refused = call.status == Some(403) && told.token.caller == request.token.caller;
        let shown = call.sights.iter().any(|(thing, _)| {
            effects::shows_family_of(question, *thing)
                && THINGS[*thing].is_network() == question.about.is_network()
        });
        let news = shown && matches!(call.status, Some(200 | 201 | 404));
        // Every poll that says that it is over may count as an end.
        refused || news || call.over.is_some()
    };
    let others =
        case.arm.records.calls.iter().filter(|call| !but.is_some_and(|but| std::ptr::eq(but, *call)));
    quiet_writes && !others.filter(|call| within(call.answered)).any(speaks)
}
