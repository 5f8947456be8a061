use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::peers::*;
use super::*;

fn slow(answer: &'static str) -> Service {
    service(move |_| async move {
        sleep(Duration::from_secs(1)).await;
        Response::new(Body::full(answer))
    })
}

/// Sends all at once; how many were answered.
async fn storm(upstream: &Arc<Upstream>, outbounds: impl Iterator<Item = Outbound>) -> usize {
    let mut calls = JoinSet::new();
    for outbound in outbounds {
        let upstream = upstream.clone();
        calls.spawn(async move { upstream.send(outbound).await.map(Response::into_body) });
    }
    let mut answered = 0;
    while let Some(answer) = calls.join_next().await {
        if let Ok(body) = answer.unwrap() {
            body.collect().await.unwrap();
            answered += 1;
        }
    }
    answered
}

#[tokio::test(start_paused = true)]
async fn a_cold_storm_dials_once_per_lane() {
    for lanes in [1, 2, 3] {
        let peer = slow("");
        let wires = Wires::expect(lanes, move |_, io| two(&peer, io));
        let upstream = with(Settings { lanes, ..settings() }, &wires);
        assert_eq!(storm(&upstream, (0..200).map(|_| get(TWO))).await, 200);
        assert_eq!(wires.dials(), lanes);
    }
}

#[tokio::test(start_paused = true)]
async fn the_lane_with_fewest_in_flight_is_taken() {
    let load = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let counted = load.clone();
    let wires = Wires::expect(2, move |nth, io| {
        let load = counted.clone();
        let peer = service(move |_| {
            load[nth].fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        });
        two(&peer, io)
    });
    let upstream = upstream(&wires);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { upstream.send(get(TWO)).await })
        })
        .collect();
    sleep(Duration::from_secs(1)).await;
    let loads = || [0, 1].map(|lane: usize| load[lane].load(Ordering::SeqCst));
    assert_eq!(loads(), [5, 5]);
    // Those that leave make room.
    let mut calls = calls.into_iter();
    for call in calls.by_ref().take(4).step_by(2) {
        call.abort();
    }
    settle().await;
    for _ in 0..2 {
        let upstream = upstream.clone();
        tokio::spawn(async move { upstream.send(get(TWO)).await });
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(loads(), [7, 5]);
}

#[tokio::test(start_paused = true)]
async fn who_began_a_dial_may_leave_it_to_the_others() {
    let peer = service(|_| async { answer("there") });
    let wires = Wires::expect(1, move |_, io| {
        let peer = peer.clone();
        Dialled::Peer(Box::pin(async move {
            sleep(Duration::from_secs(2)).await;
            if let Dialled::Peer(peer) = two(&peer, io) {
                peer.await;
            }
        }))
    });
    let upstream = with(Settings { lanes: 1, ..settings() }, &wires);
    assert!(timeout(Duration::from_secs(1), upstream.send(get(TWO))).await.is_err());
    assert_eq!(text(upstream.send(get(TWO)).await.unwrap()).await, "there");
}

#[tokio::test(start_paused = true)]
async fn a_failed_dial_fails_all_who_wait_for_it_and_nobody_later() {
    let peer = service(|_| async { answer("up") });
    let wires = Wires::expect(3, move |nth, io| {
        if nth < 2 { Dialled::Error(io::ErrorKind::ConnectionRefused.into()) } else { two(&peer, io) }
    });
    let upstream = upstream(&wires);
    assert_eq!(storm(&upstream, (0..200).map(|_| get(TWO))).await, 0);
    assert_eq!(wires.dials(), 2);
    assert_eq!(text(upstream.send(get(TWO)).await.unwrap()).await, "up");
}

