//! The writer: compact JSON with Go's escapes, and Go's indentation.

pub use kubewright_apimachinery::go::json::{write, write_string};

/// Appends compact JSON indented by two spaces, as upstream answers `?pretty=true`, curl and browsers.
///
/// The text is not parsed: nothing but the space between tokens changes.
pub fn indent(compact: &[u8], out: &mut Vec<u8>) {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut opened = false;
    for &byte in compact {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if opened && !matches!(byte, b']' | b'}') {
            depth += 1;
            new_line(depth, out);
        }
        let was_opened = std::mem::take(&mut opened);
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                opened = true;
            }
            b'}' | b']' => {
                if !was_opened {
                    depth = depth.saturating_sub(1);
                    new_line(depth, out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            byte => {
                in_string = byte == b'"';
                out.push(byte);
            }
        }
    }
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}
