//! `#[kubewright::resource(…)]`: a kind, written as its spec. kube's derive makes the type of its objects, this makes the rest.

mod columns;
mod keys;
mod kube;
mod root;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, parse_quote};

use crate::{apply, schema};
use keys::Keys;

/// The code of `#[kubewright::resource(…)]`.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let code = Keys::parse(arguments).and_then(|keys| {
        let input: DeriveInput = syn::parse2(item)?;
        resource(&keys, input)
    });
    code.unwrap_or_else(|error| error.to_compile_error())
}

fn resource(keys: &Keys, mut input: DeriveInput) -> Result<TokenStream, Error> {
    if let Some(attribute) = input.attrs.iter().find(|attribute| attribute.path().is_ident("kube")) {
        let message = "write the keys of `#[kube(…)]` into `#[kubewright::resource(…)]`";
        return Err(Error::new_spanned(attribute, message));
    }
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "a kind has no parameters: its spec cannot be generic",
        ));
    }
    let derive = parse_quote!(::kubewright::kube::CustomResource);
    let prepared = schema::prepare(&mut input, &keys.settings, &[derive])?;
    input.attrs.push(kube::attribute(keys, &input.ident));
    let root = root::schema(keys, &input);
    let functions = prepared.functions(&input);
    let twin = apply::twin(&input, &prepared, &keys.settings);
    let root_twin = (keys.settings.apply && !keys.no_spec).then(|| {
        let (visibility, of) = (&input.vis, keys.root());
        let name = format_ident!("{of}Apply");
        let docs = format!("What server-side apply says of a `{of}`: only what was set.");
        quote! {
            #[doc = #docs]
            #[allow(dead_code)]
            #visibility type #name = ::kubewright::apply::Apply<#of>;
        }
    });
    Ok(quote!(#input #functions #root #twin #root_twin))
}
