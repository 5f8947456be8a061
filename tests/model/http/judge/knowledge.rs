//! What armshield can know: whose token ARM let in, and which versions a client was shown.

use std::collections::BTreeSet;
use std::time::Duration;

use armshield::clock::Moment;

use super::super::arm::Arm;
use super::super::people::{Person, Token};
use super::super::places::{About, Question, THINGS, is_tagged};
use super::super::records::{Call, Request, What, Write};

/// How long a voucher lasts.
const VOUCH_FOR: Duration = Duration::from_secs(600);
/// A gate keeps vouchers in force, and is open again by then.
const HELD: Duration = Duration::from_secs(70);
/// How long a version shown can be what a write was built on.
const WINDOW: Duration = Duration::from_secs(30 * 60);

/// What ARM has said about a token by some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It let it in, lately.
    Vouched,
    /// It depends on which of two things came first.
    Unclear,
    /// It did not, or not lately, or refused it since.
    Unvouched,
}

/// The standing of a token in a request begun at that moment.
pub fn standing(arm: &Arm, token: Token, at: Moment) -> Standing {
    let calls = || arm.records.calls.iter().filter(|call| arm.request_of(call).token == token);
    let refusals: Vec<_> =
        calls().filter(|call| call.status == Some(401)).map(|call| call.answered).collect();
    let ends = Moment::ZERO + token.lasts();
    let mut best = Standing::Unvouched;
    for call in calls().filter(|call| call.succeeded() && vouches(arm.request_of(call))) {
        let (asked, answered) = (arm.request_of(call).begun, call.answered);
        let refused = |from: Moment, until: Moment| refusals.iter().any(|at| from <= *at && *at <= until);
        let refused_for_sure =
            |from: Moment, until: Moment| refusals.iter().any(|at| from < *at && *at < until);
        let sure = answered < at && at < answered + VOUCH_FOR && at < ends && !refused(asked, at);
        if sure {
            return Standing::Vouched;
        }
        let maybe = answered <= at && at <= answered + VOUCH_FOR + HELD && at < ends;
        if maybe && !refused_for_sure(answered, at) && !refused_for_sure(asked, answered) {
            best = Standing::Unclear;
        }
    }
    best
}

/// Whether a success of this request says that ARM let its token in: below a subscription, and no poll.
fn vouches(request: &Request) -> bool {
    !matches!(request.what, What::Poll(_) | What::Write(Write::Batch, _))
}

/// A version of a thing that was shown to a client.
struct Showing {
    at: Moment,
    tag: String,
    life: usize,
    listed: bool,
    /// Whether its client has got it, or may have left before.
    sure: bool,
}

/// When its client was told that a thing is not there.
struct End {
    at: Moment,
    sure: bool,
}

/// The versions of a thing that a write of this client can be built on.
pub struct Candidates {
    /// Those that were shown beyond doubt.
    pub sure: BTreeSet<String>,
    /// Those that may have been.
    pub possible: BTreeSet<String>,
}

fn showings(arm: &Arm, (person, stranger): (&Person, bool), thing: usize) -> (Vec<Showing>, Vec<End>) {
    let (mut showings, mut ends) = (Vec::new(), Vec::new());
    let records = &arm.records;
    let own = |request: &Request| {
        request.person().is_one_with(person) && request.stranger == stranger && !request.token.forged
    };
    let mut show = |call: &Call, tagged: bool, listed: bool, at: Moment, sure: bool| {
        for (_, number) in call.sights.iter().filter(|(shown, _)| tagged && *shown == thing) {
            if let Some(shown) = arm.truth.state(thing, *number) {
                showings.push(Showing { at, tag: shown.tag(thing), life: shown.life, listed, sure });
            }
        }
    };
    for (id, request) in records.requests.iter().enumerate().filter(|(_, request)| own(request)) {
        if let (What::Read(question), Some(answer)) = (request.what, &request.answer)
            && let Some((_, call)) = records.origin(answer)
        {
            if answer.status == 200 {
                show(call, question.shows_tags(), question.about.is_list(), answer.at, true);
            }
            let point = Question { about: About::Point(thing), ..question } == question;
            let view = Question { about: About::View(thing), ..question } == question;
            if answer.status == 404 && (point || view) {
                ends.push(End { at: answer.at, sure: point });
            }
        }
        let What::Write(write, version) = request.what else { continue };
        let got = request.answer.is_some();
        for call in records.calls.iter().filter(|call| call.request == id && call.succeeded()) {
            if matches!(write, Write::Put(_) | Write::Patch(_)) && call.whole {
                let tagged = THINGS[thing].is_network() || is_tagged(version);
                show(call, tagged, false, call.answered, got);
            }
            if write == Write::Delete(thing) {
                ends.push(End { at: call.answered, sure: got });
            }
        }
    }
    (showings, ends)
}

/// What a write of a client can be built on.
pub fn candidates(arm: &Arm, request: &Request, thing: usize) -> Candidates {
    let at = request.begun;
    let (showings, ends) = showings(arm, (request.person(), request.stranger), thing);
    let mut candidates = Candidates { sure: BTreeSet::new(), possible: BTreeSet::new() };
    for showing in &showings {
        let surely_ended = ends.iter().any(|end| end.sure && showing.at < end.at && end.at < at);
        if !surely_ended && showing.at <= at && at <= showing.at + WINDOW {
            candidates.possible.insert(showing.tag.clone());
        }
        let perhaps_ended = ends.iter().any(|end| showing.at <= end.at && end.at <= at);
        // ARM's lists go on showing for a while what has ended.
        let of_former_life = showing.listed
            && ends
                .iter()
                .any(|end| showings.iter().any(|other| other.life == showing.life && other.at <= end.at));
        // Numbers begin anew with each life: one that came again would hold, and mean another version.
        let came_again = arm.truth.came_again(thing, &showing.tag, showing.life);
        let ended = perhaps_ended || of_former_life || came_again;
        if showing.sure && !ended && showing.at < at && at < showing.at + WINDOW {
            candidates.sure.insert(showing.tag.clone());
        }
    }
    candidates
}

/// The version a client was shown last.
pub fn last_shown(arm: &Arm, person: &Person, thing: usize) -> Option<String> {
    let (showings, _) = showings(arm, (person, false), thing);
    showings.into_iter().max_by_key(|showing| showing.at).map(|showing| showing.tag)
}
