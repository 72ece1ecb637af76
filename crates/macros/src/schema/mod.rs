//! `#[kubewright::schema]`: a type that is part of a resource, with everything its schema says written beside its fields.

mod case;
mod defaults;
mod emit;
mod enums;
pub(crate) mod fields;
pub(crate) mod markers;
pub(crate) mod rules;
pub(crate) mod serde;
mod settings;
pub(crate) mod shape;
mod structs;
mod suits;
#[cfg(test)]
mod tests;
mod written;

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Path, Token, parse_quote};

use crate::apply;
use fields::PreparedField;
pub(crate) use settings::Settings;

/// The code of `#[kubewright::schema(…)]`.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let code = Settings::parse(arguments).and_then(|settings| {
        let mut input: DeriveInput = syn::parse2(item)?;
        let prepared = prepare(&mut input, &settings, &[])?;
        let twin = apply::twin(&input, &prepared, &settings);
        let functions = prepared.functions(&input);
        Ok(quote!(#input #functions #twin))
    });
    code.unwrap_or_else(|error| error.to_compile_error())
}

/// The arguments of an attribute of `kubewright::optional`: `optional` comes first, so that what a type says itself wins.
pub(crate) fn optional_unless_said(arguments: &TokenStream) -> TokenStream {
    quote!(optional, #arguments)
}

/// Refuses a type that has two of our attributes: each of them would derive the same traits.
fn one_attribute(input: &DeriveInput) -> Result<(), Error> {
    let is_ours = |path: &Path| {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        matches!(
            names.as_slice(),
            ["kubewright", .., "schema" | "resource"] | ["optional", "schema" | "resource"] | ["resource"]
        )
    };
    match input.attrs.iter().find(|attribute| is_ours(attribute.path())) {
        Some(second) => Err(Error::new_spanned(
            second,
            "a type has one attribute of kubewright: `resource(…)` above the spec of a kind, `schema` above every other type; \
             what `schema(…)` takes, `resource(…)` takes too, as in `resource(optional, …)`",
        )),
        None => Ok(()),
    }
}

/// What is known of a type after its attributes were settled.
pub(crate) struct PreparedType {
    /// The fields of a struct with names; of other types none.
    pub(crate) fields: Vec<PreparedField>,
    /// Functions for the impl of the type.
    functions: TokenStream,
}

impl PreparedType {
    pub(crate) fn functions(&self, input: &DeriveInput) -> TokenStream {
        let functions = &self.functions;
        if functions.is_empty() {
            return TokenStream::new();
        }
        let name = &input.ident;
        let (generics, arguments, bounds) = input.generics.split_for_impl();
        quote!(#[automatically_derived] impl #generics #name #arguments #bounds { #functions })
    }
}

/// Rewrites the attributes of a type for serde and `schemars`. `derives` come on top of those every type gets.
pub(crate) fn prepare(input: &mut DeriveInput, settings: &Settings, derives: &[Path]) -> Result<PreparedType, Error> {
    one_attribute(input)?;
    let container = serde::Container::read(&input.attrs)?;
    let prepared = match &input.data {
        Data::Struct(_) => structs::settle(input, &container, settings)?,
        Data::Enum(_) => enums::settle(input, &container, settings)?,
        Data::Union(_) => return Err(Error::new_spanned(&input.ident, "a union has no schema; use an enum")),
    };
    if !container.has_crate {
        let path = "::kubewright::serde";
        input.attrs.push(parse_quote!(#[serde(crate = #path)]));
    }
    let path = "::kubewright::schemars";
    input.attrs.push(parse_quote!(#[schemars(crate = #path)]));
    derive(input, derives)?;
    Ok(prepared)
}

/// Puts the derives that are missing above everything else.
fn derive(input: &mut DeriveInput, more: &[Path]) -> Result<(), Error> {
    let mut wanted: Vec<Path> = vec![
        parse_quote!(::kubewright::serde::Serialize),
        parse_quote!(::kubewright::serde::Deserialize),
        parse_quote!(::core::clone::Clone),
        parse_quote!(::core::fmt::Debug),
        parse_quote!(::core::cmp::PartialEq),
        parse_quote!(::kubewright::schemars::JsonSchema),
    ];
    wanted.extend(more.iter().cloned());
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
    {
        let paths = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)?;
        let given: Vec<String> = paths.iter().filter_map(last).collect();
        wanted.retain(|path| last(path).is_none_or(|name| !given.contains(&name)));
    }
    if !wanted.is_empty() {
        input.attrs.insert(0, parse_quote!(#[derive(#(#wanted),*)]));
    }
    Ok(())
}

fn last(path: &Path) -> Option<String> {
    path.segments.last().map(|last| last.ident.to_string())
}

/// Several mistakes as one error, so that users see all of them at once.
pub(crate) fn all<T>(results: impl IntoIterator<Item = Result<T, Error>>) -> Result<Vec<T>, Error> {
    let mut good = Vec::new();
    let mut mistakes: Option<Error> = None;
    for result in results {
        match (result, &mut mistakes) {
            (Ok(one), _) => good.push(one),
            (Err(error), Some(mistakes)) => mistakes.combine(error),
            (Err(error), None) => mistakes = Some(error),
        }
    }
    match mistakes {
        Some(mistakes) => Err(mistakes),
        None => Ok(good),
    }
}
