//! What was measured: a table on the terminal, and lines of JSON for machines.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Outcome;
use super::machine::Machine;
use super::size::Size;

/// The name of the file with the results.
pub(crate) const RESULTS: &str = "results.jsonl";

/// One measurement as it is shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// For a terminal.
    fn plain(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain(self.columns.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            format!("  {}\n", padded.collect::<Vec<_>>().join("   "))
        };
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let notes: String = self.notes.iter().map(|note| format!("  · {note}\n")).collect();
        format!("\n{}\n{}{rows}{notes}", self.title, line(&self.columns))
    }

    /// For a README.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: String =
            (0..self.columns.len()).map(|column| if column == 0 { "|---" } else { "|---:" }).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let notes = self.notes.join("; ");
        let notes = if notes.is_empty() { notes } else { format!("\n{notes}.\n") };
        format!("**{}**\n\n{}{rule}|\n{rows}{notes}", self.title, line(&self.columns))
    }
}

/// A measurement that was finished, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) part: String,
    pub(crate) size: Size,
    pub(crate) machine: Machine,
    pub(crate) quiet: bool,
    pub(crate) table: Table,
}

/// Where results go.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) file: PathBuf,
    pub(crate) size: Size,
    pub(crate) machine: Machine,
}

impl Record {
    pub(crate) fn new(folder: &Path, size: Size, machine: Machine) -> Self {
        Self { file: folder.join(RESULTS), size, machine }
    }

    /// Keeps the numbers of a round.
    pub(crate) fn round(&self, part: &str, mut numbers: Value) -> Outcome<()> {
        numbers["part"] = json!(part);
        numbers["date"] = json!(self.machine.date);
        self.append(&json!({ "round": numbers }))
    }

    /// Keeps and shows a measurement that was what it claims to be.
    pub(crate) fn finish(&self, part: &str, table: Table, quiet: bool) -> Outcome<()> {
        if self.size == Size::Smoke {
            println!("{}: every answer was right", table.title);
            return Ok(());
        }
        println!("{}", table.plain());
        let (part, machine) = (part.to_owned(), self.machine.clone());
        self.append(&json!({ "finished": Finished { part, size: self.size, machine, quiet, table } }))
    }

    fn append(&self, line: &Value) -> Outcome<()> {
        if self.size == Size::Smoke {
            return Ok(());
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    }
}
