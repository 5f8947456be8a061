//! One line for a request: what came, what was decided, how long it took.

use std::time::Duration;

use crate::clock::Wall;

use super::Format;

/// What the cache did for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// It was not asked.
    #[default]
    None,
    /// It answered, with an answer so old.
    Hit(Duration),
    /// An upstream call was made; the reason why no entry answered.
    Miss(&'static str),
    /// A call already under way was joined.
    Collapsed,
    /// It was passed by, for this reason.
    Bypass(&'static str),
}

impl Cache {
    /// The word used in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hit(_) => "hit",
            Self::Miss(_) => "miss",
            Self::Collapsed => "collapsed",
            Self::Bypass(_) => "bypass",
        }
    }

    /// The reason, where there is one.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Miss(reason) | Self::Bypass(reason) => reason,
            Self::None | Self::Hit(_) | Self::Collapsed => "",
        }
    }
}

/// One request, as the log tells it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// When it ended.
    pub time: Wall,
    /// The profile of its client.
    pub profile: &'a str,
    /// Its method.
    pub method: &'a http::Method,
    /// Its path, without query.
    pub path: &'a str,
    /// What it was taken for.
    pub intent: &'static str,
    /// The type addressed, in lower case; empty where the path names none.
    pub kind: &'a str,
    /// What ARM has said about its token.
    pub standing: &'static str,
    /// The status it was answered with.
    pub status: u16,
    /// Bytes of body sent.
    pub bytes: u64,
    /// Whether the whole answer was taken.
    pub complete: bool,
    /// What the cache did.
    pub cache: Cache,
    /// Source and result of the guard.
    pub guard: Option<(&'static str, &'static str)>,
    /// How long it waited for its place.
    pub queue: Duration,
    /// How long ARM took to begin its answer.
    pub upstream: Duration,
    /// How long everything took.
    pub total: Duration,
    /// Why armshield refused it, if it did.
    pub refused: &'static str,
    /// The correlation id of the exchange.
    pub correlation: &'a str,
}

impl Line<'_> {
    /// Appends the line, newline included.
    pub fn write(&self, format: Format, out: &mut Vec<u8>) {
        let mut fields = Fields { format, out, first: true };
        if format == Format::Json {
            fields.out.push(b'{');
        }
        fields.number("time", self.time.since_epoch().as_millis(), 3);
        fields.text("profile", self.profile);
        fields.text("method", self.method.as_str());
        fields.text("path", self.path);
        fields.word("intent", self.intent);
        if !self.kind.is_empty() {
            fields.text("type", self.kind);
        }
        fields.word("standing", self.standing);
        fields.number("status", self.status.into(), 0);
        fields.number("bytes", self.bytes.into(), 0);
        if !self.complete {
            fields.word("end", "broken");
        }
        if self.cache != Cache::None {
            fields.word("cache", self.cache.as_str());
        }
        if let Cache::Hit(age) = self.cache {
            fields.number("age", age.as_millis(), 3);
        }
        if !self.cache.reason().is_empty() {
            fields.word("why", self.cache.reason());
        }
        if let Some((source, result)) = self.guard {
            fields.word("guard", source);
            fields.word("result", result);
        }
        if !self.refused.is_empty() {
            fields.word("refused", self.refused);
        }
        let tenths_of_millis = |time: Duration| time.as_micros() / 100;
        for (name, time) in [("queue_ms", self.queue), ("upstream_ms", self.upstream)] {
            if !time.is_zero() {
                fields.number(name, tenths_of_millis(time), 1);
            }
        }
        fields.number("total_ms", tenths_of_millis(self.total), 1);
        if !self.correlation.is_empty() {
            fields.text("correlation", self.correlation);
        }
        if format == Format::Json {
            fields.out.push(b'}');
        }
        fields.out.push(b'\n');
    }
}

