//! PEM with the rules of Go's `encoding/pem`.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem;

/// Base64 as Go decodes it: bits behind the last byte are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// A block of PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its type: `CERTIFICATE`.
    pub kind: String,
    /// Whether it has headers, such as those of an encrypted key.
    pub has_headers: bool,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Reads the first block and returns it with the text behind it. Text before the block is skipped. `None` where there is no block.
pub fn decode(pem: &[u8]) -> Option<(Block, &[u8])> {
    let mut rest = pem;
    loop {
        let end = memmem::find(rest, END)?;
        let (before, after) = (&rest[..end], &rest[end + END.len()..]);
        if let Some(found) = block(before, after) {
            return Some(found);
        }
        rest = after;
    }
}

/// Reads all blocks.
pub fn blocks(pem: &[u8]) -> impl Iterator<Item = Block> {
    let mut rest = pem;
    std::iter::from_fn(move || {
        let (block, after) = decode(rest)?;
        rest = after;
        Some(block)
    })
}

/// Writes a block with lines of 64 characters.
pub fn encode(kind: &str, bytes: &[u8]) -> String {
    let base64 = BASE64.encode(bytes);
    let mut text = format!("-----BEGIN {kind}-----\n");
    for line in base64.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str("-----END ");
    text.push_str(kind);
    text.push_str("-----\n");
    text
}

/// Reads the last block that begins in `before`, if `after` has the rest of its END line.
fn block<'p>(before: &[u8], after: &'p [u8]) -> Option<(Block, &'p [u8])> {
    let begin = memmem::rfind(before, BEGIN)?;
    if begin > 0 && before[begin - 1] != b'\n' {
        return None;
    }
    let (first, mut body) = line(&before[begin + BEGIN.len()..]);
    let kind = first.strip_suffix(DASHES)?;
    let mut has_headers = false;
    while let Some(rest) = body {
        let (header, next) = line(rest);
        if !header.contains(&b':') {
            break;
        }
        has_headers = true;
        body = next;
    }
    // Go requires a line between the headers and the END line.
    if has_headers && body.is_none() {
        return None;
    }
    let (trailer, rest) = line(after);
    if trailer.strip_prefix(kind) != Some(DASHES) {
        return None;
    }
    let mut base64 = body.unwrap_or_default().to_vec();
    base64.retain(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let block = Block {
        kind: String::from_utf8_lossy(kind).into_owned(),
        has_headers,
        bytes: BASE64.decode(base64).ok()?,
    };
    Some((block, rest.unwrap_or_default()))
}

/// The first line without trailing spaces, and the text behind its line break, if it has one.
fn line(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let (line, rest) = match memchr::memchr(b'\n', text) {
        Some(at) => (
            text[..at].strip_suffix(b"\r").unwrap_or(&text[..at]),
            Some(&text[at + 1..]),
        ),
        None => (text, None),
    };
    let length = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
    (&line[..length.map_or(0, |last| last + 1)], rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(pem: &str) -> Vec<String> {
        blocks(pem.as_bytes()).map(|block| block.kind).collect()
    }

    #[test]
    fn a_block_is_read_and_what_surrounds_it_is_not() {
        let text = "words\n-----BEGIN A-----\nAAEC\n-----END A-----\nrest\n";
        let (block, rest) = decode(text.as_bytes()).unwrap();
        assert_eq!(
            (block.kind.as_str(), block.has_headers, block.bytes),
            ("A", false, vec![0, 1, 2])
        );
        assert_eq!(rest, b"rest\n");
    }

    #[test]
    fn lines_may_end_in_spaces_and_carriage_returns() {
        let text = "-----BEGIN A----- \r\nAA\t EC\r\n-----END A-----\t\r\n";
        assert_eq!(decode(text.as_bytes()).unwrap().0.bytes, [0, 1, 2]);
    }

    #[test]
    fn headers_are_told_and_need_a_line_behind_them() {
        let text = "-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nAAEC\n-----END A-----\n";
        let (block, _) = decode(text.as_bytes()).unwrap();
        assert!(block.has_headers);
        assert_eq!(block.bytes, [0, 1, 2]);
        assert!(kinds("-----BEGIN A-----\nName: x\n-----END A-----\n").is_empty());
        assert_eq!(kinds("-----BEGIN A-----\nName: x\n\n-----END A-----\n"), ["A"]);
    }

    #[test]
    fn what_is_not_a_block_is_skipped() {
        let good = "-----BEGIN B-----\nAAEC\n-----END B-----";
        for bad in [
            "-----BEGIN A-----\nAAEC\n-----END B-----\n",
            "-----BEGIN A-----\n????\n-----END A-----\n",
            "-----BEGIN A-----\nAAEC\n-----END A----- words\n",
            "-----BEGIN A-----\n",
            "words -----BEGIN A-----\nAAEC\n-----END A-----\n",
            "-----BEGIN A\nAAEC\n-----END A-----\n",
            "",
        ] {
            assert_eq!(kinds(&format!("{bad}{good}")), ["B"], "{bad}");
        }
        assert_eq!(kinds("-----BEGIN A-----\n-----END A-----"), ["A"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = encode("A B", &bytes);
            prop_assert!(text.lines().all(|line| line.len() <= 64));
            let (block, rest) = decode(text.as_bytes()).unwrap();
            prop_assert_eq!((block.kind.as_str(), block.bytes, rest.len()), ("A B", bytes, 0));
        }

        #[test]
        fn any_text_is_read_without_a_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec!["-----BEGIN ", "-----END ", "-----", "A", "\n", "\r\n", "AAEC", ": ", " "]), 0..40,
            )
        ) {
            let _ = blocks(parts.concat().as_bytes()).count();
        }
    }
}
