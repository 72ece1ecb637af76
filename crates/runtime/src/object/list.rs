//! What the server sends around objects: a page of a list, and a frame of a watch.

use std::borrow::Cow;

use serde::Deserialize;

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
        let mut scanner = Scanner::new(json)?;
        scanner.members(|scanner, key| {
            if key_is(key, "items") && scanner.peek()? == b'[' {
                scanner.elements(|scanner| match Record::parse_next(scanner, type_meta) {
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

/// A frame of a watch: its type, and the text of its object.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: FrameKind,
    pub(crate) object: &'a [u8],
}

impl<'a> Frame<'a> {
    pub(crate) fn parse(json: &'a [u8]) -> Result<Self, ScanError> {
        let mut frame = Frame {
            kind: FrameKind::Unknown,
            object: b"null",
        };
        let mut scanner = Scanner::new(json)?;
        scanner.members(|scanner, key| {
            scanner.peek()?;
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
                frame.object = scanner.text(start);
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
    fn a_frame_gives_its_type_and_the_text_of_its_object() {
        let frame = Frame::parse(br#"{"type":"MODIFIED","object": {"a": [1] } }"#).unwrap();
        assert_eq!(frame.kind, FrameKind::Modified);
        assert_eq!(frame.object, br#"{"a": [1] }"#);
        assert_eq!(Frame::parse(br#"{"type":"NEWS"}"#).unwrap().kind, FrameKind::Unknown);
        assert_eq!(
            Frame::parse(br#"{"type":"ADDED","object":{"#).unwrap_err(),
            ScanError::Ended
        );
    }
}
