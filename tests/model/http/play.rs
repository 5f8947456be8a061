//! Plays a case: every step as its turn comes, over real HTTP in memory, until everybody is answered.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::arm::{Arm, POLLS};
use super::judge::knowledge;
use super::operations::{Basis, Case, Deed, Forged, Which};
use super::people::{CALLERS, PEOPLE, Token, closable, peer};
use super::places::{About, Question, SUBSCRIPTION, THINGS, VERSIONS};
use super::records::{Fault, Fresh, Plan, Request, What, Write};
use crate::support::client::Broken;
use crate::support::{Answer, Client, World, world};

/// Nobody is made to wait longer than that, whatever happens: a deadline of armshield's, an answer's head,
/// a body that comes to a stop.
const LONGEST: Duration = Duration::from_secs(200);

/// Pages of one list that a client follows at most.
const PAGES: usize = 4;

/// armshield, ARM, and the clients' present tokens. Clones are handles to the same.
#[derive(Clone)]
pub struct Play {
    pub(super) world: World,
    arm: Arc<Mutex<Arm>>,
    case: Arc<Case>,
    pub(super) generations: Arc<Mutex<[u32; CALLERS]>>,
}

/// What a request is to be.
pub(super) struct Ask {
    step: usize,
    who: usize,
    stranger: bool,
    pub(super) token: Token,
    what: What,
    target: String,
    fresh: Fresh,
    basis: Basis,
    plan: Plan,
}

impl Play {
    pub fn new(case: Case, lags: bool) -> Self {
        let arm = Arc::new(Mutex::new(Arm::new(lags)));
        let own = arm.clone();
        let world = World::new(move |call| own.lock().unwrap().answer(call));
        Self { world, arm, case: Arc::new(case), generations: Arc::default() }
    }

    /// Plays all steps and gives what happened.
    pub async fn play(self) -> Arc<Mutex<Arm>> {
        // Everything that lags has something to lag behind.
        world::seconds(10).await;
        self.let_everybody_in().await;
        let mut begun = Vec::new();
        for (at, step) in self.case.steps.iter().enumerate() {
            begun.extend(self.begin(at, step.deed));
            if step.pause > 0 {
                world::pass(Duration::from_millis(step.pause)).await;
            }
        }
        for task in begun {
            if tokio::time::timeout(LONGEST, task).await.is_err() {
                self.arm().records.wrong.push("liveness: a request was never answered".into());
            }
        }
        self.arm
    }

