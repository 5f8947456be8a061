//! The log of requests: lines go into a buffer that a thread writes out. A log that cannot keep up drops
//! lines and counts them; it never holds up a request.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Line;

/// How many bytes may wait to be written.
const WAITING: usize = 1 << 20;
/// So many bytes are written at once. To wake a thread for every line costs more than all else about it.
const BATCH: usize = 64 << 10;
/// How long a line waits for others to be written with it.
const TOGETHER: Duration = Duration::from_millis(50);

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `key=value`, for people.
    Text,
    /// One JSON object a line, for machines.
    Json,
}

impl Format {
    /// The format a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    more: Condvar,
    dropped: AtomicU64,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of requests.
#[derive(Debug)]
pub struct Log {
    format: Format,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    silent: bool,
}

impl Log {
    /// A log that writes to `sink` from a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn to(mut sink: impl Write + Send + 'static, format: Format) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let source = shared.clone();
        let writer = std::thread::Builder::new().name("access-log".into()).spawn(move || {
            let mut taken = Vec::new();
            loop {
                let closed = {
                    let mut waiting = source.waiting();
                    while waiting.bytes.is_empty() && !waiting.closed {
                        waiting = source.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    }
                    let few = |waiting: &mut Waiting| waiting.bytes.len() < BATCH && !waiting.closed;
                    let (mut waiting, _) = source
                        .more
                        .wait_timeout_while(waiting, TOGETHER, few)
                        .unwrap_or_else(PoisonError::into_inner);
                    std::mem::swap(&mut waiting.bytes, &mut taken);
                    waiting.closed
                };
                // A sink that is gone (a closed pipe) loses lines and nothing else.
                let _ = sink.write_all(&taken).and_then(|()| sink.flush());
                taken.clear();
                if closed && source.waiting().bytes.is_empty() {
                    return;
                }
            }
        })?;
        Ok(Self { format, shared, writer: Some(writer), silent: false })
    }

    /// A log that writes nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self { format: Format::Text, shared: Arc::default(), writer: None, silent: true }
    }

    /// Adds a line.
    pub fn add(&self, line: &Line<'_>) {
        if self.silent {
            return;
        }
        let mut waiting = self.shared.waiting();
        if waiting.bytes.len() > WAITING {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = waiting.bytes.len();
        line.write(self.format, &mut waiting.bytes);
        let wakes = before == 0 || (before < BATCH && waiting.bytes.len() >= BATCH);
        drop(waiting);
        if wakes {
            self.shared.more.notify_one();
        }
    }

    /// How many lines were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.waiting().closed = true;
        self.shared.more.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
