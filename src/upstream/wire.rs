//! The head of a request as it goes out on one protocol.

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme as UriScheme};
use http::{HeaderValue, Method, Request, Uri, Version};
use http_body::Body as _;

use super::hop;
use super::target::Scheme;
use crate::body::Body;

/// What is the same on every attempt and protocol: no fields of the client's connection, no `Expect`
/// (hyper has answered it), a length that is the body's.
pub(super) fn prepare(request: &mut Request<Body>) {
    request.extensions_mut().clear();
    let length = request.body().size_hint().exact();
    let expects_length = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
    let headers = request.headers_mut();
    hop::strip(headers);
    headers.remove(EXPECT);
    match length {
        // An empty POST without a length is answered 411 by some.
        Some(length) if length > 0 || expects_length || headers.contains_key(CONTENT_LENGTH) => {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        Some(_) => {}
        None => {
            headers.remove(CONTENT_LENGTH);
        }
    }
}

/// HTTP/1.1: origin form, `Host`, and what hyper leaves out.
pub(super) fn as_one(request: &mut Request<Body>, authority: &Authority) {
    *request.version_mut() = Version::HTTP_11;
    *request.uri_mut() = Uri::from(path_and_query(request.uri()));
    // hyper takes a GET of unknown length for one without a body.
    let chunked = !request.body().is_end_stream() && request.body().size_hint().exact().is_none();
    let headers = request.headers_mut();
    let host = HeaderValue::from_str(authority.as_str()).expect("an authority is a header value");
    headers.insert(HOST, host);
    if chunked {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if headers.contains_key(TE) {
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
}

/// HTTP/2: `:scheme` and `:authority` stand in the URI.
pub(super) fn as_two(request: &mut Request<Body>, scheme: Scheme, authority: &Authority) {
    *request.version_mut() = Version::HTTP_2;
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(if scheme == Scheme::Https { UriScheme::HTTPS } else { UriScheme::HTTP });
    parts.authority = Some(authority.clone());
    parts.path_and_query = Some(path_and_query(request.uri()));
    *request.uri_mut() = Uri::from_parts(parts).expect("scheme, authority and path make a URI");
    for of_one in [HOST, CONNECTION, TRANSFER_ENCODING] {
        request.headers_mut().remove(of_one);
    }
}

fn path_and_query(uri: &Uri) -> PathAndQuery {
    uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BodyError;
    use bytes::Bytes;
    use http_body::Frame;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    struct Unsized;

    impl http_body::Body for Unsized {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            Poll::Ready(None)
        }
    }

    fn request(method: Method, uri: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
        let mut builder = Request::builder().method(method).uri(uri);
        for &(name, value) in headers {
            builder = builder.header(name, value);
        }
        builder.body(body).unwrap()
    }

    #[test]
    fn path_and_query_keep_their_bytes() {
        let authority = Authority::from_static("management.azure.com");
        for (given, kept) in [
            ("/subscriptions/A%2fb?api-version=2024-07-01&$filter=a%20eq%20'b'", None),
            ("/a//b/../c?", None),
            ("/", None),
            ("*", None),
            ("http://armshield.local:7788/x?y", Some("/x?y")),
        ] {
            let mut sent = request(Method::OPTIONS, given, &[], Body::empty());
            let kept = kept.unwrap_or(given);
            as_one(&mut sent, &authority);
            assert_eq!(sent.uri().to_string(), kept);
            as_two(&mut sent, Scheme::Https, &authority);
            assert_eq!(sent.uri().path_and_query().unwrap().as_str(), kept);
            assert_eq!(sent.uri().authority(), Some(&authority));
            as_one(&mut sent, &authority);
            assert_eq!(sent.uri().to_string(), kept);
        }
    }

    #[test]
    fn the_length_sent_is_the_bodys() {
        for (method, said, body, sent) in [
            (Method::POST, None, Body::empty(), Some("0")),
            (Method::DELETE, None, Body::empty(), None),
            (Method::DELETE, Some("0"), Body::empty(), Some("0")),
            (Method::GET, Some("7"), Body::empty(), Some("0")),
            (Method::PUT, Some("3"), Body::full("{\"a\":1}"), Some("7")),
            (Method::PUT, Some("3"), Body::stream(Unsized), None),
        ] {
            let said: Vec<_> = said.map(|length| ("content-length", length)).into_iter().collect();
            let mut request = request(method, "/", &said, body);
            prepare(&mut request);
            let length = request.headers().get(CONTENT_LENGTH).map(|value| value.to_str().unwrap());
            assert_eq!(length, sent, "{request:?}");
        }
    }

    #[test]
    fn a_get_of_unknown_length_is_sent_with_its_body() {
        let mut request = request(Method::GET, "/", &[("expect", "100-continue")], Body::stream(Unsized));
        prepare(&mut request);
        as_one(&mut request, &Authority::from_static("a.b"));
        assert_eq!(request.headers()[TRANSFER_ENCODING], "chunked");
        assert!(!request.headers().contains_key(EXPECT));
        as_two(&mut request, Scheme::Https, &Authority::from_static("a.b"));
        assert!(request.headers().is_empty());
    }
}
