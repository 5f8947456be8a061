//! The head of an answer, as ARM and the providers put it on: recorded names and order.

use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Method, Response, StatusCode, request};

use super::answers::{Answer, Author};
use super::ask::Ask;
use super::payload::Payload;
use super::state::State;

impl State {
    /// The head that ARM and the providers put on every answer, as recorded.
    pub(crate) fn seal(&mut self, parts: &request::Parts, ask: &Ask, answer: Answer) -> Response<Payload> {
        let Answer { status, author, headers, body, .. } = answer;
        let mut response = Response::new(Payload::empty());
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut add = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().append(HeaderName::from_static(name), value);
            }
        };
        add("cache-control", "no-cache");
        add("pragma", "no-cache");
        if !body.is_empty() {
            add("content-type", "application/json; charset=utf-8");
        }
        add("expires", "-1");
        let request_id = self.random.guid();
        let own = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        if author == Author::Gateway {
            add("x-ms-failure-cause", "gateway");
        } else {
            let region = &self.options.location;
            let tenant = &ask.tenant;
            let object = if ask.principal.is_empty() { "anonymous" } else { &ask.principal };
            add(
                "x-ms-operation-identifier",
                &format!("tenantId={tenant},objectId={object}/{region}/{}", self.random.guid()),
            );
        }
        if matches!(author, Author::Compute | Author::Merged) {
            add("x-ms-need-to-refresh-epl-cache", "False");
        }
        if author == Author::Merged {
            add("x-ms-original-request-ids", &self.random.guid());
        }
        add("x-ms-request-id", &request_id);
        add("x-ms-correlation-request-id", own("x-ms-correlation-request-id").unwrap_or(&request_id));
        let routing = format!(
            "{}:{}:{request_id}",
            self.options.location.to_ascii_uppercase(),
            self.time.compact_stamp()
        );
        add("x-ms-routing-request-id", &routing);
        if own("x-ms-return-client-request-id").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            && let Some(id) = own("x-ms-client-request-id")
        {
            add("x-ms-client-request-id", id);
        }
        add("strict-transport-security", "max-age=31536000; includeSubDomains");
        add("x-content-type-options", "nosniff");
        add("x-cache", "CONFIG_NOCACHE");
        add("x-msedge-ref", &format!("Ref A: {}", self.random.guid().replace('-', "").to_ascii_uppercase()));
        let date = std::time::UNIX_EPOCH + Duration::from_secs(self.time.unix());
        add("date", &httpdate::fmt_http_date(date));
        let gzip = self.options.gzip && own("accept-encoding").is_some_and(|value| value.contains("gzip"));
        let bytes = if gzip && !body.is_empty() {
            add("content-encoding", "gzip");
            add("vary", "Accept-Encoding");
            compress(body.as_bytes())
        } else {
            Bytes::from(body)
        };
        if status != 204 {
            add("content-length", &bytes.len().to_string());
        }
        // What the call itself asked for comes last and replaces the usual.
        for name in headers.keys() {
            response.headers_mut().remove(name);
        }
        response.headers_mut().extend(headers);
        if parts.method != Method::HEAD && status != 204 {
            *response.body_mut() = Payload::full(bytes);
        }
        response
    }
}

fn compress(bytes: &[u8]) -> Bytes {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map(Bytes::from).unwrap_or_default()
}
