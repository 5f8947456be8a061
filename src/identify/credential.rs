//! What a request presents, and what can be read from it without believing it.
//!
//! A bearer token of the usual form is known by its claims; everything else (another scheme, no JWT,
//! auxiliary tokens, unclear JSON) by its exact bytes, so that it shares nothing with anybody.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;

use super::canonical::{self, Object, Unclear};
use super::digest::{Application, Caller, Key, Principal, Purpose, Token};

const AUXILIARY: HeaderName = HeaderName::from_static("x-ms-authorization-auxiliary");

/// Claims that differ between tokens of one principal and say nothing about rights. The noisy flags
/// `xms_*` were seen to differ in public dumps of two tokens of one principal. Whatever is not here counts.
pub const IGNORABLE: [&str; 12] = [
    "exp",
    "iat",
    "nbf",
    "uti",
    "aio",
    "rh",
    "xms_ftd",
    "xms_idrel",
    "xms_act_fct",
    "xms_sub_fct",
    "xms_rd",
    "xms_tnt_fct",
];

/// A longer token is known by its bytes. One that lists 200 groups, Entra's limit, has about 12 KiB; reading
/// whatever a stranger fits into a header would cost milliseconds.
const LONGEST: usize = 16 * 1024;

/// How many claims of a token are remembered by name, to tell what makes callers differ.
const MARKS: usize = 64;
/// How many characters of a name are.
const NAME: usize = 64;

/// Why a request cannot be said to come from anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Which of the two ARM would judge is not ours to guess.
    #[error("the request has two Authorization fields")]
    TwoAuthorizations,
}

/// The fields of a request that say who asks.
pub(super) struct Presented<'a> {
    authorization: Option<&'a HeaderValue>,
    auxiliary: Vec<&'a HeaderValue>,
}

