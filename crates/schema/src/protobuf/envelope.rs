//! The envelope of objects on the wire (H6): four magic bytes and a message that names their kind; on a watch, events with a length.

use serde_json::Value;

use super::{
    encode::encode,
    error::ProtobufError,
    reader::{Reader, Tag},
    special,
    writer::Writer,
};
use crate::types::Types;

const PREFIX: &[u8] = b"k8s\0";

/// An object on the wire: `k8s\0` and a `runtime.Unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'b> {
    /// The object's apiVersion; may be empty.
    pub api_version: String,
    /// The object's kind; may be empty.
    pub kind: String,
    /// The object's message.
    pub raw: &'b [u8],
}

impl<'b> Envelope<'b> {
    /// Opens an envelope.
    pub fn open(bytes: &'b [u8]) -> Result<Self, ProtobufError> {
        if bytes.is_empty() {
            return Err(ProtobufError::NoData);
        }
        let unknown = bytes.strip_prefix(PREFIX).ok_or(ProtobufError::NoPrefix)?;
        if unknown.is_empty() {
            return Err(ProtobufError::NoBody);
        }
        let mut envelope = Envelope::default();
        let mut reader = Reader::new(unknown);
        while let Some(tag) = reader.tag("Unknown")? {
            match tag.number {
                1 => envelope.type_meta(reader.delimited(tag, &"TypeMeta")?)?,
                2 => envelope.raw = reader.delimited(tag, &"Raw")?,
                3 => drop(reader.delimited(tag, &"ContentEncoding")?),
                4 => drop(reader.delimited(tag, &"ContentType")?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn type_meta(&mut self, bytes: &[u8]) -> Result<(), ProtobufError> {
        let mut reader = Reader::new(bytes);
        let text = |reader: &mut Reader<'_>, tag: Tag, field: &str| Ok(special::text(reader.delimited(tag, &field)?));
        while let Some(tag) = reader.tag("TypeMeta")? {
            match tag.number {
                1 => self.api_version = text(&mut reader, tag, "APIVersion")?,
                2 => self.kind = text(&mut reader, tag, "Kind")?,
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }

    /// The bytes of the whole.
    pub fn seal(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(4, b"");
        out.bytes(3, b"");
        out.bytes(2, self.raw);
        let end = out.end();
        out.bytes(2, self.kind.as_bytes());
        out.bytes(1, self.api_version.as_bytes());
        out.delimit(1, end);
        out.finish_behind(PREFIX)
    }
}

/// Encodes an object that says its kind and apiVersion, envelope included.
pub fn encode_object(types: &Types, object: &Value) -> Result<Vec<u8>, ProtobufError> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let ty = types
        .kind(group, version, kind)
        .ok_or_else(|| ProtobufError::NotAMessage(format!("{version}.{kind}")))?;
    let raw = encode(ty, object)?;
    let envelope = Envelope {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        raw: &raw,
    };
    Ok(envelope.seal())
}

/// How many bytes of a [`watch_frame`] say how long the rest is.
pub const WATCH_FRAME_LENGTH: usize = size_of::<u32>();

/// An event of a watch: its length in four bytes, then a `WatchEvent` around the sealed object.
pub fn watch_frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    let end = out.end();
    out.bytes(1, object);
    out.delimit(2, end);
    out.bytes(1, kind.as_bytes());
    let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out.finish_behind(&length.to_be_bytes())
}
