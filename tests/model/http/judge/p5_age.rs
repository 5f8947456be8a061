//! P5, bounded age: the smallest bound that applies, counted from when the answer was asked for.

use std::time::Duration;

use super::{Case, Told};
use crate::http::places::{About, Question};
use crate::http::records::Request;

/// The bound while a change is under way, and for who asks again for news.
pub const SHORT: Duration = Duration::from_secs(2);

pub fn told(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    let Told { request, question, call, answer, .. } = told;
    let asked = case.first_attempt(call);
    if told.hit {
        let age = answer.at.since(asked).as_secs().to_string();
        if answer.header("age") != Some(&age) {
            return Some(format!("P5: Age says {:?}, and it is {age}", answer.header("age")));
        }
    }
    let age = request.begun.since(asked);
    if asked >= request.begun {
        return None;
    }
    if request.fresh.no_cache {
        return Some(format!("P5: {age:?} old, and no-cache was said"));
    }
    let mut bounds = vec![("its rule, profile and request", stated(request, *question))];
    if case.effects.iter().any(|effect| effect.unsettles(*question, request.begun)) {
        bounds.push(("a change under way", SHORT));
    }
    let truth = &case.arm.truth;
    let goes_on = call
        .sights
        .iter()
        .any(|(thing, number)| truth.state(*thing, *number).is_some_and(|shown| !shown.state.is_terminal()));
    if told.hit && goes_on {
        bounds.push(("what it shows goes on", SHORT));
    }
    if told.hit && request.person().profile.refreshes() && was_shown(case, told) {
        bounds.push(("it was shown before", SHORT));
    }
    let broken = bounds.into_iter().find(|(_, bound)| age > *bound);
    broken.map(|(why, bound)| format!("P5: {age:?} old, and {why} allows {bound:?}"))
}

/// What rule, profile and request allow at most.
pub fn stated(request: &Request, question: Question) -> Duration {
    let view = matches!(question.about, About::View(_));
    let rule = Duration::from_secs(if view { 15 } else { 30 });
    let profile = request.person().profile.age(question.about.is_network());
    let wanted = request.fresh.max_age.map_or(rule, Duration::from_secs);
    rule.min(profile).min(wanted)
}

/// Whether the client was shown this very answer before.
fn was_shown(case: &Case<'_>, told: &Told<'_>) -> bool {
    case.told().any(|before| {
        before.answer.at < told.request.begun
            && std::ptr::eq(before.call, told.call)
            && before.request.person().is_one_with(told.request.person())
    })
}
