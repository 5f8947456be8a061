//! Explains what armshield would do with a request now, and why, without doing it.
//!
//! - It asks the very functions the journey asks: the route, the key, what is tolerated, whether an entry
//!   answers, whether a fetch may be joined, what a gate says, which condition a write gets.
//! - It changes nothing: no recency, no voucher, no number, no mark of having been shown, no gate, no scope.
//! - Nobody shows a token: it answers for every caller that is known, under labels that begin anew with the
//!   process and are no digests.

mod asker;
mod guard;
mod inquiry;
mod kept;
mod labels;
mod question;
mod said;
mod words;

use std::time::Duration;

use crate::arm::Shape;
use crate::classify::Touched;
use crate::clock::{Moment, Wall};

use super::fetch::scopes_of;
use super::rooms::Rooms;
use super::route::{Route, route};
use super::visit::Visit;
use question::Question;

pub(super) use labels::Labels;

pub use inquiry::{Inquiry, NotExplained};
pub use said::{
    Asker, Bounded, Condition, Explanation, Fetch, Gate, Guard, GuardClient, IfShown, Kept, KeptAtPath,
    MovedScope, Profile, Request, Rule, Scope, Until, VersionShown,
};

/// The most callers, clients or versions that are told about one by one.
const MOST: usize = 64;
/// The most entries looked at for the number that is kept at a path.
const WALK: usize = 1 << 16;

impl Rooms {
    /// What would be done with a request now, for whoever may send it.
    ///
    /// # Errors
    /// When it is no request that could come.
    pub fn explain(&self, inquiry: &Inquiry) -> Result<Explanation, NotExplained> {
        let policy = self.policy.load_full();
        let question = Question::new(self, inquiry, policy.clone())?;
        let newcomer = question.visit(self, &self.identify.stranger(true, &policy));
        let stranger = question.visit(self, &self.identify.stranger(false, &policy));
        let unvouched = asker::asker(self, &stranger, || "unvouched".to_owned());
        let mut askers = Vec::new();
        for known in self.identify.known(&policy) {
            let visit = question.visit(self, &known);
            let named = || self.labels.of("caller", known.caller().bits());
            let mut asker = asker::asker(self, &visit, named);
            asker.vouched_seconds = known.vouched_for.map(seconds);
            askers.push(asker);
        }
        // Of a caller that ARM has not let in nothing is said but what differs from others of its kind.
        let differs =
            |asker: &Asker| Asker { caller: unvouched.caller.clone(), ..asker.clone() } != unvouched;
        askers.retain(differs);
        let order = |asker: &Asker| (asker.kept.is_none(), asker.caller.len(), asker.caller.clone());
        askers.sort_by_cached_key(order);
        let more_askers = askers.len().saturating_sub(MOST);
        askers.truncate(MOST);
        let about = &newcomer;
        let way = route(self, about, false);
        Ok(Explanation {
            at: self.clock.wall().http_date(),
            request: request(about, &question),
            route: way.as_str().to_owned(),
            kind: about.asked.kind.as_ref().map(|(kind, _)| kind.clone()),
            shape: about.asked.kind.as_ref().map(|(_, shape)| shape_of(*shape).to_owned()),
            family: about.asked.family().as_str().to_owned(),
            rule: rule(about),
            profile: profile(about),
            scopes: scopes(self, about, way),
            askers,
            more_askers,
            newcomer: asker::asker(self, &newcomer, || "newcomer".to_owned()),
            unvouched,
            guard: (way == Route::Write).then(|| guard::guard(self, about)),
            kept_at_path: kept_at_path(self, about, way),
            hints: words::hints(about, way),
        })
    }

    /// How long it is until then, and when that is.
    fn until(&self, moment: Moment) -> Until {
        let left = moment.since(self.clock.now());
        let at = Wall::from_unix((self.clock.wall().since_epoch() + left).as_secs());
        Until { seconds: seconds(left), at: at.http_date() }
    }
}

/// Seconds for people.
const fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

const fn shape_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Point => "point",
        Shape::Collection => "collection",
    }
}

fn request(visit: &Visit, question: &Question) -> Request {
    let query = visit.query();
    Request {
        method: visit.method.to_string(),
        path: visit.asked.path.as_ref().map_or(visit.path(), |path| path.as_str()).to_owned(),
        // Values can be signatures.
        query: query.parts().map(|(name, _)| name.to_owned()).collect(),
        api_version: query.api_version().map(str::to_owned),
        dialled: visit.front().authority.to_owned(),
        user_agent: question.agent(),
        peer: question.peer().to_string(),
    }
}

fn rule(visit: &Visit) -> Option<Rule> {
    let (kind, _) = visit.asked.kind.as_ref()?;
    let rule = visit.policy.rule(kind)?;
    Some(Rule { max_age_seconds: seconds(rule.max_age), guard: rule.guard })
}

fn profile(visit: &Visit) -> Profile {
    let profile = visit.profile();
    Profile {
        name: profile.name.to_string(),
        mode: visit.mode.as_str().to_owned(),
        age_seconds: seconds(profile.age_of(visit.asked.family())),
        repeat: profile.repeat.as_str().to_owned(),
        guard: visit.policy.guard_of(profile).as_str().to_owned(),
        base_window_seconds: seconds(profile.base_window),
    }
}

/// The scopes an answer depends on, or a write reaches, with those that are unsettled.
fn scopes(rooms: &Rooms, visit: &Visit, way: Route) -> Vec<Scope> {
    let said = |role: &'static str, scopes: Vec<crate::classify::Scope>| {
        let unsettled = rooms.scopes.unsettled(&scopes);
        scopes.into_iter().map(move |scope| {
            let until = unsettled.iter().find(|(one, _)| *one == scope).map(|(_, until)| rooms.until(*until));
            Scope { scope: scope.to_string(), role: role.to_owned(), unsettled: until }
        })
    };
    match way {
        Route::Read => said("depends", scopes_of(visit)).collect(),
        Route::Write => {
            let (near, wider) = rooms.scopes.reached(&Touched::by(visit.asked.path.as_ref()));
            said("resource", near).chain(said("along", wider)).collect()
        }
        Route::Discovery | Route::Poll | Route::Pass(_) => Vec::new(),
    }
}

fn kept_at_path(rooms: &Rooms, visit: &Visit, way: Route) -> Option<KeptAtPath> {
    let path = visit.asked.path.as_ref().filter(|_| way == Route::Read)?;
    let (entries, all) = rooms.store.count_at(path.as_str(), WALK);
    Some(KeptAtPath { entries, all })
}
