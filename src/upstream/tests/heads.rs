use http::header::{CONTENT_LENGTH, EXPECT, HOST};
use http::{HeaderMap, Version};

use super::peers::*;
use super::*;

/// What a peer saw of a request: method, target, authority and fields, one a line.
fn seen<B>(request: &Request<B>) -> String {
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    let path = request.uri().path_and_query().unwrap();
    let mut lines = vec![format!("{} {path} {authority}", request.method())];
    let fields = request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    lines.extend(fields);
    lines[1..].sort();
    lines.join("\n")
}

async fn check(url: &'static str, fields: &[(&str, &str)], expected: &str) {
    let peer = service(|request: Request<_>| async move { Response::new(Body::full(seen(&request))) });
    let wires = Wires::expect(1, move |_, io| over(url, &peer, io));
    let mut outbound = call(url, Method::PATCH, "/A/%2e/b?x=1&X=2&", Body::full("{}"));
    outbound.host = "Management.azure.com:443".to_owned();
    for &(name, value) in fields {
        outbound
            .request
            .headers_mut()
            .append(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
    }
    assert_eq!(text(upstream(&wires).send(outbound).await.unwrap()).await, expected);
}

const FIELDS: [(&str, &str); 13] = [
    ("host", "armshield.local:7788"),
    ("authorization", "Bearer x"),
    ("connection", "keep-alive, x-hop"),
    ("x-hop", "1"),
    ("x-end", "1"),
    ("x-end", "2"),
    ("keep-alive", "timeout=5"),
    ("proxy-authorization", "Basic x"),
    ("te", "trailers, gzip"),
    ("transfer-encoding", "chunked"),
    ("upgrade", "h2c"),
    ("expect", "100-continue"),
    ("content-length", "77"),
];

#[tokio::test(start_paused = true)]
async fn an_http1_request_leaves_as_it_came_but_for_its_connection() {
    let expected = "PATCH /A/%2e/b?x=1&X=2& \nauthorization: Bearer x\nconnection: te\ncontent-length: 2\n\
                    host: Management.azure.com:443\nte: trailers\nx-end: 1\nx-end: 2";
    check(ONE, &FIELDS, expected).await;
}

#[tokio::test(start_paused = true)]
async fn an_http2_request_leaves_as_it_came_but_for_its_connection() {
    let expected = "PATCH /A/%2e/b?x=1&X=2& Management.azure.com:443\nauthorization: Bearer x\n\
                    content-length: 2\nte: trailers\nx-end: 1\nx-end: 2";
    check(TWO, &FIELDS, expected).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_as_it_left_but_for_its_connection() {
    use tokio::io::AsyncWriteExt;
    let wires = Wires::expect(1, |_, io| {
        bytes(io, |mut io| async move {
            read_head(&mut io).await;
            let head = "HTTP/1.1 299 Peculiar\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
                        ETag: \"3\"\r\nx-ms-a: 1\r\nx-ms-a: 2\r\nContent-Length: 4\r\n\r\nbody";
            io.write_all(head.as_bytes()).await.unwrap();
        })
    });
    let answer = upstream(&wires).send(get(ONE)).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (299, Version::HTTP_11));
    let expected: HeaderMap = [("etag", "\"3\""), ("x-ms-a", "1"), ("x-ms-a", "2"), ("content-length", "4")]
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .into_iter()
        .collect();
    assert_eq!(answer.headers(), &expected);
    assert_eq!(text(answer).await, "body");
}

#[tokio::test(start_paused = true)]
async fn informational_answers_are_not_the_answer() {
    use tokio::io::AsyncWriteExt;
    let wires = Wires::expect(1, |_, io| {
        bytes(io, |mut io| async move {
            read_head(&mut io).await;
            let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
            io.write_all(format!("{early}HTTP/1.1 204 No Content\r\n\r\n").as_bytes()).await.unwrap();
        })
    });
    assert_eq!(upstream(&wires).send(get(ONE)).await.unwrap().status(), StatusCode::NO_CONTENT);
}

#[tokio::test(start_paused = true)]
async fn a_head_answer_keeps_the_length_it_tells() {
    for url in [ONE, TWO] {
        let peer = service(move |request: Request<_>| async move {
            assert!(!request.headers().contains_key(EXPECT));
            assert!(url == ONE || !request.headers().contains_key(HOST));
            Response::builder().header(CONTENT_LENGTH, 1234).body(Body::empty()).unwrap()
        });
        let wires = Wires::expect(1, move |_, io| over(url, &peer, io));
        let answer = upstream(&wires).send(call(url, Method::HEAD, "/", Body::empty())).await.unwrap();
        assert_eq!(answer.headers()[CONTENT_LENGTH], "1234");
        assert_eq!(text(answer).await, "");
    }
}

#[test]
fn a_call_does_not_show_its_token_or_its_signature() {
    let mut outbound = call(TWO, Method::GET, "/operations/1?s=SIGNATURE", Body::empty());
    outbound.request.headers_mut().insert("authorization", "Bearer TOKEN".parse().unwrap());
    let shown = format!("{outbound:?}");
    assert!(!shown.contains("TOKEN") && !shown.contains("SIGNATURE"), "{shown}");
}
