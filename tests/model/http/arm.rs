//! ARM's answers: by what is so, by who may, and by how this call is planned to go.

use std::collections::BTreeSet;
use std::time::Duration;

use armshield::clock::Moment;
use serde_json::{Value, json};

use super::people::Token;
use super::places::{About, LISTS, MANY, Question, SET, THINGS, is_at_or_below};
use super::records::{Applied, Call, Fault, Over, Plan, Records, Request, What, Write};
use super::truth::{Long, Named, Shown, State, Truth};
use crate::support::arm::Ending;
use crate::support::{self, Reply};

/// How far lists lag where they do.
pub const LAG: Duration = Duration::from_millis(1500);

/// Where operations are followed, by their numbers.
pub const POLLS: &str =
    "/subscriptions/11111111-1111-1111-1111-111111111111/providers/Microsoft.Compute/locations/e/operations/";

/// ARM with everything that happened to it.
#[derive(Debug)]
pub struct Arm {
    pub lags: bool,
    pub truth: Truth,
    pub records: Records,
    /// Tokens that are good no more: of a caller, up to this generation.
    pub banned: BTreeSet<(usize, u32)>,
    /// Places where a caller has no rights.
    pub closed: BTreeSet<(usize, String)>,
}

/// What an answer is, beside its status.
#[derive(Default)]
struct Said {
    body: Value,
    headers: Vec<(&'static str, String)>,
    sights: Vec<(usize, usize)>,
    more: bool,
    applied: Option<Applied>,
    began: Option<usize>,
    over: Option<Over>,
}

fn error(code: &str) -> Value {
    json!({"error": {"code": code, "message": format!("{code} it is")}})
}

impl Arm {
    pub fn new(lags: bool) -> Self {
        Self {
            lags,
            truth: Truth::new(),
            records: Records::default(),
            banned: BTreeSet::new(),
            closed: BTreeSet::new(),
        }
    }

    /// Answers a call and writes it down.
    pub fn answer(&mut self, call: &support::Call) -> Reply {
        self.truth.settle(call.at);
        let id = call.header("x-ms-client-request-id").and_then(|id| id.parse::<usize>().ok());
        let Some(id) = id.filter(|id| *id < self.records.requests.len()) else {
            self.records.wrong.push(format!("{} {} was asked by nobody", call.method, call.target));
            return Reply::error(500, "Nobody");
        };
        let request = &self.records.requests[id];
        let (what, plan, token) = (request.what, request.plan, request.token);
        if call.method != request.method() || call.target != request.target || call.token() != token.text() {
            let text = format!("P1: request {id} arrived as {} {}", call.method, call.target);
            self.records.wrong.push(text);
        }
        let lost =
            self.records.calls.iter().filter(|call| call.request == id && call.status.is_none()).count();
        let answered = call.at + Duration::from_millis(plan.slow);
        let path = request.path().to_owned();
        let (status, said) = self.decide(call, what, plan, token, &path, answered, lost);
        self.write_down(id, call, plan, status, said, answered)
    }

    /// Status and answer; without a status the connection dies.
    #[expect(clippy::too_many_arguments, reason = "everything an answer depends on")]
    fn decide(
        &mut self,
        call: &support::Call,
        what: What,
        plan: Plan,
        token: Token,
        path: &str,
        answered: Moment,
        lost: usize,
    ) -> (Option<u16>, Said) {
        let plain = |status, code| (Some(status), Said { body: error(code), ..Said::default() });
        let expired = call.at >= Moment::ZERO + token.lasts();
        let banned =
            self.banned.iter().any(|(caller, upto)| *caller == token.caller && token.generation <= *upto);
        if token.forged || banned || expired {
            return plain(401, "InvalidAuthenticationToken");
        }
        let closed =
            self.closed.iter().any(|(caller, place)| *caller == token.caller && is_at_or_below(path, place));
        if closed {
            return plain(403, "AuthorizationFailed");
        }
        if let Fault::Throttled { by_compute, seconds } = plan.fault {
            return (Some(429), throttled(by_compute && !path.contains("Microsoft.Network"), seconds));
        }
        if plan.fault == Fault::LostTwice || (plan.fault == Fault::Lost && lost == 0) {
            let mut said = Said::default();
            if let (What::Write(write, version), true) = (what, plan.applied) {
                said = self.write(call, write, version, plan, answered).1;
            }
            return (None, said);
        }
        if let Fault::Status(status) = plan.fault {
            let mut said = Said::default();
            if let (What::Write(write, version), true) = (what, plan.applied) {
                said = self.write(call, write, version, plan, answered).1;
            }
            let body = error("SomethingIsWrong");
            return (
                Some(status),
                Said { body, headers: Vec::new(), sights: Vec::new(), began: None, ..said },
            );
        }
        let (status, said) = match what {
            What::Read(question) => self.read(call.at, question),
            What::Write(write, version) => self.write(call, write, version, plan, answered),
            What::Poll(number) => self.poll(number),
        };
        (Some(status), said)
    }

