//! The root types that `#[derive(CustomResource)]` makes out of a spec: they convert as their spec and status do.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, DeriveInput, Error, PathArguments, Type};

use super::attributes::Container;
use super::wire::{mentions, text};
use super::{Bodies, Context, Direction, value};

/// Both directions between the roots, if the type is a spec of `#[derive(CustomResource)]`.
pub(super) fn conversions(input: &DeriveInput, container: &Container, context: &Context) -> Result<TokenStream, Error> {
    let kube = input.attrs.iter().filter(|attribute| attribute.path().is_ident("kube"));
    let lists: Vec<_> = kube
        .filter_map(|attribute: &Attribute| attribute.meta.require_list().ok())
        .collect();
    let said = |name: &str| lists.iter().find_map(|list| text(&list.tokens, name));
    let Some(kind) = said("kind").filter(|_| !container.skip_root) else {
        return match &container.root {
            Some(root) => Err(Error::new_spanned(root, "`root` is for specs with #[kube(kind = …)]")),
            None => Ok(TokenStream::new()),
        };
    };
    let spoke = said("root").unwrap_or_else(|| kind.clone());
    let spoke = Ident::new(&spoke, input.ident.span());
    let hub = match &container.root {
        Some(root) => root.clone(),
        None => beside(&container.hub, &kind)?,
    };
    let status = lists.iter().any(|list| mentions(&list.tokens, "status")) && !container.skip_status;
    let bodies = Bodies {
        to_hub: body(context, Direction::ToHub, &quote!(#hub), status),
        from_hub: body(context, Direction::FromHub, &quote!(#spoke), status),
    };
    let context = Context {
        hub,
        runtime: context.runtime.clone(),
        fallible: context.fallible.clone(),
    };
    Ok(context.conversions(&TokenStream::new(), &quote!(#spoke), &TokenStream::new(), &bodies))
}

/// `CustomResource` gives every root a `new`, whatever its fields: what it sets is overwritten here.
fn body(context: &Context, way: Direction, target: &TokenStream, status: bool) -> TokenStream {
    let (value, runtime) = (value(), &context.runtime);
    let convert = |part: TokenStream, place: &str| {
        if context.fallible(way) {
            let located = quote!(|error| #runtime::support::located(error).at(#place));
            quote!(::core::convert::TryInto::try_into(#part).map_err(#located)?)
        } else {
            quote!(::core::convert::Into::into(#part))
        }
    };
    let spec = convert(quote!(#value.spec), "spec");
    let status = status.then(|| {
        let convert = convert(quote!(status), "status");
        quote! {
            converted.status = match #value.status {
                ::core::option::Option::Some(status) => ::core::option::Option::Some(#convert),
                ::core::option::Option::None => ::core::option::Option::None,
            };
        }
    });
    quote!({
        let mut converted = <#target>::new("", #spec);
        converted.metadata = #value.metadata;
        #status
        converted
    })
}

/// The hub's root, which stands beside its spec and is called like the kind.
fn beside(spec: &Type, kind: &str) -> Result<Type, Error> {
    let mut root = spec.clone();
    if let Type::Path(path) = &mut root
        && path.path.segments.len() > 1
        && let Some(last) = path.path.segments.last_mut()
    {
        last.ident = Ident::new(kind, last.ident.span());
        last.arguments = PathArguments::None;
        return Ok(root);
    }
    let message = format!("where is the hub's {kind}? Name its module too (hub = v1::…), or say root = …");
    Err(Error::new_spanned(spec, message))
}
