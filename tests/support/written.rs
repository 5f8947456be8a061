//! What is written to a log, kept in memory.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex};

use tracing::Dispatch;
use tracing_subscriber::filter::LevelFilter;

/// A sink that keeps what is written to it. Cloned handles share it.
#[derive(Debug, Clone, Default)]
pub struct Written(Arc<(Mutex<Vec<u8>>, Condvar)>);

impl Written {
    /// Everything written so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap().clone()).unwrap()
    }

    /// Everything written, once there are so many lines: a thread of its own writes them.
    pub fn lines(&self, many: usize) -> String {
        let (bytes, more) = &*self.0;
        let mut bytes = bytes.lock().unwrap();
        while bytes.iter().filter(|byte| **byte == b'\n').count() < many {
            bytes = more.wait(bytes).unwrap();
        }
        String::from_utf8(bytes.clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        self.0.0.lock().unwrap().extend_from_slice(written);
        self.0.1.notify_all();
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All events of this thread from now on, of every level, until the second value is dropped.
pub fn events() -> (Written, impl Sized) {
    let written = Written::default();
    let sink = written.clone();
    let all = || tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
    // With one subscriber in the process, an event that another thread meets first is switched off for all.
    let other = Dispatch::new(all().with_writer(io::sink).finish());
    let ours = Dispatch::new(all().with_writer(move || sink.clone()).finish());
    let installed = tracing::dispatcher::set_default(&ours);
    (written, (installed, other))
}
