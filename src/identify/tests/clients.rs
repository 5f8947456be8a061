use std::fmt::Write as _;

use super::*;
use crate::policy::{self, Profile};

#[tokio::test(start_paused = true)]
async fn a_client_is_a_program_of_a_principal_at_an_address() {
    let room = room();
    let of = async |claims: &str, agent: &str, ip: &str| {
        let headers = with_agent(bearer(claims), agent);
        let peer = Peer { ip: ip.parse().unwrap(), loopback: false };
        let identity = room.identify(&headers, peer, &Arc::default(), &Memory::default()).unwrap();
        room.vouch(&identity).await.unwrap().client
    };
    let usual = of(&claims(""), "a/1", "10.0.0.1").await;
    assert_eq!(usual, of(&claims(r#","uti":"rotated""#), "a/1", "10.0.0.1").await);
    assert_eq!(usual, of(&claims(r#","xms_new":1"#), "a/1", "::ffff:10.0.0.1").await);
    assert_ne!(usual, of(&claims(""), "a/2", "10.0.0.1").await);
    assert_ne!(usual, of(&claims(""), "a/1", "10.0.0.2").await);
    assert_ne!(usual, of(&claims("").replace("app-1", "app-2"), "a/1", "10.0.0.1").await);
}

#[tokio::test(start_paused = true)]
async fn a_user_agent_alone_has_no_priority() {
    let ccm = |principals: &[(&str, &str)]| {
        let find = |profile: &Profile| &*profile.name == "ccm";
        let ccm = policy::profile::built_in().into_iter().find(find).unwrap();
        let principals =
            principals.iter().map(|(tid, oid)| policy::Principal { tid: (*tid).into(), oid: (*oid).into() });
        let ccm = Profile { principals: principals.collect(), ..ccm };
        Policy { profiles: vec![Arc::new(ccm)], ..Policy::default() }
    };
    let upper = claims("").replace(OID, &OID.to_ascii_uppercase());
    let check = async |claims: &str, peer, policy: Policy, vouched: bool, expected| {
        let (room, policy) = (room(), Arc::new(policy));
        let headers = with_agent(bearer(claims), "kubernetes-cloudprovider/v1");
        let mut identity = room.identify(&headers, peer, &policy, &Memory::default()).unwrap();
        if vouched {
            identity = room.vouch(&identity).await.unwrap();
            let again = room.identify(&headers, peer, &policy, &Memory::default()).unwrap();
            assert_eq!(again.priority, identity.priority);
        }
        assert_eq!(identity.priority, expected);
    };
    let usual = claims("");
    check(&usual, PEER, ccm(&[]), true, Priority::Normal).await;
    check(&usual, LOOPBACK, ccm(&[]), true, Priority::High).await;
    check(&usual, LOOPBACK, ccm(&[]), false, Priority::Normal).await;
    check(&usual, PEER, ccm(&[("x", "y"), (TID, OID)]), true, Priority::High).await;
    check(&upper, PEER, ccm(&[(TID, OID)]), true, Priority::High).await;
    check(&usual, PEER, ccm(&[(TID, OID)]), false, Priority::Normal).await;
    check(&usual, PEER, ccm(&[(TID, "other"), (OID, TID)]), true, Priority::Normal).await;
}

#[tokio::test(start_paused = true)]
async fn loopback_gives_priority_to_one_caller_only() {
    let room = room();
    let ask = async |claims: &str| {
        let headers = with_agent(bearer(claims), "kubernetes-cloudprovider/v1");
        room.vouch(&room.identify(&headers, LOOPBACK, &Arc::default(), &Memory::default()).unwrap())
            .await
            .unwrap()
            .priority
    };
    let (one, other) = (claims(""), claims("").replace("app-1", "app-2"));
    assert_eq!(ask(&one).await, Priority::High);
    assert_eq!(ask(&other).await, Priority::Normal);
    assert_eq!(ask(&one).await, Priority::Normal);
    tokio::time::advance(10 * MINUTE).await;
    assert_eq!(ask(&one).await, Priority::High);
}

#[test]
fn a_low_priority_needs_no_proof() {
    let headers = with_agent(HeaderMap::new(), "Prometheus/3");
    assert_eq!(identify(&room(), &headers).priority, Priority::Low);
}

#[test]
fn unmatched_user_agents_are_counted() {
    let room = room();
    for agent in ["velero/1", "velero/2", "cluster-autoscaler/v1", "secret crossplane"] {
        identify(&room, &with_agent(bearer(&claims("")), agent));
    }
    identify(&room, &with_agent(HeaderMap::new(), "scanner"));
    assert_eq!(room.unmatched_agents(), [("velero".into(), 2), ("secret".into(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn nothing_prints_a_token() {
    let room = room();
    let token = jwt(&claims(r#","name":"somebody""#), "signature");
    let mut headers = with_agent(header(&format!("Bearer {token}")), "velero/1");
    headers
        .append("x-ms-authorization-auxiliary", HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    for headers in [&headers, &header(&format!("Bearer {token}"))] {
        let identity = room.vouch(&identify(&room, headers)).await.unwrap();
        let lane = UnvouchedLane::new(&Settings::default(), room.clock);
        let admitted = lane.enter(identity.peer).await.unwrap();
        headers.iter().for_each(|_| admitted.settle(http::StatusCode::UNAUTHORIZED));
        let presented = Presented::of(headers).unwrap();
        let credential = Credential::read(&room.key, identity.token, &presented, &[]);
        let mut all =
            format!("{room:?} {identity:?} {lane:?} {admitted:?} {credential:?} {:?}", room.splits());
        write!(all, "{:?} {0} {:?}", Refused::TwoAuthorizations, room.unmatched_agents()).unwrap();
        for part in token.split('.').chain([TID, OID, "somebody", "app-1"]) {
            assert!(!all.contains(part), "{part} in {all}");
        }
        assert!(!all.contains(&format!("{:x}", identity.token.bits())), "a whole digest in {all}");
    }
}
