//! Time in the demo: everything that is a time goes faster by the same factor.
//!
//! The clients' periods, ARM's operations, the way to it, the refill of its limits, and armshield's ages too:
//! were those left as they are, every answer from memory would serve longer than it would in a cluster, and
//! the figures would flatter.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Configuration;
use crate::policy::Policy;
use crate::simulator::{Limits, Rate};

/// How many seconds of the cluster's life pass in a second of the demo.
pub(super) const SCALE: u32 = 10;

/// So many seconds of the cluster's time.
pub(super) const fn seconds(count: u64) -> Duration {
    millis(count * 1000)
}

/// So many milliseconds of the cluster's time.
pub(super) const fn millis(count: u64) -> Duration {
    Duration::from_micros(count * 1000 / SCALE as u64)
}

/// The published limits: bursts as they are, calls come back faster.
pub(super) fn limits() -> Limits {
    let faster = |rate: &mut Rate| rate.refill *= f64::from(SCALE);
    let mut limits = Limits::published();
    for rate in [&mut limits.reads, &mut limits.writes, &mut limits.deletes] {
        faster(rate);
    }
    for policy in &mut limits.compute {
        faster(&mut policy.subscription);
        policy.resource.as_mut().map(faster);
    }
    limits
}

/// Makes armshield's ages shorter: those of rules, of profiles, of changes under way and after them.
pub(super) fn hurry(configuration: &mut Configuration) {
    configuration.policy = hurried(&configuration.policy);
    configuration.cache.repeat_age /= SCALE;
    configuration.scopes.settle /= SCALE;
    configuration.scopes.unknown_outcome /= SCALE;
}

fn hurried(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    policy.unsettled_age /= SCALE;
    for rule in &mut policy.rules {
        rule.max_age /= SCALE;
    }
    for profile in policy.profiles.iter_mut().chain([&mut policy.other]) {
        let profile = Arc::make_mut(profile);
        profile.age /= SCALE;
        profile.network_age /= SCALE;
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_refill_faster_and_hold_no_more() {
        let (published, ours) = (Limits::published(), limits());
        let check = |published: Rate, ours: Rate| {
            assert_eq!(ours.capacity, published.capacity);
            assert!((ours.refill / published.refill - f64::from(SCALE)).abs() < 1e-9);
        };
        check(published.reads, ours.reads);
        check(published.writes, ours.writes);
        check(published.deletes, ours.deletes);
        for (published, ours) in published.compute.iter().zip(&ours.compute) {
            check(published.subscription, ours.subscription);
            if let (Some(published), Some(ours)) = (published.resource, ours.resource) {
                check(published, ours);
            }
        }
    }

    #[test]
    fn every_age_shrinks_alike() {
        let (usual, hurried) = (Policy::default(), hurried(&Policy::default()));
        assert_eq!(hurried.unsettled_age * SCALE, usual.unsettled_age);
        for (hurried, usual) in hurried.rules.iter().zip(&usual.rules) {
            assert_eq!(hurried.max_age * SCALE, usual.max_age, "{}", usual.kind);
        }
        for (hurried, usual) in hurried.profiles.iter().zip(&usual.profiles) {
            assert_eq!(hurried.age * SCALE, usual.age, "{}", usual.name);
            assert_eq!(hurried.network_age * SCALE, usual.network_age, "{}", usual.name);
            assert_eq!(hurried.guard, usual.guard, "{}", usual.name);
        }
    }

    #[test]
    fn a_minute_of_the_cluster_is_six_seconds() {
        assert_eq!(seconds(60), Duration::from_secs(6));
        assert_eq!(millis(120), Duration::from_millis(12));
    }
}
