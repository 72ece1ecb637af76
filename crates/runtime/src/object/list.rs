//! What the server sends around objects: a page of a list, and a frame of a watch.

use std::borrow::Cow;

use serde::Deserialize;

use super::kind::Kind;
use super::record::{Record, RecordError};
use super::scan::{Ignore, ScanError, Scanner, key_is};

/// A page of a list.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) items: Vec<Record>,
    pub(crate) resource_version: String,
    /// Asks for the next page; empty on the last.
    pub(crate) continue_token: String,
    /// How many items could not be read, and why the first could not.
    pub(crate) broken: Option<(usize, RecordError)>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMeta {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

impl Page {
    /// Reads a list. Items that are objects but cannot be records are counted, not fatal.
    pub(crate) fn parse(json: &[u8], type_meta: &str) -> Result<Self, ScanError> {
        let mut page = Page::default();
        let mut scratch = Vec::new();
        let mut scanner = Scanner::new(json)?;
        scanner.members(|scanner, key| {
            if key_is(key, "items") && scanner.peek()? == b'[' {
                scanner.elements(|scanner| match Record::parse_next(scanner, type_meta, &mut scratch) {
                    Ok(record) => {
                        page.items.push(record);
                        Ok(())
                    }
                    Err(RecordError::Scan(error)) => Err(error),
                    Err(error) => {
                        page.broken.get_or_insert((0, error)).0 += 1;
                        Ok(())
                    }
                })
            } else if key_is(key, "metadata") {
                scanner.peek()?;
                let start = scanner.at();
                scanner.value(&mut Ignore)?;
                let meta: ListMeta = serde_json::from_slice(scanner.text(start)).unwrap_or_default();
                page.resource_version = meta.resource_version.unwrap_or_default();
                page.continue_token = meta.r#continue.unwrap_or_default();
                Ok(())
            } else {
                scanner.value(&mut Ignore)
            }
        })?;
        scanner.end()?;
        Ok(page)
    }
}

/// What a watch frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
    Unknown,
}

impl FrameKind {
    /// Whether its object is one of the kind that is watched.
    fn has_record(self) -> bool {
        matches!(self, FrameKind::Added | FrameKind::Modified | FrameKind::Deleted)
    }
}

/// The object of a frame.
#[derive(Debug)]
pub(crate) enum FrameObject<'a> {
    /// Read already, in the one walk over the frame.
    Record(Result<Record, RecordError>),
    /// Its text: it is of another kind, or the frame says only after it what it is.
    Text(&'a [u8]),
}

impl FrameObject<'_> {
    /// The object as one of the kind that is watched.
    pub(crate) fn into_record(self, kind: &Kind) -> Result<Record, RecordError> {
        match self {
            FrameObject::Record(record) => record,
            FrameObject::Text(text) => Record::parse(text, kind),
        }
    }
}

/// A frame of a watch: its type, and its object.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: FrameKind,
    pub(crate) object: FrameObject<'a>,
}

impl<'a> Frame<'a> {
    /// Reads a frame. `scratch` is room to work in, for many frames one after the other.
    pub(crate) fn parse(json: &'a [u8], type_meta: &str, scratch: &mut Vec<u8>) -> Result<Self, ScanError> {
        let mut frame = Frame {
            kind: FrameKind::Unknown,
            object: FrameObject::Text(b"null"),
        };
        let mut scanner = Scanner::new(json)?;
        scanner.members(|scanner, key| {
            let is_object = scanner.peek()? == b'{';
            if is_object && frame.kind.has_record() && key_is(key, "object") {
                frame.object = match Record::parse_next(scanner, type_meta, scratch) {
                    Err(RecordError::Scan(error)) => return Err(error),
                    read => FrameObject::Record(read),
                };
                return Ok(());
            }
            let start = scanner.at();
            scanner.value(&mut Ignore)?;
            if key_is(key, "type") {
                frame.kind = match serde_json::from_slice::<Cow<'_, str>>(scanner.text(start)).as_deref() {
                    Ok("ADDED") => FrameKind::Added,
                    Ok("MODIFIED") => FrameKind::Modified,
                    Ok("DELETED") => FrameKind::Deleted,
                    Ok("BOOKMARK") => FrameKind::Bookmark,
                    Ok("ERROR") => FrameKind::Error,
                    _ => FrameKind::Unknown,
                };
            } else if key_is(key, "object") {
                frame.object = FrameObject::Text(scanner.text(start));
            }
            Ok::<(), ScanError>(())
        })?;
        scanner.end()?;
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = r#"{"apiVersion":"v1","kind":"ConfigMap""#;

    #[test]
    fn a_page_gives_its_items_its_revision_and_the_way_on() {
        let json = br#"{"kind":"ConfigMapList","apiVersion":"v1",
            "metadata":{"resourceVersion":"77","continue":"next","remainingItemCount":3},
            "items":[{"metadata":{"name":"a","namespace":"n"}}, {"metadata":{}} ,{"metadata":{"name":"b"}}]}"#;
        let page = Page::parse(json, OPEN).unwrap();
        let keys: Vec<_> = page.items.iter().map(|item| item.key().to_string()).collect();
        assert_eq!(keys, ["n/a", "b"]);
        assert_eq!(
            (page.resource_version.as_str(), page.continue_token.as_str()),
            ("77", "next")
        );
        assert_eq!(page.broken, Some((1, RecordError::NoName)));
    }

    #[test]
    fn a_list_of_nothing_may_say_null() {
        let page = Page::parse(br#"{"metadata":{"resourceVersion":"1"},"items":null}"#, OPEN).unwrap();
        assert!(page.items.is_empty());
    }

    #[test]
    fn a_frame_gives_its_type_and_its_object() {
        let scratch = &mut Vec::new();
        let kind = Kind::named("", "v1", "ConfigMap", "configmaps", true);
        // Whatever comes first.
        for json in [
            r#"{"type":"MODIFIED","object": {"metadata":{"name":"a"}, "b": [1] } }"#,
            r#"{"object": {"metadata":{"name":"a"}, "b": [1] },"type":"MODIFIED" }"#,
        ] {
            let frame = Frame::parse(json.as_bytes(), OPEN, scratch).unwrap();
            assert_eq!(frame.kind, FrameKind::Modified);
            let record = frame.object.into_record(&kind).unwrap();
            let text = format!(r#"{OPEN},"metadata":{{"name":"a"}},"b":[1]}}"#);
            assert_eq!(String::from_utf8_lossy(record.json()), text);
        }
        let frame = Frame::parse(br#"{"type":"ERROR","object":{"code":410}}"#, OPEN, scratch).unwrap();
        assert!(matches!(frame.object, FrameObject::Text(br#"{"code":410}"#)));
        let nameless = Frame::parse(br#"{"type":"ADDED","object":{}}"#, OPEN, scratch).unwrap();
        assert_eq!(nameless.object.into_record(&kind).unwrap_err(), RecordError::NoName);
        let news = Frame::parse(br#"{"type":"NEWS"}"#, OPEN, scratch).unwrap();
        assert_eq!(news.kind, FrameKind::Unknown);
        assert_eq!(
            Frame::parse(br#"{"type":"ADDED","object":{"#, OPEN, scratch).unwrap_err(),
            ScanError::Ended
        );
    }
}
