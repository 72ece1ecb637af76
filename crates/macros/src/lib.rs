#![doc = include_str!("lib.md")]

mod apply;
mod convert;
#[cfg(test)]
mod no_panic;
mod rbac;
mod resource;
mod schema;
mod test;
mod words;

use proc_macro::TokenStream;

/// The derive as `kubewright` exports it: the code it writes calls `::kubewright`. See [`ConvertInRuntime`] for what it does.
///
/// Each of the two crates exports the derive that calls itself, so that nobody has to say where Kubewright is.
#[proc_macro_derive(Convert, attributes(convert))]
pub fn convert(item: TokenStream) -> TokenStream {
    convert::expand(item.into(), "kubewright").into()
}

#[doc = include_str!("convert/derive.md")]
#[proc_macro_derive(ConvertInRuntime, attributes(convert))]
pub fn convert_in_runtime(item: TokenStream) -> TokenStream {
    convert::expand(item.into(), "kubewright_runtime").into()
}

#[doc = include_str!("resource/attribute.md")]
#[proc_macro_attribute]
pub fn resource(arguments: TokenStream, item: TokenStream) -> TokenStream {
    resource::expand(arguments.into(), item.into()).into()
}

#[doc = include_str!("schema/attribute.md")]
#[proc_macro_attribute]
pub fn schema(arguments: TokenStream, item: TokenStream) -> TokenStream {
    schema::expand(arguments.into(), item.into()).into()
}

/// `#[kubewright::resource(optional, …)]`: what `kubewright::optional::resource` is. See [`macro@resource`] for what it does.
#[proc_macro_attribute]
pub fn optional_resource(arguments: TokenStream, item: TokenStream) -> TokenStream {
    resource::expand(schema::optional_unless_said(&arguments.into()), item.into()).into()
}

/// `#[kubewright::schema(optional)]`: what `kubewright::optional::schema` is. See [`macro@schema`] for what it does.
#[proc_macro_attribute]
pub fn optional_schema(arguments: TokenStream, item: TokenStream) -> TokenStream {
    schema::expand(schema::optional_unless_said(&arguments.into()), item.into()).into()
}

#[doc = include_str!("rbac/attribute.md")]
#[proc_macro_attribute]
pub fn rbac(arguments: TokenStream, item: TokenStream) -> TokenStream {
    rbac::expand(arguments.into(), item.into()).into()
}

#[doc = include_str!("test.md")]
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    test::expand(options.into(), &item.into(), &quote::quote!(::kubewright::testing)).into()
}

/// The attribute as `kubewright-testing` exports it: the code it writes calls that crate. See [`macro@test`] for what it does.
#[proc_macro_attribute]
pub fn test_in_testing(options: TokenStream, item: TokenStream) -> TokenStream {
    test::expand(options.into(), &item.into(), &quote::quote!(::kubewright_testing)).into()
}
