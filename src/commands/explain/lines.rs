//! An explanation as lines for a person.

use std::fmt::{self, Write};

use crate::proxy::explain::{Asker, Condition, Explanation, Guard, Kept, Scope, Until};

/// The lines.
pub(super) fn of(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, explanation);
    // What comes from elsewhere is no reason for a terminal to do anything.
    text.retain(|character| character == '\n' || !character.is_control());
    text
}

fn write(to: &mut String, explanation: &Explanation) -> fmt::Result {
    about(to, explanation)?;
    for asker in explanation.askers.iter().chain([&explanation.newcomer, &explanation.unvouched]) {
        writeln!(to)?;
        write_asker(to, asker)?;
    }
    if explanation.more_askers > 0 {
        writeln!(to, "\nand {} besides", many(explanation.more_askers, "caller"))?;
    }
    if let Some(guard) = &explanation.guard {
        write_guard(to, guard, &explanation.profile.name)?;
    }
    write_scopes(to, &explanation.scopes)?;
    if let Some(kept) = &explanation.kept_at_path {
        let more = if kept.all { "" } else { " or more" };
        let entries = many(kept.entries, "answer");
        writeln!(to, "\nkept at this path, whoever asked, with whatever query: {entries}{more}")?;
    }
    for hint in &explanation.hints {
        writeln!(to, "\nnote: {hint}")?;
    }
    Ok(())
}

fn about(to: &mut String, explanation: &Explanation) -> fmt::Result {
    let Explanation { request, profile, rule, .. } = explanation;
    write!(to, "{} {}", request.method, request.path)?;
    if !request.query.is_empty() {
        write!(to, " with {}", request.query.join(", "))?;
    }
    if let Some(version) = &request.api_version {
        write!(to, " {version}")?;
    }
    writeln!(to)?;
    let agent = if request.user_agent.is_empty() { "no User-Agent" } else { &request.user_agent };
    writeln!(to, "by {agent} from {}, dialling {}", request.peer, request.dialled)?;
    write!(
        to,
        "profile {}: mode {}, answers up to {} old",
        profile.name,
        profile.mode,
        time(profile.age_seconds)
    )?;
    writeln!(to, ", repeat {}, guard {}", profile.repeat, profile.guard)?;
    write!(to, "{}", explanation.route)?;
    if let (Some(kind), Some(shape)) = (&explanation.kind, &explanation.shape) {
        write!(to, " of {kind} ({shape})")?;
    }
    match rule {
        Some(rule) => {
            let guarded = if rule.guard { ", writes are guarded" } else { "" };
            writeln!(to, ": its rule allows answers up to {} old{guarded}", time(rule.max_age_seconds))
        }
        None => writeln!(to, ": there is no rule"),
    }
}

fn write_asker(to: &mut String, asker: &Asker) -> fmt::Result {
    match asker.caller.as_str() {
        "newcomer" => write!(to, "any other caller that ARM lets in")?,
        "unvouched" => write!(to, "an asker that ARM has not let in yet, or not lately")?,
        label => write!(to, "{label}, {}", asker.standing)?,
    }
    if let Some(left) = asker.vouched_seconds {
        write!(to, " for another {}", time(left))?;
    }
    writeln!(to, ": {} ({})", asker.outcome, asker.why)?;
    writeln!(to, "    {}", asker.because)?;
    if let Some(kept) = &asker.kept {
        write_kept(to, kept)?;
    }
    if let Some(fetch) = &asker.fetch {
        let joins = if fetch.joins { "it would be joined" } else { "it would not be joined" };
        match fetch.sent_seconds_ago {
            Some(ago) => writeln!(to, "    a fetch was sent {} ago; {joins}", time(ago))?,
            None => writeln!(to, "    a fetch waits to be sent; {joins}")?,
        }
    }
    if let (false, Some(budget), Some(opens)) = (asker.gate.open, &asker.gate.budget, &asker.gate.opens) {
        writeln!(to, "    closed: {budget}, {}", until(opens))?;
    }
    if let Some(waits) = asker.gate.waits_seconds {
        writeln!(
            to,
            "    another call tries a budget that has just reopened: it waits {} at most",
            time(waits)
        )?;
    }
    if let Some(condition) = &asker.condition {
        writeln!(to, "    condition: {}", said(condition))?;
    }
    Ok(())
}

