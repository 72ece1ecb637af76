//! Structs: field by field.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DataStruct, DeriveInput, Error, Fields, Index};

use super::attributes::{Added, Container, Field};
use super::wire::{self, Style};
use super::{Bodies, Context, Direction, field, value};

/// A field with its attributes.
pub(super) struct ConvertedField<'a> {
    pub(super) field: &'a syn::Field,
    pub(super) said: Field,
    /// Its names in Rust: a name, or a position.
    pub(super) spoke: TokenStream,
    pub(super) hub: TokenStream,
    /// Its names on the wire.
    wire_spoke: String,
    wire_hub: String,
}

pub(super) fn bodies(
    input: &DeriveInput,
    data: &DataStruct,
    container: &Container,
    exporter: &str,
) -> Result<(Bodies, Context), Error> {
    let members = members(&data.fields, wire::style(&input.attrs))?;
    let fallible = members.iter().flat_map(|member| member.said.fallible());
    let context = Context::new(container, exporter, &fallible.collect::<Vec<_>>());
    if matches!(data.fields, Fields::Unnamed(_)) && !container.added.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "fields of tuple structs convert by position: nothing can be added",
        ));
    }
    let value = value();
    let source = |name: &TokenStream| quote!(#value.#name);
    let to_hub = literal(
        &context,
        Direction::ToHub,
        &data.fields,
        &members,
        &container.added,
        source,
    );
    let from_hub = literal(
        &context,
        Direction::FromHub,
        &data.fields,
        &members,
        &Added::default(),
        source,
    );
    let bodies = Bodies {
        to_hub: quote!(Self #to_hub),
        from_hub: quote!(Self #from_hub),
    };
    Ok((bodies, context))
}

/// Everything said about the fields of a struct or a variant.
pub(super) fn members(fields: &Fields, style: Style) -> Result<Vec<ConvertedField<'_>>, Error> {
    let mut mistakes: Option<Error> = None;
    let mut members = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        match member(at, field, style) {
            Ok(member) => members.push(member),
            Err(error) => match &mut mistakes {
                Some(mistakes) => mistakes.combine(error),
                None => mistakes = Some(error),
            },
        }
    }
    mistakes.map_or(Ok(members), Err)
}

fn member(at: usize, field: &syn::Field, style: Style) -> Result<ConvertedField<'_>, Error> {
    let said = Field::parse(&field.attrs)?;
    let Some(name) = &field.ident else {
        if said.skip || said.rename.is_some() {
            return Err(Error::new_spanned(
                field,
                "fields of tuples convert by position: `skip` and `rename` need a name",
            ));
        }
        let index = Index::from(at);
        return Ok(ConvertedField {
            field,
            said,
            spoke: quote!(#index),
            hub: quote!(#index),
            wire_spoke: at.to_string(),
            wire_hub: at.to_string(),
        });
    };
    let hub = said.rename.clone().unwrap_or_else(|| name.clone());
    let wire_spoke = wire::name(&field.attrs, &name.to_string(), style);
    let wire_hub = match &said.rename {
        Some(hub) => style.apply(&hub.to_string()),
        None => wire_spoke.clone(),
    };
    Ok(ConvertedField {
        field,
        said,
        spoke: quote!(#name),
        hub: quote!(#hub),
        wire_spoke,
        wire_hub,
    })
}

/// The fields of the target in braces or parentheses, made from those that `source` names.
pub(super) fn literal(
    context: &Context,
    way: Direction,
    fields: &Fields,
    members: &[ConvertedField<'_>],
    added: &Added,
    source: impl Fn(&TokenStream) -> TokenStream,
) -> TokenStream {
    let converted = members.iter().filter_map(|member| {
        let (from, to, place) = match way {
            Direction::ToHub => (&member.spoke, &member.hub, &member.wire_spoke),
            Direction::FromHub => (&member.hub, &member.spoke, &member.wire_hub),
        };
        if member.said.skip {
            let default = member.said.default.clone();
            let default = default.unwrap_or_else(|| quote!(::core::default::Default::default()));
            return (way == Direction::FromHub).then(|| quote!(#to: #default));
        }
        let function = member.said.function(way);
        let value = field::convert(context, way, &member.field.ty, function, &source(from), place);
        let named = member.field.ident.is_some().then(|| quote!(#to:));
        Some(quote!(#named #value))
    });
    let added = added.members();
    match fields {
        Fields::Named(_) => quote!({ #(#converted,)* #added }),
        Fields::Unnamed(_) => quote!((#(#converted,)*)),
        Fields::Unit => quote!({ #added }),
    }
}

/// A name for the binding of a field in a pattern.
pub(super) fn binding(name: &TokenStream) -> Ident {
    let name = name.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    format_ident!("field_{}", name, span = Span::mixed_site())
}
