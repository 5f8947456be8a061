//! What this test rests on: patches find their place or say why not, a catch is one, a copy is not written twice.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;

use crate::copy::copy;
use crate::fault::{Fault, Patch, plant};
use crate::model::{Ended, Ran, limited};
use crate::{faults, verdict};

pub(crate) fn all() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("a-fault-sleeps-until-it-is-named", a_fault_sleeps_until_it_is_named),
        trial("a-patch-without-its-place-says-why", a_patch_without_its_place_says_why),
        trial("only-a-broken-promise-is-a-catch", only_a_broken_promise_is_a_catch),
        trial("a-run-that-takes-too-long-is-killed", a_run_that_takes_too_long_is_killed),
        trial("a-copy-is-written-once", a_copy_is_written_once),
        trial("every-fault-has-a-name-of-its-own", every_fault_has_a_name_of_its_own),
    ]
}

const fn fault(patches: &'static [Patch]) -> Fault {
    Fault { name: "f", breaks: &["P3", "P4"], means: "", caught_by: &[], patches }
}

const fn patch(before: &'static str, after: &'static str) -> Patch {
    Patch { file: "a.rs", before, after }
}

fn a_fault_sleeps_until_it_is_named() {
    const FAULT: Fault = fault(&[patch("two", "if $planted { 2 }"), patch("one", "if !$planted { 1 }")]);
    let (text, refused) = plant("a.rs", "one two three", [&FAULT]);
    assert_eq!(text, r#"if !crate::planted::is("f") { 1 } if crate::planted::is("f") { 2 } three"#);
    assert_eq!(refused, []);
    assert_eq!(plant("b.rs", "one two three", [&FAULT]).0, "one two three");
}

fn a_patch_without_its_place_says_why() {
    let check = |patches: &'static [Patch], expected: &str| {
        let (text, refused) = plant("a.rs", "one two three two", [&fault(patches)]);
        assert_eq!(refused.len(), 1, "{text}");
        assert_eq!(refused[0].fault, "f");
        assert!(refused[0].why.contains(expected), "{}", refused[0].why);
    };
    const TWICE: &[Patch] = &[patch("two", "$planted")];
    const GONE: &[Patch] = &[patch("four", "$planted")];
    const AWAKE: &[Patch] = &[patch("one", "1")];
    const OVERLAPPING: &[Patch] = &[patch("one", "$planted"), patch("ne t", "$planted")];
    check(TWICE, "a.rs has this text 2 times, and not once");
    check(GONE, "a.rs has this text 0 times, and not once");
    check(AWAKE, "a.rs: without $planted it would be there in every run");
    check(OVERLAPPING, "a.rs: its text overlaps with that of f");
}

fn only_a_broken_promise_is_a_catch() {
    let check = |ended, said: &str, expected: Result<(), &str>| {
        let said = verdict(&fault(&[]), &Ran { ended, said: said.to_owned() });
        assert_eq!(said, expected.map_err(str::to_owned));
    };
    check(Ended::Failed, "step 3: P3, P4: a write was answered", Ok(()));
    check(Ended::Failed, "P4: asked for before", Ok(()));
    check(Ended::Failed, "p3_holds: P30, P13: no", Err("tests failed, and none because of P3, P4"));
    check(Ended::Failed, "index out of bounds", Err("tests failed, and none because of P3, P4"));
    check(Ended::Passed, "P3", Err("the model does not see that it breaks P3, P4"));
    check(Ended::Late, "P3", Err("the run was killed after 60s"));
    check(Ended::Broken, "P3", Err("the run did not come to its end"));
}

fn a_run_that_takes_too_long_is_killed() {
    let shell = |script: &str, limit| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let Ran { ended, said } = limited(command, limit).unwrap();
        (ended, said)
    };
    const LONG: Duration = Duration::from_secs(60);
    assert_eq!(shell("echo out; echo err >&2; exit 101", LONG), (Ended::Failed, "out\nerr\n".to_owned()));
    assert_eq!(shell("exit 0", LONG).0, Ended::Passed);
    assert_eq!(shell("exit 1", LONG).0, Ended::Broken);
    assert_eq!(shell("kill -9 $$", LONG).0, Ended::Broken);
    assert_eq!(shell("exec sleep 60", Duration::from_millis(100)).0, Ended::Late);
}

fn a_copy_is_written_once() {
    const FAULT: Fault = fault(&[Patch { file: "src/lib.rs", before: "one", after: "$planted" }]);
    const GONE: Fault = fault(&[Patch { file: "src/gone.rs", before: "one", after: "$planted" }]);
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let write = |root: &Path, file: &str, text: &str| {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), text).unwrap();
    };
    let manifest = "[package]\nname = \"x\"\ndefault-run = \"x\"\n[[bin]]\nname = \"x\"\n[[test]]\nname = \"model\"\n[[test]]\nname = \"y\"";
    write(&from, "Cargo.toml", manifest);
    write(&from, "src/lib.rs", "one");
    write(&from, "src/deep/a.rs", "one");
    write(&to, "src/stale.rs", "");
    assert_eq!(copy(&from, &to, &[&FAULT]).unwrap(), []);
    let read = |file: &str| fs::read_to_string(to.join(file)).unwrap();
    assert!(
        read("src/lib.rs").contains("crate::planted::is(\"f\")\npub mod planted;"),
        "{}",
        read("src/lib.rs")
    );
    assert_eq!(read("src/deep/a.rs"), "one");
    assert!(!to.join("src/stale.rs").exists());
    let copied = read("Cargo.toml");
    assert!(
        copied.contains("\"model\"") && !copied.contains("\"y\"") && !copied.contains("[[bin]]"),
        "{copied}"
    );

    for file in ["Cargo.toml", "src/lib.rs", "src/deep/a.rs"] {
        let before = fs::metadata(to.join(file)).unwrap().modified().unwrap();
        copy(&from, &to, &[&FAULT]).unwrap();
        assert_eq!(fs::metadata(to.join(file)).unwrap().modified().unwrap(), before, "{file}");
    }
    write(&from, "src/deep/a.rs", "two");
    let refused = copy(&from, &to, &[&FAULT, &GONE]).unwrap();
    assert_eq!(read("src/deep/a.rs"), "two");
    assert!(refused[0].why.contains("src/gone.rs has this text 0 times"), "{refused:?}");
}

fn every_fault_has_a_name_of_its_own() {
    let mut names: Vec<_> = faults::all().iter().map(|fault| fault.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
