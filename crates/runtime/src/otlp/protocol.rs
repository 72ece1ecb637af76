//! What spans are sent as.

use std::str::FromStr;

use http::{HeaderMap, StatusCode};

use super::answer::{Failure, Retry};
use super::span::{Attribute, Span};
use super::{json, protobuf};

/// As many characters of an answer that says nothing else are told.
const MOST_TOLD: usize = 200;

/// A protocol over HTTP, by the names of `OTEL_EXPORTER_OTLP_PROTOCOL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    HttpProtobuf,
    HttpJson,
}

impl FromStr for Protocol {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "http/protobuf" => Ok(Protocol::HttpProtobuf),
            "http/json" => Ok(Protocol::HttpJson),
            _ => Err(()),
        }
    }
}

impl Protocol {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Protocol::HttpProtobuf => "application/x-protobuf",
            Protocol::HttpJson => "application/json",
        }
    }

    /// The body of a request with these spans.
    pub(super) fn request(self, resource: &[Attribute], spans: &[Span]) -> Vec<u8> {
        match self {
            Protocol::HttpProtobuf => protobuf::request(resource, spans),
            Protocol::HttpJson => json::request(resource, spans),
        }
    }

    /// Whether the spans of a request arrived, by the answer to it.
    pub(super) fn arrived(self, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<(), Failure> {
        if code.is_success() {
            let answer = match self {
                Protocol::HttpProtobuf => protobuf::answer(body),
                Protocol::HttpJson => json::answer(body),
            };
            return match answer.rejected {
                0 => Ok(()),
                rejected => Err(Failure {
                    rejected: Some(rejected),
                    ..Failure::new(answer.message, Retry::Never)
                }),
            };
        }
        let refusal = match self {
            Protocol::HttpProtobuf => protobuf::refusal(body),
            Protocol::HttpJson => json::refusal(body),
        };
        // A proxy before the collector speaks no protocol.
        let text = refusal.unwrap_or_else(|| String::from_utf8_lossy(body).chars().take(MOST_TOLD).collect());
        Err(Failure::new(format!("{code}: {text}"), Retry::of(code, headers)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    fn arrived(protocol: Protocol, code: u16, body: &[u8]) -> Result<(), Failure> {
        let mut headers = HeaderMap::new();
        if code == 429 {
            headers.insert("retry-after", HeaderValue::from_static("7"));
        }
        protocol.arrived(StatusCode::from_u16(code).unwrap(), &headers, body)
    }

    #[test]
    fn a_collector_says_how_many_spans_it_did_not_take_and_why() {
        let rejected = Err(Failure {
            why: "too old".to_owned(),
            rejected: Some(300),
            retry: Retry::Never,
        });
        let json = br#"{"partialSuccess":{"rejectedSpans":"300","errorMessage":"too old"}}"#;
        assert_eq!(arrived(Protocol::HttpJson, 200, json), rejected);
        let protobuf = b"\x0a\x0c\x08\xac\x02\x12\x07too old";
        assert_eq!(arrived(Protocol::HttpProtobuf, 200, protobuf), rejected);
        for nothing in [&b""[..], b"{}", b"\x0a\x00", b"<html>"] {
            assert_eq!(arrived(Protocol::HttpJson, 200, nothing), Ok(()));
            assert_eq!(arrived(Protocol::HttpProtobuf, 200, nothing), Ok(()));
        }
    }

    #[test]
    fn a_refusal_says_why_and_whether_to_try_again() {
        let told = |code, body: &[u8]| {
            let failure = arrived(Protocol::HttpProtobuf, code, body).unwrap_err();
            (failure.why, failure.retry)
        };
        let status = b"\x12\x04busy";
        assert_eq!(
            told(503, status),
            ("503 Service Unavailable: busy".to_owned(), Retry::Later)
        );
        assert_eq!(told(429, status).1, Retry::After(Duration::from_secs(7)));
        assert_eq!(told(400, status), ("400 Bad Request: busy".to_owned(), Retry::Never));
        assert_eq!(told(404, b"no page").0, "404 Not Found: no page");
        let json = arrived(Protocol::HttpJson, 400, br#"{"code":3,"message":"no"}"#).unwrap_err();
        assert_eq!(json.why, "400 Bad Request: no");
    }
}
