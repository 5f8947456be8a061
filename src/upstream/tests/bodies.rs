use std::time::Duration;

use h2::Reason;
use http::HeaderMap;
use http::header::{TE, TRAILER};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use super::peers::*;
use super::*;

/// A peer that sends one piece, another after `pause`, and then ends; notes when it is let go of.
fn pausing(url: &'static str, pause: Duration, seen: &Seen) -> Arc<Wires> {
    let seen = seen.clone();
    let peer = service(move |_| {
        let (pieces, body) = pieces();
        let seen = seen.clone();
        tokio::spawn(async move {
            feed(&pieces, "one ").await;
            tokio::select! {
                () = sleep(pause) => feed(&pieces, "two").await,
                () = pieces.closed() => seen.note("reset"),
            }
        });
        async { Response::new(body) }
    });
    Wires::expect(1, move |_, io| over(url, &peer, io))
}

#[tokio::test(start_paused = true)]
async fn a_body_may_pause_for_less_than_the_idle_deadline() {
    for url in [ONE, TWO] {
        let wires = pausing(url, Duration::from_secs(59), &Seen::default());
        assert_eq!(text(upstream(&wires).send(get(url)).await.unwrap()).await, "one two");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_body_is_an_error_and_its_stream_is_reset() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let wires = pausing(url, Duration::from_secs(3600), &seen);
        let upstream = upstream(&wires);
        let mut body = upstream.send(get(url)).await.unwrap().into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one ");
        let start = Instant::now();
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Broken::Stalled(Duration::from_secs(60))));
        assert_eq!(start.elapsed().as_secs(), 60);
        settle().await;
        assert_eq!(seen.all(), ["reset"], "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_no_stall() {
    for url in [ONE, TWO] {
        let wires = pausing(url, Duration::from_secs(1), &Seen::default());
        let mut body = upstream(&wires).send(get(url)).await.unwrap().into_body();
        let mut taken = Vec::new();
        while let Some(frame) = body.frame().await {
            taken.extend_from_slice(frame.unwrap().data_ref().unwrap());
            sleep(Duration::from_secs(600)).await;
        }
        assert_eq!(taken, b"one two");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_given_up_resets_its_stream() {
    for url in [ONE, TWO] {
        let seen = Seen::default();
        let wires = pausing(url, Duration::from_secs(3600), &seen);
        let upstream = upstream(&wires);
        let mut body = upstream.send(get(url)).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        drop(body);
        settle().await;
        assert_eq!(seen.all(), ["reset"], "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_http1_answer_cut_short_is_an_error() {
    for head in
        ["content-length: 20\r\n\r\n0123456789", "transfer-encoding: chunked\r\n\r\na\r\n0123456789\r\n"]
    {
        let wires = Wires::expect(1, move |_, io| {
            bytes(io, move |mut io| async move {
                read_head(&mut io).await;
                io.write_all(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes()).await.unwrap();
            })
        });
        let body = upstream(&wires).send(get(ONE)).await.unwrap().into_body();
        body.collect().await.unwrap_err();
    }
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    Reset(Reason),
    Connection,
    /// The stream ends, but before the length it announced.
    Length,
}

#[tokio::test(start_paused = true)]
async fn an_http2_answer_cut_short_is_an_error() {
    for cut in [
        Cut::Reset(Reason::NO_ERROR),
        Cut::Reset(Reason::CANCEL),
        Cut::Reset(Reason::INTERNAL_ERROR),
        Cut::Connection,
        Cut::Length,
    ] {
        for length in [None, Some(20)] {
            if length.is_none() && matches!(cut, Cut::Length) {
                continue;
            }
            let wires = Wires::expect(1, move |_, io| {
                frames(io, move |mut connection| async move {
                    let (_, mut respond) = connection.accept().await.unwrap().unwrap();
                    let mut head = Response::builder();
                    if let Some(length) = length {
                        head = head.header("content-length", length);
                    }
                    let mut stream = respond.send_response(head.body(()).unwrap(), false).unwrap();
                    stream.send_data("0123456789".into(), matches!(cut, Cut::Length)).unwrap();
                    let pushing = tokio::time::timeout(Duration::from_secs(1), connection.accept());
                    assert!(pushing.await.is_err(), "the data is out");
                    match cut {
                        Cut::Reset(reason) => {
                            stream.send_reset(reason);
                            while let Some(Ok(_)) = connection.accept().await {}
                        }
                        Cut::Connection => {}
                        Cut::Length => while let Some(Ok(_)) = connection.accept().await {},
                    }
                })
            });
            let body = upstream(&wires).send(get(TWO)).await.unwrap().into_body();
            assert!(body.collect().await.is_err(), "{cut:?}, length {length:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_before_the_end_of_the_upload_is_no_error() {
    let wires = Wires::expect(1, |_, io| {
        frames(io, |mut connection| async move {
            let (_, mut respond) = connection.accept().await.unwrap().unwrap();
            let head = Response::builder().status(StatusCode::PAYLOAD_TOO_LARGE).body(()).unwrap();
            let mut stream = respond.send_response(head, false).unwrap();
            stream.send_data("too large".into(), true).unwrap();
            let pushing = tokio::time::timeout(Duration::from_secs(1), connection.accept());
            assert!(pushing.await.is_err(), "the answer is out");
            respond.send_reset(Reason::NO_ERROR);
            while let Some(Ok(_)) = connection.accept().await {}
        })
    });
    let (pieces, body) = pieces();
    let upstream = upstream(&wires);
    feed(&pieces, "{").await;
    let answer = upstream.send(call(TWO, Method::PUT, "/", body)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(text(answer).await, "too large");
}

#[tokio::test(start_paused = true)]
async fn trailers_pass_in_both_directions() {
    for url in [ONE, TWO] {
        let peer = service(|request: Request<hyper::body::Incoming>| async move {
            assert_eq!(request.headers()[TE], "trailers");
            let sent = request.into_body().collect().await.unwrap();
            let sum = sent.trailers().unwrap()["x-sum"].clone();
            let (feed_back, body) = pieces();
            tokio::spawn(async move {
                feed(&feed_back, "body").await;
                let trailers: HeaderMap = [("x-back".parse().unwrap(), sum)].into_iter().collect();
                feed_back.send(Ok(Frame::trailers(trailers))).await.unwrap();
            });
            Response::builder().header(TRAILER, "x-back").body(body).unwrap()
        });
        let wires = Wires::expect(1, move |_, io| over(url, &peer, io));
        let (pieces, body) = pieces();
        let mut outbound = call(url, Method::PUT, "/", body);
        let headers = outbound.request.headers_mut();
        headers.insert(TE, "trailers".parse().unwrap());
        headers.insert(TRAILER, "x-sum".parse().unwrap());
        tokio::spawn(async move {
            feed(&pieces, "body").await;
            let trailers: HeaderMap =
                [("x-sum".parse().unwrap(), "42".parse().unwrap())].into_iter().collect();
            pieces.send(Ok(Frame::trailers(trailers))).await.unwrap();
        });
        let answer = upstream(&wires).send(outbound).await.unwrap();
        assert_eq!(answer.headers()[TRAILER], "x-back");
        let whole = answer.into_body().collect().await.unwrap();
        assert_eq!(whole.trailers().unwrap()["x-back"], "42", "{url}");
        assert_eq!(whole.to_bytes(), "body");
    }
}

#[tokio::test(start_paused = true)]
async fn large_bodies_pass_piece_by_piece_in_both_directions() {
    const PIECES: usize = 512;
    for url in [ONE, TWO] {
        let echo = service(|request: Request<hyper::body::Incoming>| async move {
            Response::new(Body::stream(request.into_body()))
        });
        let wires = Wires::expect(1, move |_, io| over(url, &echo, io));
        let (pieces, body) = pieces();
        tokio::spawn(async move {
            let piece = Bytes::from(vec![b'x'; 16 * 1024]);
            for _ in 0..PIECES {
                feed(&pieces, piece.clone()).await;
            }
        });
        let answer = upstream(&wires).send(call(url, Method::POST, "/", body)).await.unwrap();
        let mut body = answer.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame.unwrap().data_ref().unwrap().len();
        }
        assert_eq!(length, PIECES * 16 * 1024);
    }
}
