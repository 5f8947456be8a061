//! P5: no answer is older than the smallest bound that applies; a joined call counts from when it was sent.

use std::time::Duration;

use armshield::clock::Moment;

use super::{Asker, How, Reference};
use crate::rooms::people::PEOPLE;
use crate::rooms::table::QUESTIONS;

/// While a change is under way, and for who was shown this very answer and asks again for news.
const SHORT: Duration = Duration::from_secs(2);

impl Reference {
    pub(super) fn is_young(
        &self,
        asker: &Asker,
        fetch: usize,
        how: How,
        age: Duration,
        now: Moment,
    ) -> Result<(), String> {
        let person = &PEOPLE[asker.person];
        let mut bounds = vec![("rule and profile", steady(asker))];
        bounds.extend(asker.max_age.map(|age| ("max-age", age)));
        if self.is_unsettled(asker.question, now) {
            bounds.push(("a change is under way", SHORT));
        }
        if how == How::Memory && self.fetches[fetch].in_progress {
            bounds.push(("it shows a change under way", SHORT));
        }
        if how == How::Memory && person.refreshes() && self.shown.contains(&(person.unit, fetch)) {
            bounds.push(("shown before", SHORT));
        }
        match bounds.into_iter().find(|(_, bound)| age > *bound) {
            Some((why, bound)) => Err(format!("P5: {age:?} old, and {why}: at most {bound:?}")),
            None => Ok(()),
        }
    }

    /// An age at which no bound can speak against an answer.
    pub(super) fn certain_age(&self, asker: &Asker) -> Duration {
        steady(asker).min(SHORT).min(asker.max_age.unwrap_or(SHORT))
    }
}

/// What rule and profile allow.
fn steady(asker: &Asker) -> Duration {
    let question = &QUESTIONS[asker.question];
    let rule = Duration::from_secs(if question.is_view() { 15 } else { 30 });
    rule.min(PEOPLE[asker.person].age(question.kind()))
}