    fn write_down(
        &mut self,
        id: usize,
        call: &support::Call,
        plan: Plan,
        status: Option<u16>,
        mut said: Said,
        answered: Moment,
    ) -> Reply {
        let (number, caller) = (self.records.calls.len(), self.records.requests[id].token.caller);
        let body = match &mut said.body {
            Value::Object(body) => {
                body.insert("call".into(), number.into());
                body.insert("for".into(), caller.into());
                said.body.to_string()
            }
            _ => String::new(),
        };
        let mut reply = Reply::json(status.unwrap_or(200), body.clone())
            .with("x-arm-call", &number.to_string())
            .with("x-arm-for", &caller.to_string());
        for (name, value) in &said.headers {
            reply = reply.with(name, value);
        }
        if plan.fault == Fault::Varies {
            reply = reply.with("vary", "X-Whatever");
        }
        let half = body.len() / 2;
        let broken = !body.is_empty() && status == Some(200);
        let ending = match plan.fault {
            _ if status.is_none() => Ending::Never,
            Fault::Cut if broken => Ending::Cut(half),
            Fault::Stall if broken => Ending::Stalled(half),
            _ => Ending::Whole,
        };
        // Nobody waits longer for the next byte.
        let idle =
            if matches!(ending, Ending::Stalled(_)) { Duration::from_secs(60) } else { Duration::ZERO };
        let conditions = ["if-match", "if-none-match"]
            .into_iter()
            .filter_map(|name| Some((name, call.header(name)?.to_owned())))
            .collect();
        let whole = ending == Ending::Whole;
        self.records.calls.push(Call {
            request: id,
            at: call.at,
            answered,
            ended: answered + idle,
            status,
            whole,
            body: body.into(),
            conditions,
            sights: said.sights,
            more: said.more,
            applied: said.applied,
            // Without a link only the state in a body that came whole says so.
            began: said.began.filter(|number| {
                let linked = self.truth.operations[*number].named != Named::Nowhere;
                status.is_some() && (whole || linked)
            }),
            over: said.over.filter(|_| status.is_some() && whole),
        });
        reply.after(Duration::from_millis(plan.slow)).ending(ending)
    }

    fn read(&self, at: Moment, question: Question) -> (u16, Said) {
        let About::List(list) = question.about else {
            let thing = question.about.things()[0];
            let number = self.truth.number(thing);
            return self.show(thing, number, question, 200);
        };
        let at = if self.lags { Moment::from_nanos(at.nanos() - LAG.as_nanos() as u64) } else { at };
        let list = &LISTS[list];
        let numbers: Vec<_> =
            list.things.iter().map(|thing| (*thing, self.truth.number_at(*thing, at))).collect();
        let set_is_gone = question.about.root() == Some(SET)
            && self.truth.state(SET, self.truth.number_at(SET, at)).is_none();
        if set_is_gone {
            return (404, Said { body: error("ResourceNotFound"), sights: numbers, ..Said::default() });
        }
        let there: Vec<_> =
            numbers.iter().filter(|(thing, number)| self.truth.state(*thing, *number).is_some()).collect();
        let page: Vec<_> = there.iter().skip(question.skip).take(list.page).collect();
        let items: Vec<_> = page
            .iter()
            .map(|(thing, number)| {
                item(*thing, &self.truth.state(*thing, *number).unwrap(), *number, question)
            })
            .collect();
        let more = there.len() > question.skip + list.page;
        let mut body = json!({"value": items});
        if more {
            let first = Question { skip: 0, ..question }.target();
            body["nextLink"] =
                format!("http://arm.test{first}&$skiptoken=t%2F{}", question.skip + list.page).into();
        }
        // What a page does not show may be on another one.
        let whole = !more && question.skip == 0;
        let sights = if whole { numbers.clone() } else { page.iter().map(|sight| ***sight).collect() };
        (200, Said { body, sights, more, ..Said::default() })
    }

