//! Keeps clients in the path: links that point at ARM lead back through the name the client dialled.
//!
//! - Only scheme and authority of a link change; what follows stays byte for byte, because poll URLs and
//!   continuation tokens are signed or opaque.
//! - A link never leads to a name but the one dialled, and that one is checked where connections come in.
//! - Links to other hosts and relative links stay as they are. So does everything for a client that dialled
//!   one of ARM's names, but links to an endpoint of the operator's that is none of them.
//! - Bodies are spliced, never re-serialised.

mod beginning;
pub mod discovery;
mod links;
pub mod scan;
mod unescape;

pub use links::Links;
pub use scan::NextLinkBody;

/// A way to reach a server: how a client dialled armshield, or what armshield's endpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way<'a> {
    /// Whether by TLS.
    pub secure: bool,
    /// The host, with a port where it is not the scheme's own.
    pub authority: &'a str,
}

impl Way<'_> {
    /// Scheme and authority as a URL begins with them; `None` for an authority with characters none can have.
    fn url(self) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        let is_authority = !self.authority.is_empty() && self.authority.bytes().all(is_plain);
        let scheme = if self.secure { "https" } else { "http" };
        is_authority.then(|| format!("{scheme}://{}", self.authority))
    }
}
