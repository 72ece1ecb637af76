//! The attribute that kube's derive reads.

use quote::quote;
use syn::{Attribute, Ident, parse_quote};

use super::keys::Keys;

pub(super) fn attribute(keys: &Keys, spec: &Ident) -> Attribute {
    let said = &keys.kube;
    let docs = keys.docs.is_none().then(|| {
        let docs = format!(" A {}: an object whose spec is a [`{spec}`].", keys.root());
        quote!(doc = #docs,)
    });
    let derives = &keys.derives;
    parse_quote! {
        #[kube(
            #(#said,)*
            #docs
            #(derive = #derives,)*
            schema = "disabled",
            crates(
                kube = "::kubewright::kube",
                kube_core = "::kubewright::kube::core",
                k8s_openapi = "::kubewright::k8s_openapi",
                schemars = "::kubewright::schemars",
                serde = "::kubewright::serde",
                serde_json = "::kubewright::serde_json",
            )
        )]
    }
}
