//! Printer columns and the scale subresource: kube's forms, and forms that read well.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Error, Lit, LitInt, LitStr, Token};

use super::keys::text;
use crate::words;

/// `printcolumn(name = "Age", type = "date", json_path = ".metadata.creationTimestamp")`, or kube's JSON.
pub(super) fn printcolumn(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    if meta.input.peek(Token![=]) {
        let json = text(meta)?;
        return Ok(quote!(printcolumn = #json));
    }
    let (mut name, mut ty, mut path) = (None, None, None);
    let mut rest = Vec::new();
    meta.parse_nested_meta(|meta| {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "name" => name = Some(text(&meta)?),
            "type" | "type_" => ty = Some(column_type(&meta)?),
            "json_path" => path = Some(json_path(&meta)?),
            "description" | "format" => {
                let (key, value) = (&meta.path, text(&meta)?);
                rest.push(quote!(#key = #value));
            }
            "priority" => {
                let value: LitInt = meta.value()?.parse()?;
                value.base10_parse::<i32>()?;
                rest.push(quote!(priority = #value));
            }
            _ => {
                let known = ["name", "type", "json_path", "description", "format", "priority"];
                return Err(words::unknown(&meta.path, &known));
            }
        }
        Ok(())
    })?;
    let missing = |key: &str| {
        let example = r#"printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas")"#;
        meta.error(format!("a column needs `{key}`: {example}"))
    };
    let name = name.ok_or_else(|| missing("name"))?;
    let ty = ty.ok_or_else(|| missing("type"))?;
    let path = path.ok_or_else(|| missing("json_path"))?;
    Ok(quote!(printcolumn(name = #name, type_ = #ty, json_path = #path #(, #rest)*)))
}

fn column_type(meta: &ParseNestedMeta<'_>) -> Result<LitStr, Error> {
    const TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];
    let value = text(meta)?;
    if TYPES.contains(&value.value().as_str()) {
        return Ok(value);
    }
    Err(Error::new(value.span(), words::not_known(&value.value(), &TYPES)))
}

fn json_path(meta: &ParseNestedMeta<'_>) -> Result<LitStr, Error> {
    let path = text(meta)?;
    check_path(&path)?;
    Ok(path)
}

pub(super) fn check_path(path: &LitStr) -> Result<(), Error> {
    if path.value().starts_with('.') {
        return Ok(());
    }
    let message = format!("a path begins with a dot: \".{}\"", path.value());
    Err(Error::new(path.span(), message))
}

/// `scale`, `scale(spec_replicas = ".spec.replicas", status_replicas = …, label_selector = …)`, or kube's JSON.
pub(super) fn scale(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    if meta.input.peek(Token![=]) {
        let json = text(meta)?;
        return Ok(quote!(scale = #json));
    }
    let usual = |path: &str| Lit::Str(LitStr::new(path, proc_macro2::Span::call_site()));
    let (mut spec, mut status) = (usual(".spec.replicas"), usual(".status.replicas"));
    let mut selector = None;
    if meta.input.peek(syn::token::Paren) {
        meta.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match key.as_str() {
                "spec_replicas" | "spec_replicas_path" => spec = Lit::Str(json_path(&meta)?),
                "status_replicas" | "status_replicas_path" => status = Lit::Str(json_path(&meta)?),
                "label_selector" | "label_selector_path" => selector = Some(json_path(&meta)?),
                _ => {
                    let known = ["spec_replicas", "status_replicas", "label_selector"];
                    return Err(words::unknown(&meta.path, &known));
                }
            }
            Ok(())
        })?;
    }
    let selector = selector.map(|path| quote!(, label_selector_path = #path));
    Ok(quote!(scale(spec_replicas_path = #spec, status_replicas_path = #status #selector)))
}
