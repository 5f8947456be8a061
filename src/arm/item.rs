//! One resource inside a body: what identifies it, its version, its life and its state.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use serde::de::{MapAccess, SeqAccess};

use super::json::{Key, Reader, Walk, next_text};
use super::{ArmPath, ETag};

/// One resource of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id in the canonical form of [`ArmPath`]; empty if it has none that parses.
    pub id: Arc<str>,
    /// [`hash`] of the id.
    pub hash: u64,
    /// The bytes of the body it is written in, braces included.
    pub span: Range<u32>,
    /// Its own entity tag, never one of an embedded child.
    pub etag: Option<ETag>,
    /// What tells it from a namesake that was created later.
    pub life: Life,
    /// Whether a change to it is under way.
    pub state: State,
    /// For a scale set, whether it is of the Uniform kind.
    pub uniform: Option<bool>,
}

/// What stays the same for as long as a resource lives, and differs once it was deleted and created again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Life {
    /// `properties.vmId`.
    pub vm_id: Option<Box<str>>,
    /// `properties.uniqueId`.
    pub unique_id: Option<Box<str>>,
    /// `properties.timeCreated`, without a mark for UTC.
    pub time_created: Option<Box<str>>,
}

impl Life {
    /// Whether some mark that both carry differs, so that these are two lives.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let differ = |one: &Option<Box<str>>, other: &Option<Box<str>>| match (one, other) {
            (Some(one), Some(other)) => !one.eq_ignore_ascii_case(other),
            _ => false,
        };
        differ(&self.vm_id, &other.vm_id)
            || differ(&self.unique_id, &other.unique_id)
            || differ(&self.time_created, &other.time_created)
    }

    /// Whether some mark that both carry is the same.
    #[must_use]
    pub fn shares_mark(&self, other: &Self) -> bool {
        let same = |one: &Option<Box<str>>, other: &Option<Box<str>>| match (one, other) {
            (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
            _ => false,
        };
        same(&self.vm_id, &other.vm_id)
            || same(&self.unique_id, &other.unique_id)
            || same(&self.time_created, &other.time_created)
    }

    /// The marks of `newer`, and those of this life that it does not carry.
    #[must_use]
    pub fn merged(&self, newer: &Self) -> Self {
        Self {
            vm_id: newer.vm_id.clone().or_else(|| self.vm_id.clone()),
            unique_id: newer.unique_id.clone().or_else(|| self.unique_id.clone()),
            time_created: newer.time_created.clone().or_else(|| self.time_created.clone()),
        }
    }

    /// Whether no mark is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.vm_id.is_none() && self.unique_id.is_none() && self.time_created.is_none()
    }
}

/// Whether a resource is at rest (ARM RPC, asynchronous operations).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// Succeeded, failed or canceled.
    Terminal,
    /// Any other state.
    InProgress,
    /// The body does not say.
    #[default]
    Unknown,
}

impl State {
    /// Reads a `provisioningState`, in any case.
    #[must_use]
    pub fn of(provisioning: &str) -> Self {
        let is = |state| provisioning.eq_ignore_ascii_case(state);
        if provisioning.is_empty() {
            Self::Unknown
        } else if is("succeeded") || is("failed") || is("canceled") {
            Self::Terminal
        } else {
            Self::InProgress
        }
    }

    /// Reads a status code of an instance view: `ProvisioningState/succeeded`, `ProvisioningState/failed/why`.
    fn of_code(code: &str) -> Self {
        match code.split_once('/') {
            Some((kind, rest)) if kind.eq_ignore_ascii_case("provisioningstate") => {
                Self::of(rest.split('/').next().unwrap_or_default())
            }
            _ => Self::Unknown,
        }
    }

    /// What two statements together say: one change under way is enough.
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::InProgress, _) | (_, Self::InProgress) => Self::InProgress,
            (Self::Terminal, _) | (_, Self::Terminal) => Self::Terminal,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
        }
    }
}

/// A hash to look an id (in canonical form) up by, before the ids are compared. The same in one process.
#[must_use]
pub fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// An item while its object is read. A key that comes twice counts with its last value.
#[derive(Debug, Default)]
pub(super) struct Draft<'de> {
    id: Option<Cow<'de, str>>,
    etag: Tag<'de>,
    properties: Properties<'de>,
    statuses: Statuses,
}

#[derive(Debug, Default)]
enum Tag<'de> {
    #[default]
    Absent,
    Told(Option<Cow<'de, str>>),
    /// Two that differ: neither can be trusted.
    Ambiguous,
}

