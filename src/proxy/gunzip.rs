//! Bodies coded with gzip: ARM is asked for it, and what is kept is decoded.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::{HeaderMap, header};
use http_body::{Body as HttpBody, Frame};

use crate::body::{Body, BodyError};

use super::collect::Collected;

/// How much of a coded body is decoded at a time, in coded bytes.
const PIECE: usize = 4096;

/// Whether a body is coded with gzip and nothing else.
pub(super) fn is_gzip(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let gzip = codings.next().is_some_and(|coding| {
        let coding = coding.as_bytes().trim_ascii();
        coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
    });
    gzip && codings.next().is_none()
}

/// Decodes a whole body of at most `most` decoded bytes; a larger one is decoded as it is read.
///
/// # Errors
/// When it is no gzip.
pub(super) fn decode(coded: Bytes, most: usize) -> Result<Collected, BodyError> {
    // Answers to HEAD, 304 and the like name the coding of a body they do not have.
    if coded.is_empty() {
        return Ok(Collected::Whole(coded));
    }
    let mut decoder = MultiGzDecoder::new(Vec::new());
    for piece in coded.chunks(PIECE) {
        decoder.write_all(piece)?;
        if decoder.get_ref().len() > most {
            return Ok(Collected::Large(Body::stream(Gunzip::new(Body::full(coded)))));
        }
    }
    let mut whole = decoder.finish()?;
    whole.shrink_to_fit();
    Ok(Collected::Whole(whole.into()))
}

/// Decodes a body as it is read.
pub(super) fn decoding(body: Body) -> Body {
    Body::stream(Gunzip::new(body))
}

/// A gzip body, decoded piece by piece, so that a small one that becomes enormous is never held whole.
struct Gunzip {
    source: Body,
    coded: Bytes,
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
}

impl Gunzip {
    const fn new(source: Body) -> Self {
        Self { source, coded: Bytes::new(), decoder: None }
    }
}

impl HttpBody for Gunzip {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            if this.coded.is_empty() {
                match ready!(Pin::new(&mut this.source).poll_frame(cx)) {
                    Some(Ok(frame)) => {
                        this.coded = frame.into_data().unwrap_or_default();
                        continue;
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => {
                        // A body that ends in the middle of its coding is cut short, not complete.
                        let Some(decoder) = this.decoder.take() else { return Poll::Ready(None) };
                        let rest = decoder.finish();
                        return Poll::Ready(match rest {
                            Ok(rest) if rest.is_empty() => None,
                            Ok(rest) => Some(Ok(Frame::data(rest.into()))),
                            Err(error) => Some(Err(error.into())),
                        });
                    }
                }
            }
            let piece = this.coded.split_to(this.coded.len().min(PIECE));
            let decoder = this.decoder.get_or_insert_with(|| MultiGzDecoder::new(Vec::new()));
            if let Err(error) = decoder.write_all(&piece) {
                return Poll::Ready(Some(Err(error.into())));
            }
            let decoded = std::mem::take(decoder.get_mut());
            if !decoded.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(decoded.into()))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use http_body_util::BodyExt;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    async fn whole(body: Body) -> Result<Bytes, BodyError> {
        Ok(body.collect().await?.to_bytes())
    }

    #[tokio::test]
    async fn a_small_body_that_becomes_enormous_is_never_held_whole() {
        let bomb = gzip(&vec![0; 32 << 20]);
        assert!(bomb.len() < 64 << 10);
        let Collected::Large(mut body) = decode(bomb, 1 << 20).unwrap() else { panic!() };
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= 5 << 20);
            size += piece.len();
        }
        assert_eq!(size, 32 << 20);
    }

    #[tokio::test]
    async fn a_coded_body_that_is_cut_short_is_an_error() {
        let coded = gzip(b"hello hello hello hello");
        let cut = coded.slice(..coded.len() - 4);
        assert!(decode(cut.clone(), 100).is_err());
        assert!(whole(decoding(Body::full(cut))).await.is_err());
        assert_eq!(whole(decoding(Body::full(coded))).await.unwrap(), "hello hello hello hello");
        assert!(decode("no gzip at all".into(), 100).is_err());
    }
}
