use std::time::Duration;

use h2::Reason;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use super::peers::*;
use super::*;

fn fails(kind: Kind, text: &str, error: &SendError) {
    assert_eq!((error.kind, error.to_string().as_str()), (kind, text));
}

#[tokio::test(start_paused = true)]
async fn an_unresolved_name_is_named() {
    let wires = Wires::expect(1, |_, _| {
        let reason = "Name or service not known".to_owned();
        Dialled::Error(io::Error::other(Unresolved { host: "arm.test".to_owned(), reason }))
    });
    let error = upstream(&wires).send(get(TWO)).await.unwrap_err();
    fails(Kind::Dns, "cannot resolve arm.test: Name or service not known", &error);
    assert!(!error.may_have_reached());
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_told() {
    for url in [ONE, TWO] {
        let wires = Wires::expect(1, |_, _| {
            Dialled::Error(io::Error::new(io::ErrorKind::ConnectionRefused, "refused"))
        });
        let error = upstream(&wires).send(put(url)).await.unwrap_err();
        fails(Kind::Connect, "cannot connect to arm.test: refused", &error);
        assert!(!error.may_have_reached());
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_for_a_connection_than_its_deadline() {
    for (url, kind, text, silence) in [
        (ONE, Kind::Connect, "cannot connect to arm.test: no connection within 10s", true),
        (TWO, Kind::Connect, "cannot connect to arm.test: no connection within 10s", true),
        (TWO, Kind::Tls, "no TLS with arm.test: no end of the handshake within 10s", false),
    ] {
        let wires = Wires::expect(1, move |_, io| {
            if silence {
                return Dialled::Silence;
            }
            bytes(io, |io| async move {
                std::future::pending::<()>().await;
                drop(io);
            })
        });
        let start = Instant::now();
        let error = upstream(&wires).send(get(url)).await.unwrap_err();
        fails(kind, text, &error);
        assert_eq!(start.elapsed().as_secs(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_begin_ends_the_call_once() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let silent = service({
            let seen = seen.clone();
            move |request: Request<_>| {
                seen.note(request.method().as_str());
                std::future::pending()
            }
        });
        let wires = Wires::expect(1, move |_, io| over(url, &silent, io));
        let start = Instant::now();
        let error = upstream(&wires).send(get(url)).await.unwrap_err();
        fails(
            Kind::HeadTimeout,
            "arm.test got the call and did not answer: no head of an answer within 70s",
            &error,
        );
        assert!(error.may_have_reached());
        assert_eq!((start.elapsed().as_secs(), seen.all()), (70, vec!["GET".to_owned()]));
    }
}

/// Peers that read a request and hang up `deaths` times before one answers.
fn mortal(url: &'static str, deaths: usize, seen: &Seen) -> Arc<Wires> {
    let seen = seen.clone();
    Wires::expect(deaths + 1, move |nth, io| {
        let seen = seen.clone();
        if nth == deaths {
            let alive = service(move |request: Request<_>| {
                seen.note(request.method().as_str());
                async { answer("alive") }
            });
            return over(url, &alive, io);
        }
        if url == ONE {
            bytes(io, |mut io| async move {
                seen.note(read_head(&mut io).await.split(' ').next().unwrap());
            })
        } else {
            frames(io, |mut connection| async move {
                let (request, _respond) = connection.accept().await.unwrap().unwrap();
                seen.note(request.method().as_str());
            })
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_get_whose_connection_dies_is_sent_once_more() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let wires = mortal(url, 1, &seen);
        assert_eq!(text(upstream(&wires).send(get(url)).await.unwrap()).await, "alive");
        assert_eq!(seen.all(), ["GET", "GET"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_get_whose_second_connection_dies_is_lost() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let error = upstream(&mortal(url, 2, &seen)).send(get(url)).await.unwrap_err();
        assert_eq!((error.kind, seen.count()), (Kind::Lost, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_could_have_been_carried_out_is_not_sent_again() {
    for url in [ONE, TWO] {
        for (method, body) in [
            (Method::POST, ""),
            (Method::POST, "{}"),
            (Method::PUT, "{}"),
            (Method::DELETE, ""),
            (Method::GET, "{}"),
        ] {
            let seen = Seen::default();
            let wires = mortal(url, 1, &seen);
            let sent = call(url, method.clone(), "/", Body::full(body));
            let error = upstream(&wires).send(sent).await.unwrap_err();
            assert_eq!((error.kind, error.may_have_reached()), (Kind::Lost, true), "{error}");
            assert_eq!(seen.all(), [method.as_str()]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_http_is_not_asked_for_again() {
    let wires = Wires::expect(1, |_, io| {
        bytes(io, |mut io| async move {
            read_head(&mut io).await;
            io.write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n").await.unwrap();
        })
    });
    let error = upstream(&wires).send(get(ONE)).await.unwrap_err();
    assert_eq!(error.kind, Kind::Lost, "{error}");
}

/// A peer that resets the first stream of the first connection and answers the others.
fn resetting(reason: Reason) -> Arc<Wires> {
    Wires::expect(1, move |_, io| {
        frames(io, move |mut connection| async move {
            let mut first = true;
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                if std::mem::take(&mut first) {
                    respond.send_reset(reason);
                } else {
                    respond.send_response(Response::new(()), true).unwrap();
                }
            }
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_refused_stream_was_not_looked_at() {
    let bodiless = call(TWO, Method::DELETE, "/", Body::empty());
    assert!(upstream(&resetting(Reason::REFUSED_STREAM)).send(bodiless).await.is_ok());
    let error = upstream(&resetting(Reason::REFUSED_STREAM)).send(put(TWO)).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_reached()), (Kind::NeverSent, false), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_reset_for_another_reason_is_lost() {
    for outbound in [get(TWO), put(TWO)] {
        let error = upstream(&resetting(Reason::INTERNAL_ERROR)).send(outbound).await.unwrap_err();
        assert_eq!((error.kind, error.may_have_reached()), (Kind::Lost, true), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_behind_a_goaway_go_to_a_new_connection_and_those_before_it_are_answered() {
    let wires = Wires::expect(2, |nth, io| {
        frames(io, move |mut connection| async move {
            let (_, mut first) = connection.accept().await.unwrap().unwrap();
            if nth == 0 {
                // In flight when the server begins to leave.
                connection.graceful_shutdown();
                let late = tokio::time::sleep(Duration::from_secs(5));
                tokio::pin!(late);
                tokio::select! {
                    _ = connection.accept() => panic!("a call behind the goaway"),
                    () = &mut late => {}
                }
            }
            let status = if nth == 0 { StatusCode::OK } else { StatusCode::ACCEPTED };
            first.send_response(Response::builder().status(status).body(()).unwrap(), true).unwrap();
            while let Some(Ok(_)) = connection.accept().await {}
        })
    });
    let upstream = with(Settings { lanes: 1, ..settings() }, &wires);
    let before = tokio::spawn({
        let upstream = upstream.clone();
        async move { upstream.send(put(TWO)).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let behind = upstream.send(put(TWO)).await.unwrap();
    assert_eq!(behind.status(), StatusCode::ACCEPTED);
    assert_eq!(before.await.unwrap().unwrap().status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_breaks_off_is_aborted_and_lost() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let reading = service({
            let seen = seen.clone();
            move |request: Request<hyper::body::Incoming>| {
                let seen = seen.clone();
                async move {
                    seen.note(if request.into_body().collect().await.is_err() { "broken" } else { "whole" });
                    answer("")
                }
            }
        });
        let wires = Wires::expect(1, move |_, io| over(url, &reading, io));
        let (pieces, body) = pieces();
        let sending = tokio::spawn({
            let upstream = upstream(&wires);
            async move { upstream.send(call(url, Method::PUT, "/", body)).await }
        });
        feed(&pieces, "{\"a\":").await;
        settle().await;
        pieces.send(Err("the client left".into())).await.unwrap();
        let error = sending.await.unwrap().unwrap_err();
        fails(Kind::Unread, "the request's body broke off: the client left", &error);
        settle().await;
        assert_eq!(seen.all(), ["broken"], "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_given_up_while_it_uploads_is_aborted() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let reading = service({
            let seen = seen.clone();
            move |request: Request<hyper::body::Incoming>| {
                let seen = seen.clone();
                async move {
                    // Not polled any more once the peer's hyper knows that nobody waits.
                    let body = request.into_body();
                    tokio::spawn(async move {
                        seen.note(if body.collect().await.is_err() { "broken" } else { "whole" });
                    });
                    std::future::pending().await
                }
            }
        });
        let wires = Wires::expect(1, move |_, io| over(url, &reading, io));
        let (pieces, body) = pieces();
        let upstream = upstream(&wires);
        let sending = tokio::spawn(async move { upstream.send(call(url, Method::PUT, "/", body)).await });
        feed(&pieces, "{\"a\":").await;
        settle().await;
        sending.abort();
        settle().await;
        assert_eq!(seen.all(), ["broken"], "{url}");
        assert!(pieces.is_closed(), "the body of the client is let go of");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_head_begins_behind_a_slow_upload() {
    for url in [ONE, TWO] {
        let reading = service(|request: Request<hyper::body::Incoming>| async move {
            let length = request.into_body().collect().await.unwrap().to_bytes().len();
            tokio::time::sleep(Duration::from_secs(65)).await;
            Response::new(Body::full(length.to_string()))
        });
        let wires = Wires::expect(1, move |_, io| over(url, &reading, io));
        let (pieces, body) = pieces();
        tokio::spawn(async move {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_secs(50)).await;
                feed(&pieces, "0123456789").await;
            }
        });
        let answer = upstream(&wires).send(call(url, Method::PUT, "/", body)).await.unwrap();
        assert_eq!(text(answer).await, "200");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_no_authority_is_never_sent() {
    let wires = Wires::expect(0, |_, _| Dialled::Silence);
    let outbound = Outbound { host: "not a host".to_owned(), ..put(TWO) };
    assert_eq!(upstream(&wires).send(outbound).await.unwrap_err().kind, Kind::NeverSent);
}