impl<'a> Presented<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Result<Self, Refused> {
        let mut fields = headers.get_all(AUTHORIZATION).iter();
        let authorization = fields.next();
        if fields.next().is_some() {
            return Err(Refused::TwoAuthorizations);
        }
        Ok(Self { authorization, auxiliary: headers.get_all(AUXILIARY).iter().collect() })
    }

    pub(super) const fn is_anonymous(&self) -> bool {
        self.authorization.is_none()
    }

    /// `Authorization`, where nothing else says who asks.
    pub(super) fn sole_authorization(&self) -> Option<&'a [u8]> {
        self.authorization.filter(|_| self.auxiliary.is_empty()).map(HeaderValue::as_bytes)
    }

    pub(super) fn token(&self, key: &Key) -> Token {
        let mut absorb = key.absorb(Purpose::Token);
        match self.authorization {
            Some(value) => absorb.mark(1).bytes(value.as_bytes()),
            None => absorb.mark(0),
        };
        for value in &self.auxiliary {
            absorb.bytes(value.as_bytes());
        }
        Token::of(absorb.finish())
    }

    /// The claims of the token, as JSON text.
    fn claims(&self) -> Option<String> {
        payload(bearer(self.authorization?.to_str().ok()?)?)
    }

    /// The first end of an auxiliary token.
    fn auxiliary_end(&self) -> Option<u64> {
        let values = self.auxiliary.iter().filter_map(|value| value.to_str().ok());
        let tokens = values.flat_map(|value| value.split(',')).filter_map(bearer);
        tokens.filter_map(|token| end(&Object::parse(&payload(token)?).ok()?)).min()
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The middle part of a signed JWT (RFC 7515 §3.1), decoded.
fn payload(token: &str) -> Option<String> {
    if token.len() > LONGEST {
        return None;
    }
    let mut parts = token.split('.');
    let [Some(head), Some(payload), Some(signature), None] = [(); 4].map(|()| parts.next()) else {
        return None;
    };
    if head.is_empty() || signature.is_empty() {
        return None;
    }
    String::from_utf8(URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

/// `exp` in seconds since the epoch (RFC 7519 §4.1.4), rounded down.
fn end(claims: &Object<'_>) -> Option<u64> {
    let text = claims.member("exp")?.get();
    let fraction =
        || text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64);
    text.parse().ok().or_else(fraction)
}

/// A claim by its name and the digest of its value.
pub(super) struct Mark {
    pub(super) name: Box<str>,
    pub(super) value: u128,
}

/// What a token says, as digests, and when it ends.
pub(super) struct Credential {
    pub(super) caller: Caller,
    pub(super) principal: Principal,
    pub(super) application: Application,
    /// Tenant and object id in lower case, to be compared with the configured principals.
    pub(super) names: Option<(Box<str>, Box<str>)>,
    /// Seconds since the Unix epoch; of several tokens the first end.
    pub(super) expires: Option<u64>,
    /// The claims that count; empty where the exact bytes do.
    pub(super) marks: Vec<Mark>,
    /// The claims ignored besides the built-in ones.
    pub(super) ignored: Box<[String]>,
}

impl Credential {
    pub(super) fn read(key: &Key, token: Token, presented: &Presented<'_>, ignored: &[String]) -> Self {
        let read = presented.claims().and_then(|claims| Self::from_claims(key, &claims, ignored).ok());
        let mut credential = read.unwrap_or_else(|| Self::exact(key, token, ignored));
        if !presented.auxiliary.is_empty() {
            // ARM charges the principal of the token itself, but what the call may see depends on all of them.
            credential.caller = exact_caller(key, token);
            credential.marks = Vec::new();
            credential.expires = credential.expires.into_iter().chain(presented.auxiliary_end()).min();
        }
        credential
    }

    pub(super) fn exact(key: &Key, token: Token, ignored: &[String]) -> Self {
        let bits = key.absorb(Purpose::Exact).bits(token.bits()).finish();
        Self {
            caller: exact_caller(key, token),
            principal: Principal::of(bits),
            application: Application::of(bits),
            names: None,
            expires: None,
            marks: Vec::new(),
            ignored: ignored.into(),
        }
    }

    fn from_claims(key: &Key, claims: &str, ignored: &[String]) -> Result<Self, Unclear> {
        let claims = Object::parse(claims)?;
        let fold = |name| claims.text(name).map(|text| text.to_ascii_lowercase());
        let (tid, oid) = (fold("tid"), fold("oid"));
        // A subject is a name only inside its issuer, and compares with case (RFC 7519 §4.1.2).
        let subject = if oid.is_none() { Some(claims.text("sub").ok_or(Unclear)?) } else { None };
        let issuer = if tid.is_none() { claims.text("iss") } else { None };
        let principal = key
            .absorb(Purpose::Principal)
            .option(tid.as_deref())
            .option(issuer.as_deref())
            .option(oid.as_deref())
            .option(subject.as_deref())
            .finish();
        let application = claims.text("appid").or_else(|| claims.text("azp"));
        let application =
            key.absorb(Purpose::Application).bits(principal).option(application.as_deref()).finish();

        // With the application in front, no configured list can merge principals.
        let mut caller = key.absorb(Purpose::ClaimedCaller);
        caller.bits(application);
        // A reload with another list must not open entries that were stored under this one.
        let mut list: Vec<&str> = ignored.iter().map(String::as_str).collect();
        list.sort_unstable();
        list.dedup();
        caller.count(list.len());
        for name in list {
            caller.bytes(name.as_bytes());
        }
        let counts = |name: &str| !IGNORABLE.contains(&name) && !ignored.iter().any(|other| other == name);
        let mut marks = Vec::new();
        for (name, value) in claims.members().filter(|(name, _)| counts(name)) {
            let value = claim(key, value)?;
            caller.bytes(name.as_bytes()).bits(value);
            if marks.len() < MARKS {
                marks.push(Mark { name: name.chars().take(NAME).collect(), value });
            }
        }
        Ok(Self {
            caller: Caller::of(caller.finish()),
            principal: Principal::of(principal),
            application: Application::of(application),
            names: tid.zip(oid).map(|(tid, oid)| (tid.into(), oid.into())),
            expires: end(&claims),
            marks,
            ignored: ignored.into(),
        })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credential").field(&self.caller).finish()
    }
}

fn exact_caller(key: &Key, token: Token) -> Caller {
    Caller::of(key.absorb(Purpose::ExactCaller).bits(token.bits()).finish())
}

fn claim(key: &Key, value: &RawValue) -> Result<u128, Unclear> {
    let mut absorb = key.absorb(Purpose::Claim);
    canonical::absorb(value, &mut absorb)?;
    Ok(absorb.finish())
}
