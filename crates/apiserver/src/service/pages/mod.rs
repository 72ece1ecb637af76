//! Pages of other servers: their links are rewritten, so that they lead back through this one. Everything else is passed on as it comes.

mod html;
mod links;

use std::io::{self, Read as _, Write as _};

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::read::{DeflateDecoder, GzDecoder};
use flate2::write::{DeflateEncoder, GzEncoder};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};

pub(crate) use self::links::{Links, joined};
use crate::wire::body::Body;

/// The longest page whose links are rewritten.
const MAX_PAGE: usize = 8 * 1024 * 1024;

/// How the bytes of a page are written.
#[derive(Clone, Copy)]
enum Encoding {
    Plain,
    Gzip,
    Deflate,
}

/// Whether the headers are those of a page.
pub(crate) fn is_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim() == "text/html")
}

/// A page with its links rewritten. One that is too long, or written in a way that is not known, is passed on as it is. The error is that of
/// reading it.
pub(crate) async fn rewritten(
    mut body: UnsyncBoxBody<Bytes, io::Error>,
    headers: &mut HeaderMap,
    links: &Links,
) -> io::Result<Body> {
    let encoding = match headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"") => Encoding::Plain,
        Some(b"gzip") => Encoding::Gzip,
        Some(b"deflate") => Encoding::Deflate,
        Some(_) => return Ok(Body::proxied(body)),
    };
    let mut page = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            page.extend_from_slice(&data);
        }
        if page.len() > MAX_PAGE {
            return Ok(as_it_is(page.freeze(), body));
        }
    }
    let page = page.freeze();
    let rewritten = decoded(&page, encoding).and_then(|text| {
        let rewritten = html::rewrite(&text, |link| links.rewrite(link).ok().flatten());
        encoded(rewritten, encoding)
    });
    // What cannot be decoded is the client's to wonder about.
    let page = rewritten.map_or(page, Bytes::from);
    headers.insert(header::CONTENT_LENGTH, page.len().into());
    Ok(Body::from(page))
}

/// The beginning of a body that was read already, and the rest of it.
fn as_it_is(begin: Bytes, rest: UnsyncBoxBody<Bytes, io::Error>) -> Body {
    let frames = stream::unfold((Some(begin), rest), |(begin, mut rest)| async move {
        match begin {
            Some(begin) => Some((Ok(Frame::data(begin)), (None, rest))),
            None => rest.frame().await.map(|frame| (frame, (None, rest))),
        }
    });
    Body::proxied(StreamBody::new(frames).boxed_unsync())
}

fn decoded(page: &[u8], encoding: Encoding) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    // A small body may decode to a huge one.
    let most = 4 * MAX_PAGE as u64;
    match encoding {
        Encoding::Plain => return Ok(page.to_vec()),
        Encoding::Gzip => GzDecoder::new(page).take(most).read_to_end(&mut text)?,
        Encoding::Deflate => DeflateDecoder::new(page).take(most).read_to_end(&mut text)?,
    };
    if text.len() as u64 == most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

fn encoded(text: Vec<u8>, encoding: Encoding) -> io::Result<Vec<u8>> {
    match encoding {
        Encoding::Plain => Ok(text),
        Encoding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Encoding::Deflate => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&text)?;
            encoder.finish()
        }
    }
}
