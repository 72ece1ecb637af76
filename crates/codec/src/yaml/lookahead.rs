//! What Go's scanner has read before its parser looks at a flow collection.
//!
//! The bracket that begins a document may be the key of a mapping. As long as that is possible, on its line and for
//! 1024 characters, the scanner goes on, and what it cannot read there is told before any mistake of the parser.

/// How far behind its beginning a key may end.
const LONGEST_KEY: usize = 1024;

/// Whether the scanner, while it reads ahead, meets a quoted text without an end.
pub(super) fn meets_open_quote(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let Some(begin) = characters.iter().position(|c| !c.is_whitespace()) else {
        return false;
    };
    let mut at = begin;
    // Looked at behind each token, so that the last one may be on another line.
    while at <= begin + LONGEST_KEY && !characters[begin..at].contains(&'\n') {
        while characters.get(at).is_some_and(|c| c.is_whitespace()) {
            at += 1;
        }
        match characters.get(at) {
            Some('{' | '[' | '}' | ']' | ',' | ':' | '?') => at += 1,
            Some(&quote @ ('"' | '\'')) => match end_of_quoted(&characters, at, quote) {
                Some(end) => at = end,
                None => return true,
            },
            // Comments, anchors, tags and the like have mistakes of their own.
            None | Some('#' | '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`') => return false,
            Some(_) => at = end_of_plain(&characters, at),
        }
    }
    false
}

/// What is behind a quoted text, if that ends. An escape that there is not is a mistake of its own, and an end here.
fn end_of_quoted(characters: &[char], begin: usize, quote: char) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        match (*characters.get(at)?, quote) {
            ('\\', '"') => at += 2,
            ('\'', '\'') if characters.get(at + 1) == Some(&'\'') => at += 2,
            (character, _) if character == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// What is behind a plain text inside of brackets.
fn end_of_plain(characters: &[char], begin: usize) -> usize {
    let is_blank = |at: usize| characters.get(at).is_none_or(|c| c.is_whitespace());
    let mut at = begin;
    while !is_blank(at) {
        match characters[at] {
            ',' | '?' | '[' | ']' | '{' | '}' => break,
            ':' if is_blank(at + 1) => break,
            _ => at += 1,
        }
    }
    at.max(begin + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_without_an_end_is_met_on_the_first_line() {
        for text in [
            r#"{:""#,
            r#"{"apiV"rsion":"v1","kin"#,
            r#"{"a":'b"#,
            r#"  [1, "it's, \"]"#,
            r#"{"a" b, "c"#,
            "{\"a\" b,\n\"c",
        ] {
            assert!(meets_open_quote(text), "{text}");
        }
        let long = format!("{{\"a\" b, \"{}\", \"c", "x".repeat(LONGEST_KEY));
        for text in [
            "",
            r#"{"a" b, "c"}"#,
            r#"{"a" b 'it''s'}"#,
            "{\"a\" b,\nc, \"d",
            "{\"a\nb\" c, \"d",
            "{a\"b: c",
            "{*a, \"b",
            &long,
        ] {
            assert!(!meets_open_quote(text), "{text}");
        }
    }
}
