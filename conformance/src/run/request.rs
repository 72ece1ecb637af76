//! The request of a step.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use serde_json::Value;

use super::{CasePlayer, StepError, credentials, websocket};
use crate::case::{RequestBody, RequestStep};
use crate::target::OwnCredentials;
use crate::template::{fill, fill_value};

impl CasePlayer<'_> {
    pub(super) fn build(&self, step: &RequestStep) -> Result<Request<Bytes>, StepError> {
        let line = fill(&step.request, &self.variables)?;
        let (method, path) = line
            .split_once(' ')
            .ok_or_else(|| StepError::RequestLine(line.clone()))?;
        let method = Method::from_bytes(method.as_bytes()).map_err(http::Error::from)?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static("conformance/1"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let body = match &step.body {
            RequestBody::Empty => Bytes::new(),
            RequestBody::Json(value, content_type) => match fill_value(value, &self.variables)? {
                // Null is no body, so that a row of a matrix can leave the body out.
                Value::Null => Bytes::new(),
                value => {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                    Bytes::from(value.to_string())
                }
            },
            RequestBody::Text(text, content_type) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                Bytes::from(fill(text, &self.variables)?)
            }
            RequestBody::Bytes(bytes, content_type) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                Bytes::copy_from_slice(bytes)
            }
        };
        if step.websocket {
            headers.extend(websocket::handshake());
        }
        for (name, value) in &step.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(http::Error::from)?;
            let value = fill(value, &self.variables)?;
            // An empty value removes a header that would be sent otherwise.
            if value.is_empty() {
                headers.remove(name);
            } else {
                headers.insert(name, HeaderValue::try_from(value).map_err(http::Error::from)?);
            }
        }
        let own = credentials::add(&mut headers, step.by.as_ref(), &self.variables)?;
        let mut request = Request::builder().method(method).uri(escaped(path)).body(body)?;
        *request.headers_mut() = headers;
        if own {
            request.extensions_mut().insert(OwnCredentials);
        }
        Ok(request)
    }
}

/// Escapes the characters of a path that a URI may not contain. Case files have paths without escapes.
fn escaped(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=31 | 127.. => format!("%{byte:02X}"),
        plain => char::from(plain).to_string(),
    };
    path.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_as_far_as_a_uri_demands() {
        assert_eq!(
            escaped("/a?labelSelector=x in (b,c)"),
            "/a?labelSelector=x%20in%20(b,c)"
        );
    }
}
