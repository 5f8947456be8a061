use super::*;

#[test]
fn who_shares_a_caller_and_who_a_principal() {
    let base = bearer(&claims(""));
    let check = |why, other: &HeaderMap, expected| assert_eq!(shared(&base, other), expected, "{why}");
    let edited = |from: &str, to: &str| bearer(&claims("").replace(from, to));

    check("itself", &base, (true, true));
    let rotated = r#","iat":1,"nbf":2,"uti":"x","aio":"y","rh":"z","xms_ftd":"a","xms_idrel":"7 1","xms_act_fct":"3","xms_sub_fct":"9","xms_rd":"q","xms_tnt_fct":"3 1""#;
    check("rotated, with noisy claims", &bearer(&claims(rotated)), (true, true));
    let later = claims("").replace(&(NOW + 3600).to_string(), &(NOW + 9999).to_string());
    check("a later end", &bearer(&later), (true, true));
    check("another principal", &edited(&format!(r#""oid":"{OID}""#), r#""oid":"other""#), (false, false));
    check("another tenant", &edited(TID, OID), (false, false));
    check("the principal through another application", &edited("app-1", "app-2"), (false, true));
    check("delegated", &bearer(&claims(r#","scp":"user_impersonation""#)), (false, true));
    check("of a user", &edited(r#""idtyp":"app""#, r#""idtyp":"user""#), (false, true));
    check("a claim nobody thought of", &bearer(&claims(r#","xms_new":{"a":[1]}"#)), (false, true));
    check(
        "a claim with an ignorable name inside another",
        &bearer(&claims(r#","x":{"exp":1}"#)),
        (false, true),
    );
    check("an ignorable name in another case", &bearer(&claims(r#","EXP":1"#)), (false, true));
    check("another scheme", &header(&format!("PoP {}", jwt(&claims(""), "signature"))), (false, false));
    check("anonymous", &HeaderMap::new(), (false, false));
}

#[test]
fn what_is_no_clear_jwt_is_known_by_its_bytes() {
    let check = |why: &str, one: String, other: String| {
        assert_eq!(shared(&header(&one), &header(&one)), (true, true), "{why}");
        assert_eq!(shared(&header(&one), &header(&other)), (false, false), "{why}");
    };
    let signed = |claims: String, signature: &str| format!("Bearer {}", jwt(&claims, signature));
    check("opaque", "Bearer abc".into(), "Bearer abd".into());
    check("basic", "Basic abc".into(), "Basic abd".into());
    check("no scheme", "abc".into(), "abd".into());
    check("empty", "Bearer ".into(), "Bearer  ".into());
    let pop = |signature| format!("PoP {}", jwt(&claims(""), signature));
    check("another scheme", pop("a"), pop("b"));
    let parts = |rest| format!("Bearer {}{rest}", jwt(&claims(""), "signature"));
    check("five parts", parts(".a.b"), parts(".a.c"));
    check("no base64", "Bearer a.!!!.b".into(), "Bearer a.!!!.c".into());
    for unclear in [
        claims(r#","oid":"again""#),
        claims(r#","o\u0069d":"again""#),
        claims(r#","x":{"a":1,"a":2}"#),
        claims(&format!(r#","x":{}1{}"#, "[".repeat(50), "]".repeat(50))),
        claims(&format!(r#","x":"{}""#, "x".repeat(13_000))),
        claims("").replace("oid", "o").replace("sub", "s"),
        claims("").replace(OID, ""),
        "[]".into(),
        "{".into(),
        "\"text\"".into(),
        String::new(),
    ] {
        check(&unclear, signed(unclear.clone(), "a"), signed(unclear.clone(), "b"));
    }
}

#[tokio::test(start_paused = true)]
async fn auxiliary_tokens_make_another_caller_but_the_same_principal() {
    let room = room();
    let with = |values: &[&str]| {
        let mut headers = bearer(&claims(""));
        for value in values {
            headers.append("x-ms-authorization-auxiliary", HeaderValue::from_str(value).unwrap());
        }
        identify(&room, &headers)
    };
    let plain = with(&[]);
    room.vouch(&plain).await.unwrap();
    let end = |exp: u64| format!("Bearer {}", jwt(&format!(r#"{{"exp":{exp}}}"#), "s"));
    let both = with(&["Bearer x", "Bearer y"]);
    assert_eq!(both.standing, Standing::Unvouched);
    for other in [&plain, &with(&["Bearer x, Bearer y"]), &with(&["Bearer x"]), &with(&["Bearer xBearer y"])]
    {
        assert_ne!((both.token, both.caller), (other.token, other.caller));
        assert_ne!(both.caller, other.caller);
        assert_eq!(both.principal, other.principal);
    }
    room.vouch(&both).await.unwrap();
    assert!(with(&["Bearer x", "Bearer y"]).is_vouched());

    assert_eq!(both.expires, Some(NOW + 3600));
    assert_eq!(with(&[&format!("{}, {}", end(NOW + 99), end(NOW + 7))]).expires, Some(NOW + 7));
    assert_eq!(with(&[&end(NOW + 9999)]).expires, Some(NOW + 3600));
}

#[test]
fn two_authorization_fields_are_refused() {
    let mut headers = bearer(&claims(""));
    let same = headers[AUTHORIZATION].clone();
    headers.append(AUTHORIZATION, same);
    let refused = room().identify(&headers, PEER, &Arc::default(), &Memory::default()).unwrap_err();
    assert_eq!(refused, Refused::TwoAuthorizations);
}

#[tokio::test(start_paused = true)]
async fn status_names_what_splits_callers_but_not_what_forgeries_say() {
    let room = room();
    let vouch = async |claims: String| room.vouch(&identify(&room, &bearer(&claims))).await.unwrap();
    vouch(claims(r#","xms_new":1,"exp2":5"#)).await;
    vouch(claims(r#","xms_new":1,"exp2":5,"uti":"x""#)).await;
    assert!(room.splits().is_empty());
    let caller = vouch(claims(r#","xms_new":2,"exp2":5,"wids":["a"]"#)).await;
    identify(&room, &bearer(&claims(r#","forged":1"#)));
    vouch(claims("").replace("app-1", "app-2")).await;
    let expected = Split {
        principal: caller.principal,
        application: caller.credential.application,
        callers: 2,
        claims: vec!["wids".into(), "xms_new".into()],
    };
    assert_eq!(room.splits(), [expected]);
}

#[test]
fn configuration_adds_ignorable_claims_and_a_reload_opens_nothing() {
    let room = room();
    let (one, other) = (bearer(&claims(r#","xms_new":1"#)), bearer(&claims(r#","xms_new":2"#)));
    let of = |headers: &HeaderMap, list: &[&str]| {
        let ignorable_claims = list.iter().map(|name| (*name).to_owned()).collect();
        let policy = Arc::new(Policy { ignorable_claims, ..Policy::default() });
        room.identify(headers, PEER, &policy, &Memory::default()).unwrap().caller
    };
    assert_ne!(of(&one, &[]), of(&other, &[]));
    assert_eq!(of(&one, &["xms_new"]), of(&other, &["xms_new"]));
    assert_eq!(of(&one, &["xms_new", "b"]), of(&other, &["b", "xms_new"]));
    // Who lacks the claim shared the caller under the longer list; what was stored then stays closed.
    let without = bearer(&claims(""));
    assert_eq!(of(&one, &["xms_new"]), of(&without, &["xms_new"]));
    assert_ne!(of(&one, &["xms_new"]), of(&without, &[]));
    // Not even a list that names it can merge principals.
    let stranger = bearer(&claims("").replace(OID, "other"));
    assert_ne!(of(&without, &["oid", "sub"]), of(&stranger, &["oid", "sub"]));
}

#[tokio::test(start_paused = true)]
async fn status_stays_bounded() {
    let room = room();
    for application in 0..300 {
        for caller in 0..2 {
            let claims =
                claims(&format!(r#","xms_new":{caller}"#)).replace("app-1", &application.to_string());
            room.vouch(&identify(&room, &bearer(&claims))).await.unwrap();
        }
    }
    assert_eq!(room.splits().len(), 256);
    for caller in 0..100 {
        let more = format!(r#","x{caller}":1"#);
        room.vouch(&identify(&room, &bearer(&claims(&more)))).await.unwrap();
    }
    let split = &room.splits()[0];
    assert_eq!((split.callers, split.claims.len()), (100, 32));
}
