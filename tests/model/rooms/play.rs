//! Plays a case: step by step, and after every step looks at what could be answered to whom.

use std::sync::Arc;
use std::time::Duration;

use armshield::coalesce::Phase;
use armshield::identify::Token;
use http::{HeaderMap, header};
use tokio::task::JoinHandle;

use super::arm::{Said, Wanted, poll_target, tag_text};
use super::journey::{
    Fresh, Request, Visit, World, Write, ask, asker, find, key, may_join, number, poll, read, write,
};
use super::people::{FORGER, PEOPLE, TOKENS};
use super::reference::How;
use super::stage::Fate;
use super::steps::{Base, Case, Change, Method, Step};
use super::table::{QUESTIONS, SUBSCRIPTION, THINGS, Target, address};

/// A case being played.
pub struct Play {
    world: Arc<World>,
    case: Case,
    /// Which of its tokens each person uses.
    tokens: [usize; PEOPLE.len()],
    very_tokens: [Option<Token>; TOKENS],
    reads: Vec<JoinHandle<()>>,
    steps: usize,
}

impl Play {
    /// Plays a case to its end. Gives back how many steps it took.
    ///
    /// # Errors
    /// Which promises were broken, and after which step.
    pub async fn play(case: &Case) -> Result<usize, String> {
        let world = Arc::new(World::new());
        let (case, steps) = (case.clone(), case.steps.clone());
        let tokens = [0; PEOPLE.len()];
        let mut play = Self { world, case, tokens, very_tokens: [None; TOKENS], reads: Vec::new(), steps: 0 };
        for step in steps {
            play.perform(step).await?;
        }
        play.finish().await?;
        Ok(play.steps)
    }

    /// Everything under way comes to its end.
    async fn finish(&mut self) -> Result<(), String> {
        while self.go(0, Fate::Fine).await? {}
        let counts = self.world.flights.counts();
        if counts.flying + counts.panicked > 0 {
            return Err(format!("P9: calls came to no end: {counts:?}"));
        }
        Ok(())
    }

