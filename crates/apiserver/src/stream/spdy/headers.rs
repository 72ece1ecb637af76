//! Header blocks: names and values, compressed over all frames of a direction with one zlib stream.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::dictionary;
use super::frame::Error;

/// How many bytes a block may have once it is decompressed. What Kubernetes sends has a hundred.
const MAX_BLOCK: usize = 64 * 1024;
/// How many headers a block may have.
const MAX_HEADERS: usize = 128;
/// How many bytes are compressed or decompressed in one go.
const PIECE: usize = 1024;

/// The headers of a stream, with names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// The value of a header, whose name is written in lower case; empty if it is not there.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    #[cfg(test)]
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Headers(owned.collect())
    }

    /// The block of these headers, before it is compressed.
    fn block(&self) -> Vec<u8> {
        let mut block = Vec::new();
        block.extend_from_slice(&(self.0.len() as u32).to_be_bytes());
        for text in self.0.iter().flat_map(|(name, value)| [name, value]) {
            block.extend_from_slice(&(text.len() as u32).to_be_bytes());
            block.extend_from_slice(text.as_bytes());
        }
        block
    }

    /// Reads a block. Several values of a header are separated by a zero byte, of which the first counts.
    fn parse(block: &[u8]) -> Result<Self, Error> {
        let mut rest = block;
        let count = take_length(&mut rest)?;
        if count > MAX_HEADERS {
            return Err(Error::TooManyHeaders);
        }
        let mut headers = Vec::with_capacity(count);
        for _ in 0..count {
            let name = take_text(&mut rest)?.to_ascii_lowercase();
            let mut value = take_text(&mut rest)?;
            if let Some(first) = value.find('\0') {
                value.truncate(first);
            }
            headers.push((name, value));
        }
        if !rest.is_empty() {
            return Err(Error::MalformedHeaders);
        }
        Ok(Headers(headers))
    }
}

fn take_length(rest: &mut &[u8]) -> Result<usize, Error> {
    let (length, behind) = rest.split_first_chunk::<4>().ok_or(Error::MalformedHeaders)?;
    *rest = behind;
    Ok(u32::from_be_bytes(*length) as usize)
}

fn take_text(rest: &mut &[u8]) -> Result<String, Error> {
    let length = take_length(rest)?;
    let (text, behind) = rest.split_at_checked(length).ok_or(Error::MalformedHeaders)?;
    *rest = behind;
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Compresses the header blocks of a direction.
pub(super) struct Compressor(Compress);

impl Compressor {
    pub(super) fn new() -> Self {
        let mut stream = Compress::new(Compression::best(), true);
        // A stream that has not begun takes any dictionary.
        let _ = stream.set_dictionary(&dictionary::text());
        Compressor(stream)
    }

    pub(super) fn compress(&mut self, headers: &Headers) -> Vec<u8> {
        let block = headers.block();
        let mut compressed = Vec::with_capacity(PIECE);
        let begin = self.0.total_in();
        loop {
            let done = usize::try_from(self.0.total_in() - begin).unwrap_or(block.len());
            let before = compressed.len();
            let ended = self
                .0
                .compress_vec(&block[done..], &mut compressed, FlushCompress::Sync);
            // Room that was left says that everything has been flushed.
            if ended.is_err()
                || (done == block.len() && before == compressed.len())
                || compressed.len() < compressed.capacity()
            {
                return compressed;
            }
            compressed.reserve(PIECE);
        }
    }
}

/// Decompresses the header blocks of a direction.
pub(super) struct Decompressor(Decompress);

impl Decompressor {
    pub(super) fn new() -> Self {
        Decompressor(Decompress::new(true))
    }

    /// The headers of a block. The stream cannot be used after an error.
    pub(super) fn decompress(&mut self, compressed: &[u8]) -> Result<Headers, Error> {
        let mut block = Vec::with_capacity(PIECE);
        let begin = self.0.total_in();
        loop {
            let done = usize::try_from(self.0.total_in() - begin).unwrap_or(compressed.len());
            let (before, full) = (block.len(), block.capacity());
            match self
                .0
                .decompress_vec(&compressed[done..], &mut block, FlushDecompress::Sync)
            {
                Ok(Status::Ok | Status::BufError) => {
                    let consumed = usize::try_from(self.0.total_in() - begin).unwrap_or(compressed.len());
                    let moved = consumed > done || block.len() > before;
                    if consumed == compressed.len() && block.len() < full {
                        return Headers::parse(&block);
                    }
                    if !moved && block.len() < full {
                        return Err(Error::MalformedHeaders);
                    }
                }
                Err(error) if error.needs_dictionary().is_some() => {
                    self.0
                        .set_dictionary(&dictionary::text())
                        .map_err(|_| Error::MalformedHeaders)?;
                }
                // The stream has no end.
                Ok(Status::StreamEnd) | Err(_) => return Err(Error::MalformedHeaders),
            }
            if block.len() > MAX_BLOCK {
                return Err(Error::TooLarge);
            }
            if block.len() == block.capacity() {
                block.reserve(PIECE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_survive_compression_whatever_they_are(
            blocks in prop::collection::vec(prop::collection::vec(("[a-z:-]{0,20}", "[ -~]{0,300}"), 0..20), 1..6),
        ) {
            let (mut compressor, mut decompressor) = (Compressor::new(), Decompressor::new());
            for block in blocks {
                let headers = Headers(block);
                let compressed = compressor.compress(&headers);
                prop_assert_eq!(decompressor.decompress(&compressed).unwrap(), headers);
            }
        }

        #[test]
        fn bytes_that_are_no_headers_are_an_error_and_nothing_else(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Decompressor::new().decompress(&bytes);
            let _ = Headers::parse(&bytes);
        }
    }

    /// The first header block that Go's package writes for `streamType: error`.
    #[test]
    fn a_block_of_another_implementation_is_read() {
        let block = [
            0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x62, 0x60, 0x60, 0x60, 0x04, 0xa7, 0xb3, 0x92, 0xa2, 0xd4, 0xc4, 0x5c,
            0x68, 0x51, 0xc2, 0x9a, 0x0a, 0x0a, 0x68, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
        ];
        let headers = Decompressor::new().decompress(&block).unwrap();
        assert_eq!(headers, Headers::of(&[("streamtype", "error")]));
    }

    #[test]
    fn a_block_that_grows_without_end_is_refused() {
        let huge = Headers(vec![("a".to_owned(), "x".repeat(10 * MAX_BLOCK))]);
        let compressed = Compressor::new().compress(&huge);
        assert!(compressed.len() < 4096, "{}", compressed.len());
        assert_eq!(Decompressor::new().decompress(&compressed), Err(Error::TooLarge));
        let many = Headers(vec![(String::new(), String::new()); MAX_HEADERS + 1]);
        let compressed = Compressor::new().compress(&many);
        assert_eq!(Decompressor::new().decompress(&compressed), Err(Error::TooManyHeaders));
    }

    #[test]
    fn the_first_of_several_values_counts_and_names_are_in_lower_case() {
        let headers = Headers::of(&[("StreamType", "data\0error"), ("Port", "80")]);
        let read = Headers::parse(&headers.block()).unwrap();
        assert_eq!(
            (read.get("streamtype"), read.get("port"), read.get("none")),
            ("data", "80", "")
        );
    }
}
