mod errors;
mod precedence;
mod stated;

use std::fs;

use super::{BadConfiguration, Configuration, Overrides, load};

/// What a file with this text makes, with nothing from the environment and no flags.
fn read(text: &str) -> Result<Configuration, BadConfiguration> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    fs::write(&file, text).unwrap();
    load(Some(&file), &Overrides::default(), &|_| None)
}