struct Fields<'a> {
    format: Format,
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Fields<'_> {
    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(if self.format == Format::Json { b',' } else { b' ' });
        }
        if self.format == Format::Json {
            self.out.push(b'"');
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"\":");
        } else {
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b'=');
        }
    }

    /// A number with so many digits behind the point, given in units of the last of them. By hand: the
    /// standard formatter takes longer for a line's numbers than everything else about it.
    fn number(&mut self, name: &str, value: u128, decimals: u32) {
        self.name(name);
        let (value, whole) = (u64::try_from(value).unwrap_or(u64::MAX), 10_u64.pow(decimals));
        self.digits(value / whole, 1);
        if decimals > 0 {
            self.out.push(b'.');
            self.digits(value % whole, decimals as usize);
        }
    }

    fn digits(&mut self, mut value: u64, least: usize) {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        while value > 0 {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.out.extend_from_slice(&digits[at.min(digits.len() - least)..]);
    }

    /// A word of ours, which needs no care.
    fn word(&mut self, name: &str, word: &'static str) {
        self.name(name);
        if self.format == Format::Json {
            self.out.push(b'"');
            self.out.extend_from_slice(word.as_bytes());
            self.out.push(b'"');
        } else {
            self.out.extend_from_slice(word.as_bytes());
        }
    }

    /// Text in quotes where it needs them, so that nothing a client sends can begin a line or a field.
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'=');
        let all_plain = || value.bytes().fold(true, |all, byte| all & plain(byte));
        if self.format == Format::Text && !value.is_empty() && all_plain() {
            self.out.extend_from_slice(value.as_bytes());
        } else {
            // Writing to a vector does not fail.
            let _ = serde_json::to_writer(&mut *self.out, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str) -> Line<'_> {
        Line {
            time: Wall::from_unix(1_800_000_000),
            profile: "ccm",
            method: &http::Method::GET,
            path,
            intent: "read",
            kind: "microsoft.compute/virtualmachines",
            standing: "vouched",
            status: 200,
            bytes: 12,
            complete: true,
            cache: Cache::Hit(Duration::from_millis(1500)),
            guard: None,
            queue: Duration::ZERO,
            upstream: Duration::ZERO,
            total: Duration::from_micros(120),
            refused: "",
            correlation: "",
        }
    }

    fn written(line: &Line<'_>, format: Format) -> String {
        let mut out = Vec::new();
        line.write(format, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_tells_what_was_decided() {
        assert_eq!(
            written(&line("/subscriptions/s"), Format::Text),
            "time=1800000000.000 profile=ccm method=GET path=/subscriptions/s intent=read \
             type=microsoft.compute/virtualmachines standing=vouched status=200 bytes=12 cache=hit age=1.500 total_ms=0.1\n"
        );
    }

    #[test]
    fn numbers_have_the_digits_they_need() {
        let check = |value, decimals, expected: &str| {
            let mut out = Vec::new();
            Fields { format: Format::Text, out: &mut out, first: true }.number("n", value, decimals);
            assert_eq!(String::from_utf8(out).unwrap(), format!("n={expected}"));
        };
        check(0, 0, "0");
        check(1_050, 0, "1050");
        check(0, 1, "0.0");
        check(7, 3, "0.007");
        check(1_800_000_000_040, 3, "1800000000.040");
        check(u64::MAX.into(), 1, "1844674407370955161.5");
        check(u128::MAX, 0, "18446744073709551615");
    }

    #[test]
    fn nothing_a_client_sends_can_begin_a_line_or_a_field() {
        for hostile in ["/a\nstatus=500", "/a status=500", "/\"<script>", "/\u{1b}[31m", "/\u{85}x"] {
            let text = written(&line(hostile), Format::Text);
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains(" status=500 "), "{text}");
            let json: serde_json::Value =
                serde_json::from_str(&written(&line(hostile), Format::Json)).unwrap();
            assert_eq!(json["path"], hostile);
        }
    }
}
