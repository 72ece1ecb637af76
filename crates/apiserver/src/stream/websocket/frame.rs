//! Frames of RFC 6455, read and written one by one as Go's `golang.org/x/net/websocket` does.
//!
//! The crates for the protocol are stricter than that: they refuse text that is not UTF-8, join the parts of a fragmented message
//! and keep the whole of it. Upstream's server takes every frame as a message of its own and the payload as it comes, and
//! clients depend on it; a watch throws away what it receives, whatever its size.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The most that a frame may carry: the limit of Go's package.
const MAX_PAYLOAD: u64 = 32 << 20;
/// The most that a control frame may carry; what is behind it is not looked at.
const MAX_CONTROL: usize = 125;
/// How many bytes are read in one go; fewer of who is not expected to say anything, since the room for them is held as long as nothing comes.
const READ: usize = 4096;
const READ_UNWANTED: usize = 512;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn of(bits: u8) -> Option<Self> {
        use Opcode::{Binary, Close, Continuation, Ping, Pong, Text};
        [Continuation, Text, Binary, Close, Ping, Pong]
            .into_iter()
            .find(|opcode| *opcode as u8 == bits)
    }

    fn is_control(self) -> bool {
        self as u8 >= Opcode::Close as u8
    }
}

/// Why a connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseCode {
    Normal = 1000,
    ProtocolError = 1002,
}

/// A frame of the server, which is never masked.
pub(crate) fn write(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 10);
    frame.push(0x80 | opcode as u8);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ 0..=125), _) => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        (_, Err(_)) => {
            frame.push(127);
            frame.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

/// The frame that closes a connection.
pub(crate) fn close(code: CloseCode) -> Vec<u8> {
    write(Opcode::Close, &(code as u16).to_be_bytes())
}

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A frame with data; without them unless the reader keeps them.
    Data(Bytes),
    /// A ping, to be answered with a pong of the same payload.
    Ping(Bytes),
    /// A pong, which nobody asked for.
    Pong,
    /// The end: the client closes the connection.
    Close,
    /// A frame that breaks the protocol: clients mask what they send.
    Unmasked,
}

/// Reads a client's frames. A read that is cancelled loses nothing.
pub(crate) struct Reader<R> {
    io: R,
    received: BytesMut,
    /// The frame whose payload is on its way.
    current: Option<Incoming>,
    wanted: WantedData,
}

/// What is wanted of the data that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WantedData {
    /// That they came.
    Nothing,
    /// Each frame whole.
    Frames,
    /// Each piece as it comes, wherever frames begin and end.
    Pieces,
}

struct Incoming {
    opcode: Option<Opcode>,
    mask: [u8; 4],
    /// How many bytes of its payload have not been looked at.
    left: u64,
    /// What is kept of the payload, unmasked.
    kept: BytesMut,
    /// How many bytes of the payload have been taken before those that are kept.
    taken: usize,
    /// Whether what is kept is handed out before the frame ends.
    in_pieces: bool,
    /// How much of it is kept at most.
    most: usize,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(io: R) -> Self {
        Reader {
            io,
            received: BytesMut::new(),
            current: None,
            wanted: WantedData::Nothing,
        }
    }

    /// A reader whose data are wanted.
    pub(crate) fn keeping(io: R) -> Self {
        Reader {
            wanted: WantedData::Frames,
            ..Reader::new(io)
        }
    }

    /// A reader whose data are wanted as they come: no frame is held.
    pub(crate) fn in_pieces(io: R) -> Self {
        Reader {
            wanted: WantedData::Pieces,
            ..Reader::new(io)
        }
    }

    /// What is read from.
    pub(crate) fn into_inner(self) -> R {
        self.io
    }

