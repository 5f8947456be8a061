//! What can be set before and while the simulator runs.

use std::time::Duration;

use super::limits::Limits;

/// Settings of a [`Simulator`](super::Simulator). The defaults suit tests: quick, quiet, unthrottled.
#[derive(Debug, Clone)]
pub struct Options {
    /// Equal seeds and equal calls give equal answers.
    pub seed: u64,
    /// Seconds since the Unix epoch when the simulator starts.
    pub wall: u64,
    /// The subscription that exists.
    pub subscription: String,
    /// The tenant of that subscription.
    pub tenant: String,
    /// The region of resources made by the quick constructors.
    pub location: String,
    /// A resource group that exists from the start.
    pub group: String,
    /// How long an operation runs.
    pub operation: Duration,
    /// The `Retry-After` of operations, in seconds; `None` sends none.
    pub retry_after: Option<u64>,
    /// How long after the end of a set VM's write its set's ETag moves.
    pub parent_delay: Duration,
    /// Items on a page of a list; `None` puts all on one.
    pub page: Option<usize>,
    /// Whether the last page links to an empty one, as the recorded list of AKS clusters does.
    pub empty_page: bool,
    /// How far lists of a group or a subscription lag behind. What was there at the start is always shown.
    pub list_lag: Duration,
    /// How far the VM list of a set lags behind.
    pub member_lag: Duration,
    /// How long a call is on its way; the provider looks at the resource half-way.
    pub latency: Latency,
    /// Token buckets of ARM and Compute; `None` never throttles, and reports full buckets.
    pub throttle: Option<Limits>,
    /// Compress answers for those who accept gzip.
    pub gzip: bool,
    /// Ask for a token that was issued here. Without, everybody is one principal.
    pub authenticate: bool,
    /// Calls the journal keeps.
    pub journal: usize,
    /// Scheme of links; `None` is `https` for hosts named like ARM and `http` for all others.
    pub scheme: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            wall: 1_780_000_000,
            subscription: "11111111-1111-4111-a111-111111111111".to_owned(),
            tenant: "22222222-2222-4222-a222-222222222222".to_owned(),
            location: "eastus2".to_owned(),
            group: "nodes".to_owned(),
            operation: Duration::from_secs(10),
            retry_after: Some(5),
            parent_delay: Duration::from_secs(5),
            page: None,
            empty_page: false,
            list_lag: Duration::ZERO,
            member_lag: Duration::ZERO,
            latency: Latency::default(),
            throttle: None,
            gzip: false,
            authenticate: true,
            journal: 100_000,
            scheme: None,
        }
    }
}

/// Time a call takes, chosen evenly between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// No call is quicker.
    pub least: Duration,
    /// No call is slower.
    pub most: Duration,
}

impl Latency {
    /// Every call takes exactly this long.
    #[must_use]
    pub const fn of(time: Duration) -> Self {
        Self { least: time, most: time }
    }
}