    fn show(&self, thing: usize, number: usize, question: Question, status: u16) -> (u16, Said) {
        let sights = vec![(thing, number)];
        let Some(shown) = self.truth.state(thing, number) else {
            return (404, Said { body: error("ResourceNotFound"), sights, ..Said::default() });
        };
        if let About::View(_) = question.about {
            let code = format!("ProvisioningState/{:?}", shown.state).to_lowercase();
            let body = json!({"statuses": [{"code": code}], "n": number});
            return (status, Said { body, sights, ..Said::default() });
        }
        let mut headers = Vec::new();
        if question.shows_tags() && !THINGS[thing].is_network() {
            headers.push(("etag", shown.tag(thing)));
        }
        (status, Said { body: item(thing, &shown, number, question), headers, sights, ..Said::default() })
    }

    fn poll(&self, number: usize) -> (u16, Said) {
        let operation = &self.truth.operations[number];
        let over = operation.over.map(|(how, left)| Over {
            operation: number,
            well: how == State::Succeeded,
            thing: operation.thing,
            number: left,
        });
        let (status, body) = match (operation.named, operation.over) {
            (Named::Location, None) => (202, json!({})),
            (Named::Location, Some((State::Succeeded, _))) => (200, json!({})),
            (Named::Location, Some(_)) => (409, error("OperationPreempted")),
            (_, None) => (200, json!({"status": "InProgress"})),
            (_, Some((how, _))) => (200, json!({"status": format!("{how:?}")})),
        };
        (status, Said { body, over, ..Said::default() })
    }

    fn write(
        &mut self,
        call: &support::Call,
        write: Write,
        version: usize,
        plan: Plan,
        answered: Moment,
    ) -> (u16, Said) {
        let plain = |status, code| (status, Said { body: error(code), ..Said::default() });
        let Some(thing) = write.thing() else {
            for thing in 0..MANY {
                if let Some(shown) = self.truth.now(thing) {
                    self.truth.advance(thing, call.at, shown.state);
                }
            }
            let brought = (0..MANY).map(|thing| (thing, self.truth.number(thing))).collect();
            return (200, Said { body: json!({}), applied: Some((None, brought)), ..Said::default() });
        };
        let on = self.truth.now(thing);
        if let Some(refusal) = self.unmet(call, write, thing, on) {
            return refusal;
        }
        let (status, begins) = match (write, on) {
            (Write::Delete(_), None) => {
                let brought = vec![(thing, self.truth.number(thing))];
                return (204, Said { applied: Some((on, brought)), ..Said::default() });
            }
            (Write::Patch(_) | Write::Act(_), None) => return plain(404, "ResourceNotFound"),
            (Write::Put(_), None) if !self.can_be_created(thing) => {
                return plain(404, "ParentResourceNotFound");
            }
            (Write::Put(_) | Write::Patch(_) | Write::Act(_), Some(Shown { state: State::Deleting, .. })) => {
                return plain(409, "OperationNotAllowed");
            }
            (Write::Put(_), None) => (201, State::Updating),
            (Write::Delete(_), _) => (202, State::Deleting),
            (Write::Act(_), _) => (202, State::Updating),
            _ => (200, State::Updating),
        };
        self.truth.end_all(thing, State::Canceled);
        let began = self.take_effect(write, thing, plan.long, begins, call.at, answered);
        let number = self.truth.number(thing);
        let brought = if thing == SET { [0, 1, 2].to_vec() } else { vec![thing] };
        let brought = brought.into_iter().map(|thing| (thing, self.truth.number(thing))).collect();
        let mut said = Said { applied: Some((on, brought)), ..Said::default() };
        let mut status = if plan.long.is_none() && status == 202 { 200 } else { status };
        if matches!(write, Write::Put(_) | Write::Patch(_)) && plan.shows {
            let about = About::Point(thing);
            let question = Question { about, version, expand: false, locale: false, skip: 0 };
            let shown = self.show(thing, number, question, status);
            said = Said { applied: said.applied, ..shown.1 };
        } else if matches!(write, Write::Put(_) | Write::Patch(_)) {
            status = 204;
        }
        if let (Some(long), Some(number)) = (plan.long, began) {
            let link = format!("http://arm.test{POLLS}{number}?api-version=2025-04-01&s=a%2Fb");
            match long.named {
                Named::AsyncOperation => said.headers.push(("azure-asyncoperation", link)),
                Named::Location => said.headers.push(("location", link)),
                Named::Nowhere => {}
            }
            // Without a link, the state in the body says that it goes on.
            let told = long.named != Named::Nowhere || !said.sights.is_empty();
            said.began = told.then_some(number);
        }
        (status, said)
    }

