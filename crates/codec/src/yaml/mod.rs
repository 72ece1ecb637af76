//! YAML as `sigs.k8s.io/yaml` reads and writes it: YAML 1.1's readings, turned into JSON.

mod build;
mod emit;
mod error;
mod key;
mod parse;
mod scalar;
mod scan;
mod sort;
mod style;
mod timestamp;
mod tree;

use crate::{Decoded, json};
pub use emit::encode;
pub use error::YamlError;
pub use sort::sorted;

/// Reads the first document of a YAML text; what follows it is ignored, as upstream does.
pub fn decode(bytes: &[u8]) -> Result<Decoded, YamlError> {
    if let Some(decoded) = decode_as_json(bytes) {
        return Ok(decoded);
    }
    build::build(&tree::parse(bytes)?)
}

/// Most YAML that clients send is JSON. Where both readings agree, the faster one is taken.
///
/// They disagree on duplicate keys, floats, surrogate pairs, escaped slashes, keys whose colon is on another line and the characters YAML forbids.
fn decode_as_json(bytes: &[u8]) -> Option<Decoded> {
    if bytes.first() != Some(&b'{') || has_escape_read_differently(bytes) || has_colon_on_new_line(bytes) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if text.bytes().any(|byte| byte == 0x7f || byte >= 0x80) && text.chars().any(is_read_differently) {
        return None;
    }
    let decoded = json::decode(bytes).ok()?;
    (decoded.duplicates.is_empty() && decoded.numbers.is_empty()).then_some(decoded)
}

fn is_read_differently(c: char) -> bool {
    matches!(
        c,
        '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

fn has_escape_read_differently(bytes: &[u8]) -> bool {
    bytes
        .windows(3)
        .any(|window| matches!(window, [b'\\', b'u', b'd' | b'D'] | [b'\\', b'/', _]))
}

fn has_colon_on_new_line(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).skip(1);
    lines.any(|line| line.trim_ascii_start().first() == Some(&b':'))
}
