//! Tokens as Entra writes them, unsigned: only ARM judges tokens, and the scripted ARM judges by their text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// The wall time at which every world begins.
pub const EPOCH: u64 = 1_800_000_000;

/// A principal's token, the `n`th it was issued: noisy claims differ, what says who it is does not.
pub fn token(principal: &str, n: u32) -> String {
    sealed(&claims(principal, n))
}

/// The claims of such a token.
pub fn claims(principal: &str, n: u32) -> Value {
    json!({
        "aud": "https://management.azure.com/", "iss": "https://sts.windows.net/t/", "tid": "t",
        "oid": format!("oid-{principal}"), "appid": format!("app-{principal}"), "idtyp": "app", "ver": "1.0",
        "iat": EPOCH, "nbf": EPOCH, "exp": EPOCH + 3600 + u64::from(n), "uti": format!("u{n}"), "aio": format!("a{n}"),
        "rh": format!("r{n}"), "xms_ftd": format!("f{n}"),
    })
}

/// A token of these claims.
pub fn sealed(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.signature", part(&json!({"alg": "RS256", "typ": "JWT"})), part(claims))
}
