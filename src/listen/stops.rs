//! What a stop does to connections, on paused time.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::testing::{answer, get, http2_client, served, settings};
use super::{Ending, Entrance, Phase, Shared};

const SECOND: Duration = Duration::from_secs(1);

fn shared() -> Arc<Shared> {
    Shared::new(settings(), None)
}

fn remote() -> Entrance {
    Entrance::new("10.0.0.9:1234".parse().unwrap(), "10.0.0.5:7788".parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_other_machines_finish_and_sends_them_away() {
    let shared = shared();
    let mut slow = served(remote(), &shared);
    slow.io.write_all(b"GET /slow/15 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut idle = served(remote(), &shared);
    idle.io.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    answer(&mut idle.io).await;
    let mut late = served(remote(), &shared);
    sleep(SECOND).await;
    shared.drain().advance(Phase::Draining);
    assert_eq!(idle.io.read(&mut [0]).await.unwrap(), 0, "idle: closed at once");
    sleep(SECOND).await;
    late.io.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let text = answer(&mut late.io).await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("connection: close"), "{text}");
    let text = answer(&mut slow.io).await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("connection: close"), "{text}");
    for served in [slow, idle, late] {
        drop(served.io);
        assert_eq!(served.ending.await.unwrap(), Ending::Closed);
    }
    shared.drain().empty().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_http2_streams_finish() {
    let shared = shared();
    let served = served(remote(), &shared);
    let mut client = http2_client(served.io).await;
    let mut other = client.clone();
    let slow = tokio::spawn(async move { get(&mut other, "http://x/slow/15").await });
    get(&mut client, "http://x/").await.unwrap();
    shared.drain().advance(Phase::Draining);
    sleep(SECOND).await;
    assert!(get(&mut client, "http://x/").await.is_err(), "told to go away");
    assert_eq!(slow.await.unwrap().unwrap().0, 200);
    assert_eq!(served.ending.await.unwrap(), Ending::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_stop_serves_loopback_until_it_is_quiet() {
    let shared = shared();
    let mut served = served(Entrance::in_memory(), &shared);
    served.io.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    answer(&mut served.io).await;
    shared.drain().advance(Phase::Draining);
    for _ in 0..5 {
        sleep(4 * SECOND).await;
        served.io.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(!answer(&mut served.io).await.contains("connection: close"));
    }
    let start = Instant::now();
    assert_eq!(served.io.read(&mut [0]).await.unwrap(), 0);
    assert!((5..=10).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_loopback_gently_and_cuts_at_last() {
    let shared = shared();
    let mut answered = served(Entrance::in_memory(), &shared);
    let mut cut = served(Entrance::in_memory(), &shared);
    answered.io.write_all(b"GET /slow/10 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    cut.io.write_all(b"GET /slow/100 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    sleep(SECOND).await;
    shared.drain().advance(Phase::Closing);
    let text = answer(&mut answered.io).await;
    assert!(text.contains("connection: close"), "{text}");
    shared.drain().advance(Phase::Cut);
    assert_eq!(cut.ending.await.unwrap(), Ending::Cut);
}
