//! Where state is kept: the admin token, the CA.

use std::path::{Path, PathBuf};

/// The folder for what must outlive the process: `STATE_DIRECTORY`, which systemd sets
/// (systemd.exec, `StateDirectory=`), else `armshield` in `XDG_STATE_HOME` or in its default
/// `~/.local/state` (XDG Base Directory Specification), else, for root and for users without a home,
/// `/var/lib/armshield`.
#[must_use]
pub fn state_folder(env: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    let folder = |name: &str| {
        let stated = env(name)?;
        // A list in systemd's variable. Both specifications want what is not absolute to be ignored.
        let first = stated.split(':').next().map(PathBuf::from)?;
        first.is_absolute().then_some(first)
    };
    let home = || folder("HOME").filter(|home| home.parent().is_some() && home != Path::new("/root"));
    let user = || folder("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")));
    folder("STATE_DIRECTORY")
        .or_else(|| Some(user()?.join("armshield")))
        .unwrap_or_else(|| PathBuf::from("/var/lib/armshield"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_kept_where_the_system_says() {
        let check = |set: &[(&str, &str)], folder: &str| {
            let env = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(state_folder(&env), PathBuf::from(folder), "{set:?}");
        };
        check(&[], "/var/lib/armshield");
        check(&[("STATE_DIRECTORY", "/s/a:/s/b"), ("XDG_STATE_HOME", "/x")], "/s/a");
        check(&[("XDG_STATE_HOME", "/x"), ("HOME", "/h/ann")], "/x/armshield");
        check(&[("XDG_STATE_HOME", "x"), ("HOME", "/h/ann")], "/h/ann/.local/state/armshield");
        check(&[("HOME", "/")], "/var/lib/armshield");
        check(&[("HOME", "/root")], "/var/lib/armshield");
        check(&[("HOME", "nowhere")], "/var/lib/armshield");
    }
}
