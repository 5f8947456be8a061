//! Token buckets: what a call draws from, what is left, and when it is refused.

use std::collections::HashMap;
use std::time::Duration;

use http::Method;

use super::address::Address;
use super::answers::Answer;
use super::limits::{Limits, Rate};
use super::refusals::{self, Throttled, Word};

/// The call that is to be charged.
#[derive(Debug)]
pub(crate) struct Charge<'a> {
    pub(crate) method: &'a Method,
    pub(crate) address: &'a Address,
    pub(crate) principal: &'a str,
    /// Whether the resource exists (a PUT on it is an update).
    pub(crate) exists: bool,
}

/// What a charge leads to: headers of the answer, or a refusal.
#[derive(Debug)]
pub(crate) enum Charged {
    Paid(Vec<(&'static str, String)>),
    Refused { budget: String, answer: Answer },
}

#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// Tokens left, and when they were counted.
    buckets: HashMap<String, (f64, Duration)>,
}

/// One bucket that a call draws from.
struct Draw {
    key: String,
    rate: Rate,
    throttled: Throttled,
}

impl Throttle {
    /// Draws one token from each bucket of the call. Without limits all buckets are full.
    pub(crate) fn charge(
        &mut self,
        limits: Option<&Limits>,
        call: &Charge<'_>,
        now: Duration,
        stamp: &str,
    ) -> Charged {
        let published = Limits::published();
        let active = limits.is_some();
        let limits = limits.unwrap_or(&published);
        let word = Word::of(call.method);
        let mut draws = vec![front_door(limits, word, call)];
        if let Some(subscription) = &call.address.subscription {
            let rate = rate(limits, word);
            let all = Rate::new(rate.capacity * limits.principals, rate.refill * limits.principals);
            let key = format!("arm {subscription} {word:?}").to_ascii_lowercase();
            draws.push(Draw { key, rate: all, throttled: Throttled::Subscription });
        }
        draws.extend(provider(limits, call));
        if !active {
            self.buckets.clear();
        }
        let levels: Vec<f64> = draws.iter().map(|draw| self.level(draw, now)).collect();
        let refused = levels.iter().position(|level| *level < 1.0).filter(|_| active);
        for (draw, level) in draws.iter().zip(&levels) {
            if refused.is_none() || limits.charge_refused {
                self.buckets.insert(draw.key.clone(), (level - 1.0, now));
            }
        }
        if let Some(at) = refused {
            let draw = &draws[at];
            let wait = ((1.0 - levels[at]) / draw.rate.refill).ceil();
            let answer = refusals::refuse(&draw.throttled, Some(seconds(wait)), call, stamp);
            return Charged::Refused { budget: draw.key.clone(), answer };
        }
        Charged::Paid(headers(word, call, &draws, &levels))
    }

