//! P7, no lost update: a guarded write is applied only on the version its body was built on; a client's own
//! condition is never replaced; creates, deletes and actions are never guarded.

use super::Case;
use super::knowledge::{Candidates, candidates};
use crate::http::places::{THINGS, is_tagged};
use crate::http::records::{Call, Request, What, Write, name};

/// Where a condition comes from, as `Armshield-Guard` says it.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    Client,
    Body,
    /// This or that, where the moment decides.
    OneOf(Vec<&'static str>),
}

pub fn writes(case: &Case<'_>) -> Vec<String> {
    let writes = case.arm.records.writes().filter_map(|(call, request, write)| {
        let What::Write(_, version) = request.what else { return None };
        let why = wrong(case, call, request, write, version)?;
        Some(format!("P7: {why}\n    in the write of request {} of step {}", call.request, request.step))
    });
    writes.collect()
}

fn wrong(case: &Case<'_>, call: &Call, request: &Request, write: Write, version: usize) -> Option<String> {
    let sent = |header: &str| call.conditions.iter().find(|(name, _)| *name == header).map(|(_, tag)| tag);
    if let Some((header, tag)) = &request.condition {
        let kept = sent(header) == Some(tag) && call.conditions.len() == 1;
        return match kept {
            false => Some(format!("{header}: {tag} arrived as {:?}", call.conditions)),
            true => said(request, write, version, &Source::Client, true),
        };
    }
    if sent("if-none-match").is_some() {
        return Some("a condition that nobody set".into());
    }
    let condition = sent("if-match");
    let Some(thing) = guarded(write, version) else {
        return condition.map(|tag| format!("{write:?} got a condition, {tag}"));
    };
    let enforces = request.person().profile.enforces();
    if let Some(tag) = &request.stated {
        let wanted = Some(tag).filter(|_| enforces);
        return match condition == wanted {
            false => Some(format!("the body says {tag}, and {condition:?} was sent")),
            true => said(request, write, version, &Source::Body, enforces),
        };
    }
    let Candidates { sure, possible } = candidates(case.arm, request, thing);
    let about = format!("{} was shown {sure:?}, possibly {possible:?}", name(thing));
    match condition {
        Some(tag) if !enforces => return Some(format!("observed only, and got {tag}")),
        Some(tag) if !possible.contains(tag) => return Some(format!("{about}, and got {tag}")),
        Some(tag) if sure.len() > 1 => return Some(format!("{about}, and got {tag}")),
        None if enforces && sure.len() == 1 && possible == sure => {
            return Some(format!("{about}, and got nothing"));
        }
        _ => {}
    }
    let mut sources = Vec::new();
    if sure.is_empty() {
        sources.push("none");
    }
    if sure.len() <= 1 && !possible.is_empty() {
        sources.push("seen");
    }
    if possible.len() > 1 {
        sources.push("ambiguous");
    }
    said(request, write, version, &Source::OneOf(sources), condition.is_some())
}

/// The thing whose writes like this one are guarded.
fn guarded(write: Write, version: usize) -> Option<usize> {
    let thing = write.thing().filter(|_| matches!(write, Write::Put(_) | Write::Patch(_)))?;
    (!THINGS[thing].is_network() && is_tagged(version)).then_some(thing)
}

/// What is wrong with the guard's report.
fn said(request: &Request, write: Write, version: usize, source: &Source, sends: bool) -> Option<String> {
    let answer = request.answer.as_ref().filter(|answer| answer.header("x-arm-call").is_some())?;
    let guard = answer.guard();
    if guarded(write, version).is_none() {
        return (!guard.is_empty()).then(|| format!("{write:?} is reported as guarded: {guard}"));
    }
    let sources = match source {
        Source::Client => vec!["client"],
        Source::Body => vec!["body"],
        Source::OneOf(sources) => sources.clone(),
    };
    let sends = sends || *source == Source::Client;
    let result = match (guard.starts_with("source=none"), sends, answer.status) {
        (true, ..) => "unguarded",
        (_, false, _) => "observed",
        (_, _, 412) => "conflict",
        _ => "passed",
    };
    let fits = sources.iter().any(|source| guard.starts_with(&format!("source={source},")))
        && guard.ends_with(&format!("result={result}"));
    (!fits).then(|| format!("{guard:?}, and it was {sources:?} and {result}"))
}
