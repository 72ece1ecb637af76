//! Answers with the headers that every one of them has.

use http::{HeaderName, HeaderValue, StatusCode, header};
use kubewright_runtime::serve::{HttpResponse, ResponseBody};
use serde_json::Value;

/// Nothing is loaded but the page's own files, nothing else runs, and nobody puts the page into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A body under a content type.
pub(super) fn typed(code: StatusCode, content_type: &'static str, body: impl Into<ResponseBody>) -> HttpResponse {
    let mut answer = HttpResponse::new(body.into());
    *answer.status_mut() = code;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A file of the page.
pub(super) fn asset(content_type: &'static str, text: &'static str) -> HttpResponse {
    typed(StatusCode::OK, content_type, text)
}

/// Data for the page.
pub(super) fn json_page(value: &Value) -> HttpResponse {
    typed(StatusCode::OK, "application/json", value.to_string())
}

/// Data under another code than 200.
pub(super) fn json_answer(code: StatusCode, value: &Value) -> HttpResponse {
    typed(code, "application/json", value.to_string())
}

/// Why there is no answer.
pub(super) fn refused(code: StatusCode, why: &'static str) -> HttpResponse {
    typed(code, "text/plain; charset=utf-8", format!("{why}\n"))
}

/// Server-sent events.
pub(super) fn events(body: ResponseBody) -> HttpResponse {
    typed(StatusCode::OK, "text/event-stream", body)
}
