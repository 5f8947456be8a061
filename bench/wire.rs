//! HTTP/1.1 as lean as it gets: a request is bytes, of an answer only what is checked is looked at.

use std::io::BufRead;
use std::net::SocketAddr;

use blake3::{Hash, Hasher};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::content::ANSWERED;
use super::{Failure, Outcome};

/// What armshield says about an answer in `Cache-Status` (RFC 9211).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// There is no such field.
    Nothing,
    /// `armshield; hit; …`
    Hit,
    /// `armshield; fwd=miss; stored`
    Stored,
    /// `armshield; fwd=miss; collapsed`
    Collapsed,
    /// Anything else.
    Other(String),
}

impl Said {
    pub(crate) fn of(value: &str) -> Self {
        match value {
            "armshield; fwd=miss; stored" => Self::Stored,
            "armshield; fwd=miss; collapsed" => Self::Collapsed,
            hit if hit.starts_with("armshield; hit; ttl=") && !hit.contains("detail") => Self::Hit,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) length: usize,
    pub(crate) said: Said,
    /// When the server had it, if it tells: nanoseconds of the machine's clock.
    pub(crate) answered: Option<u64>,
    /// Of its body, if it was asked for.
    pub(crate) digest: Option<Hash>,
}

impl Answer {
    /// Whether this is the answer that had to come.
    pub(crate) fn check(&self, length: usize, digest: impl FnOnce() -> Hash) -> Outcome<()> {
        if self.status != 200 {
            return Err(format!("an answer has status {} ({:?})", self.status, self.said).into());
        }
        if self.length != length {
            return Err(format!("a body has {} bytes instead of {length}", self.length).into());
        }
        match self.digest {
            Some(found) if found != digest() => Err("a body has the right length and wrong bytes".into()),
            _ => Ok(()),
        }
    }
}

/// What is read of a head.
#[derive(Debug)]
struct Head {
    bytes: usize,
    status: u16,
    length: usize,
    said: Said,
    answered: Option<u64>,
}

impl Head {
    /// `None`: its end has not come yet.
    fn parse(bytes: &[u8]) -> Outcome<Option<Self>> {
        let (mut at, mut status, mut length, mut said, mut answered) = (0, None, None, Said::Nothing, None);
        loop {
            // The standard library's way to the C library's memchr.
            let line = &bytes[at..at + (&bytes[at..]).skip_until(b'\n')?];
            let Some(line) = line.strip_suffix(b"\n") else { return Ok(None) };
            at += line.len() + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if status.is_none() {
                let code = line.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
                status = Some(number(code.ok_or("an answer that is not HTTP/1.1")?)?);
                continue;
            }
            if line.is_empty() {
                let length = length.ok_or("an answer without Content-Length")?;
                let status = u16::try_from(status.unwrap_or_default())?;
                return Ok(Some(Self { bytes: at, status, length, said, answered }));
            }
            if let Some(value) = field(line, b"content-length") {
                length = Some(usize::try_from(number(value)?)?);
            } else if let Some(value) = field(line, b"cache-status") {
                said = Said::of(std::str::from_utf8(value)?);
            } else if let Some(value) = field(line, ANSWERED.as_bytes()) {
                answered = Some(number(value)?);
            }
        }
    }
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = line.split_at_checked(name.len())?;
    (head.eq_ignore_ascii_case(name) && rest.first() == Some(&b':')).then(|| rest[1..].trim_ascii())
}

fn number(digits: &[u8]) -> Outcome<u64> {
    Ok(std::str::from_utf8(digits)?.parse()?)
}

/// A kept connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream })
    }

    pub(crate) async fn send(&mut self, request: &[u8]) -> Outcome<()> {
        Ok(self.stream.write_all(request).await?)
    }

    /// Reads one answer to its end. `scratch` has to hold a head; the body passes through it.
    pub(crate) async fn answer(&mut self, scratch: &mut [u8], digest: bool) -> Outcome<Answer> {
        let mut filled = 0;
        let head = loop {
            filled += self.more(&mut scratch[filled..]).await?;
            if let Some(head) = Head::parse(&scratch[..filled])? {
                break head;
            }
        };
        let mut hasher = digest.then(Hasher::new);
        let mut body = &scratch[head.bytes..filled];
        let mut left = head.length;
        loop {
            left = left.checked_sub(body.len()).ok_or("an answer has more bytes than it says")?;
            if let Some(hasher) = &mut hasher {
                hasher.update(body);
            }
            if left == 0 {
                break;
            }
            let more = self.more(scratch).await?;
            body = &scratch[..more];
        }
        let Head { status, length, said, answered, .. } = head;
        Ok(Answer { status, length, said, answered, digest: hasher.map(|hasher| hasher.finalize()) })
    }

    async fn more(&mut self, into: &mut [u8]) -> Outcome<usize> {
        match self.stream.read(into).await? {
            0 => Err(Failure::from("the server closed a connection in the middle of an exchange")),
            count => Ok(count),
        }
    }
}
