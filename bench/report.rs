//! The newest results as a block of Markdown, which can be put between two marks of a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;

use super::Outcome;
use super::record::{Finished, RESULTS};
use super::size::Size;

/// The block stands between these.
const MARKS: (&str, &str) = ("<!-- bench -->", "<!-- /bench -->");
/// The order of parts.
const PARTS: [&str; 5] = ["hit", "miss", "big", "storm", "idle"];

/// What is to become of the report.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// A file with a `<!-- bench -->` and a `<!-- /bench -->`, between which it is written.
    #[arg(long)]
    write: Option<PathBuf>,
}

/// A line of the results; rounds are for other readers.
#[derive(Debug, Deserialize)]
struct Line {
    finished: Option<Finished>,
}

pub(crate) fn report(folder: &Path, wanted: &Wanted) -> Outcome<()> {
    let file = folder.join(RESULTS);
    let text = fs::read_to_string(&file)
        .map_err(|error| format!("{}: {error}: nothing was measured yet", file.display()))?;
    let mut newest = BTreeMap::new();
    for line in text.lines() {
        // Of another version of this program, perhaps.
        let Ok(Line { finished: Some(finished) }) = serde_json::from_str(line) else { continue };
        newest.insert(finished.part.clone(), finished);
    }
    let block = block(&newest);
    match &wanted.write {
        None => println!("{block}"),
        Some(into) => {
            let full = |part: &str| {
                newest.get(part).is_some_and(|finished| finished.size == Size::Full && finished.quiet)
            };
            let missing: Vec<_> = PARTS.into_iter().filter(|part| !full(part)).collect();
            if !missing.is_empty() {
                return Err(format!(
                    "not written: {} not measured in full on a quiet machine",
                    missing.join(", ")
                )
                .into());
            }
            let whole = fs::read_to_string(into)?;
            fs::write(into, put(&whole, &block)?)?;
            println!("bench: written into {}", into.display());
        }
    }
    Ok(())
}

fn block(newest: &BTreeMap<String, Finished>) -> String {
    let mut text = String::new();
    let mut machine = String::new();
    for finished in PARTS.into_iter().filter_map(|part| newest.get(part)) {
        let on = finished.machine.text();
        if on != machine {
            text.push_str(&format!("{on}; {}.\n\n", finished.machine.date));
            machine = on;
        }
        text.push_str(&finished.table.markdown());
        if finished.size != Size::Full {
            text.push_str("\n*Short rounds, not for publication.*\n");
        }
        text.push('\n');
    }
    format!("{}\n{}\n{}", MARKS.0, text.trim_end(), MARKS.1)
}

fn put(whole: &str, block: &str) -> Outcome<String> {
    let absent = || format!("no {} … {} to write between", MARKS.0, MARKS.1);
    let (before, rest) = whole.split_once(MARKS.0).ok_or_else(absent)?;
    let (_, after) = rest.split_once(MARKS.1).ok_or_else(absent)?;
    Ok(format!("{before}{block}{after}"))
}
