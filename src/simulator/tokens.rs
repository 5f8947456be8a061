//! Tokens that look like Entra's v1.0 access tokens for ARM, and the principals they speak for.
//!
//! Claims: `MicrosoftDocs/entra-docs`, `access-tokens.md`. Those under "noise" differ between two tokens of
//! one principal in public dumps.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::random::{Random, guid_of};

/// Somebody who calls ARM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Tenant (`tid`); empty: that of the simulator.
    pub tenant: String,
    /// Object id (`oid`).
    pub object: String,
    /// Application id (`appid`).
    pub app: String,
    /// How long its tokens are good.
    pub lifetime: Duration,
    /// More claims, the same in all its tokens.
    pub claims: Map<String, Value>,
}

impl Principal {
    /// The principal of that name: always with the same ids.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            tenant: String::new(),
            object: guid_of(&format!("object {name}")),
            app: guid_of(&format!("app {name}")),
            lifetime: Duration::from_secs(3_900),
            claims: Map::new(),
        }
    }

    /// The service principal behind a client id of the token endpoint.
    #[must_use]
    pub fn of_app(app: &str) -> Self {
        Self { app: app.to_owned(), ..Self::named(app) }
    }

    /// With tokens that are good for so long.
    #[must_use]
    pub const fn lasting(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// With one more claim.
    #[must_use]
    pub fn claiming(mut self, name: &str, value: Value) -> Self {
        self.claims.insert(name.to_owned(), value);
        self
    }
}

/// Where a principal may do what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// An id; it and everything below it.
    pub scope: String,
    /// Whether writes are allowed too.
    pub write: bool,
}

impl Grant {
    /// Reading at and below `scope`.
    #[must_use]
    pub fn read(scope: impl Into<String>) -> Self {
        Self { scope: scope.into(), write: false }
    }

    /// Everything at and below `scope`.
    #[must_use]
    pub fn all(scope: impl Into<String>) -> Self {
        Self { scope: scope.into(), write: true }
    }
}

/// A token that was issued here.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) number: u64,
    pub(crate) tenant: String,
    pub(crate) object: String,
    pub(crate) app: String,
    not_before: u64,
    expires: u64,
}

impl Issued {
    /// Somebody of whom no token was seen.
    pub(crate) fn anonymous(object: &str) -> Self {
        let unknown = String::new;
        Self {
            number: 0,
            tenant: unknown(),
            object: object.to_owned(),
            app: unknown(),
            not_before: 0,
            expires: 0,
        }
    }
}

/// Why a call is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    Missing,
    Invalid,
    Expired,
}

#[derive(Debug, Default)]
pub(crate) struct Tokens {
    issued: HashMap<String, Issued>,
    revoked: HashSet<u64>,
    grants: HashMap<String, Vec<Grant>>,
}

impl Tokens {
    pub(crate) fn issue(
        &mut self,
        principal: &Principal,
        tenant: &str,
        now: u64,
        random: &mut Random,
    ) -> String {
        let tenant = if principal.tenant.is_empty() { tenant } else { &principal.tenant };
        let expires = now + principal.lifetime.as_secs();
        let mut claims = json!({
            "aud": "https://management.core.windows.net/",
            "iss": format!("https://sts.windows.net/{tenant}/"),
            "iat": now, "nbf": now, "exp": expires,
            "appid": principal.app, "appidacr": "2", "idp": format!("https://sts.windows.net/{tenant}/"),
            "idtyp": "app", "oid": principal.object, "sub": principal.object, "tid": tenant, "ver": "1.0",
            "xms_tcdt": 1_500_000_000,
        });
        for (name, value) in &principal.claims {
            claims[name] = value.clone();
        }
        claims["aio"] = json!(random.opaque(30));
        claims["rh"] = json!(format!("1.{}.", random.opaque(36)));
        claims["uti"] = json!(random.opaque(16));
        claims["xms_ftd"] = json!(random.opaque(43));
        claims["xms_idrel"] = json!(format!("7 {}", 2 * random.below(16)));
        claims["xms_act_fct"] = json!(format!("{} 3", 3 + random.below(9)));
        claims["xms_sub_fct"] = json!(format!("3 {}", 3 + random.below(9)));
        claims["xms_rd"] = json!(random.opaque(40));
        claims["xms_tnt_fct"] = json!(format!("3 {}", random.below(12)));
        let header =
            json!({"typ": "JWT", "alg": "RS256", "x5t": "simulated-key-1", "kid": "simulated-key-1"});
        let (header, claims) = (header.to_string(), claims.to_string());
        let token = format!(
            "{}.{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims),
            random.opaque(256)
        );
        let issued = Issued {
            number: self.issued.len() as u64 + 1,
            tenant: tenant.to_owned(),
            object: principal.object.clone(),
            app: principal.app.clone(),
            not_before: now,
            expires,
        };
        self.issued.insert(token.clone(), issued);
        token
    }

