//! Which budgets a 429 says are used up, and for how long.

use std::sync::Arc;
use std::time::Duration;

use super::learned::{Learned, full_name};
use super::{Answer, Budget, Payer};
use crate::arm::error::{Kind, Throttle, ThrottleKind};
use crate::arm::headers::{FAILURE_CAUSE, remaining, retry_after};
use crate::classify::{Call, Charge};
use crate::clock::Wall;

/// What a 429 means.
pub(super) enum Reading {
    /// Another operation holds the resource; no budget is used up.
    Lock,
    /// Budgets are used up: at least one.
    Throttle(UsedUp),
}

pub(super) struct UsedUp {
    /// The budget meant first.
    pub(super) first: Budget,
    /// Further ones.
    pub(super) more: Vec<Budget>,
    /// How long to wait, if the answer says.
    pub(super) told: Option<Duration>,
    /// ARM's or the provider's word for it.
    pub(super) code: Arc<str>,
}

/// Reads a 429. Whatever it says or does not say, calls like this one are covered by what it closes.
pub(super) fn read(
    answer: &Answer<'_>,
    call: &Call,
    payer: Payer,
    learned: &mut Learned,
    wall: Wall,
) -> Reading {
    let throttle = Throttle::read(answer.body.unwrap_or_default());
    let mut budgets = match throttle.kind {
        ThrottleKind::Lock => return Reading::Lock,
        ThrottleKind::ArmSubscription(kind) => at_front_door(call, payer, kind),
        ThrottleKind::ArmTenant(kind) => in_tenant(call, payer, kind),
        ThrottleKind::ArmResource => vec![Budget::of_class(call)],
        ThrottleKind::Provider => of_provider(answer, &throttle.policies, call, learned),
        ThrottleKind::Unknown => untold(answer, call, payer, learned),
    };
    let first = budgets.remove(0);
    // Zero says no more than silence does.
    let said = |wait: Option<Duration>| wait.filter(|wait| !wait.is_zero());
    let told = said(retry_after(answer.headers, wall)).or_else(|| said(throttle.retry_after));
    Reading::Throttle(UsedUp { first, more: budgets, told, code: short(&throttle.code).into() })
}

fn charge_of(kind: Kind) -> Charge {
    match kind {
        Kind::Read => Charge::Read,
        Kind::Write => Charge::Write,
        Kind::Delete => Charge::Delete,
    }
}

/// The budget named, and that of the call's own kind should ARM have counted it as another.
fn at_front_door(call: &Call, payer: Payer, kind: Option<Kind>) -> Vec<Budget> {
    let mut charges = vec![kind.map_or(call.class.charge, charge_of), call.class.charge];
    charges.dedup();
    charges.into_iter().map(|charge| Budget::at_front_door(call, payer.account(), charge)).collect()
}

/// The tenant's budget is for calls outside of subscriptions, so one inside that drew this closes its own too.
fn in_tenant(call: &Call, payer: Payer, kind: Option<Kind>) -> Vec<Budget> {
    let tenant_wide = Call { subscription: None, ..call.clone() };
    let mut budgets = at_front_door(&tenant_wide, payer, kind);
    if call.subscription.is_some() {
        budgets.extend(at_front_door(call, payer, kind));
    }
    budgets
}

/// One budget for every policy named; in a body that names none, for those of which the headers say that
/// nothing is left.
fn of_provider(answer: &Answer<'_>, named: &[String], call: &Call, learned: &mut Learned) -> Vec<Budget> {
    let mut policies: Vec<String> = named.iter().map(|name| full_name(&call.class, name)).collect();
    if policies.is_empty() {
        policies = used_up(answer, call);
    }
    let mut budgets: Vec<Budget> = Vec::new();
    for policy in &policies {
        let budget = of_policy(policy, call, learned);
        if !budgets.contains(&budget) {
            budgets.push(budget);
        }
    }
    if budgets.is_empty() {
        budgets.push(Budget::of_class(call));
    }
    budgets
}

fn used_up(answer: &Answer<'_>, call: &Call) -> Vec<String> {
    remaining(answer.headers)
        .filter(|(_, left)| *left == 0)
        .map(|(name, _)| full_name(&call.class, name))
        .collect()
}

/// How far a policy reaches, by its name and by what was learned about it. Compute counts per resource and
/// per subscription ("Compute throttling limits"); of its names seen in public those for a subscription say
/// so or end in a time window (`HighCostGetVMScaleSetSubscriptionMaximum`, `DeleteVMScaleSet30Min`).
fn of_policy(policy: &str, call: &Call, learned: &mut Learned) -> Budget {
    let of_subscription =
        policy.contains("subscription") || has_window(policy) || learned.had_many_left(policy);
    let says_resource = policy.contains("resourcemaximum") || policy.ends_with("resource");
    let of_resource = !of_subscription && (says_resource || call.class.charge != Charge::Read);
    if of_resource && let Some(budget) = Budget::of_resource(call) {
        return budget;
    }
    match learned.known(policy) {
        Some(name) => {
            learned.teach(&call.class, &name, 0);
            Budget::of_policy(call, name)
        }
        None => Budget::of_class(call),
    }
}

/// Whether a name ends as in `HighCostGet30Min`.
fn has_window(policy: &str) -> bool {
    policy.strip_suffix("min").is_some_and(|rest| rest.ends_with(|last: char| last.is_ascii_digit()))
}

/// A 429 whose body tells nothing: a provider's if its headers name a budget, ARM's own if it says so, else
/// of this class. A token nobody has vouched for closes only what is its own: who knows who answered.
fn untold(answer: &Answer<'_>, call: &Call, payer: Payer, learned: &mut Learned) -> Vec<Budget> {
    let by_arm = answer.headers.get(FAILURE_CAUSE).is_some_and(|cause| cause == "gateway");
    if !used_up(answer, call).is_empty() {
        of_provider(answer, &[], call, learned)
    } else if by_arm || !payer.vouched {
        at_front_door(call, payer, None)
    } else {
        vec![Budget::of_class(call)]
    }
}

/// Foreign text that goes into status pages: short, and one word.
fn short(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).take(64).collect()
}
