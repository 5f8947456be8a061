//! What is said around the table.

use std::net::SocketAddr;

use super::Options;
use super::figures::Figures;
use super::scale::{self, SCALE};

/// Lost updates that are named.
const NAMED: usize = 4;

/// What is going to happen.
pub(super) fn beginning(options: &Options) -> String {
    let Options { nodes, seconds, seed, .. } = options;
    format!(
        "armshield demo: the same busy clients, {seconds} s on a simulated ARM itself, then {seconds} s
through armshield.

A cluster of {nodes} nodes, with a cloud-controller-manager, a cluster-autoscaler, a
disk driver, two Prometheus servers, and two people with az (Ann and Bob) who
work on the same things. Every client has a principal of its own. Time goes
{SCALE} times faster: for the clients, for ARM's operations, latency and limits (calls
come back {SCALE} times faster, bursts are as published), and for armshield's ages,
or they would flatter; else its configuration is the default. Seed {seed}.
"
    )
}

/// Which phase it is, and how far.
pub(super) fn progress(phase: &str, passed: u64, seconds: u64) -> String {
    let width = 30;
    let full = usize::try_from(passed.min(seconds) * width / seconds.max(1)).unwrap_or(0);
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(30 - full));
    format!("{phase:<18} [{bar}] {passed} of {seconds} s")
}

/// The progress in one line, for those who see no table.
pub(super) fn so_far(phase: &str, passed: u64, seconds: u64, figures: &Figures) -> String {
    format!(
        "{phase}: {passed} of {seconds} s, {} calls to ARM, {} of them answered 429, {} lost updates",
        figures.calls(),
        figures.throttled,
        figures.lost.len()
    )
}

/// What the table means, and what it does not.
pub(super) fn meaning(direct: &Figures, through: &Figures) -> String {
    let mut text = String::from("\n");
    for (road, figures) in [("directly", direct), ("through armshield", through)] {
        if figures.lost.is_empty() {
            continue;
        }
        text.push_str(&format!("Lost {road}:\n"));
        for lost in figures.lost.iter().take(NAMED) {
            text.push_str(&format!("  {lost}\n"));
        }
        if figures.lost.len() > NAMED {
            text.push_str(&format!("  and {} more\n", figures.lost.len() - NAMED));
        }
    }
    let age = scale::seconds(15).as_secs_f64();
    text.push_str(&format!(
        "
Lost: acknowledged to its writer, not in the final state, and nobody who had
seen it replaced it. Ann and Bob send back whole models without a condition, as
az does; through armshield the second of two writes built on one reading gets
ARM's own 412: somebody sees a conflict, where else nobody sees a loss. A write
that is refused is not a lost one.

Counted from ARM's journal and state and from what the clients wrote down. A
read counts as answered from memory only if ARM never saw it. Ages are those of
this run: {age} s here are 15 s in a cluster.

Simulated: scale sets, VMs, load balancers, ETags and conditions, operations,
the limits of ARM and Compute. Not simulated: real time, regions, lists that
lag, role assignments, TLS on the way, other clients of the subscription. Polls
and writes are never answered from memory. Operations tell no Retry-After:
clients poll at their own pace.

A limit: a write without an etag in its body is guarded where its client was
shown exactly one version of the resource in the last half hour (here people
read what they change once); where there were several, and for the autoscaler
and the disk driver, armshield only observes.
"
    ));
    text
}

/// Where everything is that stays up.
#[derive(Debug)]
pub(super) struct Addresses<'a> {
    pub(super) armshield: SocketAddr,
    pub(super) admin: SocketAddr,
    pub(super) simulator: SocketAddr,
    pub(super) group: &'a str,
    pub(super) token: &'a str,
}

/// How to look at what stays up.
pub(super) fn invitation(at: &Addresses<'_>) -> String {
    let Addresses { armshield, admin, simulator, group, token } = at;
    let ask = "curl -si -A AZURECLI -H \"Authorization: Bearer $token\" \"$sets\" | grep -i -e cache-status -e ^age";
    format!(
        "It stays up, and the clients rest; armshield's ages are the usual ones again.\n\n\
         \u{20}  armshield  http://{armshield}\n\
         \u{20}  its door   http://{admin}\n\
         \u{20}  ARM        http://{simulator}\n\n\
         Look at it from another terminal:\n\n\
         token='{token}'\n\
         sets='http://{armshield}{group}/providers/Microsoft.Compute/virtualMachineScaleSets?api-version=2025-04-01'\n\
         # a miss\n\
         {ask}\n\
         # and a hit\n\
         {ask}\n\
         # what is going on, and the numbers\n\
         curl -s http://{admin}/api/status\n\
         curl -s http://{admin}/metrics\n\n\
         Ctrl-C ends it."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_goes_from_nothing_to_all() {
        let filled = |passed| progress("direct", passed, 25).matches('#').count();
        assert_eq!((filled(0), filled(12), filled(25), filled(40)), (0, 14, 30, 30));
        assert_eq!(progress("x", 0, 0).matches('#').count(), 0);
    }

    #[test]
    fn what_was_lost_is_named_and_the_rest_counted() {
        let lost = |count: usize| Figures {
            lost: (0..count).map(|number| format!("Ann: tag {number}")).collect(),
            ..Figures::default()
        };
        let text = meaning(&lost(6), &lost(0));
        assert!(text.contains("Lost directly:\n  Ann: tag 0\n") && text.contains("and 2 more"), "{text}");
        assert!(!text.contains("Lost through"), "{text}");
        assert!(meaning(&lost(0), &lost(1)).contains("Lost through armshield:\n  Ann: tag 0\n"));
    }
}
