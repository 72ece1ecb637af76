//! Shortens the descriptions of a definition: those of a Pod template alone take 300 kB.

use serde_json::{Map, Value};

/// How much of the descriptions is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Descriptions {
    /// All of them.
    #[default]
    Whole,
    /// So many bytes of each, cut behind a sentence where there is one, else behind a word.
    UpTo(usize),
    /// None.
    Dropped,
}

impl Descriptions {
    /// Shortens the descriptions of a structural schema.
    pub fn cut(self, schema: &mut Value) {
        let most = match self {
            Descriptions::Whole => return,
            Descriptions::UpTo(most) => most,
            Descriptions::Dropped => 0,
        };
        if let Value::Object(schema) = schema {
            cut(schema, most);
        }
    }
}

fn cut(schema: &mut Map<String, Value>, most: usize) {
    if most == 0 {
        schema.remove("description");
    } else if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = shortened(description, most);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            cut(property, most);
        }
    }
    for within in ["items", "additionalProperties"] {
        if let Some(Value::Object(within)) = schema.get_mut(within) {
            cut(within, most);
        }
    }
}

fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let text = &text[..text.floor_char_boundary(most)];
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '｡' | '؟' | '।');
    if let Some((at, end)) = text.char_indices().rfind(|(at, c)| *at > 0 && is_end(*c)) {
        return text[..at + end.len_utf8()].to_owned();
    }
    match text.rfind(char::is_whitespace) {
        Some(at) if at > 0 => format!("{}...", &text[..at]),
        _ => format!("{text}..."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_ends_with_a_sentence_or_a_word() {
        assert_eq!(shortened("Short.", 20), "Short.");
        assert_eq!(shortened("One. Two three", 8), "One.");
        assert_eq!(shortened("one two three", 9), "one two...");
        assert_eq!(shortened("unbreakable", 4), "unbr...");
        assert_eq!(shortened("öffnen", 1), "...");
    }
}