    fn level(&self, draw: &Draw, now: Duration) -> f64 {
        let full = draw.rate.capacity;
        self.buckets.get(&draw.key).map_or(full, |(level, at)| {
            let since = now.saturating_sub(*at).as_secs_f64();
            (level + since * draw.rate.refill).min(full)
        })
    }
}

const fn rate(limits: &Limits, word: Word) -> Rate {
    match word {
        Word::Reads => limits.reads,
        Word::Writes => limits.writes,
        Word::Deletes => limits.deletes,
    }
}

fn seconds(value: f64) -> u64 {
    // Whole and small by construction.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let whole = value.clamp(0.0, 1e9) as u64;
    whole
}

fn headers(word: Word, call: &Charge<'_>, draws: &[Draw], levels: &[f64]) -> Vec<(&'static str, String)> {
    let left = |at: usize| seconds((levels[at] - 1.0).floor()).to_string();
    if call.address.subscription.is_none() {
        return vec![(word.tenant(), left(0))];
    }
    let mut headers = vec![(word.header(false), left(0)), (word.header(true), left(1))];
    let policies: Vec<_> = draws
        .iter()
        .enumerate()
        .filter_map(|(at, draw)| match &draw.throttled {
            Throttled::Compute(name) => Some(format!("Microsoft.Compute/{name};{}", left(at))),
            _ => None,
        })
        .collect();
    if !policies.is_empty() {
        headers.push(("x-ms-ratelimit-remaining-resource", policies.join(",")));
    }
    headers
}

fn front_door(limits: &Limits, word: Word, call: &Charge<'_>) -> Draw {
    let (scope, throttled) = match &call.address.subscription {
        Some(subscription) => (subscription.to_ascii_lowercase(), Throttled::Subscription),
        None => ("tenant".to_owned(), Throttled::Tenant),
    };
    Draw { key: format!("arm {scope} {} {word:?}", call.principal), rate: rate(limits, word), throttled }
}

/// The buckets of Compute: the subscription's and the resource's.
fn provider(limits: &Limits, call: &Charge<'_>) -> Vec<Draw> {
    let (Some(name), Some(subscription)) = (class(call), &call.address.subscription) else {
        return Vec::new();
    };
    let Some(policy) = limits.compute.iter().find(|policy| policy.name == name) else { return Vec::new() };
    let mut draws = vec![Draw {
        key: format!("compute {} {name}", subscription.to_ascii_lowercase()),
        rate: policy.subscription,
        throttled: Throttled::Compute(format!("{name}SubscriptionMaximum")),
    }];
    let resource =
        if call.address.tail.is_some() && call.address.pairs.is_empty() { None } else { policy.resource };
    if let Some(rate) = resource {
        draws.push(Draw {
            key: format!("compute {} {name}", call.address.key()),
            rate,
            throttled: Throttled::Compute(format!("{name}ResourceMaximum")),
        });
    }
    draws
}

/// Compute's class of a call. The VM list of a set is not in the published table; it is counted as the
/// high-cost read it used to be.
fn class(call: &Charge<'_>) -> Option<&'static str> {
    let kind = call.address.kind().to_ascii_lowercase();
    let tail = call.address.tail.as_deref().unwrap_or("").to_ascii_lowercase();
    let read = Word::of(call.method) == Word::Reads;
    let delete =
        *call.method == Method::DELETE || matches!(tail.as_str(), "delete" | "poweroff" | "deallocate");
    if !kind.starts_with("microsoft.compute") {
        return None;
    }
    let below = kind.trim_start_matches("microsoft.compute").trim_start_matches('/');
    if below.starts_with("locations/operations") {
        return Some("GetOperation");
    }
    let name = match (below, tail.as_str()) {
        ("" | "locations", "virtualmachinescalesets") => "HighCostGetVMScaleSet",
        ("" | "locations", "virtualmachines") => "HighCostGetVM",
        ("virtualmachinescalesets", "virtualmachines" | "instanceview") if read => "HighCostGetVMScaleSet",
        ("virtualmachinescalesets", _) if read => "GetVMScaleSet",
        ("virtualmachinescalesets", _) if delete => "DeleteVMScaleSet",
        ("virtualmachinescalesets", "") if *call.method == Method::PUT && !call.exists => "PutVMScaleSet",
        ("virtualmachinescalesets", _) => "UpdateVMScaleSet",
        ("virtualmachinescalesets/virtualmachines", _) if read => "GetVMScaleSetVM",
        ("virtualmachinescalesets/virtualmachines", _) if delete => "DeleteVMScaleSetVM",
        ("virtualmachinescalesets/virtualmachines", _) => "UpdateVMScaleSetVM",
        ("virtualmachines", _) if read => "LowCostGetVM",
        ("virtualmachines", _) if delete => "DeleteVM",
        ("virtualmachines", "") if *call.method == Method::PUT && !call.exists => "PutVM",
        ("virtualmachines", _) => "UpdateVM",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(
        throttle: &mut Throttle,
        limits: Option<&Limits>,
        method: &Method,
        path: &str,
        now: u64,
    ) -> Charged {
        let address = Address::parse(path).unwrap();
        let call = Charge { method, address: &address, principal: "oid", exists: true };
        throttle.charge(limits, &call, Duration::from_secs(now), "now")
    }

    const SET: &str =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/a";

    #[test]
    fn a_set_takes_twelve_updates_at_once_and_four_a_minute() {
        let (mut throttle, limits) = (Throttle::default(), Limits::published());
        for _ in 0..12 {
            assert!(matches!(charge(&mut throttle, Some(&limits), &Method::PUT, SET, 0), Charged::Paid(_)));
        }
        let Charged::Refused { answer, .. } = charge(&mut throttle, Some(&limits), &Method::PUT, SET, 0)
        else {
            panic!("let through")
        };
        assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (429, "15"));
        assert!(answer.body.contains("UpdateVMScaleSetResourceMaximum"), "{}", answer.body);
        assert!(matches!(charge(&mut throttle, Some(&limits), &Method::PUT, SET, 15), Charged::Paid(_)));
        // Another set has a bucket of its own.
        let other = SET.replace("Sets/a", "Sets/b");
        assert!(matches!(charge(&mut throttle, Some(&limits), &Method::PUT, &other, 15), Charged::Paid(_)));
    }

    #[test]
    fn a_principal_reads_two_hundred_and_fifty_times_at_once() {
        let (mut throttle, limits) = (Throttle::default(), Limits::published());
        let path = "/subscriptions/s/resourceGroups/g";
        for at in 0..250 {
            assert!(
                matches!(charge(&mut throttle, Some(&limits), &Method::GET, path, 0), Charged::Paid(_)),
                "{at}"
            );
        }
        let Charged::Refused { answer, .. } = charge(&mut throttle, Some(&limits), &Method::GET, path, 0)
        else {
            panic!("let through")
        };
        assert!(answer.body.contains("SubscriptionRequestsThrottled"), "{}", answer.body);
    }

    #[test]
    fn remaining_counts_are_reported() {
        let mut throttle = Throttle::default();
        let Charged::Paid(headers) = charge(&mut throttle, None, &Method::GET, SET, 0) else {
            panic!("refused")
        };
        let expected = [
            ("x-ms-ratelimit-remaining-subscription-reads", "249"),
            ("x-ms-ratelimit-remaining-subscription-global-reads", "3749"),
            (
                "x-ms-ratelimit-remaining-resource",
                "Microsoft.Compute/GetVMScaleSetSubscriptionMaximum;2399,Microsoft.Compute/GetVMScaleSetResourceMaximum;35",
            ),
        ];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(headers, expected);
    }
}
