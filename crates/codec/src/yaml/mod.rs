//! YAML as `sigs.k8s.io/yaml` reads and writes it: YAML 1.1's readings, turned into JSON.

mod build;
mod emit;
mod error;
mod key;
mod lookahead;
mod quoted;
mod scalar;
mod sort;
mod style;
mod timestamp;
mod tree;

use std::borrow::Cow;

use crate::{Decoded, json};
pub use emit::encode;
pub use error::YamlError;
pub use sort::sorted;

/// Reads the first document of a YAML text; what follows it is ignored, as upstream does.
pub fn decode(bytes: &[u8]) -> Result<Decoded, YamlError> {
    if let Some(decoded) = decode_as_json(bytes) {
        return Ok(decoded);
    }
    let mut text = Cow::Borrowed(tree::readable(bytes)?);
    if let Some(line) = quoted::line_behind_broken_key(&text) {
        return Err(YamlError::yaml(format_args!(
            "line {line}: did not find expected ',' or '}}'"
        )));
    }
    for _ in 0..MAX_INDENTATIONS {
        let outcome = tree::parse(&text).map(|tree| build::build(&tree));
        let refusal = match outcome {
            Ok(built) => return built,
            Err(refusal) => refusal,
        };
        match refusal.outdented_quote.and_then(|at| quoted::indent(&text, at)) {
            Some(indented) => text = Cow::Owned(indented),
            None => return Err(refusal.error),
        }
    }
    tree::parse(&text)
        .map_err(|refusal| refusal.error)
        .and_then(|tree| build::build(&tree))
}

/// How many quoted scalars are indented for the parser before its error is reported.
const MAX_INDENTATIONS: usize = 16;

/// Most YAML that clients send is JSON. Where both readings agree, the faster one is taken.
///
/// They disagree on duplicate keys, floats, surrogate pairs, escaped slashes and the characters YAML forbids.
fn decode_as_json(bytes: &[u8]) -> Option<Decoded> {
    if bytes.first() != Some(&b'{') || has_escape_read_differently(bytes) {
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
