//! The content type of a response that has none: Go's HTTP server looks at how it begins.

use std::future::ready;
use std::io;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, StreamBody};

/// How many bytes are looked at.
const LOOKED_AT: usize = 512;

/// The content type of a body by its first piece, and the body. `None` if it has no piece.
pub(super) async fn sniffed<B>(mut body: B) -> (Option<&'static str>, UnsyncBoxBody<Bytes, io::Error>)
where
    B: Body<Data = Bytes, Error = io::Error> + Send + Unpin + 'static,
{
    let first: Option<Result<Frame<Bytes>, io::Error>> = body.frame().await;
    let content_type = match &first {
        Some(Ok(frame)) => frame.data_ref().map(|data| content_type(data)),
        _ => None,
    };
    let whole = stream::once(ready(first))
        .filter_map(ready)
        .chain(BodyStream::new(body));
    (content_type, StreamBody::new(whole).boxed_unsync())
}

/// What a text or file is by its beginning.
fn content_type(data: &[u8]) -> &'static str {
    let data = &data[..data.len().min(LOOKED_AT)];
    let text = data.trim_ascii_start();
    let begins = |tag: &[u8]| text.len() >= tag.len() && text[..tag.len()].eq_ignore_ascii_case(tag);
    if begins(b"<!DOCTYPE HTML") || begins(b"<HTML") || begins(b"<HEAD") || begins(b"<BODY") {
        return "text/html; charset=utf-8";
    }
    if begins(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    if data.starts_with(b"%PDF-") {
        return "application/pdf";
    }
    if data.starts_with(&[0x1f, 0x8b, 0x08]) {
        return "application/x-gzip";
    }
    let is_binary = |byte: &u8| matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if data.iter().any(is_binary) {
        "application/octet-stream"
    } else {
        "text/plain; charset=utf-8"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_told_from_other_things() {
        assert_eq!(content_type(b"hello"), "text/plain; charset=utf-8");
        assert_eq!(content_type(b"{\"kind\": 1}"), "text/plain; charset=utf-8");
        assert_eq!(content_type(b" <html><body>"), "text/html; charset=utf-8");
        assert_eq!(content_type(&[1, 2, 3]), "application/octet-stream");
    }
}
