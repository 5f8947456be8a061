//! The token of the door: a file that only its owner can read.

use std::fs::{OpenOptions, Permissions, create_dir_all, read_to_string, set_permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes of randomness in a token.
const BYTES: usize = 32;

/// What who acts has to show. Never printed.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The file cannot be read or made.
    #[error("the admin token {path} cannot be read or made: {source}; set [admin] token to a path that can")]
    File {
        /// Where it is looked for.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// Others can read it.
    #[error("the admin token {path} can be read by others than its owner: chmod 600 {path}")]
    Readable {
        /// Where it is.
        path: PathBuf,
    },
    /// It is too short to be one.
    #[error("the admin token {path} is shorter than 16 characters: delete the file, and a new one is made")]
    Short {
        /// Where it is.
        path: PathBuf,
    },
}

impl Token {
    /// A token that is known, for tests.
    #[must_use]
    pub const fn of(text: String) -> Self {
        Self(text)
    }

    /// Reads the token, or makes one if there is none.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn at(path: &Path) -> Result<Self, Unusable> {
        match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(path).map_err(|source| Unusable::File { path: path.to_owned(), source })
            }
            _ => Self::read(path),
        }
    }

    /// Reads the token that was made for an armshield that runs.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn read(path: &Path) -> Result<Self, Unusable> {
        let file = |source| Unusable::File { path: path.to_owned(), source };
        if path.metadata().map_err(file)?.permissions().mode() & 0o077 != 0 {
            return Err(Unusable::Readable { path: path.to_owned() });
        }
        let text = read_to_string(path).map_err(file)?.trim().to_owned();
        if text.len() < 16 { Err(Unusable::Short { path: path.to_owned() }) } else { Ok(Self(text)) }
    }

    /// What to show at the door in `Authorization`.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Whether `shown` is this token; takes as long whichever byte differs.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        let own = self.0.as_bytes();
        own.len() == shown.len() && own.iter().zip(shown).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

fn make(path: &Path) -> io::Result<Token> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        create_dir_all(folder)?;
        set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(Token(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/admin-token");
        assert!(matches!(Token::read(&path), Err(Unusable::File { .. })), "who asks makes none");
        let made = Token::at(&path).unwrap();
        assert_eq!(Token::read(&path).unwrap().shown(), format!("Bearer {}", made.0));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(Token::at(&path).unwrap().is(made.0.as_bytes()));
        assert!(!made.is(b"something else"));
        assert!(!format!("{made:?}").contains(&made.0));
        set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Token::at(&path), Err(Unusable::Readable { .. })));
    }
}
