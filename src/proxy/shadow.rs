//! Shadow mode: every read goes to ARM, and what would have been a hit is compared with the real answer.

use std::sync::Arc;

use crate::cache::{Entry, Keyed};

use super::rooms::Rooms;
use super::visit::Visit;

/// Compares what would have been a hit with the answer of ARM that was kept in its place.
pub(super) fn compare(rooms: &Rooms, visit: &Visit, keyed: &Keyed, entry: &Arc<Entry>) {
    let kind = visit.asked.kind.as_ref().map_or("", |(kind, _)| kind);
    let result = match rooms.store.find(&keyed.key) {
        Some(real) if Arc::ptr_eq(&real, entry) => "unknown",
        Some(real) if real.parts.body == entry.parts.body => "same",
        Some(_) => "different",
        None => "unknown",
    };
    if result == "different" {
        tracing::info!(kind, "a hit would have differed from ARM's answer");
    }
    rooms.metrics.compared(kind, result);
}
