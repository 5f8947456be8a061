//! P3, read your writes, and P4, no late fills: by when an answer was asked for, and by what it shows.

use armshield::clock::Moment;

use super::{Case, Told};
use crate::http::records::name;

pub fn told(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    late_fill(case, told).or_else(|| before_a_write(case, told))
}

/// Nothing asked for before a write was sent, answered, lost, or seen to end, answers who asks after it.
fn late_fill(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    let (asked, begun) = (told.call.at, told.request.begun);
    let reaching = case.effects.iter().filter(|effect| effect.reach(told.question).is_some());
    let mut bumps = reaching.flat_map(|effect| effect.bumps().map(move |at| (effect, at)));
    bumps.find(|(_, at)| asked < *at && *at < begun).map(|(effect, at)| {
        format!("P4: asked for at {asked:?}, and {:?} at {at:?} came before {begun:?}", effect.write)
    })
}

/// What a write, or the end of what it began, brought about is shown to all who ask after it was answered.
fn before_a_write(case: &Case<'_>, told: &Told<'_>) -> Option<String> {
    if case.arm.lags && told.question.about.is_list() {
        return None;
    }
    let writes = case.effects.iter().filter_map(|effect| {
        let (_, brought) = effect.call.applied.as_ref()?;
        effect.call.status?;
        Some((effect.call.answered, brought.clone()))
    });
    let ends = case.arm.records.calls.iter().filter_map(|call| {
        let over = call.over?;
        Some((call.answered, vec![(over.thing, over.number)]))
    });
    let known: Vec<(Moment, Vec<(usize, usize)>)> =
        writes.chain(ends).filter(|(at, _)| *at < told.request.begun).collect();
    for (thing, number) in &told.call.sights {
        for (at, brought) in &known {
            let least = brought.iter().find(|(of, _)| of == thing).map(|(_, least)| *least);
            if let Some(least) = least.filter(|least| number < least) {
                return Some(format!(
                    "P3: {} is shown as it was at {number}, and {least} was answered at {at:?}",
                    name(*thing)
                ));
            }
        }
    }
    None
}
