//! Base64 as Go's standard decoder takes it: line breaks are skipped, unused bits ignored, errors counted in input bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn value_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

fn is_line_break(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// The text as Go's encoder would write it, `None` if it is that already; the position of the offending byte otherwise.
pub(super) fn canonical(text: &str) -> Result<Option<String>, usize> {
    let input = text.as_bytes();
    let mut at = 0;
    let mut canonical = true;
    loop {
        let mut digits = 0;
        let mut last = 0;
        while digits < 4 {
            let Some(&byte) = input.get(at) else {
                if digits == 0 {
                    return Ok((!canonical).then(|| rewrite(input)));
                }
                return Err(at - digits);
            };
            at += 1;
            if let Some(value) = value_of(byte) {
                last = value;
                digits += 1;
            } else if is_line_break(byte) {
                canonical = false;
            } else if byte == b'=' && digits >= 2 {
                let unused = if digits == 2 { 0b1111 } else { 0b11 };
                canonical &= last & unused == 0;
                padding(input, &mut at, digits, &mut canonical)?;
                return Ok((!canonical).then(|| rewrite(input)));
            } else {
                return Err(at - 1);
            }
        }
    }
}

/// Checks what follows the first `=`: another one after two digits, then nothing but line breaks.
fn padding(input: &[u8], at: &mut usize, digits: usize, canonical: &mut bool) -> Result<(), usize> {
    let mut skip = |at: &mut usize| {
        while input.get(*at).is_some_and(|byte| is_line_break(*byte)) {
            *at += 1;
            *canonical = false;
        }
    };
    if digits == 2 {
        skip(at);
        match input.get(*at) {
            None => return Err(input.len()),
            Some(b'=') => *at += 1,
            Some(_) => return Err(*at - 1),
        }
    }
    skip(at);
    if *at < input.len() { Err(*at) } else { Ok(()) }
}

/// What [`canonical`] found well-formed, encoded again.
fn rewrite(input: &[u8]) -> String {
    encode(&bytes_of(input))
}

/// The bytes of what [`canonical`] found well-formed.
fn bytes_of(input: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = input.iter().filter_map(|byte| value_of(*byte)).collect();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for position in 0..4 {
            bits = bits << 6 | u32::from(group.get(position).copied().unwrap_or(0));
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// The bytes, or the position of the offending byte.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    canonical(text).map(|_| bytes_of(text.as_bytes()))
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut bits = [0u8; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for position in 0..4 {
            let digit = (bits >> (18 - 6 * position)) & 63;
            text.push(if position <= group.len() {
                char::from(ALPHABET[digit as usize])
            } else {
                '='
            });
        }
    }
    text
}
