//! One line for a request: what came, what was decided, how long it took.

use std::io::Write;
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
#[derive(Debug, Clone)]
pub struct Line {
    /// When it came.
    pub time: Wall,
    /// The profile of its client.
    pub profile: Box<str>,
    /// Its method.
    pub method: http::Method,
    /// Its path, without query.
    pub path: String,
    /// What it was taken for.
    pub intent: &'static str,
    /// The type addressed, in lower case; empty where the path names none.
    pub kind: String,
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
    pub correlation: String,
}

impl Line {
    /// Appends the line, newline included.
    pub fn write(&self, format: Format, out: &mut Vec<u8>) {
        let mut fields = Fields { format, out, first: true };
        if format == Format::Json {
            fields.out.push(b'{');
        }
        let micros = self.time.since_epoch();
        fields.number("time", format_args!("{}.{:03}", micros.as_secs(), micros.subsec_millis()));
        fields.text("profile", &self.profile);
        fields.text("method", self.method.as_str());
        fields.text("path", &self.path);
        fields.text("intent", self.intent);
        if !self.kind.is_empty() {
            fields.text("type", &self.kind);
        }
        fields.text("standing", self.standing);
        fields.number("status", format_args!("{}", self.status));
        fields.number("bytes", format_args!("{}", self.bytes));
        if !self.complete {
            fields.text("end", "broken");
        }
        if self.cache != Cache::None {
            fields.text("cache", self.cache.as_str());
        }
        if let Cache::Hit(age) = self.cache {
            fields.number("age", format_args!("{:.3}", age.as_secs_f64()));
        }
        if !self.cache.reason().is_empty() {
            fields.text("why", self.cache.reason());
        }
        if let Some((source, result)) = self.guard {
            fields.text("guard", source);
            fields.text("result", result);
        }
        if !self.refused.is_empty() {
            fields.text("refused", self.refused);
        }
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        fields.number("queue_ms", format_args!("{:.1}", millis(self.queue)));
        fields.number("upstream_ms", format_args!("{:.1}", millis(self.upstream)));
        fields.number("total_ms", format_args!("{:.1}", millis(self.total)));
        if !self.correlation.is_empty() {
            fields.text("correlation", &self.correlation);
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
        match self.format {
            Format::Json => {
                if !self.first {
                    self.out.push(b',');
                }
                self.out.push(b'"');
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
            Format::Text => {
                if !self.first {
                    self.out.push(b' ');
                }
                self.out.extend_from_slice(name.as_bytes());
                self.out.push(b'=');
            }
        }
        self.first = false;
    }

    fn number(&mut self, name: &str, value: std::fmt::Arguments<'_>) {
        self.name(name);
        // Writing to a vector does not fail.
        let _ = self.out.write_fmt(value);
    }

    /// Text in quotes where it needs them, so that nothing a client sends can begin a line or a field.
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        let plain = |character: char| character.is_ascii_graphic() && !matches!(character, '"' | '\\' | '=');
        if self.format == Format::Text && !value.is_empty() && value.chars().all(plain) {
            self.out.extend_from_slice(value.as_bytes());
        } else {
            let _ = serde_json::to_writer(&mut *self.out, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str) -> Line {
        Line {
            time: Wall::from_unix(1_800_000_000),
            profile: "ccm".into(),
            method: http::Method::GET,
            path: path.into(),
            intent: "read",
            kind: "microsoft.compute/virtualmachines".into(),
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
            correlation: String::new(),
        }
    }

    fn written(line: &Line, format: Format) -> String {
        let mut out = Vec::new();
        line.write(format, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_tells_what_was_decided() {
        assert_eq!(
            written(&line("/subscriptions/s"), Format::Text),
            "time=1800000000.000 profile=ccm method=GET path=/subscriptions/s intent=read \
             type=microsoft.compute/virtualmachines standing=vouched status=200 bytes=12 cache=hit age=1.500 queue_ms=0.0 upstream_ms=0.0 total_ms=0.1\n"
        );
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
