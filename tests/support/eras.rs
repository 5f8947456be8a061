//! An ARM whose reads show how many writes were applied before they came, and addresses in it.
//!
//! Bodies carry neither ids nor versions: nothing but what a write does to scopes tells two of them apart.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use armshield::clock::Moment;

use super::arm::{Call, Reply};
use super::client::Answer;

/// When writes were applied. Clones are handles to the same.
#[derive(Debug, Clone, Default)]
pub struct Eras(Arc<Mutex<Vec<Moment>>>);

impl Eras {
    /// One more write takes effect at that moment.
    pub fn apply(&self, at: Moment) {
        self.0.lock().unwrap().push(at);
    }

    /// How many writes have taken effect by then.
    pub fn at(&self, moment: Moment) -> usize {
        self.0.lock().unwrap().iter().filter(|at| **at <= moment).count()
    }

    /// A script: reads show the era in which they came, writes are applied as they come.
    pub fn script(&self) -> impl FnMut(&Call) -> Reply + Send + 'static {
        let eras = self.clone();
        move |call| {
            if call.method == "GET" {
                return eras.show(call);
            }
            eras.apply(call.at);
            Reply::ok("{}")
        }
    }

    /// The answer to a read: the era in which it came.
    pub fn show(&self, call: &Call) -> Reply {
        Reply::ok(format!(r#"{{"era":{}}}"#, self.at(call.at)))
    }

    /// The answer to a read that takes so long.
    pub fn show_after(&self, call: &Call, after: Duration) -> Reply {
        self.show(call).after(after)
    }
}

/// The era an answer shows.
pub fn era(answer: &Answer) -> u64 {
    answer.json()["era"].as_u64().unwrap_or_else(|| panic!("{} {}", answer.status, answer.text()))
}

/// An address: `SUB`, `GRP`, `CMP`, `NET` at its beginning stand for a subscription, its group `g` and the
/// providers Compute and Network in that group; an api-version is added where there is none.
pub fn address(short: &str) -> String {
    let sub = "/subscriptions/11111111-1111-1111-1111-111111111111";
    let group = format!("{sub}/resourceGroups/g");
    let long = match short.split_at_checked(3) {
        Some(("SUB", rest)) => format!("{sub}{rest}"),
        Some(("GRP", rest)) => format!("{group}{rest}"),
        Some(("CMP", rest)) => format!("{group}/providers/Microsoft.Compute{rest}"),
        Some(("NET", rest)) => format!("{group}/providers/Microsoft.Network{rest}"),
        _ => short.to_owned(),
    };
    match long.contains("api-version=") {
        true => long,
        false if long.contains('?') => format!("{long}&api-version=2025-04-01"),
        false => format!("{long}?api-version=2025-04-01"),
    }
}
