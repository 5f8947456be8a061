//! A few smoke tests on real sockets, in real time.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::testing::{Echo, Made, answer, get, http2_client};
use super::{Drained, Listener, Settings, tls};

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

struct Running {
    address: SocketAddr,
    echo: Echo,
    stop: oneshot::Sender<()>,
    drained: JoinHandle<Drained>,
}

async fn run(settings: Settings, tls: Option<Arc<ServerConfig>>) -> Running {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(Settings { address, ..settings }, tls).await.unwrap();
    let (address, echo) = (listener.local_addr(), Echo::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let handler = echo.clone();
    let drained = tokio::spawn(async move {
        listener
            .run(handler, async {
                // A test that fails drops the sender.
                let _ = stopped.await;
            })
            .await
    });
    Running { address, echo, stop, drained }
}

async fn dial(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

async fn within<T>(seconds: u64, work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(seconds), work).await.expect("in time")
}

#[tokio::test]
async fn one_port_takes_everything() {
    let made = Made::new();
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    fs::write(&certificate, &made.certificate).unwrap();
    fs::write(&key, &made.key).unwrap();
    let config = tls::from_files(&certificate, &key).unwrap();
    let running = run(Settings::default(), Some(Arc::new(config))).await;

    let mut plain = dial(running.address).await;
    plain.write_all(GET).await.unwrap();
    assert!(answer(&mut plain).await.contains("HTTP/1.1 host=1 cl=0 te=0 body= plain"));

    let mut plain = http2_client(dial(running.address).await).await;
    let (_, text) = get(&mut plain, "http://localhost/").await.unwrap();
    assert!(text.contains("HTTP/2.0 host=0 cl=0 te=0 body= plain"), "{text}");

    let mut secure = made.connect(dial(running.address).await, "localhost", &["http/1.1"]).await;
    secure.write_all(GET).await.unwrap();
    assert!(answer(&mut secure).await.contains("HTTP/1.1 host=1 cl=0 te=0 body= secure localhost"));

    let secure = made.connect(dial(running.address).await, "127.0.0.1", &["h2"]).await;
    let (_, text) = get(&mut http2_client(secure).await, "https://127.0.0.1/").await.unwrap();
    assert!(text.contains("HTTP/2.0 host=0 cl=0 te=0 body= secure longest"), "{text}");
}

#[tokio::test]
async fn a_refused_head_is_answered_before_the_socket_is_reset() {
    let running = run(Settings::default(), None).await;
    for _ in 0..20 {
        let (mut read, mut write) = dial(running.address).await.into_split();
        let writer = tokio::spawn(async move {
            let head = format!("GET / HTTP/1.1\r\nhost: x\r\na: {}\r\n\r\n", "a".repeat(2 << 20));
            write.write_all(head.as_bytes()).await.unwrap();
            write
        });
        let mut text = String::new();
        within(5, read.read_to_string(&mut text)).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 431"), "{text}");
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn a_stop_waits_for_the_last_client_and_takes_new_ones_until_then() {
    let running = run(Settings::default(), None).await;
    let mut slow = dial(running.address).await;
    slow.write_all(b"GET /slow/1 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while running.echo.asked.load(Relaxed) == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    running.stop.send(()).unwrap();
    sleep(Duration::from_millis(100)).await;
    let mut new = dial(running.address).await;
    new.write_all(GET).await.unwrap();
    assert!(within(5, answer(&mut new)).await.starts_with("HTTP/1.1 200"));
    drop(new);
    assert!(within(5, answer(&mut slow)).await.starts_with("HTTP/1.1 200"));
    assert!(!running.drained.is_finished(), "a client is still connected");
    drop(slow);
    assert_eq!(within(4, running.drained).await.unwrap(), Drained { cut: 0 });
    assert!(TcpStream::connect(running.address).await.is_err());
}

#[tokio::test]
async fn a_stop_under_load_fails_no_request() {
    let running = run(Settings { linger: Duration::from_secs(60), ..Settings::default() }, None).await;
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let address = running.address;
            tokio::spawn(async move {
                for _ in 0..50 {
                    let mut io = dial(address).await;
                    for _ in 0..=worker {
                        io.write_all(GET).await.unwrap();
                        assert!(answer(&mut io).await.starts_with("HTTP/1.1 200"));
                    }
                }
            })
        })
        .collect();
    // One client that is there all along: the others come and go.
    let mut steady = dial(running.address).await;
    steady.write_all(GET).await.unwrap();
    answer(&mut steady).await;
    running.stop.send(()).unwrap();
    for worker in workers {
        within(20, worker).await.unwrap();
    }
    drop(steady);
    assert_eq!(within(5, running.drained).await.unwrap(), Drained { cut: 0 });
}

#[tokio::test]
async fn a_stop_ends_at_its_deadline() {
    let brief = Duration::from_millis(100);
    let running = run(Settings { drain: brief, grace: brief, ..Settings::default() }, None).await;
    let mut slow = dial(running.address).await;
    slow.write_all(b"GET /slow/1000 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while running.echo.asked.load(Relaxed) == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    running.stop.send(()).unwrap();
    assert_eq!(within(5, running.drained).await.unwrap(), Drained { cut: 1 });
    assert_eq!(slow.read(&mut [0]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn connections_above_the_limit_wait() {
    let running = run(Settings { connections: 1, ..Settings::default() }, None).await;
    let mut first = dial(running.address).await;
    first.write_all(GET).await.unwrap();
    answer(&mut first).await;
    let mut second = dial(running.address).await;
    second.write_all(GET).await.unwrap();
    assert!(timeout(Duration::from_millis(200), answer(&mut second)).await.is_err());
    drop(first);
    let text = within(5, answer(&mut second)).await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}
