//! Pages of a list: an opaque token, an absolute link.
//!
//! Envelope and link: `Azure/azure-resource-manager-rpc`, `resource-api-reference.md`. Pages are cut from the
//! list as it is when they are asked for: they are no snapshot.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::ask::Ask;

/// Where a page begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// Items born after this one.
    pub(crate) after: u64,
    pub(crate) size: usize,
}

/// The token is not one of this list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadToken;

impl Page {
    /// The page that is asked for.
    pub(crate) fn asked(ask: &Ask, size: Option<usize>) -> Result<Self, BadToken> {
        let size = size.unwrap_or(usize::MAX).max(1);
        let Some(token) = ask.option("$skiptoken") else { return Ok(Self { after: 0, size }) };
        let bytes = URL_SAFE_NO_PAD.decode(&token).map_err(|_| BadToken)?;
        let text = String::from_utf8(bytes).map_err(|_| BadToken)?;
        let (after, mark) = text.split_once('#').ok_or(BadToken)?;
        if mark != self::mark(ask) {
            return Err(BadToken);
        }
        Ok(Self { after: after.parse().map_err(|_| BadToken)?, size })
    }

    /// The link to the page that begins behind `last`, with the options of this one.
    pub(crate) fn next(ask: &Ask, last: u64) -> String {
        let token = URL_SAFE_NO_PAD.encode(format!("{last}#{}", mark(ask)));
        let kept = ask.query().split('&').filter(|pair| {
            let name = pair.split('=').next().unwrap_or("").to_ascii_lowercase();
            !matches!(name.as_str(), "" | "$skiptoken" | "%24skiptoken")
        });
        let mut query = kept.collect::<Vec<_>>().join("&");
        if !query.is_empty() {
            query.push('&');
        }
        format!("{}{}?{query}%24skiptoken={token}", ask.base, ask.path())
    }
}

/// Ties a token to its list.
fn mark(ask: &Ask) -> String {
    let list = format!("{} {}", ask.path().to_ascii_lowercase(), ask.option("$filter").unwrap_or_default());
    blake3::hash(list.as_bytes()).to_hex()[..40].to_owned()
}
