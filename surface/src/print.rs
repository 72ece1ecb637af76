//! Tokens as text on one line, spaced as rustfmt would.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Prints tokens on one line; attributes and trailing commas are left out.
pub(crate) fn one_line(tokens: &impl ToTokens) -> String {
    let mut words = Vec::new();
    flatten(tokens.to_token_stream(), &mut words);
    let mut text = String::new();
    let mut before = "";
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", String::as_str);
        if word == "," && [")", "]", "}", ">"].contains(&next) {
            continue;
        }
        if !text.is_empty() && is_spaced(before, word) {
            text.push(' ');
        }
        text.push_str(word);
        before = word;
    }
    text
}

/// The tokens as words; an operator of two characters is one word.
fn flatten(tokens: TokenStream, words: &mut Vec<String>) {
    let mut joined = String::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) => {
                if punct.as_char() == '#' && matches!(tokens.peek(), Some(TokenTree::Group(_))) {
                    tokens.next();
                    continue;
                }
                joined.push(punct.as_char());
                let goes_on = match (punct.spacing(), tokens.peek()) {
                    (Spacing::Joint, Some(TokenTree::Punct(next))) => {
                        ["::", "->", "=>", "==", ".."].contains(&format!("{joined}{}", next.as_char()).as_str())
                    }
                    (Spacing::Joint, Some(TokenTree::Ident(_))) => joined == "'",
                    _ => false,
                };
                if !goes_on {
                    words.push(std::mem::take(&mut joined));
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(open.to_owned());
                flatten(group.stream(), words);
                words.push(close.to_owned());
            }
            other => words.push(std::mem::take(&mut joined) + &other.to_string()),
        }
    }
    words.retain(|word| !word.is_empty());
}

fn is_spaced(before: &str, word: &str) -> bool {
    let follows_keyword = ["as", "dyn", "for", "impl", "in", "mut", "where"].contains(&before);
    match (before, word) {
        ("(" | "[" | "<" | "::" | "&" | "*" | "?" | "!" | "'", _) => false,
        (_, ")" | "]" | ">" | "," | ";" | ":" | "::" | "?") if before != "->" && word != "?" => false,
        (_, "(") => follows_keyword || !is_name_or_close(before),
        (_, "<" | "!") => !is_name_or_close(before),
        _ => true,
    }
}

fn is_name_or_close(word: &str) -> bool {
    word.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '>' && !word.starts_with(['-', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_printed_as_rustfmt_would() {
        for text in [
            "fn of<K: Object>(&self, key: &ObjectKey) -> Result<Option<View<K>>, Error>",
            "fn each<F>(mut work: F) where F: FnMut(&str, (u8, u8)) -> bool + Send + 'static",
            "fn bytes<'a, T: ?Sized>(from: &'a mut [u8; 4]) -> impl Iterator<Item = <T as Kind>::Name> + use<'a>",
            "fn never() -> !",
            "impl<T> From<&T> for Box<dyn Fn(T) -> (u8,)>",
        ] {
            let tokens: TokenStream = text.parse().unwrap();
            assert_eq!(one_line(&tokens), text.replace(",)", ")"));
        }
    }

    #[test]
    fn attributes_and_trailing_commas_do_not_show() {
        let tokens: TokenStream = "pub struct A<T,> { #[doc = \"x\"] a: T, }".parse().unwrap();
        assert_eq!(one_line(&tokens), "pub struct A<T> { a: T }");
    }
}
