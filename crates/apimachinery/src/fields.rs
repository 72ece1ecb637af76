//! Field selectors, as `k8s.io/apimachinery/pkg/fields` reads them: `metadata.name=a,status.phase!=Running`.
//!
//! ```
//! use kubewright_apimachinery::fields::{self, Requirement};
//!
//! let requirements = fields::parse(r"status.phase!=Running,metadata.name=a\,b").unwrap();
//! assert_eq!(requirements[0], Requirement { field: "metadata.name", is_equal: true, value: "a,b".to_owned() });
//! assert!(requirements[1].matches("Pending"));
//! assert!(fields::parse("metadata.name=a=b").is_err());
//! ```

/// What one field must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement<'a> {
    /// The name of the field.
    pub field: &'a str,
    /// Whether the field must have the value, or must not.
    pub is_equal: bool,
    /// The value.
    pub value: String,
}

impl Requirement<'_> {
    /// Whether a value of the field meets the requirement.
    pub fn matches(&self, value: &str) -> bool {
        (self.value == value) == self.is_equal
    }
}

/// The requirements of a selector, in the order in which upstream reads them: sorted by their text. The error is its
/// sentence.
pub fn parse(selector: &str) -> Result<Vec<Requirement<'_>>, String> {
    let mut terms = split(selector);
    terms.sort_unstable();
    let terms = terms.into_iter().filter(|term| !term.is_empty());
    terms
        .map(|term| {
            let (field, is_equal, value) =
                parts(term).ok_or_else(|| format!("invalid selector: '{selector}'; can't understand '{term}'"))?;
            let value = unescape(value)?;
            Ok(Requirement { field, is_equal, value })
        })
        .collect()
}

fn split(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parts(term: &str) -> Option<(&str, bool, &str)> {
    let at = term
        .char_indices()
        .find(|(at, _)| term[*at..].starts_with('=') || term[*at..].starts_with("!="))?
        .0;
    let (field, rest) = term.split_at(at);
    let (is_equal, value) = match rest.strip_prefix("!=") {
        Some(value) => (false, value),
        None => (
            true,
            rest.strip_prefix("==")
                .or_else(|| rest.strip_prefix('='))
                .unwrap_or(rest),
        ),
    };
    Some((field, is_equal, value))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                Some(c) => return Err(format!("invalid field selector: invalid escape sequence: \\{c}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_in_the_words_of_kubernetes() {
        for (selector, error) in [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=\", r"invalid field selector: invalid escape sequence: \"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ] {
            assert_eq!(parse(selector), Err(error.to_owned()));
        }
        assert_eq!(parse(",,"), Ok(Vec::new()));
    }

    proptest::proptest! {
        #[test]
        fn no_selector_panics(text in ".*", list in r"(metadata\.name|status\.phase|[=!,\\])*") {
            let _ = (parse(&text), parse(&list));
        }
    }
}
