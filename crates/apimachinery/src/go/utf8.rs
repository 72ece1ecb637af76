//! Bytes that are not UTF-8, as Go's decoders repair them.

use std::borrow::Cow;

/// Replaces every byte that is not part of a character by U+FFFD. (The standard library replaces the longest invalid
/// prefix of a character at once; Go replaces byte by byte.) Valid text is borrowed.
pub fn repair(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::repair;

    #[test]
    fn every_byte_of_a_torn_character_is_replaced() {
        assert_eq!(repair(b"a\xe2\x82b"), "a\u{fffd}\u{fffd}b");
        assert_eq!(repair("ä".as_bytes()), "ä");
    }
}
