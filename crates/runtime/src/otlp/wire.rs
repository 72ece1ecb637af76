//! The wire format of protobuf, as far as spans need it.

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;
const FIXED32: u32 = 5;

/// A message that is written field by field.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn varint(&mut self, number: u32, value: u64) {
        self.tag(number, VARINT);
        self.raw_varint(value);
    }

    pub(super) fn fixed64(&mut self, number: u32, value: u64) {
        self.tag(number, FIXED64);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, LENGTH_DELIMITED);
        self.raw_varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(super) fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    /// A field that is a message, which `write` writes.
    pub(super) fn message(&mut self, number: u32, write: impl FnOnce(&mut Message)) {
        let mut message = Message::default();
        write(&mut message);
        self.bytes(number, &message.0);
    }

    fn tag(&mut self, number: u32, wire_type: u32) {
        self.raw_varint(u64::from(number << 3 | wire_type));
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message with their numbers, up to the first byte that makes no sense.
pub(super) fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let tag = varint(&mut message)?;
        let field = match (tag & 7) as u32 {
            VARINT => Field::Varint(varint(&mut message)?),
            FIXED64 => Field::Fixed64(u64::from_le_bytes(*message.split_off(..8)?.as_array()?)),
            LENGTH_DELIMITED => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                Field::Bytes(message.split_off(..length)?)
            }
            FIXED32 => Field::Fixed32(u32::from_le_bytes(*message.split_off(..4)?.as_array()?)),
            _ => return None,
        };
        Some((tag >> 3, field))
    })
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_as_the_documentation_of_protobuf_shows_it() {
        let mut message = Message::default();
        message.varint(1, 150);
        message.text(2, "testing");
        message.message(3, |inner| inner.varint(1, 150));
        assert_eq!(message.into_bytes(), b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in 1_u32..1 << 29, value: u64, bytes: Vec<u8>) {
            let mut message = Message::default();
            message.varint(number, value);
            message.bytes(number, &bytes);
            message.fixed64(number, value);
            let message = message.into_bytes();
            let number = u64::from(number);
            let read: Vec<_> = fields(&message).collect();
            let written = [Field::Varint(value), Field::Bytes(&bytes), Field::Fixed64(value)];
            prop_assert_eq!(read, written.map(|field| (number, field)));
        }

        #[test]
        fn whatever_a_collector_answers_is_read_to_an_end(bytes: Vec<u8>) {
            prop_assert!(fields(&bytes).count() <= bytes.len());
        }
    }
}
