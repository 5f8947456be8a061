//! What is shown while it runs: a table redrawn in place on a terminal, plain lines anywhere else.

use std::fmt;
use std::io::Write;

/// Where the demo speaks. Nobody is left to be told that nobody listens, so what cannot be written is not.
pub(super) struct Screen<'a> {
    out: &'a mut (dyn Write + Send),
    terminal: bool,
    /// Lines that the next drawing replaces.
    drawn: usize,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("terminal", &self.terminal).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send), terminal: bool) -> Self {
        Self { out, terminal, drawn: 0 }
    }

    /// Whether pictures can be redrawn.
    pub(super) const fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Says something that stays.
    pub(super) fn say(&mut self, text: &str) {
        self.drawn = 0;
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }

    /// Puts a picture in the place of the last one; on anything but a terminal, below it.
    pub(super) fn draw(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.terminal && self.drawn > 0 {
            // Up to the first line of the last picture.
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        let end = if self.terminal { "\x1b[K\n" } else { "\n" };
        for line in lines {
            text.push_str(line);
            text.push_str(end);
        }
        if self.terminal {
            // What is left of a longer one.
            text.push_str("\x1b[J");
        }
        self.drawn = lines.len();
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terminal: bool) -> String {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, terminal);
        screen.say("begin");
        screen.draw(&["a".into(), "b".into()]);
        screen.draw(&["c".into()]);
        screen.say("end");
        screen.draw(&["d".into()]);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_shows_the_last_picture_only() {
        assert_eq!(
            written(true),
            "begin\na\x1b[K\nb\x1b[K\n\x1b[J\x1b[2Ac\x1b[K\n\x1b[Jend\nd\x1b[K\n\x1b[J"
        );
    }

    #[test]
    fn a_file_gets_plain_lines() {
        assert_eq!(written(false), "begin\na\nb\nc\nend\nd\n");
    }
}
