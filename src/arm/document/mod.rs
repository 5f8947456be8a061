//! A body as ARM writes it: one resource or a page of a list, read in one pass as spans of its bytes.
//!
//! No tree is built and nothing of the body is copied but ids, tags and marks of life. What does not parse
//! is no document: such a body is passed on, never stored.

use std::ops::Range;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess};
use serde_json::value::RawValue;

pub use super::item::hash;
use super::item::{Draft, Item, Life, State};
use super::json::{Key, Reader, Walk};
use super::{ETag, Shape};

/// A body that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// [`Shape::Collection`] for `{"value": […]}`, [`Shape::Point`] for any other object.
    pub shape: Shape,
    /// The resources, in the order of the body; exactly one in a point.
    pub items: Vec<Item>,
    /// Where the next page is.
    pub next_link: Option<Link>,
    /// Positions in `items`, ordered by hash.
    by_hash: Box<[u32]>,
}

/// A top-level `nextLink`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The bytes of the body between the quotes of the string, escapes and all; never empty.
    pub span: Range<u32>,
}

/// Why a body is no document. Says nothing of what stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotADocument {
    /// Longer than 4 GiB.
    #[error("the body is too large")]
    TooLarge,
    /// Bytes that are not UTF-8.
    #[error("the body is not UTF-8")]
    NotText,
    /// Valid or not, it does not begin with a brace.
    #[error("the body is no JSON object")]
    NotAnObject,
    /// It names two versions that differ.
    #[error("the body has two entity tags")]
    TwoTags,
    /// Not valid JSON.
    #[error("the body is broken at line {line}, column {column}")]
    Broken {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
    },
}

impl From<serde_json::Error> for NotADocument {
    fn from(error: serde_json::Error) -> Self {
        Self::Broken { line: error.line(), column: error.column() }
    }
}

impl Document {
    /// Reads a body.
    ///
    /// # Errors
    /// When it is not one valid JSON object. A byte order mark in front is allowed (ARM's
    /// `/metadata/endpoints` has one), whitespace around the object as well.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotADocument> {
        let (whole, object) = object_in(bytes)?;
        let mut page = Page { whole, draft: Draft::default(), value: None, next_link: None };
        read(object, &mut page)?;
        Ok(page.finish(object))
    }

    /// The item of that id (in canonical form, not empty); the first one if there are several.
    #[must_use]
    pub fn item(&self, id: &str) -> Option<&Item> {
        let wanted = hash(id);
        let first = self.by_hash.partition_point(|&at| self.items[at as usize].hash < wanted);
        self.by_hash[first..]
            .iter()
            .map(|&at| &self.items[at as usize])
            .take_while(|item| item.hash == wanted)
            .find(|item| *item.id == *id && !id.is_empty())
    }

    /// The memory it takes, in bytes; about what an allocator gives for it.
    #[must_use]
    pub fn weight(&self) -> usize {
        const ALLOCATION: usize = 16;
        let text = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len() + ALLOCATION);
        let one = |item: &Item| {
            let Life { vm_id, unique_id, time_created } = &item.life;
            size_of::<Item>()
                + size_of::<u32>()
                + (item.id.len() + 2 * ALLOCATION)
                + item.etag.as_ref().map_or(0, |etag| etag.as_str().len() + 2 * ALLOCATION)
                + text(vm_id)
                + text(unique_id)
                + text(time_created)
        };
        size_of::<Self>() + self.items.iter().map(one).sum::<usize>()
    }

    /// Whether a change to some item is under way.
    #[must_use]
    pub fn in_progress(&self) -> bool {
        self.items.iter().any(|item| item.state == State::InProgress)
    }
}

/// The entity tag that a request's body names for the resource it describes: only one at its top level,
/// whatever else stands there. An empty one is none.
///
/// # Errors
/// When the body is not one valid JSON object, or has two tags that differ.
pub fn stated_etag(body: &[u8]) -> Result<Option<ETag>, NotADocument> {
    let (_, object) = object_in(body)?;
    let mut draft = Draft::default();
    read(object, &mut draft)?;
    draft.stated_etag().ok_or(NotADocument::TwoTags)
}

/// The body as text, and the object in it.
fn object_in(bytes: &[u8]) -> Result<(&str, &str), NotADocument> {
    u32::try_from(bytes.len()).map_err(|_| NotADocument::TooLarge)?;
    let whole = std::str::from_utf8(bytes).map_err(|_| NotADocument::NotText)?;
    let object = whole.strip_prefix('\u{feff}').unwrap_or(whole).trim_matches([' ', '\t', '\r', '\n']);
    if object.starts_with('{') { Ok((whole, object)) } else { Err(NotADocument::NotAnObject) }
}

fn read<'de>(object: &'de str, reader: &mut impl Reader<'de>) -> Result<(), NotADocument> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    Walk(reader).deserialize(&mut deserializer)?;
    Ok(deserializer.end()?)
}

/// The top level while it is read: an item, and what makes it a list.
struct Page<'de> {
    whole: &'de str,
    draft: Draft<'de>,
    value: Option<Vec<Item>>,
    next_link: Option<Link>,
}

impl<'de> Page<'de> {
    fn finish(self, object: &str) -> Document {
        let shape = if self.value.is_some() { Shape::Collection } else { Shape::Point };
        let items = self.value.unwrap_or_else(|| vec![self.draft.finish(span_of(self.whole, object))]);
        let mut by_hash: Box<[u32]> = (0..items.len()).filter_map(|at| u32::try_from(at).ok()).collect();
        by_hash.sort_by_key(|&at| items[at as usize].hash);
        Document { shape, items, next_link: self.next_link, by_hash }
    }
}

impl<'de> Reader<'de> for Page<'de> {
    fn entry<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::Value => {
                let mut list = List { whole: self.whole, items: None };
                map.next_value_seed(Walk(&mut list))?;
                self.value = list.items;
            }
            Key::NextLink => {
                let raw: &RawValue = map.next_value()?;
                self.next_link = link(self.whole, raw);
            }
            _ => self.draft.entry(key, map)?,
        }
        Ok(())
    }
}

/// The array of a list; `None` while it is not known to be one.
struct List<'de> {
    whole: &'de str,
    items: Option<Vec<Item>>,
}

impl<'de> Reader<'de> for List<'de> {
    fn element<A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error> {
        let items = self.items.get_or_insert_default();
        // Only a raw value knows where it stands; its fields are read from the span just found.
        let Some(raw) = seq.next_element::<&RawValue>()? else { return Ok(false) };
        let mut draft = Draft::default();
        let mut deserializer = serde_json::Deserializer::from_str(raw.get());
        Walk(&mut draft).deserialize(&mut deserializer).map_err(A::Error::custom)?;
        items.push(draft.finish(span_of(self.whole, raw.get())));
        Ok(true)
    }
}

fn link(whole: &str, raw: &RawValue) -> Option<Link> {
    let content = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    (!content.is_empty()).then(|| Link { span: span_of(whole, content) })
}

/// Where `part`, a slice of `whole`, stands in it.
fn span_of(whole: &str, part: &str) -> Range<u32> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    // Lengths are checked before anything is read.
    let at = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    at(start)..at(start + part.len())
}

#[cfg(test)]
mod tests;
