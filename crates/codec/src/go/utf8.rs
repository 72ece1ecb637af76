//! Bytes that are not UTF-8.

use std::borrow::Cow;

/// Replaces every byte that is not part of a character by U+FFFD. (The standard library replaces the longest invalid
/// prefix of a character at once; Go replaces byte by byte.)
pub(crate) fn repair(bytes: &[u8]) -> Cow<'_, str> {
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
