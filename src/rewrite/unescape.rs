//! The content of a JSON string (RFC 8259 §7), read byte by byte, so that it may be cut anywhere.

/// What a byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Part of an escape that is not complete.
    Within,
    /// The last byte of an ASCII character.
    Ascii(u8),
    /// The last byte of anything else, valid or not.
    Other,
    /// The quote that ends the string.
    End,
}

/// The state between two bytes of a string.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Unescape {
    /// Not in an escape.
    #[default]
    Plain,
    /// After a backslash.
    Escape,
    /// After `\u` and some of its four digits.
    Hex { digits: u8, value: u16 },
}

impl Unescape {
    pub(super) const fn feed(&mut self, byte: u8) -> Step {
        match *self {
            Self::Plain => self.plain(byte),
            Self::Escape => {
                *self = Self::Plain;
                match byte {
                    b'u' => {
                        *self = Self::Hex { digits: 0, value: 0 };
                        Step::Within
                    }
                    b'"' | b'\\' | b'/' => Step::Ascii(byte),
                    b'b' => Step::Ascii(8),
                    b'f' => Step::Ascii(12),
                    b'n' => Step::Ascii(b'\n'),
                    b'r' => Step::Ascii(b'\r'),
                    b't' => Step::Ascii(b'\t'),
                    _ => Step::Other,
                }
            }
            Self::Hex { digits, value } => {
                let Some(digit) = (byte as char).to_digit(16) else { return self.plain(byte) };
                let value = (value << 4) | digit as u16;
                if digits < 3 {
                    *self = Self::Hex { digits: digits + 1, value };
                    return Step::Within;
                }
                *self = Self::Plain;
                if value < 0x80 { Step::Ascii(value.to_le_bytes()[0]) } else { Step::Other }
            }
        }
    }

    const fn plain(&mut self, byte: u8) -> Step {
        *self = Self::Plain;
        match byte {
            b'"' => Step::End,
            b'\\' => {
                *self = Self::Escape;
                Step::Within
            }
            0..0x80 => Step::Ascii(byte),
            _ => Step::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> String {
        let mut state = Unescape::default();
        raw.bytes()
            .filter_map(|byte| match state.feed(byte) {
                Step::Within => None,
                Step::Ascii(byte) => Some(byte as char),
                Step::Other => Some('?'),
                Step::End => Some('|'),
            })
            .collect()
    }

    #[test]
    fn every_escape_is_one_character() {
        let check = |raw, text| assert_eq!(read(raw), text, "{raw}");
        check(r#"a\/b\\c\"d"e"#, "a/b\\c\"d|e");
        check(r"\u0041\u002F\u002f\u00e9\ud83d\ude00", "A//???");
        check(r"\n\t\r\b\f", "\n\t\r\u{8}\u{c}");
        check("é", "??");
    }

    #[test]
    fn broken_escapes_end_where_the_string_does() {
        let check = |raw, text| assert_eq!(read(raw), text, "{raw}");
        check(r#"\u00"x"#, "|x");
        check(r#"\u0\"x"#, "\"x");
        check(r"\x", "?");
    }
}
