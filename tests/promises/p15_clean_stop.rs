//! P15: on a stop nothing in flight is cut off; new connections are accepted on loopback until the last client
//! is gone or the deadline passes. On real sockets, in real time, with short deadlines.

use std::time::Duration;

use armshield::listen::{Drained, Settings};
use armshield::policy::Policy;
use armshield::simulator::Options;
use http_body_util::BodyExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::support::sockets::{Line, Running, within};
use crate::support::{Call, Reply, Simulated, World};

const VM: &str = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=2025-04-01";
const SLOW: Duration = Duration::from_millis(400);

fn patient(settings: &mut Settings) {
    settings.drain = Duration::from_secs(8);
    settings.grace = Duration::from_secs(2);
    settings.linger = Duration::from_millis(200);
}

/// armshield before an ARM that takes its time.
async fn running() -> Running {
    let script = |call: &Call| Reply::ok(format!(r#"{{"id":"{}","etag":"\"1\""}}"#, call.path())).after(SLOW);
    Running::new(World::new(script), None, patient).await
}

/// Waits until ARM was asked so many times.
async fn asked(running: &Running, calls: usize) {
    let arrived = async {
        while running.world.arm.calls().len() < calls {
            sleep(Duration::from_millis(2)).await;
        }
    };
    within(5, arrived).await;
}

#[tokio::test]
async fn p15_reads_and_writes_in_flight_are_answered() {
    for method in ["GET", "PUT", "POST"] {
        let mut running = running().await;
        let client = running.world.client("a");
        let mut line = running.connect().await;
        let request = client.request(method, VM);
        let answer = tokio::spawn(async move { line.ask(request, "").await });
        asked(&running, 1).await;
        running.stop();
        let answer = within(5, answer).await.unwrap().unwrap();
        assert_eq!((answer.status, answer.text().contains("etag")), (200, true), "{method}");
        assert_eq!(running.ended().await, Drained { cut: 0 }, "{method}");
    }
}

#[tokio::test]
async fn p15_a_stream_of_http2_in_flight_is_answered() {
    let mut running = running().await;
    let mut line = Line::http2(running.dial().await).await;
    let request =
        running.world.client("a").dialling("localhost").request("GET", &format!("http://localhost{VM}"));
    let answer = tokio::spawn(async move { line.ask(request, "").await });
    asked(&running, 1).await;
    running.stop();
    assert_eq!(within(5, answer).await.unwrap().unwrap().status, 200);
    assert_eq!(running.ended().await, Drained { cut: 0 });
}

#[tokio::test]
async fn p15_a_streamed_body_comes_to_its_end() {
    let arm = Simulated::with(Policy::default(), |_| {}, Options::default());
    let mut running = Running::new((*arm).clone(), None, patient).await;
    // Pieces of 16 KiB, 100 ms apart.
    let request = arm.client("a").request("GET", "/_test/bytes/98304?pause=100");
    let Line::One(mut sender) = running.connect().await else { panic!() };
    let request = request.body(http_body_util::Full::default()).unwrap();
    let mut response = within(5, sender.send_request(request)).await.unwrap();
    let first = within(5, response.body_mut().frame()).await.unwrap().unwrap();
    let first = first.into_data().unwrap().len();
    assert!(first < 98_304);
    running.stop();
    let rest = within(5, response.into_body().collect()).await.unwrap().to_bytes().len();
    assert_eq!(first + rest, 98_304);
    drop(sender);
    assert_eq!(running.ended().await, Drained { cut: 0 });
}

#[tokio::test]
async fn p15_a_write_whose_client_left_is_waited_for() {
    let mut running = running().await;
    let client = running.world.client("a");
    let rooms = running.world.proxy.rooms().clone();
    let mut line = running.connect().await;
    let request = client.request("PUT", VM);
    let began = Instant::now();
    let asking = tokio::spawn(async move { line.ask(request, "{}").await });
    asked(&running, 1).await;
    asking.abort();
    running.stop();
    assert_eq!(running.ended().await, Drained { cut: 0 });
    // Its client is gone, it is not.
    assert_eq!(rooms.writes.guards(), 1);
    within(5, rooms.writes.empty()).await;
    assert!(began.elapsed() >= SLOW, "ARM has answered: {:?}", began.elapsed());
    assert!(
        rooms.metrics.text(&[]).contains(r#"armshield_upstream_calls_total{intent="write",status="200"} 1"#)
    );
}

#[tokio::test]
async fn p15_loopback_is_accepted_until_the_last_client_is_gone() {
    let mut running = running().await;
    let client = running.world.client("a");
    let mut steady = running.connect().await;
    assert_eq!(steady.ask(client.request("GET", VM), "").await.unwrap().status, 200);
    running.stop();
    for _ in 0..3 {
        // Each comes after the stop, is answered, and keeps the next from being turned away.
        let mut new = running.connect().await;
        assert_eq!(within(5, new.ask(client.request("PUT", VM), "{}")).await.unwrap().status, 200);
        steady = new;
    }
    assert!(!running.has_ended(), "a client is still connected");
    drop(steady);
    let address = running.address;
    assert_eq!(running.ended().await, Drained { cut: 0 });
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn p15_an_idle_client_does_not_keep_it_for_ever() {
    let mut running = running().await;
    let mut idle = running.connect().await;
    assert_eq!(idle.ask(running.world.client("a").request("GET", VM), "").await.unwrap().status, 200);
    let began = Instant::now();
    running.stop();
    assert_eq!(running.ended().await, Drained { cut: 0 });
    assert!(began.elapsed() < Duration::from_secs(4), "long before the deadline: {:?}", began.elapsed());
}

#[tokio::test]
async fn p15_at_the_deadline_it_ends_whoever_is_left() {
    let script = |_: &Call| Reply::ok("{}").after(Duration::from_secs(60));
    let brief = |settings: &mut Settings| {
        settings.drain = Duration::from_millis(300);
        settings.grace = Duration::from_millis(200);
    };
    let mut running = Running::new(World::new(script), None, brief).await;
    let request = running.world.client("a").request("GET", VM);
    let mut line = running.connect().await;
    let answer = tokio::spawn(async move { line.ask(request, "").await });
    asked(&running, 1).await;
    let began = Instant::now();
    running.stop();
    assert_eq!(running.ended().await, Drained { cut: 1 });
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(500), "not before the deadline: {took:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(within(5, answer).await.unwrap().is_err());
}

#[tokio::test]
async fn p15_a_stop_under_load_fails_no_request() {
    let script = |call: &Call| {
        Reply::ok(format!(r#"{{"id":"{}"}}"#, call.path()))
            .after(Duration::from_millis(call.number as u64 % 20))
    };
    // One that is there all along keeps the others, who come and go, from being turned away.
    let lingering = |settings: &mut Settings| {
        patient(settings);
        settings.drain = Duration::from_secs(60);
        settings.linger = Duration::from_secs(60);
    };
    let mut running = Running::new(World::new(script), None, lingering).await;
    let client = running.world.client("a");
    let mut steady = running.connect().await;
    steady.ask(client.request("GET", VM), "").await.unwrap();
    let workers: Vec<_> = (0..6)
        .map(|worker| {
            let (client, address) = (client.clone(), running.address);
            tokio::spawn(async move {
                for round in 0..20 {
                    let mut line = Line::http1(TcpStream::connect(address).await.unwrap()).await;
                    let method = if (worker + round) % 3 == 0 { "PUT" } else { "GET" };
                    let target = VM.replace("/a?", &format!("/{worker}-{round}?"));
                    let answer = line.ask(client.request(method, &target), "{}").await.unwrap();
                    assert_eq!(answer.status, 200, "{}", answer.text());
                }
            })
        })
        .collect();
    sleep(Duration::from_millis(30)).await;
    running.stop();
    for worker in workers {
        within(20, worker).await.unwrap();
    }
    drop(steady);
    assert_eq!(running.ended().await, Drained { cut: 0 });
}
