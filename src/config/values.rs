//! Values as they are written: times, sizes, numbers, texts. Each is read once, and a wrong one says how to
//! write it right.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// Something written that says a `T`.
pub(super) trait Says<T> {
    fn say(self) -> T;
}

/// Sets a place to what a key says, or leaves it as it is if the key is not stated.
pub(super) fn set<T>(place: &mut T, stated: Option<impl Says<T>>) {
    if let Some(stated) = stated {
        *place = stated.say();
    }
}

/// The same for what may be absent altogether.
pub(super) fn set_some<T>(place: &mut Option<T>, stated: Option<impl Says<T>>) {
    if let Some(stated) = stated {
        *place = Some(stated.say());
    }
}

impl Says<Self> for bool {
    fn say(self) -> Self {
        self
    }
}

/// A number or a text, before it is known what it means.
enum Written {
    Number(i64),
    Text(String),
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a whole number")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Written, E> {
                Ok(Written::Number(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Written, E> {
                Ok(Written::Text(text.to_owned()))
            }
        }
        from.deserialize_any(Either)
    }
}

/// A number and the unit behind it.
fn with_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

/// A time of at least so many milliseconds, at most a year: `"30s"`, `"10m"`, `"500ms"`; a bare number
/// counts seconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct AtLeast<const MILLIS: u64>(Duration);

/// A time that is not 0.
pub(super) type Time = AtLeast<1>;
/// A time that may be 0.
pub(super) type TimeOrZero = AtLeast<0>;

impl<const MILLIS: u64> TryFrom<Written> for AtLeast<MILLIS> {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let millis = match &written {
            Written::Number(seconds) => u64::try_from(*seconds).ok().and_then(|n| n.checked_mul(1000)),
            Written::Text(text) => with_unit(text).and_then(|(number, unit)| {
                let [second, minute] = [1000, 60 * 1000];
                let each = match unit {
                    "ms" => 1,
                    "s" => second,
                    "m" => minute,
                    "h" => 60 * minute,
                    "d" => 24 * 60 * minute,
                    _ => return None,
                };
                number.checked_mul(each)
            }),
        };
        let millis = millis.ok_or(r#"write a time as "500ms", "30s", "10m", "2h" or "1d""#)?;
        match millis {
            _ if millis < MILLIS => Err(format!("a time of at least {MILLIS} ms is needed")),
            _ if millis > 365 * 24 * 3_600_000 => Err("a time of at most 365d is needed".into()),
            _ => Ok(Self(Duration::from_millis(millis))),
        }
    }
}

impl<const MILLIS: u64> Says<Duration> for AtLeast<MILLIS> {
    fn say(self) -> Duration {
        self.0
    }
}

/// 0 is "never".
impl Says<Option<Duration>> for TimeOrZero {
    fn say(self) -> Option<Duration> {
        Some(self.0).filter(|time| !time.is_zero())
    }
}

/// Bytes, at least so many KiB and never 0: `"256MiB"`; a bare number counts bytes.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct AtLeastKib<const KIB: usize>(usize);

/// Any size but 0.
pub(super) type Size = AtLeastKib<0>;

impl<const KIB: usize> TryFrom<Written> for AtLeastKib<KIB> {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let bytes = match &written {
            Written::Number(bytes) => u64::try_from(*bytes).ok(),
            Written::Text(text) => with_unit(text).and_then(|(number, unit)| {
                let shift = match unit {
                    "B" => 0,
                    "KiB" => 10,
                    "MiB" => 20,
                    "GiB" => 30,
                    _ => return None,
                };
                number.checked_mul(1 << shift)
            }),
        };
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes <= 1 << 42);
        match bytes.ok_or(r#"write a size as "64KiB", "16MiB" or "1GiB""#)? {
            0 => Err("a size above 0 is needed".into()),
            bytes if bytes < KIB << 10 => Err(format!("a size of at least {KIB}KiB is needed")),
            bytes => Ok(Self(bytes)),
        }
    }
}

impl<const KIB: usize> Says<usize> for AtLeastKib<KIB> {
    fn say(self) -> usize {
        self.0
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct Whole<const LEAST: u32, const MOST: u32>(u32);

/// A number of things, at least one.
pub(super) type Count = Whole<1, 100_000_000>;
/// A number of things, possibly none.
pub(super) type CountOrZero = Whole<0, 100_000_000>;
/// A share.
pub(super) type Percent = Whole<1, 100>;

impl<const LEAST: u32, const MOST: u32> TryFrom<Written> for Whole<LEAST, MOST> {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let number = match written {
            Written::Number(number) => u32::try_from(number).ok(),
            Written::Text(_) => None,
        };
        let fits = number.filter(|number| (LEAST..=MOST).contains(number));
        fits.map(Self).ok_or_else(|| format!("a whole number from {LEAST} to {MOST} is needed"))
    }
}

impl<const LEAST: u32, const MOST: u32> Says<u32> for Whole<LEAST, MOST> {
    fn say(self) -> u32 {
        self.0
    }
}

impl<const LEAST: u32, const MOST: u32> Says<usize> for Whole<LEAST, MOST> {
    fn say(self) -> usize {
        self.0 as usize
    }
}

/// What a text says: a kind of name, or a type that a word or a URL stands for.
pub(super) trait Kind {
    type Value;

    /// # Errors
    /// How to write it right.
    fn read(text: &str) -> Result<Self::Value, String>;
}

/// A text of some kind, as what it says.
pub(super) struct Text<K: Kind>(K::Value);

impl<'de, K: Kind> Deserialize<'de> for Text<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        K::read(&String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

impl<K: Kind> Text<K> {
    pub(super) const fn value(&self) -> &K::Value {
        &self.0
    }
}

impl<K: Kind> Says<K::Value> for Text<K> {
    fn say(self) -> K::Value {
        self.0
    }
}

/// A list, as what its items say.
impl<T, S: Says<T>> Says<Vec<T>> for Vec<S> {
    fn say(self) -> Vec<T> {
        self.into_iter().map(Says::say).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units_and_bare_numbers_have_usual_ones() {
        #[derive(Deserialize)]
        struct Read {
            time: TimeOrZero,
            size: Size,
        }
        for (time, millis, size, bytes) in [
            ("'500ms'", 500, "'1B'", 1),
            ("'30s'", 30_000, "'64KiB'", 64 << 10),
            ("'10m'", 600_000, "'256MiB'", 256 << 20),
            ("'2h'", 7_200_000, "'2GiB'", 2 << 30),
            ("'1 d'", 86_400_000, "'1 KiB'", 1 << 10),
            ("0", 0, "4096", 4096),
            ("'0s'", 0, "'4TiB'", 0),
            ("7", 7000, "1", 1),
        ] {
            let read: Result<Read, _> = toml::from_str(&format!("time = {time}\nsize = {size}"));
            let Ok(read) = read else {
                assert_eq!(bytes, 0, "{time} {size}");
                continue;
            };
            let time: Duration = read.time.say();
            assert_eq!((time, read.size.say()), (Duration::from_millis(millis), bytes));
        }
    }
}
