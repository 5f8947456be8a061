//! An ARM that answers each address with what a test put there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::arm::{Call, Reply};
use super::eras::address;

/// Answers by method and address. Clones are handles to the same.
#[derive(Debug, Clone, Default)]
pub struct Shelf(Arc<Mutex<HashMap<(String, String), Reply>>>);

impl Shelf {
    /// From now on this read, given as [`address`] takes it, is answered with this.
    pub fn put(&self, read: &str, reply: impl Into<Laid>) {
        self.answer("GET", read, reply);
    }

    /// From now on this call is answered with this.
    pub fn answer(&self, method: &str, read: &str, reply: impl Into<Laid>) {
        let key = (method.to_owned(), address(read));
        self.0.lock().unwrap().insert(key, reply.into().0);
    }

    /// The script. What was not put there is 404.
    pub fn script(&self) -> impl FnMut(&Call) -> Reply + Send + 'static {
        let shelf = self.clone();
        move |call| {
            let shelf = shelf.0.lock().unwrap();
            let key = (call.method.to_string(), call.target.clone());
            shelf.get(&key).cloned().unwrap_or_else(Reply::not_found)
        }
    }
}

/// A whole answer, or the body of a 200.
#[derive(Debug)]
pub struct Laid(Reply);

impl From<Reply> for Laid {
    fn from(reply: Reply) -> Self {
        Self(reply)
    }
}

impl From<&str> for Laid {
    fn from(body: &str) -> Self {
        Self(Reply::ok(body.to_owned()))
    }
}

impl From<String> for Laid {
    fn from(body: String) -> Self {
        Self(Reply::ok(body))
    }
}

/// A resource at an address: its id, its ETag as it stands inside (`"3"`, `W/"a"`; empty: none), and more
/// properties.
pub fn resource(at: &str, etag: &str, properties: &str) -> String {
    let id = address(at).split('?').next().unwrap().to_owned();
    let etag =
        if etag.is_empty() { String::new() } else { format!(r#""etag":{},"#, serde_json::json!(etag)) };
    format!(r#"{{"id":"{id}",{etag}"properties":{{{properties}}}}}"#)
}

/// A list of resources.
pub fn list(items: &[String]) -> String {
    format!(r#"{{"value":[{}]}}"#, items.join(","))
}
