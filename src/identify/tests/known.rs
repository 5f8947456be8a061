use super::*;

/// The caller as it is known; there is only one.
fn only(room: &Identify) -> Known {
    let mut known = room.known(&Policy::default());
    assert_eq!(known.len(), 1, "{known:?}");
    known.remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_known_caller_is_met_as_it_would_come() {
    let room = room();
    let headers = with_agent(bearer(&claims("")), "kubernetes-cloudprovider/v1");
    let check = |vouched_for: Option<Duration>| {
        let (known, comes) = (only(&room), identify(&room, &headers));
        assert_eq!(known.vouched_for, vouched_for);
        let met = room.meet(&known, b"kubernetes-cloudprovider/v1", PEER, &Policy::default());
        assert_eq!(format!("{met:?}"), format!("{comes:?}"));
        assert_eq!((met.token, met.caller, met.client), (comes.token, comes.caller, comes.client));
        assert_eq!((met.principal, met.proven_client), (comes.principal, comes.proven_client));
    };
    assert!(room.known(&Policy::default()).is_empty());
    let first = identify(&room, &headers);
    check(None);
    room.vouch(&first).await.unwrap();
    check(Some(10 * MINUTE));
    tokio::time::advance(9 * MINUTE).await;
    check(Some(MINUTE));
    tokio::time::advance(MINUTE).await;
    check(None);
}

#[tokio::test(start_paused = true)]
async fn of_several_tokens_the_one_vouched_for_longest_speaks() {
    let room = room();
    for (n, minutes) in [(1, 1), (2, 2), (3, 0)] {
        let headers = bearer(&claims(&format!(r#","uti":"{n}""#)));
        let identity = identify(&room, &headers);
        for _ in 0..minutes {
            tokio::time::advance(MINUTE).await;
            room.vouch(&identity).await.unwrap();
        }
    }
    assert_eq!(only(&room).vouched_for, Some(10 * MINUTE));
    identify(&room, &bearer(&claims(r#","oid":"somebody-else""#).replace(OID, "x")));
    assert_eq!(room.known(&Policy::default()).len(), 2);
    let policy = Policy { ignorable_claims: vec!["uti".into()], ..Policy::default() };
    assert!(room.known(&policy).is_empty(), "whoever they are, they are to be read anew");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_ends_is_vouched_for_no_longer_than_that() {
    let room = room();
    let ends = claims("").replace(&(NOW + 3600).to_string(), &(NOW + 90).to_string());
    room.vouch(&identify(&room, &bearer(&ends))).await.unwrap();
    assert_eq!(only(&room).vouched_for, Some(Duration::from_secs(90)));
}

#[tokio::test(start_paused = true)]
async fn a_stranger_is_nobody_who_ever_came() {
    let room = room();
    identify(&room, &bearer(&claims("")));
    identify(&room, &HeaderMap::new());
    let policy = Policy::default();
    let stranger = |vouched| room.meet(&room.stranger(vouched, &policy), b"a", PEER, &policy);
    assert_eq!((stranger(true).standing, stranger(false).standing), (Standing::Vouched, Standing::Unvouched));
    assert!(room.known(&policy).iter().all(|known| known.caller() != stranger(true).caller));
    assert_eq!(room.known(&policy).len(), 2, "meeting a stranger leaves no trace");
}
