//! A file's text: from an offset in it to the line and the key an operator looks for.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use super::BadConfiguration;
use super::sections::Sections;

/// A file and its text.
pub(super) struct Document<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
}

impl Document<'_> {
    /// The sections of the file, each key read by itself.
    pub(super) fn sections(&self) -> Result<Sections, BadConfiguration> {
        let read = Deserializer::parse(self.text).and_then(Sections::deserialize);
        read.map_err(|error| self.unread(&error))
    }

    /// What is wrong at a place of the text.
    pub(super) fn bad(&self, at: Range<usize>, reason: impl fmt::Display) -> BadConfiguration {
        let trail = self.trail(at.start);
        BadConfiguration::line(self.file, self.line(at.start), trail.name(), reason)
    }

    /// What is wrong with a value.
    pub(super) fn bad_value<T>(&self, value: &Spanned<T>, reason: impl fmt::Display) -> BadConfiguration {
        self.bad(value.span(), reason)
    }

    /// A path as the file means it: relative ones begin at the file's folder.
    pub(super) fn path(&self, stated: &Path) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(stated)
    }

    fn unread(&self, error: &Error) -> BadConfiguration {
        let Some(at) = error.span() else { return BadConfiguration::file(self.file, error.message()) };
        let trail = self.trail(at.start);
        let reason = in_plain_words(error.message(), trail.keys.len() == 1);
        BadConfiguration::line(self.file, self.line(at.start), trail.name(), reason)
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn trail(&self, at: usize) -> Trail {
        let (root, _) = DeTable::parse_recoverable(self.text);
        let mut trail = Trail::default();
        let _ = trail.follow(root.get_ref(), at) || trail.guess(root.get_ref(), self.text, at);
        trail
    }
}

/// The keys that lead to a place, and what the first of them is.
#[derive(Default)]
struct Trail {
    keys: Vec<String>,
    section: Section,
}

#[derive(Default)]
enum Section {
    #[default]
    None,
    One,
    Many,
}

impl Trail {
    /// Follows a table to an offset; `false`: it is not in there.
    fn follow(&mut self, table: &DeTable<'_>, at: usize) -> bool {
        table.iter().any(|(key, value)| {
            self.keys.push(key.get_ref().to_string());
            if self.keys.len() == 1 {
                self.section = Section::of(value.get_ref());
            }
            let here = self.descend(value, at) || key.span().contains(&at) || value.span().contains(&at);
            if !here {
                self.keys.pop();
            }
            here
        })
    }

    /// Where no key is, as in broken TOML: the line begins with its key, the section is the one above.
    fn guess(&mut self, root: &DeTable<'_>, text: &str, at: usize) -> bool {
        let start = text.get(..at).unwrap_or_default().rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        if self.follow(root, start + indent) {
            return true;
        }
        let Some((key, _)) = line.split_once('=') else { return false };
        let key = key.trim();
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if key.is_empty() || !key.bytes().all(is_key) {
            return false;
        }
        if let Some(header) =
            text[..start].rfind("\n[").map(|newline| newline + 1).or(text.starts_with('[').then_some(0))
        {
            let opened = text[header..].chars().take_while(|c| *c == '[').count();
            self.follow(root, header + opened);
        }
        self.keys.push(key.to_owned());
        true
    }

    fn descend(&mut self, value: &Spanned<DeValue<'_>>, at: usize) -> bool {
        match value.get_ref() {
            DeValue::Table(table) => self.follow(table, at),
            DeValue::Array(items) => {
                items.iter().any(|item| self.descend(item, at) || item.span().contains(&at))
            }
            _ => false,
        }
    }

    /// As it is written in files: `[listen] names`, `[[rule]] max_age`.
    fn name(&self) -> Option<String> {
        let (first, rest) = self.keys.split_first()?;
        let section = match self.section {
            Section::None => first.clone(),
            Section::One => format!("[{first}]"),
            Section::Many => format!("[[{first}]]"),
        };
        Some(if rest.is_empty() { section } else { format!("{section} {}", rest.join(".")) })
    }
}

impl Section {
    fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::Table(_) => Self::One,
            DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => Self::Many,
            _ => Self::None,
        }
    }
}

/// serde's words for what happens most, in an operator's.
fn in_plain_words(message: &str, at_root: bool) -> String {
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some((_, expected)) =
        message.strip_prefix("unknown field").and_then(|m| m.split_once(", expected"))
    {
        let what = if at_root { "section" } else { "key" };
        return format!("unknown {what}; known here: {}", quoted(expected).join(", "));
    }
    if let Some(missing) = message.strip_prefix("missing field") {
        return format!("{} is missing", quoted(missing).join(""));
    }
    message.to_owned()
}
