//! ARM's language: paths, queries, entity tags, api-versions, headers, error bodies, documents.
//!
//! Knows the protocol and nothing of armshield.

pub mod etag;
pub mod path;
pub mod query;

pub use etag::ETag;
pub use path::{ArmPath, Shape};
pub use query::Query;
