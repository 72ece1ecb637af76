//! `#[derive(Convert)]`: a spoke's attributes say how it differs from its hub; both directions follow.

mod attributes;
mod enums;
mod field;
mod root;
mod structs;
#[cfg(test)]
mod tests;
mod wire;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Error, Type};

use attributes::Container;

/// Which way a conversion goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToHub,
    FromHub,
}

/// What every part of the derive needs to know.
struct Context {
    hub: Type,
    /// The module that holds `FieldError` and `support`.
    runtime: TokenStream,
    fallible: Vec<Direction>,
}

/// A function body for each direction.
struct Bodies {
    to_hub: TokenStream,
    from_hub: TokenStream,
}

/// The code of a derive. `exporter` is the crate that exports the derive to the user.
pub(crate) fn expand(item: TokenStream, exporter: &str) -> TokenStream {
    let code = syn::parse2(item).and_then(|input| derive(&input, exporter));
    code.unwrap_or_else(|error| error.to_compile_error())
}

fn derive(input: &DeriveInput, exporter: &str) -> Result<TokenStream, Error> {
    let container = Container::parse(input)?;
    let (bodies, context) = match &input.data {
        Data::Struct(data) => structs::bodies(input, data, &container, exporter)?,
        Data::Enum(data) => enums::bodies(input, data, &container, exporter)?,
        Data::Union(_) => return Err(Error::new_spanned(&input.ident, "unions cannot derive `Convert`")),
    };
    let spoke = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let spoke = quote!(#spoke #arguments);
    let conversions = context.conversions(&quote!(#generics), &spoke, &quote!(#bounds), &bodies);
    let roots = root::conversions(input, &container, &context)?;
    Ok(quote!(#conversions #roots))
}

impl Context {
    fn new(container: &Container, exporter: &str, fallible: &[Direction]) -> Self {
        let exporter = Ident::new(exporter, Span::call_site());
        let runtime = container
            .runtime
            .as_ref()
            .map_or_else(|| quote!(::#exporter), |path| quote!(#path));
        Context {
            hub: container.hub.clone(),
            runtime: quote!(#runtime::conversion),
            fallible: [&container.fallible, fallible].concat(),
        }
    }

    fn fallible(&self, way: Direction) -> bool {
        self.fallible.contains(&way)
    }

    /// Both impls. The bodies call what they convert `value`.
    fn conversions(
        &self,
        generics: &TokenStream,
        spoke: &TokenStream,
        bounds: &TokenStream,
        bodies: &Bodies,
    ) -> TokenStream {
        let hub = &self.hub;
        let hub = quote!(#hub);
        let to_hub = self.one(Direction::ToHub, generics, spoke, &hub, bounds, &bodies.to_hub);
        let from_hub = self.one(Direction::FromHub, generics, &hub, spoke, bounds, &bodies.from_hub);
        quote!(#to_hub #from_hub)
    }

    fn one(
        &self,
        way: Direction,
        generics: &TokenStream,
        from: &TokenStream,
        to: &TokenStream,
        bounds: &TokenStream,
        body: &TokenStream,
    ) -> TokenStream {
        let value = value();
        // A type without fields has nothing to read.
        let allow = quote!(#[allow(unused_variables, clippy::all, clippy::pedantic)]);
        if self.fallible(way) {
            let runtime = &self.runtime;
            quote! {
                #[automatically_derived]
                #allow
                impl #generics ::core::convert::TryFrom<#from> for #to #bounds {
                    type Error = #runtime::FieldError;
                    fn try_from(#value: #from) -> ::core::result::Result<Self, Self::Error> {
                        ::core::result::Result::Ok(#body)
                    }
                }
            }
        } else {
            quote! {
                #[automatically_derived]
                #allow
                impl #generics ::core::convert::From<#from> for #to #bounds {
                    fn from(#value: #from) -> Self {
                        #body
                    }
                }
            }
        }
    }
}

/// The name of what is converted. User code does not see it.
fn value() -> Ident {
    Ident::new("value", Span::mixed_site())
}
