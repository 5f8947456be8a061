use super::*;

#[tokio::test(start_paused = true)]
async fn a_token_is_unvouched_until_arm_lets_it_in() {
    let room = room();
    let headers = bearer(&claims(""));
    let first = identify(&room, &headers);
    assert_eq!(first.standing, Standing::Unvouched);
    let proven = room.vouch(&first).await.unwrap();
    assert_eq!(proven.standing, Standing::Vouched);
    let next = identify(&room, &headers);
    assert!(next.is_vouched() && room.is_vouched(next.token));
    assert_eq!((next.caller, next.client), (proven.caller, proven.client));
    assert_eq!(next.expires, Some(NOW + 3600));

    room.revoke(next.token).await;
    assert_eq!(identify(&room, &headers).standing, Standing::Unvouched);
    assert!(room.vouch(&next).await.is_none(), "asked for before it was refused");
    assert!(room.vouch(&identify(&room, &headers)).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_forged_token_is_unvouched_and_speaks_for_nobody() {
    let room = room();
    let genuine = with_agent(bearer(&claims("")), "kubernetes-cloudprovider/v1");
    room.vouch(&identify(&room, &genuine)).await.unwrap();
    let genuine = identify(&room, &genuine);
    let check = |why: &str, authorization: String| {
        let headers = with_agent(header(&authorization), "kubernetes-cloudprovider/v1");
        let forged = identify(&room, &headers);
        assert_eq!(forged.standing, Standing::Unvouched, "{why}");
        assert_ne!(forged.token, genuine.token, "{why}");
        assert_ne!(forged.client, genuine.client, "{why}");
        forged
    };
    let forged = check("another signature", format!("Bearer {}", jwt(&claims(""), "forged")));
    assert_eq!(forged.caller, genuine.caller);
    check("no signature", format!("Bearer {}", jwt(&claims(""), "")));
    let longer = claims("").replace(&(NOW + 3600).to_string(), &(NOW + 7200).to_string());
    check("an edited exp", format!("Bearer {}", jwt(&longer, "signature")));
    check("another case of the scheme", format!("bearer {}", jwt(&claims(""), "signature")));
    check("a trailing byte", format!("Bearer {}.", jwt(&claims(""), "signature")));

    room.revoke(forged.token).await;
    assert!(room.is_vouched(genuine.token), "a refused forgery ends no voucher but its own");
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_is_never_vouched() {
    let room = room();
    let check = |exp: String| {
        let claims = claims("").replace(&format!(r#""exp":{}"#, NOW + 3600), &format!(r#""exp":{exp}"#));
        identify(&room, &bearer(&claims))
    };
    for exp in [NOW.to_string(), (NOW - 1).to_string(), format!("{}.9", NOW - 1), "1e9".into(), "0".into()] {
        let expired = check(exp.clone());
        assert!(room.vouch(&expired).await.is_none(), "{exp}");
        assert!(!room.is_vouched(expired.token), "{exp}");
    }
    let ends = check((NOW + 60).to_string());
    assert!(room.vouch(&ends).await.is_some());
    room.hold(&ends, room.clock.now() + 30 * MINUTE).await;
    tokio::time::advance(MINUTE).await;
    assert!(!room.is_vouched(ends.token));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_jwt_is_vouched_for_like_any_other() {
    let room = room();
    let headers = header("Bearer opaque");
    room.vouch(&identify(&room, &headers)).await.unwrap();
    assert!(identify(&room, &headers).is_vouched());
    tokio::time::advance(10 * MINUTE).await;
    assert!(!identify(&room, &headers).is_vouched());
}

#[tokio::test(start_paused = true)]
async fn who_has_no_token_stays_anonymous() {
    let room = room();
    let nobody = identify(&room, &HeaderMap::new());
    assert_eq!(nobody.standing, Standing::Anonymous);
    assert!(room.vouch(&nobody).await.is_none());
    assert_eq!(identify(&room, &HeaderMap::new()).standing, Standing::Anonymous);
    assert!(!room.is_vouched(nobody.token));
    assert_ne!(nobody.token, identify(&room, &header("")).token);
}