    pub(super) fn arm(&self) -> MutexGuard<'_, Arm> {
        self.arm.lock().unwrap()
    }

    fn token(&self, who: usize) -> Token {
        let caller = PEOPLE[who].caller;
        Token { caller, generation: self.generations.lock().unwrap()[caller], forged: false }
    }

    /// ARM lets each token in once, on a question of its own.
    async fn let_everybody_in(&self) {
        let about = About::List(5);
        for who in [0, 2, 6] {
            let question = Question { about, version: 1, expand: true, locale: false, skip: 0 };
            let plan = Plan { slow: 5, fault: Fault::None, applied: false, shows: true, long: None };
            let read = self.read(0, who, question, Fresh::default(), plan);
            self.start(read, None).await.unwrap();
            // Back to where steps begin.
            world::pass(Duration::from_millis(5)).await;
        }
    }

    pub(super) fn read(&self, step: usize, who: usize, question: Question, fresh: Fresh, plan: Plan) -> Ask {
        let (token, target) = (self.token(who), question.target());
        let (what, basis) = (What::Read(question), Basis::Nothing);
        Ask { step, who, stranger: false, token, what, target, fresh, basis, plan }
    }

    fn write(&self, step: usize, who: usize, write: Write, version: usize, basis: Basis, plan: Plan) -> Ask {
        let target = match write {
            Write::Put(thing) | Write::Patch(thing) | Write::Delete(thing) => THINGS[thing].id(),
            Write::Act(thing) => format!("{}/restart", THINGS[thing].id()),
            Write::Deploy => {
                format!("{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Resources/deployments/d")
            }
            Write::Batch => "/batch".into(),
        };
        let target = format!("{target}?api-version={}", VERSIONS[version]);
        let (token, what) = (self.token(who), What::Write(write, version));
        Ask { step, who, stranger: false, token, what, target, fresh: Fresh::default(), basis, plan }
    }

    fn poll(&self, step: usize, who: usize, which: usize, plan: Plan) -> Option<Ask> {
        let known = self.arm().known_operations(self.world.clock.now());
        let number = *known.get(which.checked_rem(known.len())?)?;
        let target = format!("{POLLS}{number}?api-version=2025-04-01&s=a%2Fb");
        let (token, what) = (self.token(who), What::Poll(number));
        let (fresh, basis) = (Fresh::default(), Basis::Nothing);
        Some(Ask { step, who, stranger: false, token, what, target, fresh, basis, plan })
    }

    /// Begins a step.
    fn begin(&self, step: usize, deed: Deed) -> Vec<JoinHandle<()>> {
        let case = &self.case;
        match deed {
            Deed::Read { who, question, fresh, plan, leaves, old_token } => {
                let mut ask = self.read(step, case.who(who), case.question(question), fresh, plan);
                if old_token {
                    ask.token.generation = ask.token.generation.saturating_sub(1);
                }
                vec![self.start(ask, leaves)]
            }
            Deed::Crowd { who, question, plan } => (0..PEOPLE.len())
                .filter(|at| who >> at & 1 == 1)
                .map(|who| self.read(step, who, case.question(question), Fresh::default(), plan))
                .map(|ask| self.start(ask, None))
                .collect(),
            Deed::Write { who, write, thing, version, basis, plan, leaves } => {
                let write = write.to(case.thing(thing));
                vec![self.start(self.write(step, case.who(who), write, version, basis, plan), leaves)]
            }
            Deed::Poll { who, which, plan } => {
                let ask = self.poll(step, case.who(who), which, plan);
                ask.map(|ask| self.start(ask, None)).into_iter().collect()
            }
            Deed::Forge { who, what, plan, from_far } => {
                let ask = self.forge(step, case.who(who), what, plan, from_far);
                ask.map(|ask| self.start(ask, None)).into_iter().collect()
            }
            Deed::Imitate { who, question, what } => {
                vec![self.imitate(step, case.who(who), case.question(question), what)]
            }
            Deed::Refuse { who, question, what } => {
                vec![self.refuse(step, case.who(who), case.question(question), what)]
            }
            Deed::Overtake { who, question, thing, goes, slow } => {
                let question = case.question(question);
                let things = question.about.things();
                let thing = things[thing % things.len()];
                vec![self.overtake(step, case.who(who), question, thing, goes, slow)]
            }
            Deed::Change { .. }
            | Deed::Replace { .. }
            | Deed::Remove { .. }
            | Deed::Rotate { .. }
            | Deed::Ban { .. }
            | Deed::Rights { .. } => {
                self.elsewhere(deed);
                Vec::new()
            }
        }
    }

    /// What happens without a request.
    fn elsewhere(&self, deed: Deed) {
        let (case, now) = (&self.case, self.world.clock.now());
        let caller = |who| PEOPLE[case.who(who)].caller;
        let mut arm = self.arm();
        arm.truth.settle(now);
        match deed {
            Deed::Change { thing } => {
                let thing = case.thing(thing);
                if let Some(shown) = arm.truth.now(thing) {
                    arm.truth.advance(thing, now, shown.state);
                }
            }
            Deed::Replace { thing } => arm.truth.replace(case.thing(thing), now),
            Deed::Remove { thing } => arm.truth.remove(case.thing(thing), now),
            Deed::Rotate { who } => self.generations.lock().unwrap()[caller(who)] += 1,
            Deed::Ban { who } => {
                let generation = self.generations.lock().unwrap()[caller(who)];
                arm.banned.insert((caller(who), generation));
            }
            Deed::Rights { who, place } => {
                let rights = (caller(who), closable(place));
                if !arm.closed.remove(&rights) {
                    arm.closed.insert(rights);
                }
            }
            _ => {}
        }
    }

    fn forge(&self, step: usize, who: usize, what: Forged, plan: Plan, from_far: bool) -> Option<Ask> {
        let case = &self.case;
        let ask = match what {
            Forged::Read(question) => self.read(step, who, case.question(question), Fresh::default(), plan),
            Forged::Write(kind, thing) => {
                self.write(step, who, kind.to(case.thing(thing)), 0, Basis::Nothing, plan)
            }
            Forged::Poll(which) => self.poll(step, who, which, plan)?,
        };
        Some(Ask { stranger: from_far, token: Token { forged: true, ..ask.token }, ..ask })
    }

    /// A client asks, somebody asks in its name, it asks again.
    fn imitate(&self, step: usize, who: usize, question: Question, what: Forged) -> JoinHandle<()> {
        let play = self.clone();
        let plan = Plan { slow: 5, fault: Fault::None, applied: false, shows: true, long: None };
        tokio::spawn(async move {
            let pause = || world::pass(Duration::from_millis(5));
            play.start(play.read(step, who, question, Fresh::default(), plan), None).await.unwrap();
            pause().await;
            if let Some(forged) = play.forge(step, who, what, plan, true) {
                play.start(forged, None).await.unwrap();
                pause().await;
            }
            play.start(play.read(step, who, question, Fresh::default(), plan), None).await.unwrap();
        })
    }

    /// Begins a request; it goes on in the background, and follows the pages of a list.
    pub(super) fn start(&self, ask: Ask, leaves: Option<u64>) -> JoinHandle<()> {
        let play = self.clone();
        let mut id = self.note(&ask);
        tokio::spawn(async move {
            let leaves = leaves.map(|after| tokio::time::Instant::now() + Duration::from_millis(after));
            let Ask { step, who, token, mut what, fresh, plan, .. } = ask;
            for _ in 0..PAGES {
                let Some(answer) = play.ask(id, leaves).await else { return };
                let (What::Read(question), Some(next)) = (what, next_of(&answer)) else { return };
                let target = match next {
                    Ok(target) => target,
                    Err(wrong) => return play.arm().records.wrong.push(wrong),
                };
                let skip = target.rsplit_once("%2F").and_then(|(_, skip)| skip.parse().ok()).unwrap_or(0);
                what = What::Read(Question { skip, ..question });
                let basis = Basis::Nothing;
                id = play.note(&Ask { step, who, stranger: false, token, what, target, fresh, basis, plan });
            }
        })
    }

    /// Writes down what is about to be asked, and chooses the condition of a write. Gives its number.
    fn note(&self, ask: &Ask) -> usize {
        let now = self.world.clock.now();
        let mut arm = self.arm();
        let version = |which| {
            let thing = match ask.what {
                What::Write(write, _) => write.thing()?,
                What::Read(_) | What::Poll(_) => return None,
            };
            let present = || Some(arm.truth.now(thing)?.tag(thing));
            match which {
                Which::Shown => knowledge::last_shown(&arm, &PEOPLE[ask.who], thing),
                Which::Present => present(),
                Which::Wrong => Some("\"77\"".to_owned()),
            }
        };
        let (condition, stated) = match ask.basis {
            Basis::Own(which) => (version(which).map(|tag| ("if-match", tag)), None),
            Basis::Any => (Some(("if-match", "*".into())), None),
            Basis::Absent => (Some(("if-none-match", "*".into())), None),
            Basis::Body(which) => (None, version(which)),
            Basis::Nothing => (None, None),
        };
        let Ask { step, who, stranger, token, what, fresh, plan, .. } = *ask;
        let target = ask.target.clone();
        arm.records.requests.push(Request {
            step,
            begun: now,
            who,
            stranger,
            token,
            what,
            target,
            fresh,
            condition,
            stated,
            plan,
            left: None,
            answer: None,
        });
        arm.records.requests.len() - 1
    }

    /// Asks, and writes down the answer; `None` if the client left before it came.
    async fn ask(&self, id: usize, leaves: Option<tokio::time::Instant>) -> Option<Answer> {
        let (client, builder, body) = {
            let arm = self.arm();
            let request = &arm.records.requests[id];
            self.request(request, id)
        };
        let sent = client.send(builder, &body);
        let answer = match leaves {
            None => sent.await,
            Some(at) => match tokio::time::timeout_at(at, sent).await {
                Ok(answer) => answer,
                Err(_) => {
                    self.arm().records.requests[id].left = Some(self.world.clock.now());
                    return None;
                }
            },
        };
        let mut arm = self.arm();
        match answer {
            Ok(answer) => {
                let token = arm.records.requests[id].token;
                arm.records.requests[id].answer = Some(answer.clone());
                let generation = &mut self.generations.lock().unwrap()[token.caller];
                if answer.status == 401 && !token.forged && token.generation == *generation {
                    *generation += 1;
                }
                Some(answer)
            }
            Err(Broken(why)) => {
                // Only a body that broke off at ARM's may break off here.
                let excused = arm.records.calls.iter().any(|call| call.request == id && !call.whole);
                if !excused {
                    arm.records.wrong.push(format!("liveness: request {id} broke off: {why}"));
                }
                None
            }
        }
    }

    fn request(&self, request: &Request, id: usize) -> (Client, http::request::Builder, String) {
        let mut client = self.world.client("").with_agent(request.person().agent());
        client = client.with_token(request.token.text());
        client.peer = peer(request.stranger);
        let mut builder = client.request(request.method(), &request.target);
        builder = builder.header("x-ms-client-request-id", id.to_string());
        if request.fresh.no_cache {
            builder = builder.header("cache-control", "no-cache");
        } else if let Some(seconds) = request.fresh.max_age {
            builder = builder.header("cache-control", format!("max-age={seconds}"));
        }
        if request.question().is_some_and(|question| question.locale) {
            builder = builder.header("x-ms-effective-locale", "de");
        }
        if let Some((name, value)) = &request.condition {
            builder = builder.header(*name, value);
        }
        let body = match request.what {
            What::Write(Write::Put(_) | Write::Patch(_) | Write::Deploy, _) => {
                let mut body = serde_json::json!({"location": "e", "properties": {"by": id}});
                if let Some(tag) = &request.stated {
                    body["etag"] = tag.clone().into();
                }
                body.to_string()
            }
            _ => String::new(),
        };
        (client, builder, body)
    }
}

/// The target of the next page of a list, if there is one; it has to lead back.
fn next_of(answer: &Answer) -> Option<Result<String, String>> {
    if answer.status != 200 {
        return None;
    }
    let body = serde_json::from_slice::<serde_json::Value>(&answer.body).ok()?;
    let link = body["nextLink"].as_str()?;
    let back = link.strip_prefix("http://localhost:7788");
    Some(back.map(str::to_owned).ok_or_else(|| format!("P12: a link leads to {link}")))
}
