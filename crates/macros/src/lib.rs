//! Derives of Kubewright. They are thin: what the code they write calls lives in `kubewright-runtime`.
//! Use them through `kubewright` or `kubewright-runtime`, which export them beside the traits they serve.

mod convert;

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
