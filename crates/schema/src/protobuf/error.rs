//! What is wrong with a message, in the words of upstream's generated decoders.

use thiserror::Error;

/// Why bytes are no message of the wanted type, or a value cannot be one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProtobufError {
    /// There are no bytes at all.
    #[error("empty data")]
    NoData,
    /// The bytes do not begin with `k8s\0`.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// Nothing follows `k8s\0`.
    #[error("empty body")]
    NoBody,
    /// A value goes on beyond the end.
    #[error("unexpected EOF")]
    Truncated,
    /// A varint of more than ten bytes.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length beyond the largest signed integer.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A group ends that has not begun.
    #[error("proto: unexpected end of group")]
    UnexpectedEndOfGroup,
    /// A wire type that does not exist.
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u8),
    /// A field comes in a wire type that is not its own.
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WrongWireType {
        /// The wire type it came in.
        wire_type: u8,
        /// The field's name in Go.
        field: String,
    },
    /// A field number that is not positive.
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    IllegalTag {
        /// The message's name in Go.
        message: String,
        /// The field number.
        number: i32,
        /// Number and wire type as they were read.
        tag: u64,
    },
    /// A group ends where a field should begin.
    #[error("proto: {0}: wiretype end group for non-group")]
    EndGroup(String),
    /// A value that its own decoder refuses, a quantity for one.
    #[error("{0}")]
    Value(String),
    /// Messages nest too deeply.
    #[error("exceeded max depth")]
    TooDeep,
    /// The type exists in JSON only.
    #[error(
        "object *{0} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    )]
    NotAMessage(String),
    /// A value that did not go through its type.
    #[error("{found} is no {expected}")]
    Unfit {
        /// The kind of JSON value.
        found: &'static str,
        /// The Go type of the place.
        expected: String,
    },
}
