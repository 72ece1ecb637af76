//! Frames of SPDY/3.1: from bytes and to bytes, with bounded sizes. Nothing here waits or reads.
//!
//! A frame of data is handed out in pieces, as its bytes come: the 16 MiB that it may have are never held.

use bytes::{Buf as _, Bytes, BytesMut};

use super::headers::{Compressor, Decompressor, Headers};

/// The version of the protocol that frames name; that of 3.1, too.
const VERSION: u16 = 3;
/// How many bytes a control frame may have.
const MAX_CONTROL: usize = 64 * 1024;
/// How many bytes of data are handed out in one piece at most.
pub(super) const MAX_PIECE: usize = 16 * 1024;
/// The most that the length of a frame can say.
const MAX_LENGTH: usize = (1 << 24) - 1;

const FIN: u8 = 1;

/// The number of a stream. Streams of clients have odd ones.
pub(crate) type StreamId = u32;

/// Why a stream ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResetCode {
    ProtocolError = 1,
    RefusedStream = 3,
    Cancel = 5,
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoAwayCode {
    Ok = 0,
    ProtocolError = 1,
}

/// A frame that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    SynReply {
        stream: StreamId,
        headers: Headers,
    },
    RstStream {
        stream: StreamId,
        code: ResetCode,
    },
    Ping(u32),
    GoAway {
        last: StreamId,
        code: GoAwayCode,
    },
    WindowUpdate {
        stream: StreamId,
        more: u32,
    },
    Data {
        stream: StreamId,
        payload: Bytes,
        fin: bool,
    },
}

/// What was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    SynStream {
        stream: StreamId,
        headers: Headers,
        fin: bool,
    },
    /// A stream is accepted.
    SynReply(StreamId),
    /// The stream ends at once, in both directions.
    RstStream(StreamId),
    Ping(u32),
    GoAway,
    /// More headers of a stream, which nobody needs.
    Headers {
        stream: StreamId,
        fin: bool,
    },
    /// A piece of a frame's data; `fin` with the last piece of the last frame.
    Data {
        stream: StreamId,
        payload: Bytes,
        fin: bool,
    },
    /// A frame that changes nothing: settings and windows, since Kubernetes' clients never open a window, and what is unknown.
    Ignored,
}

/// Why what was received is no SPDY. Nothing can be read behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("a frame of another version than 3")]
    Version,
    #[error("a control frame or its headers are too large")]
    TooLarge,
    #[error("a control frame has a wrong length")]
    Length,
    #[error("too many headers")]
    TooManyHeaders,
    #[error("the headers of a frame cannot be read")]
    MalformedHeaders,
}

/// Writes frames.
pub(super) struct Encoder(Compressor);

impl Encoder {
    pub(super) fn new() -> Self {
        Encoder(Compressor::new())
    }

    /// The bytes of a frame. Data beyond what a frame can have are cut into several.
    pub(super) fn encode(&mut self, frame: &Frame, to: &mut Vec<u8>) {
        match frame {
            Frame::SynReply { stream, headers } => {
                let block = self.0.compress(headers);
                control(to, 2, block.len() + 4);
                to.extend_from_slice(&stream.to_be_bytes());
                to.extend_from_slice(&block);
            }
            Frame::RstStream { stream, code } => words(to, 3, &[*stream, *code as u32]),
            Frame::Ping(id) => words(to, 6, &[*id]),
            Frame::GoAway { last, code } => words(to, 7, &[*last, *code as u32]),
            Frame::WindowUpdate { stream, more } => words(to, 9, &[*stream, *more]),
            Frame::Data { stream, payload, fin } => {
                let mut rest = &payload[..];
                loop {
                    let (piece, behind) = rest.split_at(rest.len().min(MAX_LENGTH));
                    let flags = if *fin && behind.is_empty() { FIN } else { 0 };
                    to.extend_from_slice(&stream.to_be_bytes());
                    to.extend_from_slice(&(u32::from(flags) << 24 | piece.len() as u32).to_be_bytes());
                    to.extend_from_slice(piece);
                    rest = behind;
                    if rest.is_empty() {
                        return;
                    }
                }
            }
        }
    }
}