impl Draft<'_> {
    /// The tag, if it is not empty; `None` if there are two that differ.
    pub(super) fn stated_etag(&self) -> Option<Option<ETag>> {
        match &self.etag {
            Tag::Ambiguous => None,
            Tag::Absent => Some(None),
            Tag::Told(tag) => Some(tag.as_deref().filter(|tag| !tag.is_empty()).map(ETag::from)),
        }
    }

    /// The item, written at `span`.
    pub(super) fn finish(self, span: Range<u32>) -> Item {
        let path = self.id.and_then(|id| ArmPath::parse(&id).ok());
        let id = path.map_or_else(|| Arc::from(""), |path| path.shared());
        let etag = match self.etag {
            Tag::Told(Some(tag)) => Some(ETag::from(&*tag)),
            Tag::Told(None) | Tag::Absent | Tag::Ambiguous => None,
        };
        let state = match self.properties.state {
            State::Unknown => self.statuses.0,
            known @ (State::Terminal | State::InProgress) => known,
        };
        let own = |mark: Option<Cow<'_, str>>| mark.map(|text| Box::from(&*text));
        let time = self.properties.time_created.as_deref().map(|time| {
            let bare = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00"));
            Box::from(bare.unwrap_or(time))
        });
        let life = Life {
            vm_id: own(self.properties.vm_id),
            unique_id: own(self.properties.unique_id),
            time_created: time,
        };
        Item { hash: hash(&id), id, span, etag, life, state, uniform: self.properties.uniform }
    }
}

impl<'de> Reader<'de> for Draft<'de> {
    fn entry<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::Id => self.id = next_text(map)?,
            Key::Etag => {
                let new = next_text(map)?;
                self.etag = match std::mem::take(&mut self.etag) {
                    Tag::Absent => Tag::Told(new),
                    Tag::Told(old) if old == new => Tag::Told(new),
                    Tag::Told(_) | Tag::Ambiguous => Tag::Ambiguous,
                };
            }
            Key::Properties => {
                self.properties = Properties::default();
                map.next_value_seed(Walk(&mut self.properties))?;
            }
            Key::Statuses => {
                self.statuses = Statuses::default();
                map.next_value_seed(Walk(&mut self.statuses))?;
            }
            _ => {
                map.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Properties<'de> {
    vm_id: Option<Cow<'de, str>>,
    unique_id: Option<Cow<'de, str>>,
    time_created: Option<Cow<'de, str>>,
    state: State,
    uniform: Option<bool>,
}

impl<'de> Reader<'de> for Properties<'de> {
    fn entry<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::VmId => self.vm_id = next_text(map)?,
            Key::UniqueId => self.unique_id = next_text(map)?,
            Key::TimeCreated => self.time_created = next_text(map)?,
            Key::ProvisioningState => {
                self.state = next_text(map)?.map_or(State::Unknown, |state| State::of(&state));
            }
            Key::OrchestrationMode => {
                self.uniform = next_text(map)?.and_then(|mode| match mode.to_ascii_lowercase().as_str() {
                    "uniform" => Some(true),
                    "flexible" => Some(false),
                    _ => None,
                });
            }
            _ => {
                map.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The states an instance view reports.
#[derive(Debug, Default)]
struct Statuses(State);

impl<'de> Reader<'de> for Statuses {
    fn element<A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error> {
        let mut status = Status::default();
        let found = seq.next_element_seed(Walk(&mut status))?.is_some();
        self.0 = self.0.and(status.0);
        Ok(found)
    }
}

#[derive(Debug, Default)]
struct Status(State);

impl<'de> Reader<'de> for Status {
    fn entry<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        let code = next_text(map)?;
        if key == Key::Code {
            self.0 = code.map_or(State::Unknown, |code| State::of_code(&code));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_states_are_terminal() {
        let check = |text, state| assert_eq!(State::of(text), state, "{text}");
        check("Succeeded", State::Terminal);
        check("succeeded", State::Terminal);
        check("FAILED", State::Terminal);
        check("Canceled", State::Terminal);
        check("Creating", State::InProgress);
        check("Updating", State::InProgress);
        check("whatever comes", State::InProgress);
        check("", State::Unknown);
    }

    #[test]
    fn lives_differ_only_by_marks_that_both_carry() {
        let life = |vm: Option<&str>, time: Option<&str>| Life {
            vm_id: vm.map(Into::into),
            unique_id: None,
            time_created: time.map(Into::into),
        };
        assert!(life(Some("a"), None).differs(&life(Some("b"), None)));
        assert!(life(Some("a"), Some("1")).differs(&life(Some("a"), Some("2"))));
        assert!(!life(Some("a"), None).differs(&life(Some("A"), Some("2"))));
        assert!(!life(Some("a"), None).differs(&life(None, Some("2"))));
        assert!(!Life::default().differs(&life(Some("a"), None)));
        assert!(Life::default().is_empty());
    }
}