#[tokio::test(start_paused = true)]
async fn connections_that_closed_while_idle_cost_no_call() {
    for url in [ONE, TWO] {
        for patient in [true, false] {
            let wires = Wires::expect(10, move |_, io| {
                let peer = service(|_| async { answer("once") });
                let Dialled::Peer(serving) = over(url, &peer, io) else { unreachable!() };
                // Serves for a second, then the connection is gone without a word.
                Dialled::Peer(Box::pin(async move {
                    let _ = timeout(Duration::from_secs(1), serving).await;
                }))
            });
            let upstream = with(Settings { lanes: 1, ..settings() }, &wires);
            for _ in 0..10 {
                // A write is the one that must not be sent again once it has left.
                assert_eq!(text(upstream.send(put(url)).await.unwrap()).await, "once");
                // Impatient: the call and the end of the connection fall on the same instant.
                sleep(Duration::from_millis(if patient { 1500 } else { 1000 })).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_http1_connection_is_used_again_until_it_has_idled_long() {
    let peer = service(|_| async { answer("kept") });
    let wires = Wires::expect(2, move |_, io| one(&peer, io));
    let upstream = upstream(&wires);
    for _ in 0..10 {
        assert_eq!(text(upstream.send(put(ONE)).await.unwrap()).await, "kept");
        sleep(Duration::from_secs(40)).await;
    }
    assert_eq!(wires.dials(), 1);
    sleep(Duration::from_secs(60)).await;
    upstream.send(put(ONE)).await.unwrap();
    assert_eq!(wires.dials(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_http1_connection_carries_one_call_at_a_time() {
    let peer = slow("");
    let wires = Wires::expect(20, move |_, io| one(&peer, io));
    let upstream = upstream(&wires);
    for _ in 0..3 {
        assert_eq!(storm(&upstream, (0..20).map(|_| get(ONE))).await, 20);
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_left_unread_does_not_come_to_the_next_call() {
    let peer = service(|request: Request<_>| async move {
        Response::new(Body::full(request.uri().path().repeat(20_000)))
    });
    let wires = Wires::expect(2, move |_, io| one(&peer, io));
    let upstream = upstream(&wires);
    drop(upstream.send(call(ONE, Method::GET, "/old", Body::empty())).await.unwrap());
    settle().await;
    let next = upstream.send(call(ONE, Method::GET, "/new", Body::empty())).await.unwrap();
    assert!(text(next).await.starts_with("/new/new"));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_chooses_http1_gets_it() {
    let peer = slow("one");
    let wires = Wires::expect(3, move |_, io| {
        let peer = peer.clone();
        Dialled::Peer(Box::pin(async move {
            serve_one(peer, accept("arm.test", &["http/1.1"], io).await.unwrap()).await;
        }))
    });
    let upstream = upstream(&wires);
    assert_eq!(storm(&upstream, (0..3).map(|_| get(TWO))).await, 3);
    settle().await;
    assert_eq!(storm(&upstream, (0..3).map(|_| get(TWO))).await, 3);
}

/// `/stall` begins a body larger than any window; everything else is answered at once.
fn endless() -> Service {
    service(|request: Request<_>| async move {
        if request.uri().path() != "/stall" {
            return answer("quick");
        }
        let (feed, body) = pieces();
        tokio::spawn(async move {
            let piece = Bytes::from(vec![b'x'; 16 * 1024]);
            while feed.send(Ok(Frame::data(piece.clone()))).await.is_ok() {}
        });
        Response::new(body)
    })
}

#[tokio::test(start_paused = true)]
async fn downloads_that_nobody_reads_hold_up_nobody_else() {
    let peer = endless();
    let wires = Wires::expect(4, move |_, io| two(&peer, io));
    let upstream = upstream(&wires);
    let mut stalled = Vec::new();
    for _ in 0..70 {
        let call = streamed(call(TWO, Method::GET, "/stall", Body::empty()));
        stalled.push(upstream.send(call).await.unwrap());
        settle().await;
    }
    let start = Instant::now();
    assert_eq!(storm(&upstream, (0..200).map(|_| get(TWO))).await, 200);
    assert_eq!(storm(&upstream, (0..20).map(|_| streamed(get(TWO)))).await, 20);
    assert_eq!(start.elapsed(), Duration::ZERO);
    // Two ordinary lanes; 70 streams that may stall do not fit one connection.
    assert_eq!(wires.dials(), 4);
    // And they still flow.
    let body = &mut stalled[0].body_mut();
    let mut taken = 0;
    while taken < 2 * 1024 * 1024 {
        taken += body.frame().await.unwrap().unwrap().data_ref().unwrap().len();
    }
}

#[tokio::test(start_paused = true)]
async fn unread_answers_hold_back_their_sender() {
    for url in [ONE, TWO] {
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = sent.clone();
        let peer = service(move |_| {
            let (feed, body) = pieces();
            let sent = counted.clone();
            tokio::spawn(async move {
                let piece = Bytes::from(vec![b'x'; 16 * 1024]);
                while feed.send(Ok(Frame::data(piece.clone()))).await.is_ok() {
                    sent.fetch_add(piece.len(), Ordering::SeqCst);
                }
            });
            async { Response::new(body) }
        });
        let wires = Wires::expect(1, move |_, io| over(url, &peer, io));
        let _unread = upstream(&wires).send(get(url)).await.unwrap();
        sleep(Duration::from_secs(30)).await;
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < 2 * 1024 * 1024, "{url}: {sent} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn uploads_are_taken_no_faster_than_they_are_read() {
    for url in [ONE, TWO] {
        let peer = service(|request: Request<hyper::body::Incoming>| async move {
            sleep(Duration::from_secs(30)).await;
            drop(request);
            answer("")
        });
        let wires = Wires::expect(1, move |_, io| over(url, &peer, io));
        let upstream = upstream(&wires);
        let (feed, body) = pieces();
        let _sending = tokio::spawn(async move { upstream.send(call(url, Method::PUT, "/", body)).await });
        let mut taken = 0;
        let piece = Bytes::from(vec![b'x'; 16 * 1024]);
        while let Ok(Ok(())) =
            timeout(Duration::from_secs(10), feed.send(Ok(Frame::data(piece.clone())))).await
        {
            taken += piece.len();
        }
        assert!((16 * 1024..4 * 1024 * 1024).contains(&taken), "{url}: {taken} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_went_silent_is_found_by_ping_and_its_get_sent_on_another() {
    let wires = Wires::expect(2, |nth, io| {
        let peer =
            service(
                move |_| async move { if nth == 0 { std::future::pending().await } else { answer("alive") } },
            );
        let Dialled::Peer(serving) = two(&peer, io) else { unreachable!() };
        if nth == 1 {
            return Dialled::Peer(serving);
        }
        Dialled::Peer(Box::pin(async move {
            let mut serving = serving;
            let _ = timeout(Duration::from_secs(5), &mut serving).await;
            // Open, but nobody runs it any more.
            std::future::pending::<()>().await;
        }))
    });
    let pinging = Settings { lanes: 1, ping: Some(Duration::from_secs(30)), ..settings() };
    let start = Instant::now();
    let answer = with(pinging, &wires).send(get(TWO)).await.unwrap();
    assert_eq!(text(answer).await, "alive");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn connections_of_targets_nobody_calls_any_more_are_let_go() {
    let peer = service(|_| async { answer("") });
    let wires = Wires::expect(300, move |_, io| one(&peer, io));
    let upstream = upstream(&wires);
    for region in 0..300 {
        upstream.send(get(&format!("http://region{region}.arm.test"))).await.unwrap();
    }
    assert!(upstream.origins.lock().unwrap().len() <= TARGETS);
}
