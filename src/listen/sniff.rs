//! Which protocol a connection speaks, told by its first bytes.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::rewind::Rewind;

/// What every HTTP/2 connection begins with (RFC 9113 §3.4).
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first byte of a TLS handshake record (RFC 8446 §5.1).
const HANDSHAKE: u8 = 0x16;

/// What a connection begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Tls,
    Http1,
    Http2,
}

/// Reads as few bytes as tell, and puts them back. None if the peer left before that.
pub(super) async fn sniff<I>(mut io: I) -> io::Result<Option<(Opening, Rewind<I>)>>
where
    I: AsyncRead + Unpin,
{
    let mut seen = [0; PREFACE.len()];
    let mut len = 0;
    loop {
        match io.read(&mut seen[len..]).await? {
            0 => return Ok(None),
            read => len += read,
        }
        if let Some(opening) = opening(&seen[..len]) {
            return Ok(Some((opening, Rewind::new(io, seen, len))));
        }
    }
}

fn opening(seen: &[u8]) -> Option<Opening> {
    match seen.first()? {
        &HANDSHAKE => Some(Opening::Tls),
        _ if seen == PREFACE => Some(Opening::Http2),
        _ if PREFACE.starts_with(seen) => None,
        _ => Some(Opening::Http1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell() {
        for (seen, expected) in [
            (&b""[..], None),
            (b"\x16", Some(Opening::Tls)),
            (b"\x16\x03\x01", Some(Opening::Tls)),
            (b"P", None),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r", None),
            (PREFACE, Some(Opening::Http2)),
            (b"PU", Some(Opening::Http1)),
            (b"PRI * HTTP/1.1\r\n", Some(Opening::Http1)),
            (b"G", Some(Opening::Http1)),
            (b"\r\n", Some(Opening::Http1)),
            (b"\x80", Some(Opening::Http1)),
        ] {
            assert_eq!(opening(seen), expected, "{seen:?}");
        }
    }

    #[tokio::test]
    async fn nothing_of_what_was_read_is_lost() {
        for whole in [&b"GET / HTTP/1.1\r\n"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore", b"\x16\x03\x01"] {
            let (_, mut io) = sniff(whole).await.unwrap().unwrap();
            let mut read = Vec::new();
            io.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, whole);
        }
        assert!(sniff(&b"PRI * HT"[..]).await.unwrap().is_none());
    }
}
