//! Quoted scalars whose further lines are not indented, which YAML 1.1 allows and YAML 1.2 does not.

use crate::json;

/// What indentation may cost before it is given up.
const MAX_ADDED: usize = 4 << 20;

/// Indents the further lines of the quoted scalar that begins at a place (in characters), which changes nothing: a
/// line's leading space is no part of the scalar. `None` when the scalar does not end, or has no further lines.
pub(super) fn indent(text: &str, at: usize) -> Option<String> {
    let (start, quote) = text.char_indices().nth(at)?;
    let end = start + 1 + end_of_content(&text[start + 1..], quote)?;
    let column = start - text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let further_lines = text[start..end].matches('\n').count();
    if further_lines == 0 || further_lines.saturating_mul(column + 1) > MAX_ADDED {
        return None;
    }
    let line_start = format!("\n{}", " ".repeat(column + 1));
    Some(
        [
            &text[..start],
            &text[start..end].replace('\n', &line_start),
            &text[end..],
        ]
        .concat(),
    )
}

/// The line, counted from nought, of the colon behind the first key of a JSON document that goes over a line break, which no key in YAML may.
/// `None` also if something else is wrong before it.
pub(super) fn line_behind_broken_key(text: &str) -> Option<usize> {
    if !text.starts_with('{') || !text.contains('\n') {
        return None;
    }
    let mut open = Vec::new();
    let mut rest = 0;
    while let Some(found) = text[rest..].find(['{', '[', '}', ']', '"']) {
        let at = rest + found;
        rest = at + 1;
        match text.as_bytes()[at] {
            b'"' => {
                let end = rest + end_of_content(&text[rest..], '"')?;
                let behind = text[end + 1..].trim_start_matches([' ', '\t', '\r', '\n']);
                if text[rest..end].contains('\n') && behind.starts_with(':') && open.last() == Some(&b'{') {
                    let is_whole = json::decode(&text.as_bytes()[..at])
                        .is_err_and(|error| error.to_string() == "unexpected end of JSON input");
                    return is_whole.then(|| text[..text.len() - behind.len()].matches('\n').count());
                }
                rest = end + 1;
            }
            bracket @ (b'{' | b'[') => open.push(bracket),
            _ => drop(open.pop()),
        }
    }
    None
}

/// Where the closing quote stands.
fn end_of_content(content: &str, quote: char) -> Option<usize> {
    let mut characters = content.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' if quote == '"' => drop(characters.next()),
            // Two single quotes are one in the text.
            c if c == quote && quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == quote) => {
                characters.next();
            }
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}