    /// What an unmet condition is answered with.
    fn unmet(
        &self,
        call: &support::Call,
        write: Write,
        thing: usize,
        on: Option<Shown>,
    ) -> Option<(u16, Said)> {
        if !matches!(write, Write::Put(_) | Write::Patch(_)) {
            return None;
        }
        let matches = |wanted: &str| match &on {
            Some(shown) => wanted == "*" || wanted == shown.tag(thing),
            None => false,
        };
        let unmet = call.header("if-match").is_some_and(|wanted| !matches(wanted))
            || call.header("if-none-match").is_some_and(matches);
        unmet.then(|| (412, Said { body: error("PreconditionFailed"), ..Said::default() }))
    }

    fn can_be_created(&self, thing: usize) -> bool {
        THINGS[thing].root == thing
    }

    /// Does what a write asks for, or begins to. Gives the operation begun.
    fn take_effect(
        &mut self,
        write: Write,
        thing: usize,
        long: Option<Long>,
        begins: State,
        at: Moment,
        answered: Moment,
    ) -> Option<usize> {
        let state = if long.is_some() { begins } else { State::Succeeded };
        match (write, long) {
            (Write::Delete(_), None) => self.truth.remove(thing, at),
            (Write::Delete(_), Some(_)) => self.truth.turn(thing, at, state),
            (Write::Act(_), None) => {}
            (Write::Act(_), Some(_)) => self.truth.turn(thing, at, state),
            _ if self.truth.now(thing).is_none() => self.truth.create(thing, at, state),
            _ => {
                self.truth.advance(thing, at, state);
                self.truth.move_set_later(thing, at);
            }
        }
        let deletes = matches!(write, Write::Delete(_));
        Some(self.truth.begin(thing, long?, deletes, at, answered))
    }

    /// The operations some answer has named by now.
    pub fn known_operations(&self, now: Moment) -> Vec<usize> {
        let named = |number: &usize| {
            let operation = &self.truth.operations[*number];
            operation.answered < now && operation.named != Named::Nowhere
        };
        (0..self.truth.operations.len()).filter(named).collect()
    }

    /// The one who asked, for messages.
    pub fn request_of(&self, call: &Call) -> &Request {
        self.records.request_of(call)
    }
}

fn item(thing: usize, shown: &Shown, number: usize, question: Question) -> Value {
    let mut item = json!({
        "id": THINGS[thing].id(),
        "properties": {"provisioningState": format!("{:?}", shown.state), "n": number},
    });
    if question.shows_tags() {
        item["etag"] = shown.tag(thing).into();
    }
    let life = format!("{thing}-{}", shown.life);
    if thing == SET {
        item["properties"]["uniqueId"] = life.into();
        item["properties"]["orchestrationMode"] = "Uniform".into();
    } else if !THINGS[thing].is_network() {
        item["properties"]["vmId"] = life.into();
    }
    if question.expand {
        item["properties"]["instanceView"] = json!({"statuses": [{"code": "PowerState/running"}]});
    }
    item
}

fn throttled(by_compute: bool, seconds: u64) -> Said {
    let message = format!("Number of requests exceeded. Please try again after '{seconds}' seconds.");
    let body = match by_compute {
        false => json!({"error": {"code": "SubscriptionRequestsThrottled", "message": message}}),
        true => json!({"error": {"code": "OperationNotAllowed", "message": "too many", "details": [{
            "code": "TooManyRequests", "target": "HighCostGet", "message": "{}",
        }]}}),
    };
    Said { body, headers: vec![("retry-after", seconds.to_string())], ..Said::default() }
}
