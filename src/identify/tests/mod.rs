mod callers;
mod clients;
mod known;
mod sharing;
mod standing;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use http::header::AUTHORIZATION;

use super::*;
use crate::clock::Wall;

const NOW: u64 = 1_800_000_000;
const MINUTE: Duration = Duration::from_secs(60);
const TID: &str = "aaaaaaaa-0000-1111-2222-333333333333";
const OID: &str = "bbbbbbbb-0000-1111-2222-333333333333";
const PEER: Peer = Peer { ip: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), loopback: false };
const LOOPBACK: Peer = Peer { ip: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), loopback: true };

fn room() -> Identify {
    Identify::with_key(&Settings::default(), Clock::tokio(Wall::from_unix(NOW)), [7; 32])
}

fn jwt(claims: &str, signature: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", part(r#"{"alg":"RS256","typ":"JWT"}"#), part(claims), part(signature))
}

fn header(value: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
}

fn bearer(claims: &str) -> HeaderMap {
    header(&format!("Bearer {}", jwt(claims, "signature")))
}

/// The usual claims, with more of them behind.
fn claims(more: &str) -> String {
    format!(
        r#"{{"aud":"https://management.azure.com","tid":"{TID}","oid":"{OID}","sub":"{OID}","appid":"app-1","idtyp":"app","exp":{}{more}}}"#,
        NOW + 3600
    )
}

fn with_agent(mut headers: HeaderMap, agent: &str) -> HeaderMap {
    headers.insert(USER_AGENT, HeaderValue::from_str(agent).unwrap());
    headers
}

fn identify(room: &Identify, headers: &HeaderMap) -> Identity {
    room.identify(headers, PEER, &Arc::default(), &Memory::default()).unwrap()
}

/// Which digests two requests have in common: caller, principal.
fn shared(one: &HeaderMap, other: &HeaderMap) -> (bool, bool) {
    let room = room();
    let (one, other) = (identify(&room, one), identify(&room, other));
    (one.caller == other.caller, one.principal == other.principal)
}