/// The head of a control frame without flags.
fn control(to: &mut Vec<u8>, kind: u16, length: usize) {
    to.extend_from_slice(&(0x8000 | VERSION).to_be_bytes());
    to.extend_from_slice(&kind.to_be_bytes());
    to.extend_from_slice(&(length as u32).to_be_bytes());
}

fn words(to: &mut Vec<u8>, kind: u16, words: &[u32]) {
    control(to, kind, words.len() * 4);
    for word in words {
        to.extend_from_slice(&word.to_be_bytes());
    }
}

/// Reads frames from bytes as they come.
pub(super) struct Decoder {
    headers: Decompressor,
    /// The frame of data whose payload is on its way.
    data: Option<IncomingData>,
}

struct IncomingData {
    stream: StreamId,
    left: usize,
    fin: bool,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Decoder {
            headers: Decompressor::new(),
            data: None,
        }
    }

    /// Takes the next frame, or piece of one, from the bytes; `None` if they do not suffice.
    pub(super) fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Received>, Error> {
        if let Some(data) = &mut self.data {
            if bytes.is_empty() && data.left > 0 {
                return Ok(None);
            }
            let payload = bytes.split_to(data.left.min(bytes.len()).min(MAX_PIECE)).freeze();
            data.left -= payload.len();
            let (stream, fin) = (data.stream, data.fin && data.left == 0);
            if data.left == 0 {
                self.data = None;
            }
            return Ok(Some(Received::Data { stream, payload, fin }));
        }
        let Some(head) = bytes.first_chunk::<8>() else {
            return Ok(None);
        };
        let [first, second] = [&head[..4], &head[4..]].map(|mut word| word.get_u32());
        let (flags, length) = ((second >> 24) as u8, (second & 0x00ff_ffff) as usize);
        if first & 0x8000_0000 == 0 {
            bytes.advance(8);
            self.data = Some(IncomingData {
                stream: first,
                left: length,
                fin: flags & FIN != 0,
            });
            return self.decode(bytes);
        }
        if (first >> 16) as u16 & 0x7fff != VERSION {
            return Err(Error::Version);
        }
        if length > MAX_CONTROL {
            return Err(Error::TooLarge);
        }
        if bytes.len() < 8 + length {
            return Ok(None);
        }
        bytes.advance(8);
        let payload = bytes.split_to(length);
        self.control((first & 0xffff) as u16, flags, &payload).map(Some)
    }

    fn control(&mut self, kind: u16, flags: u8, payload: &[u8]) -> Result<Received, Error> {
        let word = |at: usize| {
            let word = payload.get(at..).and_then(<[u8]>::first_chunk::<4>);
            word.map(|word| u32::from_be_bytes(*word)).ok_or(Error::Length)
        };
        let stream = || word(0).map(|stream| stream & 0x7fff_ffff);
        let fin = flags & FIN != 0;
        Ok(match kind {
            // Behind the number of the stream: that of another one, a priority and a slot.
            1 => Received::SynStream {
                stream: stream()?,
                headers: self.headers.decompress(payload.get(10..).ok_or(Error::Length)?)?,
                fin,
            },
            // Nobody needs these headers; but every block must be read.
            2 | 8 => {
                let stream = stream()?;
                self.headers.decompress(payload.get(4..).ok_or(Error::Length)?)?;
                match kind {
                    8 => Received::Headers { stream, fin },
                    _ => Received::SynReply(stream),
                }
            }
            3 => Received::RstStream(stream()?),
            6 => Received::Ping(word(0)?),
            7 => Received::GoAway,
            _ => Received::Ignored,
        })
    }
}

#[cfg(test)]
mod tests;
