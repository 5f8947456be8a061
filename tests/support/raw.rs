//! A client of raw bytes, for what no well-behaved client sends.

use std::time::Duration;

use armshield::listen::{Entrance, serve_io};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use super::World;

/// What was answered until the connection was closed.
#[derive(Debug)]
pub struct Heard {
    pub bytes: Vec<u8>,
    /// How long that took.
    pub after: Duration,
}

impl Heard {
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// The status of each answer, and of each 100 before one.
    pub fn statuses(&self) -> Vec<u16> {
        let text = self.text();
        text.split("HTTP/1.").skip(1).filter_map(|answer| answer.get(2..5)?.parse().ok()).collect()
    }

    /// The error armshield made of it.
    pub fn error(&self) -> serde_json::Value {
        let text = self.text();
        let (_, body) = text.rsplit_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Whether the connection was closed with the last answer, and not when it had idled for long.
    pub fn closed_at_once(&self) -> bool {
        self.after < Duration::from_secs(5)
    }
}

/// A connection that came in by `entrance`.
pub fn enter(world: &World, entrance: Entrance) -> DuplexStream {
    let (ours, theirs) = duplex(64 << 10);
    tokio::spawn(serve_io(theirs, entrance, world.shared().clone(), world.proxy.clone()));
    ours
}

/// Says `raw` and listens until the connection is closed.
pub async fn talk(world: &World, raw: impl AsRef<[u8]>) -> Heard {
    let start = Instant::now();
    let (mut read, mut write) = tokio::io::split(enter(world, Entrance::in_memory()));
    let raw = raw.as_ref().to_vec();
    let writer = tokio::spawn(async move {
        // Fails when armshield has heard enough.
        let _ = write.write_all(&raw).await;
        write
    });
    let mut bytes = Vec::new();
    let _ = read.read_to_end(&mut bytes).await;
    let after = start.elapsed();
    drop((read, writer.await.unwrap()));
    Heard { bytes, after }
}
