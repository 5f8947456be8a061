//! Shadow mode: every read goes to ARM, and what would have been a hit is compared with the real answer.

use std::sync::Arc;

use crate::cache::{Entry, Keyed, Why};

use super::notes::Answered;
use super::read;
use super::rooms::Rooms;
use super::visit::Visit;

/// Answers a read that would have been a hit from ARM, and compares.
pub(super) async fn compare(
    rooms: &Arc<Rooms>,
    visit: &Arc<Visit>,
    keyed: Keyed,
    entry: Arc<Entry>,
) -> Answered {
    let key = keyed.key;
    let answered = read::alone(rooms, visit, keyed, Why::Shadow).await;
    let kind = visit.asked.kind.as_ref().map_or("", |(kind, _)| kind);
    let result = match rooms.store.find(&key) {
        // A real answer that was kept stands in the place of the one it is compared with.
        Some(real) if !Arc::ptr_eq(&real, &entry) => {
            if real.parts.body == entry.parts.body {
                "same"
            } else {
                "different"
            }
        }
        _ => "unknown",
    };
    if result == "different" {
        tracing::info!(kind, "a hit would have differed from ARM's answer");
    }
    rooms.metrics.compared(kind, result);
    answered
}
