//! Checks the status and the encoding of a response, with the messages of upstream's REST client.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::response::Parts;
use http::{HeaderMap, header};
use kubewright_apimachinery::go::quote;
use kubewright_codec::json::decode;
use serde_json::{Value, json};

use super::MAX_ANSWER;
use super::error::CallError;

/// How many bytes of an error's text a message quotes.
const MAX_TOLD: usize = 2048;

/// The body of a successful response, or why the call failed.
pub(super) fn read(parts: &Parts, body: Bytes) -> Result<Bytes, CallError> {
    let body = unpacked(&parts.headers, body)?;
    let code = parts.status.as_u16();
    let content_type = header_text(&parts.headers, header::CONTENT_TYPE);
    if let Some(media) = content_type
        && media.split(';').next().is_none_or(|media| media.trim().is_empty())
    {
        return Err(CallError::Refused(
            "Internal error occurred: mime: no media type".into(),
        ));
    }
    if !(200..=206).contains(&code) {
        let told = told(&body);
        let why = told.clone().unwrap_or_else(|| generic(code, content_type, &body));
        if code == 403 {
            return Err(CallError::Forbidden(forbidden(&why, told.is_none())));
        }
        return Err(match code {
            429 | 500 | 504 => CallError::Passing(why),
            _ => CallError::Refused(why),
        });
    }
    if body.is_empty() {
        return Err(CallError::Empty {
            code,
            content_type: content_type.unwrap_or("application/json").to_owned(),
        });
    }
    Ok(body)
}

/// The `Retry-After` of a response, where upstream repeats the call.
pub(super) fn retry_after(parts: &Parts) -> Option<u64> {
    let code = parts.status.as_u16();
    if code != 429 && code < 500 {
        return None;
    }
    header_text(&parts.headers, header::RETRY_AFTER)?.parse().ok()
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let text = headers.get(name)?.to_str().ok()?;
    Some(text).filter(|text| !text.is_empty())
}

fn unpacked(headers: &HeaderMap, body: Bytes) -> Result<Bytes, CallError> {
    if header_text(headers, header::CONTENT_ENCODING) != Some("gzip") {
        return Ok(body);
    }
    let mut plain = Vec::new();
    GzDecoder::new(&*body)
        .take(MAX_ANSWER as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|_| CallError::Body("gzip: invalid header".into()))?;
    if plain.len() > MAX_ANSWER {
        return Err(CallError::Body("http: response body too large".into()));
    }
    Ok(plain.into())
}

/// The status that upstream's client makes of a 403.
fn forbidden(message: &str, is_generic: bool) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": "Forbidden",
    });
    if is_generic {
        status["details"] = json!({ "causes": [{ "reason": "UnexpectedServerResponse", "message": message }] });
    }
    status["code"] = 403.into();
    status
}

/// The message of the body, if it is a `Status` of a failure.
fn told(body: &[u8]) -> Option<String> {
    let value = decode(body).ok()?.value;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_status = text("kind") == "Status" && matches!(text("apiVersion"), "" | "v1");
    (is_status && text("status") == "Failure").then(|| text("message").to_owned())
}

fn generic(code: u16, content_type: Option<&str>, body: &[u8]) -> String {
    let is_text = content_type.is_none_or(|media| media.trim_start().to_ascii_lowercase().starts_with("text/"));
    let message = if is_text {
        let shown = &body[..body.len().min(MAX_TOLD)];
        String::from_utf8_lossy(shown).trim().to_owned()
    } else {
        "unknown".to_owned()
    };
    let fixed = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if message.is_empty() || message == "unknown" => {
            "the server was unable to respond with a content type that the client supports"
        }
        403 | 406 | 415 => return message,
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            return format!(
                "an error on the server ({}) has prevented the request from succeeding",
                quote(&message)
            );
        }
        _ => return format!("the server responded with the status code {code} but did not return more information"),
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn refused(code: u16, content_type: &str, body: &str) -> String {
        let mut response = Response::builder().status(code);
        if !content_type.is_empty() {
            response = response.header(header::CONTENT_TYPE, content_type);
        }
        let (parts, ()) = response.body(()).unwrap().into_parts();
        read(&parts, Bytes::from(body.to_owned())).unwrap_err().to_string()
    }

    #[test]
    fn codes_are_told_in_upstreams_words() {
        for (code, content_type, body, sentence) in [
            (403, "text/plain", "go away", "go away"),
            (403, "application/json", "{}", "unknown"),
            (
                418,
                "",
                "x",
                "the server responded with the status code 418 but did not return more information",
            ),
            (
                500,
                "text/plain",
                "  it broke \"badly\"\n",
                r#"an error on the server ("it broke \"badly\"") has prevented the request from succeeding"#,
            ),
            (
                500,
                "application/json",
                r#"{"kind":"Status","status":"Failure","message":"inner"}"#,
                "inner",
            ),
            (
                204,
                "application/json",
                "",
                "0-length response with status code: 204 and content type: application/json",
            ),
            (200, ";;", "{}", "Internal error occurred: mime: no media type"),
        ] {
            assert_eq!(refused(code, content_type, body), sentence, "{code}");
        }
    }

    #[test]
    fn a_body_that_unpacks_without_end_is_refused() {
        use std::io::Write as _;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let zeros = vec![0; 1 << 20];
        for _ in 0..=MAX_ANSWER >> 20 {
            packed.write_all(&zeros).unwrap();
        }
        let response = Response::builder().header(header::CONTENT_ENCODING, "gzip");
        let (parts, ()) = response.body(()).unwrap().into_parts();
        let error = read(&parts, packed.finish().unwrap().into()).unwrap_err();
        assert_eq!(error, CallError::Body("http: response body too large".into()));
    }
}