    async fn perform(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Go { which, times, fate } => {
                for n in 0..times {
                    if !self.go(which, if n == 0 { fate } else { Fate::Fine }).await? {
                        break;
                    }
                }
                return Ok(());
            }
            Step::Read { person, what, fresh } => self.read(person, what, fresh),
            Step::Write { person, what, how, said, base } => self.write(person, what, how, said, base),
            Step::Poll { person, which } => self.poll(person, which),
            Step::Leave { which } => {
                self.reads.retain(|read| !read.is_finished());
                if !self.reads.is_empty() {
                    let which = which % self.reads.len();
                    self.reads.remove(which).abort();
                }
            }
            Step::End { which, well } => {
                let mut arm = self.world.arm();
                if !arm.operations.is_empty() {
                    let at = which % arm.operations.len();
                    arm.end(at, well);
                }
            }
            Step::MoveLate => self.world.arm().move_late(),
            Step::Change { what, how } => self.change(what, how),
            Step::Rotate { person } => self.tokens[person] += 1,
            Step::TurnToken { which } => {
                // Refused tokens come back more often than good ones go.
                self.world.arm().turn_token(which % (TOKENS - 1));
            }
            Step::TurnRights { principal, what, whole } => {
                let at = address(what);
                let group = at.split("/providers/").next().unwrap();
                self.world.arm().turn_rights(principal, if whole { group } else { &at });
            }
            Step::Purge { what } => self.purge(what),
            Step::Pass { millis } => tokio::time::advance(Duration::from_millis(millis)).await,
        }
        self.stepped(&step).await
    }

    /// One that pauses goes on to its next pause. Gives back whether there was one.
    async fn go(&mut self, which: usize, fate: Fate) -> Result<bool, String> {
        let Some(turn) = self.world.stage.turn(which) else { return Ok(false) };
        let (at, person) = turn.at();
        // What becomes of a write that was lost nobody knows, whoever sent it.
        let before = (person == FORGER && fate != Fate::Lost).then(|| self.standing());
        turn.go(fate);
        self.stepped(&(at, person, fate)).await?;
        if before.is_some_and(|before| before != self.standing()) {
            return Err(format!("P2: a forger's call that {at} changed what others are answered"));
        }
        Ok(true)
    }

    fn token(&self, person: usize) -> usize {
        let tokens = PEOPLE[person].tokens;
        tokens[self.tokens[person] % tokens.len()]
    }

    /// The question a number stands for: most stand for those the case is about.
    fn question(&self, what: usize) -> usize {
        if what < QUESTIONS.len() { what } else { self.case.focus[what % 4] }
    }

    /// The resource a number stands for.
    fn thing(&self, what: usize) -> usize {
        if what < THINGS.len() {
            return what;
        }
        let shown = QUESTIONS[self.case.focus[what % 4]].shows();
        shown.get(what % shown.len().max(1)).copied().unwrap_or(what % THINGS.len())
    }

    /// A request comes.
    fn come(&mut self, request: Request) -> Arc<Visit> {
        let mut visit = self.world.welcome(request);
        visit.came_in = self.world.reference().came_in(visit.person);
        self.very_tokens[visit.token] = Some(visit.very_token());
        Arc::new(visit)
    }

    fn read(&mut self, person: usize, what: usize, fresh: Fresh) {
        let request = Request::read(person, self.token(person), self.question(what), fresh);
        let visit = self.come(request);
        self.reads.push(tokio::spawn(read(self.world.clone(), visit)));
    }

    fn poll(&mut self, person: usize, which: usize) {
        let polls = self.world.polls.lock().unwrap().clone();
        if polls.is_empty() {
            return;
        }
        let at = polls[which % polls.len()];
        let visit = self.come(self.request(person, http::Method::GET, poll_target(at)));
        tokio::spawn(poll(self.world.clone(), visit, at));
    }

    fn request(&self, person: usize, method: http::Method, target: String) -> Request {
        let token = self.token(person);
        Request {
            person,
            token,
            method,
            target,
            headers: HeaderMap::new(),
            question: None,
            fresh: Fresh::Any,
        }
    }

    fn write(&mut self, person: usize, what: usize, how: Method, said: Said, base: Base) {
        let thing = self.thing(what);
        let version = "?api-version=2025-04-01";
        let resource = || format!("{}{version}", address(thing));
        let (method, target, path) = match how {
            Method::Put => (http::Method::PUT, Target::Thing(thing), resource()),
            // Uniform sets are not deleted here, and load balancers have no actions.
            Method::Delete if thing != super::table::SET => {
                (http::Method::DELETE, Target::Thing(thing), resource())
            }
            Method::Patch | Method::Delete => (http::Method::PATCH, Target::Thing(thing), resource()),
            Method::Act => {
                (http::Method::POST, Target::Thing(thing), format!("{}/deallocate{version}", address(thing)))
            }
            Method::Deploy => {
                let path =
                    format!("{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Resources/deployments/d");
                (http::Method::PUT, Target::Deployment, path)
            }
            Method::Batch => (http::Method::POST, Target::Batch, "/batch".to_owned()),
        };
        let said = match (said, &method) {
            (Said::Shown, &http::Method::DELETE) => Said::Whole,
            (Said::Shown, &http::Method::POST) => Said::Polled,
            (said, _) => said,
        };
        let now = self.world.arm().now(thing).map_or_else(|| "\"7\"".to_owned(), |now| tag_text(thing, now));
        let mut request = self.request(person, method.clone(), path);
        let mut wanted = Wanted { target, method, said, if_match: None, create_only: false };
        let mut stated = None;
        match base {
            Base::Unsaid => {}
            Base::Body => stated = Some(now),
            Base::IfMatch => {
                request.headers.insert(header::IF_MATCH, now.parse().unwrap());
                wanted.if_match = Some(now);
            }
            Base::IfNoneMatch => {
                request.headers.insert(header::IF_NONE_MATCH, "*".parse().unwrap());
                wanted.create_only = true;
            }
        }
        let visit = self.come(request);
        tokio::spawn(write(self.world.clone(), visit, Write { wanted, stated }));
    }

    fn change(&self, what: usize, how: Change) {
        let thing = self.thing(what);
        let mut arm = self.world.arm();
        match how {
            Change::Advance => arm.change(thing),
            Change::Stir => arm.stir(thing),
            Change::Remove => arm.remove(thing),
            Change::Create => arm.create(thing, super::arm::State::Succeeded),
            Change::Replace => {
                arm.remove(thing);
                arm.create(thing, super::arm::State::Succeeded);
            }
        }
    }

    /// `src/proxy/purge.rs`.
    fn purge(&self, what: Option<usize>) {
        use armshield::arm::ArmPath;
        use armshield::classify::Scope;
        use armshield::policy::Family;

        match what {
            None => {
                self.world.scopes.drop_all(&[Scope::All]);
                self.world.store.clear();
            }
            Some(thing) => {
                let path = ArmPath::parse(&address(thing)).unwrap();
                let family = path.resource().map_or(Family::Other, |(kind, _)| Family::of(&kind));
                self.world.scopes.drop_all(&Scope::of_item(&path, family));
            }
        }
        self.world.reference().purged(what);
    }

    /// After every step: nothing was promised that did not hold, and nothing would be.
    async fn stepped(&mut self, step: &(dyn std::fmt::Debug + Sync)) -> Result<(), String> {
        self.world.stage.quiet().await;
        self.steps += 1;
        let person = self.steps % FORGER;
        self.look(person);
        self.vouchers();
        let mut wrong = std::mem::take(&mut self.world.reference().wrong);
        wrong.dedup();
        if wrong.is_empty() {
            return Ok(());
        }
        let (arm, at) = (self.world.arm(), self.steps);
        let journal = self.world.reference().journal();
        let states: Vec<_> =
            arm.states().iter().map(|(tail, states)| format!("{tail}: {states:?}")).collect();
        Err(format!("after step {at}, {step:?}:\n{}\n{journal}{}", wrong.join("\n"), states.join("\n")))
    }

    /// What a person would be answered to each question of the case, and which call it would join.
    fn look(&self, person: usize) {
        for question in self.case.focus {
            let request = Request::read(person, self.token(person), question, Fresh::Any);
            let visit = self.world.welcome(request);
            self.look_for(&visit);
        }
    }

    fn look_for(&self, visit: &Visit) {
        let world = &self.world;
        let (ask, asker, now) = (ask(world, visit), asker(visit), world.clock.now());
        let found = find(world, visit, &key(world, visit), &ask);
        let (arm, mut reference) = (world.arm(), world.reference());
        match found {
            Ok(entry) => reference.given(&asker, number(&entry), How::Memory, &arm, now),
            Err(why) => {
                if let Some(fetch) = reference.must_have(&asker, now) {
                    reference.wrong(format!("{asker:?} is not given answer {fetch}, for it is {why:?}"));
                }
            }
        }
        let together = reference.together(&asker, (!asker.vouched).then_some(visit.token));
        let Some(fetch) = reference.under_way(together) else { return };
        let Some(mark) = world.marks.lock().unwrap().get(&fetch).cloned() else { return };
        if may_join(world, visit, &ask, &Phase::Sent(mark)) {
            reference.given(&asker, fetch, How::Joining, &arm, now);
        }
    }

    /// Tokens are believed when, and only when, ARM has lately let them in.
    fn vouchers(&self) {
        let now = self.world.clock.now();
        for (token, very) in self.very_tokens.iter().enumerate() {
            let Some(very) = very else { continue };
            let (is, expired) = (self.world.identify.is_vouched(*very), self.world.is_expired(token));
            let mut reference = self.world.reference();
            if is != reference.is_vouched(token, expired, now) {
                reference.wrong(format!("P2: token {token} is believed: {is}"));
            }
        }
    }

    /// What those who are no forgers are answered from memory.
    fn standing(&self) -> Vec<String> {
        let mut standing = Vec::new();
        for person in 0..FORGER {
            for question in 0..QUESTIONS.len() {
                let request = Request::read(person, self.token(person), question, Fresh::Any);
                let visit = self.world.welcome(request);
                let found = find(&self.world, &visit, &key(&self.world, &visit), &ask(&self.world, &visit));
                standing.push(format!("{:?}", found.map(|entry| number(&entry))));
            }
        }
        standing
    }
}
