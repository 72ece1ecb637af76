//! Defaults: one value, which is in the schema for the server, and which serde uses where the field is missing.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, ExprLit, Lit, Type};

use super::shape::{Shape, shape};

/// The function of this name that makes a default.
pub(crate) fn function(name: &Ident, ty: &Type, value: &Expr) -> TokenStream {
    let value = fitted(ty, value);
    quote! {
        #[doc(hidden)]
        #[allow(non_snake_case, clippy::all, clippy::pedantic)]
        fn #name() -> #ty {
            #value
        }
    }
}

/// A value as users write it, made one of the field's type: a text in quotes for a `String`, a list in brackets for a `Vec`.
fn fitted(ty: &Type, value: &Expr) -> TokenStream {
    match (shape(ty), value) {
        (Shape::Option(inner), value) if !is_option(value) => {
            let value = fitted(inner, value);
            quote!(::core::option::Option::Some(#value))
        }
        (Shape::Boxed(inner), value @ (Expr::Lit(_) | Expr::Array(_))) => {
            let value = fitted(inner, value);
            quote!(::core::convert::From::from(#value))
        }
        (Shape::Float, Expr::Lit(ExprLit { lit: Lit::Int(_), .. })) => quote!(#value as #ty),
        (_, Expr::Lit(ExprLit { lit: Lit::Str(_), .. })) => quote!(::core::convert::From::from(#value)),
        (Shape::List(inner), Expr::Array(array)) if !matches!(ty, Type::Array(_)) => {
            let items = array.elems.iter().map(|item| fitted(inner, item));
            quote!(::core::iter::FromIterator::from_iter([#(#items),*]))
        }
        (Shape::Map(key, of), Expr::Array(array)) => {
            let pairs = array.elems.iter().map(|pair| match pair {
                Expr::Tuple(pair) if pair.elems.len() == 2 => {
                    let (name, value) = (fitted(key, &pair.elems[0]), fitted(of, &pair.elems[1]));
                    quote!((#name, #value))
                }
                pair => quote!(#pair),
            });
            quote!(::core::iter::FromIterator::from_iter([#(#pairs),*]))
        }
        _ => quote!(#value),
    }
}

fn is_option(value: &Expr) -> bool {
    let path = match value {
        Expr::Path(path) => &path.path,
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => &path.path,
            _ => return false,
        },
        _ => return false,
    };
    path.segments
        .last()
        .is_some_and(|last| last.ident == "Some" || last.ident == "None")
}
