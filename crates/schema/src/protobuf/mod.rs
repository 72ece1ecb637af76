//! Built-in objects in protobuf, both ways (H5, H6): bytes of a message to the JSON form of the same object and back.
//! Field numbers come from the table of facts; the types that encode themselves in JSON do so here, too.

mod decode;
mod encode;
mod envelope;
mod error;
mod message;
mod reader;
mod special;
mod writer;

pub(crate) use self::message::Message;
pub use self::{
    decode::decode,
    encode::encode,
    envelope::{Envelope, WATCH_FRAME_LENGTH, encode_object, watch_frame},
    error::ProtobufError,
};

/// How deep messages may nest: far deeper than objects do, and no deeper than a thread's stack carries.
const MAX_DEPTH: usize = 100;
