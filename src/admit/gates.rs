//! The gates of all budgets, bounded in number.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::futures::OwnedNotified;

use super::gate::{Gate, Sign, Stance};
use super::learned::Learned;
use super::{Account, Budget, Closed, GateStatus, Payer, Settings};
use crate::classify::Call;
use crate::clock::Moment;

/// A gate whose time has passed for this long is forgotten, the number of refusals in a row with it.
const REMEMBERED: Duration = Duration::from_secs(600);

/// What the gates say to a call.
pub(super) enum Verdict {
    Enter,
    Wait(OwnedNotified, Moment),
    Closed(Closed),
}

#[derive(Debug)]
pub(super) struct Gates {
    settings: Settings,
    gates: HashMap<Budget, Gate>,
}

impl Gates {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, gates: HashMap::new() }
    }

    /// The budgets a call draws from that have a gate; notes that such calls are being made.
    pub(super) fn concerned(&self, call: &Call, payer: Payer, learned: &mut Learned) -> Vec<Budget> {
        learned.touch(&call.class);
        self.drawn_from(call, payer, learned)
    }

    /// The same, noting nothing.
    pub(super) fn drawn_from(&self, call: &Call, payer: Payer, learned: &Learned) -> Vec<Budget> {
        if self.gates.is_empty() {
            return Vec::new();
        }
        // A gate of the principal stops whoever claims to be it, and a token its own, vouched for since or not.
        let accounts = [Account::Principal(payer.claimed), Account::Token(payer.token)];
        accounts
            .into_iter()
            .map(|account| Budget::at_front_door(call, account, call.class.charge))
            .chain([Budget::of_class(call)])
            .chain(Budget::of_resource(call))
            .chain(learned.of(&call.class).map(|policy| Budget::of_policy(call, policy)))
            .filter(|budget| self.gates.contains_key(budget))
            .collect()
    }

    /// Lets a call pass all its gates, or none.
    pub(super) fn ask(&mut self, id: u64, budgets: &[Budget], now: Moment) -> Verdict {
        let verdict = self.verdict(budgets, now);
        if matches!(verdict, Verdict::Enter) {
            for budget in budgets {
                if let Some(gate) = self.gates.get_mut(budget) {
                    gate.pass(id, now, &self.settings);
                }
            }
        }
        verdict
    }

    /// What the gates would say to a call.
    pub(super) fn verdict(&self, budgets: &[Budget], now: Moment) -> Verdict {
        let mut shut: Option<(&Budget, Moment)> = None;
        let mut wait = None;
        for budget in budgets {
            let Some(gate) = self.gates.get(budget) else { continue };
            match gate.stance(now, &self.settings) {
                Stance::Shut if shut.is_none_or(|(_, until)| until < gate.until()) => {
                    shut = Some((budget, gate.until()));
                }
                Stance::Wait(until) => wait = Some((gate.turned(), until)),
                Stance::Shut | Stance::Open | Stance::Probe | Stance::Trial => {}
            }
        }
        if let Some((budget, until)) = shut {
            return Verdict::Closed(Closed { budget: budget.clone(), until, remaining: until.since(now) });
        }
        if let Some((turned, until)) = wait {
            return Verdict::Wait(turned.clone().notified_owned(), until);
        }
        Verdict::Enter
    }

    /// Whether one of these budgets is used up at this moment.
    pub(super) fn shuts_out(&self, budgets: &[Budget], now: Moment) -> bool {
        budgets
            .iter()
            .filter_map(|budget| self.gates.get(budget))
            .any(|gate| matches!(gate.stance(now, &self.settings), Stance::Shut | Stance::Probe))
    }

    /// Shuts the gate of a budget for a 429, and says how it stands now.
    pub(super) fn shut(
        &mut self,
        budget: &Budget,
        entered: Moment,
        now: Moment,
        told: Option<Duration>,
        code: &Arc<str>,
    ) -> Closed {
        if !self.gates.contains_key(budget) {
            self.make_room(now);
        }
        let gate = self.gates.entry(budget.clone()).or_insert_with(|| Gate::new(now));
        gate.shut(entered, now, told, code, &self.settings);
        let until = gate.until();
        Closed { budget: budget.clone(), until, remaining: until.since(now) }
    }

    /// Takes note of an answer other than a 429 for these budgets.
    pub(super) fn answered(&mut self, id: u64, budgets: &[Budget], entered: Moment, now: Moment, sign: Sign) {
        for budget in budgets {
            if let Entry::Occupied(mut entry) = self.gates.entry(budget.clone())
                && entry.get_mut().answered(id, entered, now, sign)
            {
                entry.remove().turned().notify_waiters();
            }
        }
    }

    /// Takes note that a call was lost.
    pub(super) fn lost(&mut self, id: u64, budgets: &[Budget]) {
        for budget in budgets {
            if let Some(gate) = self.gates.get_mut(budget) {
                gate.lost(id);
            }
        }
    }

    /// Forgets what has long passed, and if that is not enough the gate that opens soonest, those of
    /// unvouched tokens first.
    fn make_room(&mut self, now: Moment) {
        self.gates.retain(|_, gate| now < gate.until() + REMEMBERED);
        while self.gates.len() >= self.settings.gates.max(1) {
            let least =
                self.gates.iter().min_by_key(|(budget, gate)| (!budget.is_of_a_token(), gate.until()));
            let Some(least) = least.map(|(budget, _)| budget.clone()) else { return };
            if let Some(gate) = self.gates.remove(&least) {
                gate.turned().notify_waiters();
            }
        }
    }

    /// The gates that keep calls out or waiting, those that open last first.
    pub(super) fn status(&self, now: Moment) -> Vec<GateStatus> {
        let mut gates: Vec<_> = self
            .gates
            .iter()
            .filter(|(_, gate)| gate.holds(now, &self.settings))
            .map(|(budget, gate)| GateStatus {
                budget: budget.clone(),
                until: gate.until(),
                remaining: gate.until().since(now),
                code: gate.code().clone(),
                told: gate.told(),
            })
            .collect();
        gates.sort_by_cached_key(|gate| (std::cmp::Reverse(gate.until), gate.budget.to_string()));
        gates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Charge;

    #[test]
    fn what_has_long_passed_is_forgotten_when_another_gate_is_made() {
        let mut gates = Gates::new(Settings::default());
        let mut shut = |payer: u128, seconds: u64| {
            let budget = Budget::ArmTenant { payer: Account::Principal(payer), charge: Charge::Read };
            let now = Moment::ZERO + Duration::from_secs(seconds);
            gates.shut(&budget, now, now, Some(Duration::from_secs(60)), &"".into());
            gates.gates.len()
        };
        assert_eq!(shut(1, 0), 1);
        assert_eq!(shut(2, 100), 2);
        assert_eq!(shut(3, 659), 3);
        assert_eq!(shut(4, 661), 3, "the first opened more than ten minutes ago");
    }
}
