//! `#[kubewright::api(…)]` on a module: what holds for all types of an API version that are written in it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser as _;
use syn::{Attribute, Error, Item, ItemMod, Meta, parse_quote};

use crate::words;

/// The code of `#[kubewright::api(…)]`: the module, with the setting written into the attributes of its types.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    module(arguments, item).unwrap_or_else(|error| error.to_compile_error())
}

fn module(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let mut optional = None;
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("optional") {
            optional = Some(true);
        } else if meta.path.is_ident("required") {
            optional = Some(false);
        } else {
            return Err(words::unknown(&meta.path, &["optional", "required"]));
        }
        Ok(())
    });
    parser.parse2(arguments)?;
    let mut module: ItemMod = syn::parse2(item)?;
    let Some((_, items)) = &mut module.content else {
        let message = "only a module that is written in place can be seen: `mod v1 { … }`; in a module of its own file write \
                       `#[kubewright::schema(optional)]` above each type";
        return Err(Error::new_spanned(&module.ident, message));
    };
    if optional == Some(true) {
        for item in items {
            let attributes = match item {
                Item::Struct(item) => &mut item.attrs,
                Item::Enum(item) => &mut item.attrs,
                _ => continue,
            };
            attributes
                .iter_mut()
                .filter(|attribute| is_ours(attribute))
                .for_each(make_optional);
        }
    }
    Ok(quote!(#module))
}

fn is_ours(attribute: &Attribute) -> bool {
    let segments = &attribute.path().segments;
    let mut names = segments.iter().map(|segment| segment.ident.to_string());
    match (names.next(), names.next(), names.next()) {
        (Some(door), Some(name), None) => door == "kubewright" && matches!(name.as_str(), "schema" | "resource"),
        (Some(name), None, None) => matches!(name.as_str(), "schema" | "resource"),
        _ => false,
    }
}

/// A type's own word comes later and wins.
fn make_optional(attribute: &mut Attribute) {
    let path = attribute.path();
    *attribute = match &attribute.meta {
        Meta::List(list) => {
            let said = &list.tokens;
            parse_quote!(#[#path(optional, #said)])
        }
        _ => parse_quote!(#[#path(optional)]),
    };
}

#[cfg(test)]
mod tests {
    use super::expand;

    fn code(arguments: &str, source: &str) -> String {
        let code = expand(arguments.parse().unwrap(), source.parse().unwrap());
        code.to_string().replace(' ', "")
    }

    #[test]
    fn the_types_of_a_module_are_told_and_others_are_not() {
        let said = code(
            "optional",
            "mod v1 { #[kubewright::schema] struct A {} #[kubewright::resource(kind = \"B\")] struct B {} #[derive(X)] struct C {} }",
        );
        assert!(said.contains("#[kubewright::schema(optional)]structA"), "{said}");
        assert!(
            said.contains("#[kubewright::resource(optional,kind=\"B\")]structB"),
            "{said}"
        );
        assert!(said.contains("#[derive(X)]structC"), "{said}");
    }

    #[test]
    fn a_module_elsewhere_cannot_be_seen() {
        assert!(code("optional", "mod v1;").contains("compile_error"));
        assert!(code("optionall", "mod v1 {}").contains("didyoumean`optional`?"));
    }
}
