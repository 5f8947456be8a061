//! Reading it all, in the order of precedence.

use std::fs;
use std::path::{Path, PathBuf};

use super::document::Document;
use super::values::Kind;
use super::{BadConfiguration, Configuration, state_folder, warnings};

/// What flags said: they come before the environment, and that before the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`, for `[listen] address`.
    pub listen: Option<String>,
    /// `--admin`, for `[admin] address`.
    pub admin: Option<String>,
    /// `--upstream`, for `[upstream] endpoint`.
    pub upstream: Option<String>,
}

/// What the environment says: a variable by its name. Empty is unset.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn environment(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// Reads the configuration: defaults, then the file (`file`, else the one `ARMSHIELD_CONFIG` names, else
/// none), then `ARMSHIELD_LISTEN`, `ARMSHIELD_ADMIN` and `ARMSHIELD_UPSTREAM`, then flags. Reads the files
/// that it names, too. Blocks.
///
/// # Errors
/// One line that says what is wrong where; a process ends with [`EXIT_CODE`](super::EXIT_CODE).
pub fn load(
    file: Option<&Path>,
    overrides: &Overrides,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Configuration, BadConfiguration> {
    let env = |name: &str| env(name).filter(|value| !value.is_empty());
    let file = file.map(Path::to_owned).or_else(|| env("ARMSHIELD_CONFIG").map(PathBuf::from));
    let mut configuration = Configuration::new(&state_folder(&env));
    if let Some(file) = file {
        let text = fs::read_to_string(&file).map_err(|error| BadConfiguration::file(&file, error))?;
        let document = Document { file: &file, text: &text };
        document.sections()?.apply(&document, &mut configuration)?;
        configuration.file = Some(file);
    } else {
        configuration.enter_cloud(configuration.cloud);
    }
    let Configuration { listen, admin, endpoint, .. } = &mut configuration;
    last_word(&mut listen.address, "listen", overrides.listen.as_deref(), &env)?;
    last_word(&mut admin.address, "admin", overrides.admin.as_deref(), &env)?;
    last_word(endpoint, "upstream", overrides.upstream.as_deref(), &env)?;
    configuration.warnings = warnings::of(&configuration);
    Ok(configuration)
}

/// Sets `place` to what a flag says, else to what its variable says.
fn last_word<T: Kind<Value = T>>(
    place: &mut T,
    flag: &str,
    given: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(), BadConfiguration> {
    let variable = format!("ARMSHIELD_{}", flag.to_ascii_uppercase());
    let (name, value) = match (given, env(&variable)) {
        (Some(given), _) => (format!("--{flag}"), given.to_owned()),
        (None, Some(value)) => (variable, value),
        (None, None) => return Ok(()),
    };
    *place = T::read(&value).map_err(|error| BadConfiguration::named(name, error))?;
    Ok(())
}
