//! Names: the reserved words of the language, and how properties are written as identifiers.
//! A name that is no identifier is escaped as Kubernetes does it, `a-b` as `a__dash__b`.

/// The words an identifier of the language cannot be; a property of such a name is escaped.
pub const RESERVED_WORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a name is a keyword of the language.
pub(crate) fn is_keyword(name: &str) -> bool {
    RESERVED_WORDS.contains(&name)
}

/// Whether a text has the form of an identifier; reserved words have it too.
pub(crate) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The name under which rules see a property; `None` if they cannot.
///
/// ```
/// use kubewright_cel::{escape, unescape};
///
/// assert_eq!(escape("x-kubernetes").as_deref(), Some("x__dash__kubernetes"));
/// assert_eq!(unescape("x__dash__kubernetes").as_deref(), Some("x-kubernetes"));
/// assert_eq!(escape("in").as_deref(), Some("__in__")); // a word of the language
/// assert_eq!(escape("1st"), None);
/// ```
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED_WORDS.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[1..];
    }
    Some(out)
}

/// The property that rules name so; `None` if there can be none.
pub fn unescape(name: &str) -> Option<String> {
    if !name.contains("__") {
        return Some(name.to_owned());
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(start) = rest.find("__") {
        let inner = &rest[start + 2..];
        // An escape is two underscores, something without underscores, two underscores.
        let length = inner.find('_').unwrap_or(inner.len());
        if length == 0 || !inner[length..].starts_with("__") {
            out.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        }
        out.push_str(&rest[..start]);
        let word = &inner[..length];
        match word {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            _ if RESERVED_WORDS.contains(&word) && word.len() + 4 == name.len() => out.push_str(word),
            _ => return None,
        }
        rest = &inner[length + 2..];
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_escaping() {
        for (name, escaped) in [
            ("plain", "plain"),
            ("my_field", "my_field"),
            ("namespace", "__namespace__"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name));
        }
        assert_eq!(escape("1a"), None);
        assert_eq!(escape("a b"), None);
        assert_eq!(unescape("__nothing__"), None);
    }
}
