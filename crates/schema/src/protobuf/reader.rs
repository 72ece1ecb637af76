//! The wire format, reading: tags, varints and lengths, each checked against what is really there.

use std::fmt::Display;

use super::error::ProtobufError;

/// Bytes that are still to be read.
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

/// What begins a field.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) number: i32,
    wire_type: u8,
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const DELIMITED: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

impl Tag {
    fn expect(self, wire_type: u8, field: &dyn Display) -> Result<(), ProtobufError> {
        if self.wire_type == wire_type {
            return Ok(());
        }
        Err(ProtobufError::WrongWireType {
            wire_type: self.wire_type,
            field: field.to_string(),
        })
    }

    /// Many numbers in one field: upstream writes each on its own but reads both.
    pub(super) fn is_packed(self) -> bool {
        self.wire_type == DELIMITED
    }
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field's tag, `None` at the end of the message.
    pub(super) fn tag(&mut self, message: &str) -> Result<Option<Tag>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = (tag >> 3) as i32;
        let wire_type = (tag & 7) as u8;
        if wire_type == END_GROUP {
            return Err(ProtobufError::EndGroup(message.to_owned()));
        }
        if number <= 0 {
            return Err(ProtobufError::IllegalTag {
                message: message.to_owned(),
                number,
                tag,
            });
        }
        Ok(Some(Tag { number, wire_type }))
    }

    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(ProtobufError::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Overflow)
    }

    /// What a length and that many bytes hold, whatever its tag says.
    pub(super) fn any_delimited(&mut self) -> Result<&'b [u8], ProtobufError> {
        let length = i64::try_from(self.varint()?).map_err(|_| ProtobufError::NegativeLength)?;
        let length = usize::try_from(length).map_err(|_| ProtobufError::Truncated)?;
        self.take(length)
    }

    pub(super) fn delimited(&mut self, tag: Tag, field: &dyn Display) -> Result<&'b [u8], ProtobufError> {
        tag.expect(DELIMITED, field)?;
        self.any_delimited()
    }

    pub(super) fn integer(&mut self, tag: Tag, field: &dyn Display) -> Result<u64, ProtobufError> {
        tag.expect(VARINT, field)?;
        self.varint()
    }

    pub(super) fn double(&mut self, tag: Tag, field: &dyn Display) -> Result<f64, ProtobufError> {
        tag.expect(FIXED64, field)?;
        let bytes = self.take(8)?.try_into().map_err(|_| ProtobufError::Truncated)?;
        Ok(f64::from_le_bytes(bytes))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], ProtobufError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Passes over a field that the message does not have, groups included.
    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), ProtobufError> {
        let mut open_groups = 0usize;
        let mut wire_type = tag.wire_type;
        loop {
            match wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                DELIMITED => drop(self.any_delimited()?),
                START_GROUP => open_groups += 1,
                END_GROUP => {
                    open_groups = open_groups.checked_sub(1).ok_or(ProtobufError::UnexpectedEndOfGroup)?;
                }
                FIXED32 => drop(self.take(4)?),
                other => return Err(ProtobufError::IllegalWireType(other)),
            }
            if open_groups == 0 {
                return Ok(());
            }
            wire_type = (self.varint()? & 7) as u8;
        }
    }
}