    pub(crate) fn revoke(&mut self, token: &str) {
        if let Some(issued) = self.issued.get(token) {
            self.revoked.insert(issued.number);
        }
    }

    pub(crate) fn restrict(&mut self, object: &str, grants: Option<Vec<Grant>>) {
        match grants {
            Some(grants) => self.grants.insert(object.to_owned(), grants),
            None => self.grants.remove(object),
        };
    }

    /// Whose token an `Authorization` value carries.
    pub(crate) fn admit(&self, authorization: Option<&str>, now: u64) -> Result<Issued, Rejection> {
        let value = authorization.ok_or(Rejection::Missing)?;
        let (scheme, token) = value.split_once(' ').ok_or(Rejection::Invalid)?;
        if !scheme.eq_ignore_ascii_case("Bearer") {
            return Err(Rejection::Invalid);
        }
        let issued = self.issued.get(token.trim()).ok_or(Rejection::Invalid)?;
        if self.revoked.contains(&issued.number) || now < issued.not_before {
            return Err(Rejection::Invalid);
        }
        if now >= issued.expires {
            return Err(Rejection::Expired);
        }
        Ok(issued.clone())
    }

    /// Whether a principal may do this at `path`.
    pub(crate) fn allows(&self, object: &str, path: &str, write: bool) -> bool {
        let Some(grants) = self.grants.get(object) else { return true };
        let path = path.trim_end_matches('/').to_ascii_lowercase();
        grants.iter().any(|grant| {
            let scope = grant.scope.trim_end_matches('/').to_ascii_lowercase();
            let below =
                path.strip_prefix(&scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            below && (grant.write || !write)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(token: &str) -> Value {
        let part = token.split('.').nth(1).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn two_tokens_of_one_principal_differ_in_noise_alone() {
        let (mut tokens, mut random) = (Tokens::default(), Random::seeded(3));
        let ccm = Principal::named("ccm").claiming("xms_mirid", json!("/subscriptions/s"));
        let one = claims(&tokens.issue(&ccm, "t", 100, &mut random));
        let two = claims(&tokens.issue(&ccm, "t", 200, &mut random));
        let map = one.as_object().unwrap();
        let mut differing: Vec<_> =
            map.iter().filter(|(name, value)| &two[*name] != *value).map(|(name, _)| name.as_str()).collect();
        differing.retain(|name| !name.starts_with("xms_"));
        assert_eq!(differing, ["aio", "exp", "iat", "nbf", "rh", "uti"]);
        assert_eq!((&one["oid"], &one["tid"]), (&json!(ccm.object), &json!("t")));
    }

    #[test]
    fn only_whole_live_tokens_of_ours_are_let_in() {
        let (mut tokens, mut random) = (Tokens::default(), Random::seeded(3));
        let token =
            tokens.issue(&Principal::named("a").lasting(Duration::from_secs(10)), "t", 100, &mut random);
        let revoked = tokens.issue(&Principal::named("a"), "t", 100, &mut random);
        tokens.revoke(&revoked);
        let cases = [
            (None, 100, Some(Rejection::Missing)),
            (Some(format!("Bearer {token}")), 100, None),
            (Some(format!("bearer {token}")), 109, None),
            (Some(format!("Bearer {token}")), 110, Some(Rejection::Expired)),
            (Some(format!("Bearer {token}x")), 100, Some(Rejection::Invalid)),
            (Some(format!("PoP {token}")), 100, Some(Rejection::Invalid)),
            (Some(format!("Bearer {revoked}")), 100, Some(Rejection::Invalid)),
        ];
        for (value, now, expected) in cases {
            assert_eq!(tokens.admit(value.as_deref(), now).err(), expected, "{now}");
        }
    }

    #[test]
    fn grants_bound_a_principal() {
        let mut tokens = Tokens::default();
        tokens.restrict(
            "o",
            Some(vec![Grant::read("/subscriptions/s"), Grant::all("/subscriptions/s/resourceGroups/g")]),
        );
        let cases = [
            ("/subscriptions/S/resourcegroups/other", false, true),
            ("/subscriptions/S/resourcegroups/other", true, false),
            ("/subscriptions/s/resourcegroups/G/providers/x", true, true),
            ("/subscriptions/s2", false, false),
        ];
        for (path, write, allowed) in cases {
            assert_eq!(tokens.allows("o", path, write), allowed, "{path} {write}");
        }
        assert!(tokens.allows("somebody else", "/subscriptions/s2", true));
    }
}
