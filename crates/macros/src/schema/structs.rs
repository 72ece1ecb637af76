//! Structs: their fields, and the markers of the whole type.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataStruct, DeriveInput, Error, Fields, parse_quote};

use super::case::Case;
use super::emit::{self, Facts};
use super::fields::{self, FieldContext, FieldParent, PreparedField};
use super::markers::{Group, MarkerPosition, Markers};
use super::{PreparedType, Settings, all, rules, serde, suits, written};
use crate::words;

pub(super) fn settle(
    input: &mut DeriveInput,
    container: &serde::Container,
    settings: &Settings,
) -> Result<PreparedType, Error> {
    let markers = Markers::take(&mut input.attrs, MarkerPosition::Type);
    let Data::Struct(DataStruct { fields, .. }) = &mut input.data else {
        return Err(Error::new_spanned(&input.ident, "expected a struct"));
    };
    let has_names = matches!(fields, Fields::Named(_));
    if fields.len() > 1 && !has_names && !container.is_another {
        let message = "a tuple has no schema that Kubernetes takes: give the fields names";
        return Err(Error::new_spanned(fields, message));
    }
    let path = fields::expression_path(&input.ident, &input.generics);
    let around = FieldContext {
        of: if has_names && !container.is_transparent {
            FieldParent::Struct
        } else {
            FieldParent::Tuple
        },
        path: &path,
        prefix: String::new(),
        case: Some(container.rename_all.unwrap_or(Case::Camel)),
        optional: settings.optional,
        default: container
            .has_default
            .then(|| match &container.default {
                Some(function) => written::call(function),
                None => Ok(quote!(<Self as ::core::default::Default>::default())),
            })
            .transpose()?,
    };
    // Errors of the type and of its fields are reported together.
    let known = all(fields.iter_mut().map(|field| fields::settle(field, &around)));
    let (markers, known) = match (markers, known) {
        (Ok(markers), Ok(known)) => (markers, known),
        (Err(mut error), Err(more)) => {
            error.combine(more);
            return Err(error);
        }
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => return Err(error),
    };
    if let (false, Some(only)) = (has_names, fields.iter().next()) {
        suits::check(&markers, &only.ty)?;
    }
    let facts = facts(&markers, &known)?;
    if has_names && container.rename_all.is_none() {
        input.attrs.push(parse_quote!(#[serde(rename_all = "camelCase")]));
    }
    input.attrs.push(emit::attribute(&markers, &facts, input.ident.span()));
    let functions: TokenStream = known.iter().map(|known| known.functions.clone()).collect();
    let fields = if around.of == FieldParent::Struct {
        known
    } else {
        Vec::new()
    };
    Ok(PreparedType { fields, functions })
}

/// What follows for the whole type from its fields and its groups of fields.
fn facts(markers: &Markers, known: &[PreparedField]) -> Result<Facts, Error> {
    let mut facts = Facts::default();
    let required = known.iter().filter(|field| field.must_be_required.is_some());
    facts.required = required.map(|field| field.name.clone()).collect();
    let lost = known
        .iter()
        .filter(|field| field.immutable.is_some() && field.is_optional);
    facts.before = lost.map(|field| rules::stays(&field.name)).collect();
    let mut groups = Vec::new();
    for group in &markers.groups {
        groups.push((group.count, names(group, known)?));
    }
    // The order of controller-gen: at most one, exactly one, at least one.
    groups.sort_by_key(|(count, _)| *count);
    facts.after = groups
        .iter()
        .map(|(count, names)| rules::one_of(*count, names))
        .collect();
    Ok(facts)
}

/// The names that the fields of a group have in JSON.
fn names(group: &Group, known: &[PreparedField]) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    let names = group.fields.iter().map(|wanted| {
        let field = known.iter().find(|field| {
            let name = if wanted.is_json { &field.name } else { &field.rust_name };
            *name == wanted.name
        });
        let Some(field) = field else {
            let fields = known.iter().map(|field| {
                let name = if wanted.is_json { &field.name } else { &field.rust_name };
                name.as_str()
            });
            let fields: Vec<&str> = fields.collect();
            let said = match words::nearest(&wanted.name, &fields) {
                Some(near) => format!("no field is named `{}`; did you mean `{near}`?", wanted.name),
                None => format!("no field is named `{}`; there are: {}", wanted.name, fields.join(", ")),
            };
            return Err(Error::new(wanted.span, said));
        };
        if !field.is_optional {
            let said = format!("`{}` is always set: make it an `Option`", wanted.name);
            return Err(Error::new(wanted.span, said));
        }
        if !found.insert(field.name.clone()) {
            return Err(Error::new(wanted.span, format!("`{}` is named twice", wanted.name)));
        }
        Ok(field.name.clone())
    });
    all(names)
}
