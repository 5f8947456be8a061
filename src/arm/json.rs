//! Reading chosen fields of a JSON text in one pass: the rest is skipped without being built.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The field names that mean something to this room, in any object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Code,
    Etag,
    Id,
    NextLink,
    OrchestrationMode,
    Properties,
    ProvisioningState,
    Statuses,
    TimeCreated,
    UniqueId,
    Value,
    VmId,
    Other,
}

/// Takes what it wants of an object or an array, and skips the rest.
pub(super) trait Reader<'de> {
    /// Reads the value that belongs to `key`: exactly one value must be taken.
    fn entry<A: MapAccess<'de>>(&mut self, _key: Key, map: &mut A) -> Result<(), A::Error> {
        map.next_value::<IgnoredAny>().map(drop)
    }

    /// Reads the next element; `false` at the end.
    fn element<A: SeqAccess<'de>>(&mut self, seq: &mut A) -> Result<bool, A::Error> {
        Ok(seq.next_element::<IgnoredAny>()?.is_some())
    }
}

/// Hands an object's entries or an array's elements to a [`Reader`]; a value of another kind is skipped.
pub(super) struct Walk<'a, R>(pub(super) &'a mut R);

impl<'de, R: Reader<'de>> DeserializeSeed<'de> for Walk<'_, R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Reader<'de>> Visitor<'de> for Walk<'_, R> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeySeed)? {
            self.0.entry(key, &mut map)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while self.0.element(&mut seq)? {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        Ok(match name {
            "code" => Key::Code,
            "etag" => Key::Etag,
            "id" => Key::Id,
            "nextLink" => Key::NextLink,
            "orchestrationMode" => Key::OrchestrationMode,
            "properties" => Key::Properties,
            "provisioningState" => Key::ProvisioningState,
            "statuses" => Key::Statuses,
            "timeCreated" => Key::TimeCreated,
            "uniqueId" => Key::UniqueId,
            "value" => Key::Value,
            "vmId" => Key::VmId,
            _ => Key::Other,
        })
    }
}

/// The text of a JSON string, without copying where nothing is escaped; `None` for any other value.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(inner.into())
    }
}

/// Takes the value at hand as text.
pub(super) fn next_text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
    map.next_value::<&RawValue>().map(text)
}
