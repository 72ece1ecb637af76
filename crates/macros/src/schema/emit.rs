//! Markers as the code that puts them into the schema: an attribute for `schemars`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, parse_quote};

use super::markers::Markers;

/// Properties of a schema in addition to the user's markers.
#[derive(Default)]
pub(crate) struct Facts {
    /// The field is an `Option`: that it may be null is not meant.
    pub(crate) is_option: bool,
    /// Fields that are required though they are options or have defaults.
    pub(crate) required: Vec<String>,
    /// Rules that come before those of the user.
    pub(crate) before: Vec<TokenStream>,
    /// Rules that come after them.
    pub(crate) after: Vec<TokenStream>,
}

/// The attribute that marks the schema of what is written at `at`.
pub(crate) fn attribute(markers: &Markers, facts: &Facts, at: Span) -> Attribute {
    let line = at.start().line;
    let (before, after) = (&facts.before, &facts.after);
    let mut parts = parts(markers, before, after);
    parts.push(quote!("source": ::core::concat!(::core::file!(), ":", #line)));
    if facts.is_option {
        parts.push(quote!("option": true));
    }
    if !facts.required.is_empty() {
        let required = &facts.required;
        parts.push(quote!("required": [#(#required),*]));
    }
    parse_quote!(#[schemars(transform = ::kubewright::support::mark(::kubewright::serde_json::json!({ #(#parts),* })))])
}

fn parts(markers: &Markers, before: &[TokenStream], after: &[TokenStream]) -> Vec<TokenStream> {
    let mut parts = Vec::new();
    let mut keywords: Vec<TokenStream> = markers
        .keywords
        .iter()
        .map(|(keyword, value)| quote!(#keyword: #value))
        .collect();
    let says = |wanted: &str| markers.keywords.iter().any(|(keyword, _)| *keyword == wanted);
    if says("x-kubernetes-list-map-keys") && !says("x-kubernetes-list-type") {
        keywords.push(quote!("x-kubernetes-list-type": "map"));
    }
    if !keywords.is_empty() {
        parts.push(quote!("keywords": { #(#keywords),* }));
    }
    let rules: Vec<&TokenStream> = before.iter().chain(&markers.rules).chain(after).collect();
    if !rules.is_empty() {
        parts.push(quote!("rules": [#(#rules),*]));
    }
    for (name, inside) in [("items", &markers.items), ("values", &markers.values)] {
        if let Some(inside) = inside {
            let inside = self::parts(inside, &[], &[]);
            parts.push(quote!(#name: { #(#inside),* }));
        }
    }
    let flags = [
        ("nonEmpty", markers.says("non_empty")),
        ("anew", markers.says("schemaless") || markers.says("int_or_string")),
        ("embedded", markers.says("embedded_resource")),
    ];
    for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
        parts.push(quote!(#name: true));
    }
    parts
}
