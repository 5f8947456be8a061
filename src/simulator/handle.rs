//! The handle that tests keep: what happened, what changes behind everybody's back, what goes wrong.

use std::time::Duration;

use serde_json::Value;

use super::Simulator;
use super::faults::{Fault, Match};
use super::journal::Call;
use super::limits::Limits;
use super::operations::Failure;
use super::options::{Latency, Options};
use super::state::State;
use super::tokens::{Grant, Principal};

/// Reading.
impl Simulator {
    /// All calls so far, the oldest first.
    #[must_use]
    pub fn journal(&self) -> Vec<Call> {
        self.with(|state| state.journal.all())
    }

    /// The calls that `calls` means.
    #[must_use]
    pub fn calls(&self, calls: &Match) -> Vec<Call> {
        let mut all = self.journal();
        all.retain(|call| calls.holds(&call.method, &call.target));
        all
    }

    /// How many calls arrived, forgotten ones included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.with(|state| state.journal.count())
    }

    /// Forgets the calls so far; their numbers go on.
    pub fn clear_journal(&self) {
        self.with(|state| state.journal.clear());
    }

    /// A resource as a GET would show it now.
    #[must_use]
    pub fn read(&self, id: &str) -> Option<Value> {
        self.with(|state| {
            state.store.find(&id.to_ascii_lowercase()).map(|resource| resource.shown.body.clone())
        })
    }

    /// The ETag of a resource, quotes included.
    #[must_use]
    pub fn etag(&self, id: &str) -> Option<String> {
        self.with(|state| state.store.find(&id.to_ascii_lowercase())?.version.tag())
    }

    /// The ids of a set's VMs, in the order they were made.
    #[must_use]
    pub fn members(&self, set: &str) -> Vec<String> {
        self.with(|state| {
            let members = state.members_of(&set.to_ascii_lowercase());
            members.iter().filter_map(|key| state.store.find(key)).map(|vm| vm.id.clone()).collect()
        })
    }

    /// How many resources there are.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.with(|state| state.store.len())
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.inner.connections.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Seconds since the Unix epoch, as the simulator sees it.
    #[must_use]
    pub fn unix(&self) -> u64 {
        self.with(|state| state.time.unix())
    }

    /// Time since the simulator started, as the journal counts it.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.with(|state| state.now)
    }

    /// The id of the group that exists from the start.
    #[must_use]
    pub fn group(&self) -> String {
        self.with(|state| state.group_id())
    }
}

/// Tokens and rights.
impl Simulator {
    /// A new token of this principal. No two are equal.
    #[must_use]
    pub fn token(&self, principal: &Principal) -> String {
        self.with(|state| {
            let (tenant, now) = (state.options.tenant.clone(), state.time.unix());
            state.tokens.issue(principal, &tenant, now, &mut state.random)
        })
    }

    /// A new token of this principal, as the value of `Authorization`.
    #[must_use]
    pub fn authorization(&self, principal: &Principal) -> String {
        format!("Bearer {}", self.token(principal))
    }

    /// This token is no longer accepted.
    pub fn revoke(&self, token: &str) {
        self.with(|state| state.tokens.revoke(token));
    }

    /// From now on the principal may do this and nothing else; at first everybody may do everything.
    pub fn restrict(&self, principal: &Principal, grants: impl IntoIterator<Item = Grant>) {
        let grants = grants.into_iter().collect();
        self.with(|state| state.tokens.restrict(&principal.object, Some(grants)));
    }

    /// The principal may do everything again.
    pub fn permit_all(&self, principal: &Principal) {
        self.with(|state| state.tokens.restrict(&principal.object, None));
    }
}

/// Things that go wrong, and settings that change.
impl Simulator {
    /// Injects a fault into the next so many of these calls; returns what [`Simulator::disarm`] takes.
    pub fn fault(&self, calls: Match, fault: Fault, times: usize) -> u64 {
        self.with(|state| state.faults.times(calls, fault, times))
    }

    /// Injects a fault into all of these calls for a while. A throttle tells the seconds that are left.
    pub fn fault_for(&self, calls: Match, fault: Fault, time: Duration) -> u64 {
        self.with(|state| {
            let until = state.now + time;
            state.faults.until(calls, fault, until)
        })
    }

    /// Takes a fault back.
    pub fn disarm(&self, fault: u64) {
        self.with(|state| state.faults.disarm(fault));
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.with(|state| state.faults.clear());
    }

    /// The next operation to end fails.
    pub fn fail_next_operation(&self, code: &str, message: &str) {
        let failure = Failure { code: code.to_owned(), message: message.to_owned() };
        self.with(|state| state.operations.planned.push_back(failure));
    }

    /// Everything that runs, and the late moves of ETags, end now.
    pub fn finish_operations(&self) {
        self.with(State::finish);
    }

    /// Changes the settings; those that matter only at the start have no effect any more. Lists lag only
    /// over changes made after their lag was set.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        self.with(|state| {
            change(&mut state.options);
            state.keep_history();
        });
    }

    /// How far lists of a group or a subscription lag.
    pub fn set_list_lag(&self, lag: Duration) {
        self.configure(|options| options.list_lag = lag);
    }

    /// How far the VM lists of sets lag.
    pub fn set_member_lag(&self, lag: Duration) {
        self.configure(|options| options.member_lag = lag);
    }

    /// Items on a page of a list.
    pub fn set_page_size(&self, size: Option<usize>) {
        self.configure(|options| options.page = size);
    }

    /// Time a call takes.
    pub fn set_latency(&self, latency: Latency) {
        self.configure(|options| options.latency = latency);
    }

    /// The throttling schemes, or none.
    pub fn set_limits(&self, limits: Option<Limits>) {
        self.configure(|options| options.throttle = limits);
    }
}
