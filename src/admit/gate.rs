//! One gate: shut by a 429, reopened by one call that goes first.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::Settings;
use crate::clock::Moment;

/// What a gate says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// Go.
    Open,
    /// Go, as the one call that is let into a gate shut for long.
    Probe,
    /// Go first: the gate has just reopened.
    Trial,
    /// Another goes first; ask again then, or when told.
    Wait(Moment),
    /// Come back when it opens.
    Shut,
}

/// What an answer other than 429 tells about a gate its call passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The call was done: there is budget.
    Done,
    /// It was refused for another reason, after it was counted or before: nobody knows.
    Answered,
    /// It was not let in, or another budget was used up: it never came as far as this one.
    Elsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Shut until its time, then waiting for a first call.
    Shut,
    /// The time has passed, and a call went first.
    Reopening { since: Moment, by: Option<u64> },
    /// Open, but how often ARM had to say no is not forgotten before a call is done.
    Open,
}

/// The gate of one budget.
#[derive(Debug)]
pub(super) struct Gate {
    /// When ARM last said no and moved the gate. A call that entered by then proves nothing.
    closed: Option<Moment>,
    until: Moment,
    /// How many 429s in a row did not say how long.
    untold: u32,
    probe: Option<Moment>,
    phase: Phase,
    turned: Arc<Notify>,
    code: Arc<str>,
}

impl Gate {
    /// A gate that no 429 has shut yet.
    pub(super) fn new(now: Moment) -> Self {
        Self {
            closed: None,
            until: now,
            untold: 0,
            probe: None,
            phase: Phase::Open,
            turned: Arc::default(),
            code: "".into(),
        }
    }

    pub(super) fn stance(&self, now: Moment, settings: &Settings) -> Stance {
        match self.phase {
            Phase::Open => Stance::Open,
            _ if now < self.until && self.probe.is_some_and(|at| at <= now) => Stance::Probe,
            _ if now < self.until => Stance::Shut,
            Phase::Reopening { since, by: Some(_) } if now < since + settings.trial => {
                Stance::Wait(since + settings.trial)
            }
            Phase::Reopening { by: Some(_), .. } => Stance::Open,
            Phase::Reopening { by: None, .. } | Phase::Shut => Stance::Trial,
        }
    }

    /// Notes that a call passes, as [`Gate::stance`] allowed.
    pub(super) fn pass(&mut self, id: u64, now: Moment, settings: &Settings) {
        match self.stance(now, settings) {
            Stance::Probe => self.probe = Some(now + settings.probe_every),
            Stance::Trial => {
                // One after another, they keep the others waiting no longer than one would.
                let since = match self.phase {
                    Phase::Reopening { since, .. } if now < since + settings.trial => since,
                    _ => now,
                };
                self.phase = Phase::Reopening { since, by: Some(id) };
            }
            Stance::Open => self.phase = Phase::Open,
            Stance::Wait(_) | Stance::Shut => {}
        }
    }

    /// Takes note of a 429 to a call that entered at `entered`; `told` is how long it asks to wait.
    pub(super) fn shut(
        &mut self,
        entered: Moment,
        now: Moment,
        told: Option<Duration>,
        code: &Arc<str>,
        settings: &Settings,
    ) {
        // Sent before ARM last said no: the answer to what is known already. It cannot shorten.
        let late = self.is_late(entered);
        if !late {
            self.untold = if told.is_some() { 0 } else { self.untold.saturating_add(1) };
        }
        let until = now + told.unwrap_or_else(|| self.guess(settings));
        if late && until <= self.until {
            return;
        }
        self.closed = Some(now);
        self.until = until;
        self.code = code.clone();
        let long = until.since(now) > settings.probe_above;
        let planned = self.probe.filter(|_| late).unwrap_or(now + settings.probe_every);
        self.probe = long.then_some(planned);
        self.phase = Phase::Shut;
        self.turned.notify_waiters();
    }

    fn is_late(&self, entered: Moment) -> bool {
        self.closed.is_some_and(|closed| entered <= closed)
    }

    fn guess(&self, settings: &Settings) -> Duration {
        let doublings = self.untold.saturating_sub(1).min(16);
        settings.untold.saturating_mul(1 << doublings).min(settings.untold_longest)
    }

    /// Takes note of an answer other than a 429 for this budget. `true`: the gate can be forgotten.
    pub(super) fn answered(&mut self, id: u64, entered: Moment, now: Moment, sign: Sign) -> bool {
        if self.is_late(entered) {
            return false;
        }
        if now < self.until {
            return sign == Sign::Done;
        }
        if sign == Sign::Elsewhere {
            self.next_goes_first(id);
            return false;
        }
        true
    }

    fn next_goes_first(&mut self, id: u64) {
        if let Phase::Reopening { since, by: Some(first) } = self.phase
            && first == id
        {
            self.phase = Phase::Reopening { since, by: None };
            self.turned.notify_waiters();
        }
    }

    /// Takes note that a call was lost. If it went first, the others follow.
    pub(super) fn lost(&mut self, id: u64) {
        if matches!(self.phase, Phase::Reopening { by: Some(first), .. } if first == id) {
            self.phase = Phase::Open;
            self.turned.notify_waiters();
        }
    }

    /// Told when the gate turns; also told when it is forgotten.
    pub(super) const fn turned(&self) -> &Arc<Notify> {
        &self.turned
    }

    pub(super) const fn until(&self) -> Moment {
        self.until
    }

    pub(super) const fn code(&self) -> &Arc<str> {
        &self.code
    }

    /// Whether ARM said how long.
    pub(super) const fn told(&self) -> bool {
        self.untold == 0
    }

    /// Whether it keeps calls out now, or waiting for one that went first.
    pub(super) fn holds(&self, now: Moment, settings: &Settings) -> bool {
        matches!(self.stance(now, settings), Stance::Shut | Stance::Probe | Stance::Wait(_))
    }
}
