//! The names of fields on the wire, as serde's attributes say them: errors use them.

use proc_macro2::{TokenStream, TokenTree};
use syn::Attribute;

/// How names are rewritten, if they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    AsIs,
    Camel,
    Pascal,
    Kebab,
}

/// The style a type's `#[serde(rename_all = …)]` asks for.
pub(super) fn style(attributes: &[Attribute]) -> Style {
    match serde_text(attributes, "rename_all").as_deref() {
        Some("camelCase") => Style::Camel,
        Some("PascalCase") => Style::Pascal,
        Some("kebab-case") => Style::Kebab,
        _ => Style::AsIs,
    }
}

/// The name of a field.
pub(super) fn name(attributes: &[Attribute], field: &str, style: Style) -> String {
    serde_text(attributes, "rename").unwrap_or_else(|| style.apply(field))
}

impl Style {
    /// A name of Rust in this style.
    pub(super) fn apply(self, field: &str) -> String {
        let field = field.strip_prefix("r#").unwrap_or(field);
        let words = field.split('_').filter(|word| !word.is_empty());
        let capital = |word: &str| {
            let mut letters = word.chars();
            letters
                .next()
                .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        };
        match self {
            Style::AsIs => field.to_owned(),
            Style::Kebab => words.collect::<Vec<_>>().join("-"),
            Style::Pascal => words.map(capital).collect(),
            Style::Camel => {
                let words = words.enumerate();
                words
                    .map(|(at, word)| if at == 0 { word.to_owned() } else { capital(word) })
                    .collect()
            }
        }
    }
}

fn serde_text(attributes: &[Attribute], name: &str) -> Option<String> {
    let serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    serde
        .filter_map(|attribute| attribute.meta.require_list().ok())
        .find_map(|list| text(&list.tokens, name))
}

/// The text given to a name at the top level of a list of attributes.
pub(super) fn text(tokens: &TokenStream, name: &str) -> Option<String> {
    let items = tokens.clone().into_iter().collect::<Vec<_>>();
    let items = items.split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ','));
    items.into_iter().find_map(|item| match item {
        [
            TokenTree::Ident(key),
            TokenTree::Punct(equals),
            TokenTree::Literal(value),
        ] if key == name && equals.as_char() == '=' => {
            let literal: syn::LitStr = syn::parse2(TokenTree::Literal(value.clone()).into()).ok()?;
            Some(literal.value())
        }
        _ => None,
    })
}

/// Whether a name is given anything at the top level of a list of attributes.
pub(super) fn mentions(tokens: &TokenStream, name: &str) -> bool {
    let items = tokens.clone().into_iter().collect::<Vec<_>>();
    let mut items = items.split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ','));
    items.any(|item| matches!(item, [TokenTree::Ident(key), ..] if key == name))
}