    /// The next frame, or `None` where the connection ends.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Received>> {
        loop {
            if self.current.is_none() {
                match head(&mut self.received, self.wanted)? {
                    Head::Unfinished => {}
                    Head::Unmasked => return Ok(Some(Received::Unmasked)),
                    Head::Whole(incoming) => self.current = Some(incoming),
                }
            }
            if let Some(incoming) = &mut self.current {
                incoming.take(&mut self.received);
                if incoming.left == 0
                    && let Some(incoming) = self.current.take()
                {
                    return Ok(Some(incoming.finish()));
                }
                if let Some(piece) = self.current.as_mut().and_then(Incoming::piece) {
                    return Ok(Some(Received::Data(piece)));
                }
            }
            self.received.reserve(match self.wanted {
                WantedData::Nothing => READ_UNWANTED,
                WantedData::Frames | WantedData::Pieces => READ,
            });
            if self.io.read_buf(&mut self.received).await? == 0 {
                return Ok(None);
            }
        }
    }
}

enum Head {
    Unfinished,
    Unmasked,
    Whole(Incoming),
}

/// The head of a frame, once all of it has been received.
fn head(received: &mut BytesMut, wanted: WantedData) -> io::Result<Head> {
    let [first, second, ..] = received[..] else {
        return Ok(Head::Unfinished);
    };
    let (is_masked, short) = (second & 0x80 != 0, second & 0x7f);
    let extended = match short {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let size = 2 + extended + if is_masked { 4 } else { 0 };
    if received.len() < size {
        return Ok(Head::Unfinished);
    }
    received.advance(2);
    let length = match extended {
        2 => u64::from(received.get_u16()),
        8 => received.get_u64() & (u64::MAX >> 1),
        _ => u64::from(short),
    };
    if !is_masked {
        return Ok(Head::Unmasked);
    }
    let mut mask = [0; 4];
    received.copy_to_slice(&mut mask);
    let opcode = Opcode::of(first & 0x0f);
    let is_control = opcode.is_some_and(Opcode::is_control);
    if length > MAX_PAYLOAD && !is_control {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too large"));
    }
    Ok(Head::Whole(Incoming {
        opcode,
        mask,
        left: length,
        kept: BytesMut::new(),
        taken: 0,
        in_pieces: !is_control && wanted == WantedData::Pieces,
        most: match (is_control, wanted) {
            (true, _) => MAX_CONTROL,
            (false, WantedData::Nothing) => 0,
            (false, WantedData::Frames | WantedData::Pieces) => usize::MAX,
        },
    }))
}

impl Incoming {
    /// Takes what has been received of the payload.
    fn take(&mut self, received: &mut BytesMut) {
        let length = usize::try_from(self.left).map_or(received.len(), |left| left.min(received.len()));
        let payload = received.split_to(length);
        self.left -= length as u64;
        let begin = self.kept.len();
        let wanted = payload.len().min(self.most - begin);
        self.kept.extend_from_slice(&payload[..wanted]);
        let masks = self.mask.iter().cycle().skip((self.taken + begin) % 4);
        for (byte, mask) in self.kept[begin..].iter_mut().zip(masks) {
            *byte ^= mask;
        }
    }

    /// What is handed out of a frame that goes on.
    fn piece(&mut self) -> Option<Bytes> {
        if !self.in_pieces || self.kept.is_empty() {
            return None;
        }
        self.taken = (self.taken + self.kept.len()) % 4;
        Some(self.kept.split().freeze())
    }

    fn finish(self) -> Received {
        match self.opcode {
            Some(Opcode::Close) => Received::Close,
            Some(Opcode::Ping) => Received::Ping(self.kept.freeze()),
            Some(Opcode::Pong) => Received::Pong,
            Some(Opcode::Continuation | Opcode::Text | Opcode::Binary) | None => Received::Data(self.kept.freeze()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    fn masked(opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let mut frame = write(Opcode::Text, payload);
        frame[0] = 0x80 | opcode;
        frame[1] |= 0x80;
        let head = frame.len() - payload.len();
        for (index, byte) in frame[head..].iter_mut().enumerate() {
            *byte ^= mask[index % 4];
        }
        frame.splice(head..head, mask);
        frame
    }

    async fn received(bytes: &[u8]) -> Vec<String> {
        // One byte at a time: no frame depends on how it is cut.
        let (client, server) = tokio::io::duplex(1);
        let bytes = bytes.to_vec();
        let writing = tokio::spawn(async move {
            let mut client = client;
            let _ = client.write_all(&bytes).await;
        });
        let mut reader = Reader::new(server);
        let mut all = Vec::new();
        loop {
            match reader.next().await {
                Ok(Some(frame)) => all.push(format!("{frame:?}")),
                Ok(None) => break,
                Err(error) => {
                    all.push(error.to_string());
                    break;
                }
            }
        }
        drop(reader);
        let _ = writing.await;
        all
    }

    #[tokio::test]
    async fn frames_are_read_one_by_one_whatever_they_are_cut_into() {
        let mut bytes = masked(1, &vec![b'x'; 70_000]);
        bytes.extend(masked(0, &[0xff; 300]));
        bytes.extend(masked(9, b"hello"));
        bytes.extend(masked(9, &[b'y'; 200]));
        bytes.extend(masked(10, b""));
        bytes.extend(masked(5, b"reserved"));
        bytes.extend(masked(8, b"\x03\xe8"));
        let long = format!("Ping(b\"{}\")", "y".repeat(125));
        assert_eq!(
            received(&bytes).await,
            [
                "Data(b\"\")",
                "Data(b\"\")",
                "Ping(b\"hello\")",
                &long,
                "Pong",
                "Data(b\"\")",
                "Close"
            ]
        );
    }

    #[tokio::test]
    async fn data_are_kept_where_they_are_wanted() {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        client.write_all(&masked(2, &vec![7; 70_000])).await.unwrap();
        client.write_all(&masked(1, b"text")).await.unwrap();
        let mut reader = Reader::keeping(server);
        assert_eq!(
            reader.next().await.unwrap(),
            Some(Received::Data(vec![7; 70_000].into()))
        );
        assert_eq!(reader.next().await.unwrap(), Some(Received::Data("text".into())));
    }

    #[tokio::test]
    async fn pieces_are_handed_out_as_they_come() {
        let sent: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
        // A size that no mask fits into evenly.
        let (mut client, server) = tokio::io::duplex(1021);
        let frames = [
            masked(2, &sent[..150_001]),
            masked(9, b"!"),
            masked(0, &sent[150_001..]),
        ]
        .concat();
        let writing = tokio::spawn(async move { client.write_all(&frames).await });
        let mut reader = Reader::in_pieces(server);
        let (mut all, mut pings) = (Vec::new(), 0);
        while let Some(received) = reader.next().await.unwrap() {
            match received {
                Received::Data(piece) => {
                    assert!(piece.len() <= READ + 1021);
                    all.extend_from_slice(&piece);
                }
                Received::Ping(_) => pings += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(all == sent);
        assert_eq!(pings, 1);
        writing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn frames_that_are_not_masked_or_too_large_end_the_connection() {
        assert_eq!(received(&write(Opcode::Text, b"plain")).await[0], "Unmasked");
        let huge = [&[0x82, 0xff][..], &(40_u64 << 20).to_be_bytes(), &[0; 4]].concat();
        assert_eq!(received(&huge).await, ["the frame is too large"]);
        assert_eq!(received(&masked(1, b"cut")[..5]).await, Vec::<String>::new());
    }

    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        assert_eq!(write(Opcode::Text, b"ab"), [0x81, 2, b'a', b'b']);
        assert_eq!(write(Opcode::Binary, &[0; 126])[..4], [0x82, 126, 0, 126]);
        assert_eq!(
            write(Opcode::Binary, &vec![0; 65_536])[..10],
            [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]
        );
        assert_eq!(close(CloseCode::Normal), [0x88, 2, 3, 0xe8]);
    }
}
