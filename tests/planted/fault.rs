//! A fault as data, and how faults are planted in a file.

use std::ops::Range;

/// Stands in a patch for the question whether its fault is the one to be played.
pub(crate) const PLANTED: &str = "$planted";

/// A mistake that somebody could make in the source.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// The promises it breaks, as the model names them: one of them is enough.
    pub(crate) breaks: &'static [&'static str],
    /// What it means in production.
    pub(crate) means: &'static str,
    /// The tests of the model that have to catch it, each by itself.
    pub(crate) caught_by: &'static [&'static str],
    pub(crate) patches: &'static [Patch],
}

/// A change of the source, guarded by [`PLANTED`].
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) file: &'static str,
    /// Stands in the file exactly once.
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
}

/// A patch that could not be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) fault: &'static str,
    pub(crate) why: String,
}

/// The text of a file with these faults in it, each asleep until it is named, and those that have no place.
pub(crate) fn plant<'a>(
    file: &str,
    text: &str,
    faults: impl IntoIterator<Item = &'a Fault>,
) -> (String, Vec<Refused>) {
    let (mut places, mut refused) = (Vec::new(), Vec::new());
    for fault in faults {
        for patch in fault.patches.iter().filter(|patch| patch.file == file) {
            match place(text, patch) {
                Ok(place) => places.push((place, fault, patch)),
                Err(why) => refused.push(Refused { fault: fault.name, why }),
            }
        }
    }
    places.sort_by_key(|(place, ..)| place.start);
    let (mut planted, mut end, mut last) = (String::new(), 0, "");
    for (place, fault, patch) in places {
        if place.start < end {
            let why = format!("{file}: its text overlaps with that of {last}; state less of it");
            refused.push(Refused { fault: fault.name, why });
            continue;
        }
        planted.push_str(&text[end..place.start]);
        planted.push_str(&patch.after.replace(PLANTED, &format!("crate::planted::is({:?})", fault.name)));
        (end, last) = (place.end, fault.name);
    }
    planted.push_str(&text[end..]);
    (planted, refused)
}

fn place(text: &str, patch: &Patch) -> Result<Range<usize>, String> {
    let Patch { file, before, after } = patch;
    if !after.contains(PLANTED) {
        return Err(format!("{file}: without {PLANTED} it would be there in every run:\n{after}"));
    }
    let mut found = text.match_indices(before).map(|(at, _)| at);
    match (found.next(), found.count()) {
        (Some(at), 0) => Ok(at..at + before.len()),
        (first, others) => {
            let count = others + usize::from(first.is_some());
            Err(format!(
                "{file} has this text {count} times, and not once; bring the patch up to date with the source:\n{before}"
            ))
        }
    }
}
