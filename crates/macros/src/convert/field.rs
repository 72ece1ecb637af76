//! The expression that converts one field, as its type suggests: through `Option`, lists, maps and boxes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type};

use super::attributes::Function;
use super::{Context, Direction};

/// The structure of a type, as far as its name shows it.
enum Shape<'a> {
    Option(&'a Type),
    List(&'a Type),
    Map(&'a Type),
    Boxed(&'a Type),
    Plain,
}

/// Converts what `value` names. `place` is the field's name on the wire.
pub(super) fn convert(
    context: &Context,
    way: Direction,
    ty: &Type,
    function: Option<&Function>,
    value: &TokenStream,
    place: &str,
) -> TokenStream {
    let runtime = &context.runtime;
    let result = match function {
        Some(Function { path, fallible: false }) => return quote!(#path(#value)),
        Some(Function { path, fallible: true }) => quote!(#path(#value).map_err(#runtime::support::located)),
        None if context.fallible(way) => fallible(runtime, ty, value),
        None => return infallible(ty, value),
    };
    quote!(#result.map_err(|error: #runtime::FieldError| error.at(#place))?)
}

fn infallible(ty: &Type, value: &TokenStream) -> TokenStream {
    let inner = ident("inner");
    match shape(ty) {
        Shape::Option(ty) => {
            let convert = infallible(ty, &quote!(#inner));
            quote!(#value.map(|#inner| #convert))
        }
        Shape::List(ty) => {
            let convert = infallible(ty, &quote!(#inner));
            quote!(::core::iter::IntoIterator::into_iter(#value).map(|#inner| #convert).collect())
        }
        Shape::Map(ty) => {
            let convert = infallible(ty, &quote!(#inner));
            let key = ident("key");
            let pair = quote!((::core::convert::Into::into(#key), #convert));
            quote!(::core::iter::IntoIterator::into_iter(#value).map(|(#key, #inner)| #pair).collect())
        }
        Shape::Boxed(ty) => {
            let convert = infallible(ty, &quote!((*#value)));
            quote!(::std::boxed::Box::new(#convert))
        }
        // A missing conversion is reported at the field's type.
        Shape::Plain => quote_spanned!(at(ty)=> ::core::convert::Into::into(#value)),
    }
}

/// An expression of type `Result<_, FieldError>`.
fn fallible(runtime: &TokenStream, ty: &Type, value: &TokenStream) -> TokenStream {
    let inner = ident("inner");
    let (function, ty) = match shape(ty) {
        Shape::Option(ty) => ("option", ty),
        Shape::List(ty) => ("list", ty),
        Shape::Map(ty) => ("map", ty),
        Shape::Boxed(ty) => {
            let convert = fallible(runtime, ty, &quote!((*#value)));
            return quote!(#convert.map(::std::boxed::Box::new));
        }
        Shape::Plain => {
            return quote_spanned! {at(ty)=>
                ::core::convert::TryInto::try_into(#value).map_err(#runtime::support::located)
            };
        }
    };
    let function = Ident::new(function, Span::call_site());
    let convert = fallible(runtime, ty, &quote!(#inner));
    quote!(#runtime::support::#function(#value, |#inner| #convert))
}

/// Where the type stands, but resolved as the macro's own code: lints do not see it as the user's.
fn at(ty: &Type) -> Span {
    Span::mixed_site().located_at(ty.span())
}

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn shape(ty: &Type) -> Shape<'_> {
    let Type::Path(path) = ty else { return Shape::Plain };
    let Some(last) = path.path.segments.last() else {
        return Shape::Plain;
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Shape::Plain;
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    let types: Vec<_> = types.collect();
    match (last.ident.to_string().as_str(), types.as_slice()) {
        ("Option", [ty]) => Shape::Option(ty),
        ("Box", [ty]) => Shape::Boxed(ty),
        ("Vec" | "VecDeque" | "BTreeSet", [ty]) | ("HashSet", [ty, ..]) => Shape::List(ty),
        ("BTreeMap", [_, ty]) | ("HashMap", [_, ty, ..]) => Shape::Map(ty),
        _ => Shape::Plain,
    }
}
