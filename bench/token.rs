//! Tokens as Entra writes them for a service principal, unsigned: only ARM judges tokens, and the origin lets all in.

use armshield::clock::Clock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// The length of a token, as tokens of managed identities have it.
const LENGTH: usize = 1536;

/// The `n`th token of the one principal: what differs is what differs between tokens of one principal.
pub(crate) fn token(n: usize) -> String {
    let now = Clock::boot().wall().unix();
    let mut claims = json!({
        "aud": "https://management.azure.com/", "iss": "https://sts.windows.net/22222222-2222-4222-a222-222222222222/",
        "iat": now, "nbf": now, "exp": now + 24 * 3600, "aio": format!("k2RgYFhj{n:024}"),
        "appid": "33333333-3333-4333-a333-333333333333", "appidacr": "2", "idtyp": "app",
        "idp": "https://sts.windows.net/22222222-2222-4222-a222-222222222222/",
        "oid": "44444444-4444-4444-a444-444444444444", "rh": format!("1.AXAA{n:040}"),
        "sub": "44444444-4444-4444-a444-444444444444", "tid": "22222222-2222-4222-a222-222222222222",
        "uti": format!("{n:022}"), "ver": "1.0", "xms_ftd": format!("{n:043}"), "xms_idrel": "7 12",
        "xms_mirid": "", "xms_tcdt": 1_600_000_000,
    });
    let bare = sealed(&claims).len();
    // Base64 makes four characters of three.
    let missing = LENGTH.saturating_sub(bare) * 3 / 4;
    let identity = "/subscriptions/11111111-1111-4111-a111-111111111111/resourcegroups/nodes/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kubelet-";
    claims["xms_mirid"] = json!(identity.chars().cycle().take(missing).collect::<String>());
    sealed(&claims)
}

fn sealed(claims: &Value) -> String {
    let head = json!({"typ": "JWT", "alg": "RS256", "x5t": "s7Rk2Xv0c3Jt1Vh5Qp9Zm8Yb4Lw", "kid": "s7Rk2Xv0c3Jt1Vh5Qp9Zm8Yb4Lw"});
    let mut signature = [0; 256];
    blake3::Hasher::new().update(claims.to_string().as_bytes()).finalize_xof().fill(&mut signature);
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (head, claims) = (head.to_string(), claims.to_string());
    format!("{}.{}.{}", part(head.as_bytes()), part(claims.as_bytes()), part(&signature))
}
