//! One field: what its markers mean for serde and for the schema.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{Error, Field, Ident, LitStr, Type, parse_quote};

use super::case::Case;
use super::emit::{self, Facts};
use super::markers::{Fallback, MarkerPosition, Markers};
use super::shape::is_option;
use super::{defaults, serde, suits, written};

/// Where a field stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldParent {
    Struct,
    Variant,
    /// A struct without names: its value is the field's.
    Tuple,
}

/// What a field needs to know of the type around it.
pub(crate) struct FieldContext<'a> {
    pub(crate) of: FieldParent,
    /// The type as an expression's path.
    pub(crate) path: &'a TokenStream,
    /// Before the field's name in the names of functions.
    pub(crate) prefix: String,
    pub(crate) case: Option<Case>,
    /// Fields may be left out unless they say otherwise.
    pub(crate) optional: bool,
    /// The type around has a default, so all its fields have: how it is made.
    pub(crate) default: Option<TokenStream>,
}

/// What the type around needs to know of a field.
pub(crate) struct PreparedField {
    pub(crate) ident: Option<Ident>,
    pub(crate) rust_name: String,
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) serde: serde::Field,
    pub(crate) is_optional: bool,
    pub(crate) immutable: Option<Span>,
    /// It is required although serde would let it be missing.
    pub(crate) must_be_required: Option<Span>,
    /// Functions for the impl of the type.
    pub(crate) functions: TokenStream,
}

impl PreparedField {
    /// The function that makes the field's default.
    fn default_name(&self, around: &FieldContext<'_>) -> Ident {
        format_ident!("__kubewright_default_{}{}", around.prefix, self.rust_name)
    }

    /// Its path, for serde.
    pub(super) fn default_path(&self, around: &FieldContext<'_>) -> String {
        format!("{}::{}", around.path, self.default_name(around)).replace(' ', "")
    }
}

/// Reads a field's attributes and writes those that serde and `schemars` understand.
pub(crate) fn settle(field: &mut Field, around: &FieldContext<'_>) -> Result<PreparedField, Error> {
    let serde = serde::Field::read(&field.attrs)?;
    let markers = Markers::take(&mut field.attrs, MarkerPosition::Field)?;
    let rust_name = field.ident.as_ref().map(serde::plain).unwrap_or_default();
    let name = match (&serde.rename, around.case) {
        (Some(name), _) => name.clone(),
        (None, Some(case)) => case.field(&rust_name),
        (None, None) => rust_name.clone(),
    };
    if !markers.is_empty() {
        check(&markers, &serde, field, around.of)?;
    }
    let mut known = PreparedField {
        ident: field.ident.clone(),
        rust_name,
        name,
        ty: field.ty.clone(),
        is_optional: true,
        immutable: markers.immutable,
        must_be_required: None,
        functions: TokenStream::new(),
        serde,
    };
    if known.serde.is_skipped() || known.serde.flatten {
        return Ok(known);
    }
    if around.of != FieldParent::Tuple {
        presence(field, &markers, &mut known, around);
    }
    if let Some(function) = known.serde.serialize_with.clone() {
        written::settle(field, &known, around, &markers, &function)?;
    }
    let facts = Facts {
        is_option: is_option(&field.ty),
        ..Facts::default()
    };
    let at = field.ident.as_ref().map_or_else(|| field.ty.span(), Ident::span);
    field.attrs.push(emit::attribute(&markers, &facts, at));
    Ok(known)
}

/// May the field be missing, what is it then, and when is it not written?
fn presence(field: &mut Field, markers: &Markers, known: &mut PreparedField, around: &FieldContext<'_>) {
    let option = is_option(&field.ty);
    let serde = &known.serde;
    let has_default = markers.default.is_some() || serde.has_default || around.default.is_some();
    let may_be_missing = markers.optional.is_some() || (around.optional && markers.required.is_none());
    match &markers.default {
        Some(Fallback::OfType) => field.attrs.push(parse_quote!(#[serde(default)])),
        Some(Fallback::Value(value)) => {
            let path = LitStr::new(&known.default_path(around), value.span());
            known.functions = defaults::function(&known.default_name(around), &field.ty, value);
            field.attrs.push(parse_quote!(#[serde(default = #path)]));
        }
        None if may_be_missing && !option && !has_default => {
            field.attrs.push(parse_quote!(#[serde(default)]));
            if serde.skip_serializing_if.is_none() {
                let unset = "::kubewright::support::is_unset";
                field.attrs.push(parse_quote!(#[serde(skip_serializing_if = #unset)]));
            }
        }
        // A function that reads is not asked about what is missing, not even of an `Option`.
        None if option && serde.deserialize_with && !has_default => field.attrs.push(parse_quote!(#[serde(default)])),
        None => {}
    }
    if option && markers.required.is_none() && serde.skip_serializing_if.is_none() && !serde.skip_serializing {
        let unset = "::core::option::Option::is_none";
        field.attrs.push(parse_quote!(#[serde(skip_serializing_if = #unset)]));
    }
    let lax = option || has_default || may_be_missing;
    known.is_optional = lax && markers.required.is_none();
    known.must_be_required = markers.required.filter(|_| lax);
}

fn check(markers: &Markers, serde: &serde::Field, field: &Field, of: FieldParent) -> Result<(), Error> {
    let mistake = |span: Span, message: &str| Err(Error::new(span, message));
    let first = markers.said.first().map_or_else(Span::call_site, |(_, span)| *span);
    if serde.flatten {
        return mistake(
            first,
            "a flattened field has no schema of its own: mark its type or the fields of its type",
        );
    }
    if serde.is_skipped() {
        return mistake(first, "a field that serde skips has no schema");
    }
    if let (Some(span), Some(_)) = (markers.required, markers.optional) {
        return mistake(span, "a field is `required` or `optional`; leave one out");
    }
    let said = |wanted: &str| markers.place_of(wanted);
    if let Some(span) = said("default").filter(|_| serde.has_default) {
        return mistake(span, "the field has a serde default already; leave one out");
    }
    if of == FieldParent::Tuple {
        for key in ["required", "optional", "default"] {
            if let Some(span) = said(key) {
                return mistake(span, "this is for fields with names: say it where the type is used");
            }
        }
    }
    if of == FieldParent::Variant {
        if let Some(span) = markers
            .required
            .filter(|_| is_option(&field.ty) || said("default").is_some())
        {
            return mistake(
                span,
                "a field of a variant is required if it is no `Option` and has no default",
            );
        }
        if let Some(span) = markers
            .immutable
            .filter(|_| is_option(&field.ty) || said("default").is_some())
        {
            return mistake(
                span,
                "only a required field of a variant can be immutable: the other ones could be taken away",
            );
        }
    }
    suits::check(markers, &field.ty)?;
    Ok(())
}

/// Nothing but the type's path and arguments, as an expression needs it.
pub(crate) fn expression_path(name: &Ident, generics: &syn::Generics) -> TokenStream {
    let (_, arguments, _) = generics.split_for_impl();
    let arguments = arguments.as_turbofish();
    quote!(#name #arguments)
}
