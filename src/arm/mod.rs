//! ARM's language: paths, queries, entity tags, api-versions, headers, error bodies, documents, clouds.
//!
//! Knows the protocol and nothing of armshield.

pub mod api_version;
pub mod cloud;
pub mod document;
pub mod error;
pub mod etag;
pub mod headers;
pub mod item;
mod json;
pub mod path;
pub mod query;

pub use cloud::Cloud;
pub use document::{Document, Link, NotADocument};
pub use error::{Throttle, ThrottleKind};
pub use etag::ETag;
pub use item::{Item, Life, State};
pub use path::{ArmPath, Shape};
pub use query::Query;
