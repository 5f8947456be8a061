//! The package with all faults planted in it, in a folder below the target directory.
//!
//! Nothing of this is in the source that ships. A file is written only if it changes, so that a copy that was
//! built is not built again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::{Table, Value};

use crate::fault::{Fault, Refused, plant};

/// What the model is made of.
const FOLDERS: [&str; 5] = [".cargo", "config", "src", "tests/model", "tests/support"];
const FILES: [&str; 3] = ["Cargo.lock", "rust-toolchain", "rust-toolchain.toml"];

/// Wakes one fault: the one named by the environment.
const PLANTED: &str = r#"//! Which fault is played.

use std::sync::OnceLock;

pub fn is(fault: &str) -> bool {
    static PLAYED: OnceLock<Option<String>> = OnceLock::new();
    PLAYED.get_or_init(|| std::env::var("ARMSHIELD_PLANTED").ok()).as_deref() == Some(fault)
}
"#;

/// The variable that names the fault to be played.
pub(crate) const PLAYED: &str = "ARMSHIELD_PLANTED";

/// Copies the package that is in `from` to `to`, with faults. Gives back those that have no place in it.
pub(crate) fn copy(from: &Path, to: &Path, faults: &[&Fault]) -> io::Result<Vec<Refused>> {
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        read(from, Path::new(folder), &mut files)?;
    }
    for file in FILES.iter().filter(|file| from.join(file).exists()) {
        files.insert(PathBuf::from(file), fs::read(from.join(file))?);
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
    files.insert("Cargo.toml".into(), only_the_model(&manifest)?.into_bytes());
    let refused = plant_all(&mut files, faults)?;
    files.insert("src/planted.rs".into(), PLANTED.into());
    let root = files.entry("src/lib.rs".into()).or_default();
    // Guards leave things unused here and there.
    root.splice(0..0, *b"#![allow(warnings)]\n");
    root.extend_from_slice(b"\npub mod planted;\n");
    write(to, &files)?;
    Ok(refused)
}

/// The manifest without what would be built besides: binaries would take the place of the real ones.
fn only_the_model(manifest: &str) -> io::Result<String> {
    let mut manifest: Table = manifest.parse().map_err(io::Error::other)?;
    for besides in ["bin", "bench", "example", "lints"] {
        manifest.remove(besides);
    }
    if let Some(Value::Array(tests)) = manifest.get_mut("test") {
        tests.retain(|test| test.get("name").and_then(Value::as_str) == Some("model"));
    }
    if let Some(Value::Table(package)) = manifest.get_mut("package") {
        package.remove("default-run");
        for found in ["autobins", "autobenches", "autoexamples"] {
            package.insert(found.to_owned(), Value::Boolean(false));
        }
    }
    // Whatever package surrounds it, this one is none of its members.
    manifest.entry("workspace").or_insert_with(|| Value::Table(Table::new()));
    toml::to_string(&manifest).map_err(io::Error::other)
}

fn plant_all(files: &mut BTreeMap<PathBuf, Vec<u8>>, faults: &[&Fault]) -> io::Result<Vec<Refused>> {
    let mut refused = Vec::new();
    let mut touched: Vec<_> = faults.iter().flat_map(|fault| fault.patches).map(|patch| patch.file).collect();
    touched.sort_unstable();
    touched.dedup();
    for file in touched {
        // A file that is gone has none of the texts.
        let text = files.get(Path::new(file)).cloned().unwrap_or_default();
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        let (planted, without_place) = plant(file, &text, faults.iter().copied());
        refused.extend(without_place);
        if let Some(file) = files.get_mut(Path::new(file)) {
            *file = planted.into_bytes();
        }
    }
    Ok(refused)
}

/// The files of a folder, by their paths from the root. One that is not there has none.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            read(root, &path, files)?;
        } else {
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// Makes the folder hold these files and no others.
fn write(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut there = BTreeMap::new();
    read(folder, Path::new(""), &mut there)?;
    for path in there.keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(folder.join(path))?;
    }
    for (path, bytes) in files.iter().filter(|(path, bytes)| there.get(*path) != Some(bytes)) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}
