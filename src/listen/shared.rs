//! What the connections of one listener have in common, and the limits hyper holds them to.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ServerConfig;

use super::{Drain, Settings};

/// The smallest buffer hyper works with.
const SMALLEST_BUFFER: usize = 8 * 1024;
/// How many fields of a head hyper reads when nothing is said, into a table on its stack.
const OWN_HEAD_FIELDS: usize = 100;
/// What a stream may send ahead of its reader. Bodies of ARM requests are rarely larger.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all streams of a connection, so that a few uploads that have to wait do not block the rest.
const CONNECTION_WINDOW: u32 = 16 * STREAM_WINDOW;
/// Streams a client may reset before they were looked at (CVE-2023-44487).
const RESETS_BEFORE_ACCEPT: usize = 64;
/// Streams a client may make us reset (CVE-2025-8671).
const RESETS_OF_OURS: usize = 256;
/// What all connections of a listener have in common.
#[derive(Debug)]
pub struct Shared {
    pub(super) settings: Settings,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<TokioExecutor>,
    pub(super) drain: Drain,
}

impl Shared {
    /// Prepares for connections; without `tls`, TLS handshakes are hung up on.
    #[must_use]
    pub fn new(settings: Settings, tls: Option<Arc<ServerConfig>>) -> Arc<Self> {
        let head_bytes = settings.head_bytes.max(SMALLEST_BUFFER);
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            // Ours: it would also be the time an idle connection is kept.
            .header_read_timeout(None)
            .max_header_size(head_bytes)
            .max_buf_size(head_bytes);
        if settings.head_fields != OWN_HEAD_FIELDS {
            http1.max_headers(settings.head_fields);
        }
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(head_bytes).unwrap_or(u32::MAX))
            .max_concurrent_streams(settings.streams)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_pending_accept_reset_streams(RESETS_BEFORE_ACCEPT)
            .max_local_error_reset_streams(RESETS_OF_OURS)
            .keep_alive_interval(settings.ping)
            .keep_alive_timeout(Duration::from_secs(20));
        Arc::new(Self { settings, tls, http1, http2, drain: Drain::new() })
    }

    /// What the operator chose.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The drain all connections belong to.
    #[must_use]
    pub const fn drain(&self) -> &Drain {
        &self.drain
    }
}
