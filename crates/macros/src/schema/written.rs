//! Fields with a `serialize_with` of the user: `schemars` gets only the attributes that it can handle without other crates.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, ExprPath, Field, Lit, LitStr, Meta, MetaNameValue, Token, parse_quote};

use super::fields::{FieldContext, PreparedField};
use super::markers::{Fallback, Markers};

/// The call of a function that serde is given the path of.
pub(super) fn call(path: &str) -> Result<TokenStream, Error> {
    let path: ExprPath = syn::parse_str(path)?;
    Ok(quote!(#path()))
}

/// Keeps the functions from `schemars`, which would take a module for a type and look for serde beside us, and writes the default
/// in its place.
pub(super) fn settle(
    field: &mut Field,
    known: &PreparedField,
    around: &FieldContext<'_>,
    markers: &Markers,
    function: &str,
) -> Result<(), Error> {
    if known.serde.with_module {
        name_both(&mut field.attrs)?;
    }
    let Some(default) = default(known, around, markers)? else {
        return Ok(());
    };
    let ty = &field.ty;
    let mut is_skipped = quote!(false);
    if let Some(path) = &known.serde.skip_serializing_if {
        let path: ExprPath = syn::parse_str(path)?;
        is_skipped = quote!(#path(&value));
    }
    // What it would not write has no default for it to write either.
    field.attrs.push(parse_quote!(#[schemars(skip_serializing)]));
    field.attrs.push(parse_quote! {
        #[schemars(transform = ::kubewright::support::default({
            #[derive(::kubewright::serde::Serialize)]
            #[serde(crate = "::kubewright::serde", transparent)]
            struct One {
                #[serde(serialize_with = #function)]
                value: #ty,
            }
            let value: #ty = #default;
            if #is_skipped { ::core::option::Option::None } else { ::kubewright::serde_json::to_value(One { value }).ok() }
        }))]
    });
    Ok(())
}

/// `with = "module"` as what it stands for: the module's two functions.
fn name_both(attributes: &mut [Attribute]) -> Result<(), Error> {
    for attribute in attributes
        .iter_mut()
        .filter(|attribute| attribute.path().is_ident("serde"))
    {
        let said = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        let said = said.into_iter().map(|meta| match &meta {
            Meta::NameValue(MetaNameValue {
                path,
                value: Expr::Lit(ExprLit {
                    lit: Lit::Str(module), ..
                }),
                ..
            }) if path.is_ident("with") => {
                let function = |name: &str| LitStr::new(&format!("{}::{name}", module.value()), module.span());
                let (write, read) = (function("serialize"), function("deserialize"));
                quote!(serialize_with = #write, deserialize_with = #read)
            }
            _ => quote!(#meta),
        });
        *attribute = parse_quote!(#[serde(#(#said),*)]);
    }
    Ok(())
}

/// The default that serde takes where the field is missing.
fn default(known: &PreparedField, around: &FieldContext<'_>, markers: &Markers) -> Result<Option<TokenStream>, Error> {
    let of_type = || quote!(::core::default::Default::default());
    let own = match (&markers.default, known.serde.has_default, &known.serde.default) {
        (Some(Fallback::Value(_)), _, _) => Some(call(&known.default_path(around))?),
        (Some(Fallback::OfType), _, _) | (None, true, None) => Some(of_type()),
        (None, true, Some(path)) => Some(call(path)?),
        (None, false, _) => None,
    };
    Ok(own.or_else(|| {
        let (default, name) = (around.default.as_ref()?, known.ident.as_ref()?);
        Some(quote!(#default.#name))
    }))
}
