//! Enums: names of variants as Kubernetes writes them, and fields within variants.

use proc_macro2::TokenStream;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, parse_quote};

use super::case::Case;
use super::emit::{self, Facts};
use super::fields::{self, FieldContext, FieldParent};
use super::markers::{MarkerPosition, Markers};
use super::{PreparedType, Settings, all, serde};

pub(super) fn settle(
    input: &mut DeriveInput,
    container: &serde::Container,
    settings: &Settings,
) -> Result<PreparedType, Error> {
    let markers = Markers::take(&mut input.attrs, MarkerPosition::Type)?;
    if let Some(group) = markers.groups.first() {
        let span = group
            .fields
            .first()
            .map_or_else(|| input.ident.span(), |field| field.span);
        return Err(Error::new(
            span,
            "an enum is one of its variants already: this is for structs",
        ));
    }
    let path = fields::expression_path(&input.ident, &input.generics);
    let Data::Enum(DataEnum { variants, .. }) = &mut input.data else {
        return Err(Error::new_spanned(&input.ident, "expected an enum"));
    };
    // Without a tag, a variant with data is a field of an object and named like one; others are values, as `ClusterIP` is.
    let has_data = variants.iter().any(|variant| !matches!(variant.fields, Fields::Unit));
    let has_fields = variants
        .iter()
        .any(|variant| matches!(variant.fields, Fields::Named(_)));
    let functions = all(variants.iter_mut().map(|variant| {
        let serde = serde::Field::read(&variant.attrs)?;
        let markers = Markers::take(&mut variant.attrs, MarkerPosition::Variant)?;
        for (keyword, value) in &markers.keywords {
            let keyword = syn::Ident::new(keyword, variant.ident.span());
            variant.attrs.push(parse_quote!(#[schemars(#keyword = #value)]));
        }
        let of = if matches!(variant.fields, Fields::Named(_)) {
            FieldParent::Variant
        } else {
            FieldParent::Tuple
        };
        let around = FieldContext {
            of,
            path: &path,
            prefix: format!("{}_", serde::plain(&variant.ident)),
            case: serde.rename_all.or(container.rename_all_fields).or(Some(Case::Camel)),
            optional: settings.optional,
            default: None,
        };
        let known = all(variant.fields.iter_mut().map(|field| fields::settle(field, &around)))?;
        Ok(known.into_iter().map(|known| known.functions).collect::<TokenStream>())
    }))?;
    if has_data && !container.is_tagged && container.rename_all.is_none() {
        input.attrs.push(parse_quote!(#[serde(rename_all = "camelCase")]));
    }
    if has_fields && container.rename_all_fields.is_none() {
        input
            .attrs
            .push(parse_quote!(#[serde(rename_all_fields = "camelCase")]));
    }
    input
        .attrs
        .push(emit::attribute(&markers, &Facts::default(), input.ident.span()));
    Ok(PreparedType {
        fields: Vec::new(),
        functions: functions.into_iter().collect(),
    })
}
