//! What is shown while it runs: a table redrawn in place on a terminal, plain lines anywhere else.

use std::fmt;
use std::io::Write;

/// Where the demo speaks. Nobody is left to be told that nobody listens, so what cannot be written is not.
pub(super) struct Screen<'a> {
    out: &'a mut (dyn Write + Send),
    /// Lines of the terminal; `None`: it is none.
    height: Option<usize>,
    /// Lines that the next drawing replaces.
    drawn: usize,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("height", &self.height).finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send), height: Option<usize>) -> Self {
        Self { out, height, drawn: 0 }
    }

    /// Whether pictures can be redrawn.
    pub(super) const fn is_terminal(&self) -> bool {
        self.height.is_some()
    }

    /// Says something that stays.
    pub(super) fn say(&mut self, text: &str) {
        self.drawn = 0;
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }

    /// Puts a picture in the place of the last one, as much of it as the terminal has lines for: what has
    /// scrolled away cannot be redrawn. On anything but a terminal, nothing.
    pub(super) fn draw(&mut self, lines: &[String]) {
        let Some(height) = self.height else { return };
        let lines = &lines[..lines.len().min(height.saturating_sub(1))];
        self.put(lines);
        self.drawn = lines.len();
    }

    /// Puts a picture in the place of the last one, whole, to stay.
    pub(super) fn keep(&mut self, lines: &[String]) {
        self.put(lines);
        self.drawn = 0;
    }

    fn put(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.drawn > 0 {
            // Up to the first line of the last picture, and away with it.
            text.push_str(&format!("\x1b[{}A\x1b[J", self.drawn));
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(height: Option<usize>) -> String {
        let picture = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, height);
        screen.say("begin");
        screen.draw(&picture(&["a", "b", "c"]));
        screen.draw(&picture(&["d"]));
        screen.keep(&picture(&["e", "f"]));
        screen.say("end");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_shows_the_last_picture_only() {
        assert_eq!(written(Some(24)), "begin\na\nb\nc\n\x1b[3A\x1b[Jd\n\x1b[1A\x1b[Je\nf\nend\n");
    }

    #[test]
    fn a_small_terminal_shows_the_upper_lines_until_the_picture_stays() {
        assert_eq!(written(Some(3)), "begin\na\nb\n\x1b[2A\x1b[Jd\n\x1b[1A\x1b[Je\nf\nend\n");
    }

    #[test]
    fn a_file_gets_what_stays() {
        assert_eq!(written(None), "begin\ne\nf\nend\n");
    }
}
