//! Twins for server-side apply: a type beside each struct that holds only what was set.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Ident, Type, Visibility};

use crate::schema::fields::PreparedField;
use crate::schema::shape::{Shape, shape};
use crate::schema::{PreparedType, Settings};

/// The twin of a struct with named fields. Other types are set whole.
pub(crate) fn twin(input: &DeriveInput, prepared: &PreparedType, settings: &Settings) -> TokenStream {
    if !settings.apply || !input.generics.params.is_empty() || prepared.fields.is_empty() {
        return TokenStream::new();
    }
    let Data::Struct(data) = &input.data else {
        return TokenStream::new();
    };
    let Fields::Named(fields) = &data.fields else {
        return TokenStream::new();
    };
    let (of, visibility) = (&input.ident, &input.vis);
    let name = format_ident!("{of}Apply");
    let written = prepared
        .fields
        .iter()
        .zip(&fields.named)
        .filter(|(known, _)| !known.serde.skip_serializing);
    let setters = written.filter_map(|(known, field)| {
        let ident = field.ident.as_ref()?;
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        Some(setter(known, ident, visibility, docs))
    });
    let has_new = prepared.fields.iter().any(|field| field.rust_name == "new");
    let new = (!has_new).then(|| {
        quote! {
            /// Nothing is set.
            #visibility fn new() -> Self {
                Self::default()
            }
        }
    });
    let docs = format!("What server-side apply says of a `{of}`: only what was set.");
    quote! {
        #[doc = #docs]
        #[allow(dead_code)]
        #[derive(
            ::core::clone::Clone,
            ::core::fmt::Debug,
            ::core::default::Default,
            ::core::cmp::PartialEq,
        )]
        #visibility struct #name(::kubewright::apply::Fields);

        #[automatically_derived]
        #[allow(dead_code, missing_docs, clippy::all, clippy::pedantic)]
        impl #name {
            #new
            #(#setters)*
        }

        #[automatically_derived]
        impl ::kubewright::apply::Part<#of> for #name {
            fn into_value(self) -> ::core::result::Result<::kubewright::serde_json::Value, ::kubewright::serde_json::Error> {
                self.0.into_value()
            }
        }

        #[automatically_derived]
        impl ::kubewright::serde::Serialize for #name {
            fn serialize<S: ::kubewright::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                ::kubewright::serde::Serialize::serialize(&self.0, serializer)
            }
        }
    }
}

fn setter<'a>(
    known: &PreparedField,
    ident: &Ident,
    visibility: &Visibility,
    docs: impl Iterator<Item = &'a Attribute>,
) -> TokenStream {
    let name = &known.name;
    let value = format_ident!("value");
    if let Some(function) = &known.serde.serialize_with {
        let ty = &known.ty;
        return quote! {
            #(#docs)*
            #visibility fn #ident(mut self, #value: #ty) -> Self {
                #[derive(::kubewright::serde::Serialize)]
                #[serde(crate = "::kubewright::serde", transparent)]
                struct One {
                    #[serde(serialize_with = #function)]
                    value: #ty,
                }
                self.0.set(#name, ::kubewright::serde_json::to_value(One { value: #value }));
                self
            }
        };
    }
    let argument = argument(&known.ty);
    let code = code(&known.ty, &quote!(#value), 0);
    let set = if known.serde.flatten {
        quote!(self.0.merge(#code))
    } else {
        quote!(self.0.set(#name, #code))
    };
    quote! {
        #(#docs)*
        #visibility fn #ident(mut self, #value: #argument) -> Self {
            #set;
            self
        }
    }
}

/// What a setter takes: anything that stands for a value of the field's type.
fn argument(ty: &Type) -> TokenStream {
    match shape(ty) {
        Shape::Option(inner) | Shape::Boxed(inner) => argument(inner),
        Shape::List(items) => {
            let items = argument(items);
            quote!(impl ::core::iter::IntoIterator<Item = #items>)
        }
        Shape::Map(key, values) => {
            let values = argument(values);
            quote!(impl ::core::iter::IntoIterator<Item = (impl ::core::convert::Into<#key>, #values)>)
        }
        _ => quote!(impl ::kubewright::apply::Part<#ty>),
    }
}

/// The code that makes JSON of it.
fn code(ty: &Type, value: &TokenStream, depth: usize) -> TokenStream {
    let inside = format_ident!("inside{depth}");
    match shape(ty) {
        Shape::Option(inner) | Shape::Boxed(inner) => code(inner, value, depth),
        Shape::List(items) => {
            let item = code(items, &quote!(#inside), depth + 1);
            quote!(::kubewright::apply::list(#value, |#inside| #item))
        }
        Shape::Map(key, values) => {
            let item = code(values, &quote!(#inside), depth + 1);
            quote!(::kubewright::apply::map::<#key, _, _>(#value, |#inside| #item))
        }
        _ => quote!(::kubewright::apply::Part::<#ty>::into_value(#value)),
    }
}
