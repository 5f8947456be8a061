//! P9: concurrent reads that ask the same with compatible bounds cost one call, whoever leaves.

use armshield::clock::Moment;

use super::{Asker, How, Reference};
use crate::rooms::arm::Arm;

/// What is asked for together: a question, a principal, and for tokens that are not believed the token.
pub type Together = (usize, usize, Option<usize>);

#[derive(Debug, Default)]
pub(super) struct Flights(Vec<Flight>);

#[derive(Debug)]
struct Flight {
    together: Together,
    fetch: usize,
    alive: usize,
    sent: bool,
    over: bool,
}

impl Flights {
    fn latest(&self, together: Together) -> Option<usize> {
        let at = self.0.iter().rposition(|flight| flight.together == together)?;
        (!self.0[at].over).then_some(at)
    }
}

impl Reference {
    /// Who asks with others, and among whom, if not among all of its principal's.
    pub const fn together(&self, asker: &Asker, among: Option<usize>) -> Together {
        (asker.question, asker.principal(), among)
    }

    /// The call that such an asker could join.
    pub fn under_way(&self, together: Together) -> Option<usize> {
        Some(self.flights.0[self.flights.latest(together)?].fetch)
    }

    /// An asker began a call.
    pub fn led(&mut self, asker: &Asker, together: Together, fetch: usize, willing: bool, now: Moment) {
        if let Some(at) = self.flights.latest(together)
            && willing
            && self.must_join(asker, at, now)
        {
            let other = self.flights.0[at].fetch;
            self.wrong
                .push(format!("P9: {asker:?} began call {fetch} beside {other}: {:?}", self.fetches[other]));
        }
        self.tick("begun was call", fetch);
        self.flights.0.push(Flight { together, fetch, alive: 1, sent: false, over: false });
    }

    /// An asker joined. Gives back the call it waits for.
    pub fn joined(&mut self, asker: &Asker, together: Together, arm: &Arm, now: Moment) -> usize {
        let Some(at) = self.flights.latest(together) else {
            self.wrong(format!("P9: {asker:?} joined a call that is not under way"));
            return 0;
        };
        self.flights.0[at].alive += 1;
        let fetch = self.flights.0[at].fetch;
        self.tick("joined was call", fetch);
        self.given(asker, fetch, How::Joining, arm, now);
        fetch
    }

    fn must_join(&self, asker: &Asker, at: usize, now: Moment) -> bool {
        let flight = &self.flights.0[at];
        let fetch = &self.fetches[flight.fetch];
        match fetch.sent {
            None => true,
            Some((tick, sent)) => {
                // What it has learned itself is news as well.
                !asker.no_cache
                    && fetch.taken.is_none()
                    && self.is_let_in(asker, fetch, How::Joining).is_ok()
                    && self.is_quiet_since(fetch.stamped.min(tick), None)
                    && now.since(sent) <= self.certain_age(asker)
            }
        }
    }

    fn flight(&mut self, fetch: usize) -> Option<&mut Flight> {
        self.flights.0.iter_mut().find(|flight| flight.fetch == fetch)
    }

    /// An asker waits no more.
    pub fn left(&mut self, fetch: usize) {
        if let Some(flight) = self.flight(fetch) {
            flight.alive -= 1;
            flight.over |= flight.alive == 0 && !flight.sent;
        }
    }

    pub(super) fn flight_sent(&mut self, fetch: usize) {
        let Some(flight) = self.flight(fetch) else { return };
        flight.sent = true;
        if flight.over {
            self.wrong(format!("P9: call {fetch} was sent though nobody waited for it any more"));
        }
    }

    /// A call is over. One that was sent is finished, whoever leaves.
    pub fn over(&mut self, fetch: usize, finished: bool) {
        let Some(flight) = self.flight(fetch) else { return };
        flight.over = true;
        if flight.sent && !finished {
            self.wrong(format!("P9: call {fetch} was sent and given up"));
        }
    }
}