fn write_kept(to: &mut String, kept: &Kept) -> fmt::Result {
    let use_of = match (&kept.why, kept.ttl_seconds) {
        (Some(why), _) => format!("not usable ({why})"),
        (None, ttl) => format!("usable for another {}", time(ttl.unwrap_or_default())),
    };
    let bounds: Vec<_> =
        kept.bounds.iter().map(|bound| format!("{} {}", bound.bound, time(bound.seconds))).collect();
    write!(to, "    kept: {}, {} bytes, {} old, {use_of}", kept.status, kept.bytes, time(kept.age_seconds))?;
    writeln!(to, "; bounds: {}; smallest: {}", bounds.join(", "), kept.smallest_bound)?;
    let this = if kept.shown_to_this_client { ", this one among them" } else { "" };
    writeln!(to, "    shown to {}{this}", many(kept.shown_to, "client"))?;
    if let Some(shown) = &kept.if_shown {
        match (&shown.why, shown.ttl_seconds) {
            (Some(why), _) => writeln!(to, "    to a client that was shown it: not usable ({why})")?,
            (None, ttl) => {
                writeln!(
                    to,
                    "    to a client that was shown it: usable for another {}",
                    time(ttl.unwrap_or_default())
                )?;
            }
        }
    }
    if kept.in_progress {
        writeln!(to, "    it shows something that is being changed")?;
    }
    for moved in &kept.moved {
        writeln!(to, "    moved: {} ({})", moved.scope, moved.how)?;
    }
    for scope in &kept.newer_known_in {
        writeln!(to, "    something newer is known in: {scope}")?;
    }
    if kept.refused_since {
        writeln!(to, "    ARM refused this caller here since")?;
    }
    Ok(())
}

fn write_guard(to: &mut String, guard: &Guard, profile: &str) -> fmt::Result {
    writeln!(to, "\nguard, mode {}: {}", guard.mode, guard.because)?;
    if guard.applies && guard.clients.is_empty() {
        writeln!(to, "    no client of profile {profile} was shown it")?;
    }
    for client in &guard.clients {
        writeln!(to, "    {} of {}: {}", client.client, client.caller, said(&client.condition))?;
        if client.forgotten {
            writeln!(to, "        what could have shown it a version was forgotten for space")?;
        }
        for version in &client.versions {
            let superseded = if version.superseded { ", replaced by a newer answer since" } else { "" };
            writeln!(
                to,
                "        {} shown {} ago{superseded}",
                version.etag,
                time(version.shown_seconds_ago)
            )?;
        }
        let left_out = client.count - client.versions.len().min(client.count);
        if left_out > 0 {
            writeln!(to, "        and {} besides", many(left_out, "version"))?;
        }
    }
    if guard.more_clients > 0 {
        writeln!(to, "    and {} besides", many(guard.more_clients, "client"))?;
    }
    Ok(())
}

fn write_scopes(to: &mut String, scopes: &[Scope]) -> fmt::Result {
    let reads = scopes.iter().any(|scope| scope.role == "depends");
    if !scopes.is_empty() {
        writeln!(to, "\n{}", if reads { "an answer depends on" } else { "the write counts up" })?;
    }
    for scope in scopes {
        write!(to, "    {}", scope.scope)?;
        match &scope.unsettled {
            Some(unsettled) => writeln!(to, ", unsettled {}", until(unsettled))?,
            None => writeln!(to)?,
        }
    }
    Ok(())
}

fn said(condition: &Condition) -> String {
    let etag = condition.etag.as_deref().map_or_else(String::new, |etag| format!(", If-Match {etag}"));
    let sends = match (condition.sends, &condition.etag) {
        (true, _) => ", sent",
        (false, Some(_)) => ", not sent",
        (false, None) => ": it goes out as it came",
    };
    format!("source {}{etag}{sends}", condition.source)
}

fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn until(until: &Until) -> String {
    format!("for another {}, until {}", time(until.seconds), until.at)
}

/// A time as a person says it.
fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        _ if seconds >= 120.0 => format!("{:.0} min", (seconds / 60.0).floor()),
        _ if seconds.fract() == 0.0 => format!("{seconds:.0} s"),
        _ => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let check = |seconds: f64, text: &str| assert_eq!(time(seconds), text);
        check(0.0, "0 s");
        check(0.44, "0.4 s");
        check(15.0, "15 s");
        check(119.5, "119.5 s");
        check(599.9, "9 min");
        check(1800.0, "30 min");
        check(9000.0, "2.5 h");
    }
}
