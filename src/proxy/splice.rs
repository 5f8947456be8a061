//! Links in answers lead back: on the way out, never in what is stored.

use bytes::Bytes;
use http::HeaderMap;

use crate::arm::Document;
use crate::body::Body;

use super::rooms::Rooms;
use super::visit::Visit;

/// A body with its `nextLink` leading back to the name dialled; three slices, no byte of the rest copied.
pub(super) fn body(rooms: &Rooms, visit: &Visit, bytes: Bytes, document: Option<&Document>) -> Body {
    let spliced = visit.way().and_then(|way| {
        let span = &document?.next_link.as_ref()?.span;
        let (start, end) = (span.start as usize, span.end as usize);
        let link = rooms.links.splice(bytes.get(start..end)?, way)?;
        Some([bytes.slice(..start), link, bytes.slice(end..)])
    });
    spliced.map_or_else(|| Body::full(bytes), Body::spliced)
}

/// Headers with their links leading back.
pub(super) fn headers(rooms: &Rooms, visit: &Visit, headers: &mut HeaderMap) {
    if let Some(way) = visit.way() {
        rooms.links.headers(headers, way);
    }
}
