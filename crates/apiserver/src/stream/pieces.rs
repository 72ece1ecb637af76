//! Reading in pieces that are as large as what comes: a stream that is silent holds next to nothing.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How large the first piece may be.
const SMALLEST: usize = 512;
/// How large a piece may become.
const LARGEST: usize = 32 * 1024;

/// Reads pieces of a stream.
pub(crate) struct Pieces<R> {
    from: R,
    buffer: BytesMut,
    size: usize,
}

impl<R: AsyncRead + Unpin> Pieces<R> {
    pub(crate) fn of(from: R) -> Self {
        Pieces {
            from,
            buffer: BytesMut::new(),
            size: SMALLEST,
        }
    }

    /// The next piece, or `None` at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        self.buffer.reserve(self.size);
        let limit = self.size as u64;
        let read = (&mut self.from).take(limit).read_buf(&mut self.buffer).await?;
        if read == 0 {
            return Ok(None);
        }
        if read == self.size {
            self.size = (self.size * 2).min(LARGEST);
        }
        Ok(Some(self.buffer.split().freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_grow_with_what_comes() {
        let sent: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut pieces = Pieces::of(&sent[..]);
        let (mut all, mut sizes) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.next().await.unwrap() {
            sizes.push(piece.len());
            all.extend_from_slice(&piece);
        }
        assert_eq!(all, sent);
        assert_eq!(sizes[..2], [SMALLEST, 2 * SMALLEST]);
        assert_eq!(sizes.iter().max(), Some(&LARGEST));
    }
}
