//! The schema of a whole object: kube's derive leaves it to us.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use super::keys::Keys;
use crate::schema::markers::Fallback;

pub(super) fn schema(keys: &Keys, input: &DeriveInput) -> TokenStream {
    let root = keys.root();
    let name = root.to_string();
    let spec = &input.ident;
    let line = input.ident.span().start().line;
    let described = keys.docs.as_ref().map_or_else(
        || quote!(::kubewright::support::described::<Self>()),
        |docs| quote!(::std::string::String::from(#docs)),
    );
    let status = keys
        .status
        .as_ref()
        .map(|status| quote!(let schema = schema.status(generator.subschema_for::<#status>());));
    let default = keys.default.as_ref().map(|value| {
        let value = match value {
            Fallback::Value(value) => quote!(#value),
            Fallback::OfType => quote!(::core::default::Default::default()),
        };
        quote! {
            let default: #spec = #value;
            let schema = schema.default(&default);
        }
    });
    let start = if keys.no_spec {
        quote!(::kubewright::support::Root::flat(<#spec as ::kubewright::schemars::JsonSchema>::json_schema(generator)))
    } else {
        quote!(::kubewright::support::Root::with_spec(generator.subschema_for::<#spec>()))
    };
    let rules = &keys.rules;
    quote! {
        #[automatically_derived]
        #[allow(clippy::all, clippy::pedantic)]
        impl ::kubewright::schemars::JsonSchema for #root {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(#name)
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(::core::concat!(::core::module_path!(), "::", #name))
            }

            fn json_schema(generator: &mut ::kubewright::schemars::SchemaGenerator) -> ::kubewright::schemars::Schema {
                let schema = #start;
                #status
                #default
                schema.finish(::kubewright::serde_json::json!({
                    "keywords": { "description": #described },
                    "rules": [#(#rules),*],
                    "source": ::core::concat!(::core::file!(), ":", #line),
                }))
            }
        }
    }
}
