//! Answers as Go's `net/http` writes them.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use super::body::ResponseBody;

/// An answer of an endpoint.
pub type HttpResponse = Response<ResponseBody>;

/// A text under a content type.
pub(crate) fn page(code: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> HttpResponse {
    let mut answer = Response::new(ResponseBody::from(text.into()));
    *answer.status_mut() = code;
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// Plain text.
pub(super) fn text(code: StatusCode, text: impl Into<Bytes>) -> HttpResponse {
    page(code, "text/plain; charset=utf-8", text)
}

/// Plain text that browsers must not take for anything else, ended by a line's end.
pub(crate) fn error(code: StatusCode, what: &str) -> HttpResponse {
    let mut answer = text(code, format!("{what}\n"));
    answer
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// Nothing is here.
pub(super) fn not_found() -> HttpResponse {
    error(StatusCode::NOT_FOUND, "404 page not found")
}
