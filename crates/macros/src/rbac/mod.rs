//! `#[rbac(…)]` on `impl Reconciler`: what the reconciler may do, written where it does it.

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, ImplItem, ItemImpl, Lit, LitStr, Token};

use crate::{schema, words};

/// The verbs of Kubernetes' own APIs. Others exist, so an unknown verb is a mistake only where it is nearly one of these.
const VERBS: [&str; 15] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "bind",
    "escalate",
    "impersonate",
    "approve",
    "sign",
    "use",
    "*",
];
const KEYS: [&str; 7] = [
    "groups",
    "resources",
    "verbs",
    "names",
    "resource_names",
    "urls",
    "namespace",
];

/// The code of `#[rbac(…)]`: the impl with `fn rules()` in it.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    rules(arguments, item).unwrap_or_else(|error| error.to_compile_error())
}

fn rules(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let Ok(mut implementation) = syn::parse2::<ItemImpl>(item.clone()) else {
        return Err(Error::new_spanned(first(item), MISPLACED));
    };
    let is_reconciler = implementation
        .trait_
        .as_ref()
        .and_then(|(path, _)| path.segments.last())
        .is_some_and(|last| last.ident == "Reconciler");
    if !is_reconciler {
        return Err(Error::new_spanned(&implementation.self_ty, MISPLACED));
    }
    let written = implementation.items.iter().find_map(|item| match item {
        ImplItem::Fn(function) if function.sig.ident == "rules" => Some(function.sig.ident.span()),
        _ => None,
    });
    if let Some(span) = written {
        let message =
            "`#[rbac(…)]` writes `rules`: say here what it said, with `#[rbac(…)]`, or leave the attributes out";
        return Err(Error::new(span, message));
    }
    // The outermost attribute writes the rules of all of them.
    let is_more = |attribute: &mut Attribute| {
        attribute
            .path()
            .segments
            .last()
            .is_some_and(|last| last.ident == "rbac")
    };
    let more: Vec<Attribute> = implementation.attrs.extract_if(.., is_more).collect();
    let more = more.into_iter().map(|attribute| match attribute.meta {
        syn::Meta::List(list) => Ok(list.tokens),
        other => Err(Error::new_spanned(
            other,
            "`#[rbac]` needs its keys: #[rbac(groups = \"\", resources = \"pods\", verbs = \"delete\")]",
        )),
    });
    let arguments = schema::all(std::iter::once(Ok(arguments)).chain(more))?;
    let rules = schema::all(arguments.into_iter().map(rule))?;
    implementation.items.push(syn::parse_quote! {
        fn rules() -> ::std::vec::Vec<::kubewright::operator::Rule> {
            ::std::vec![#(#rules),*]
        }
    });
    Ok(quote!(#implementation))
}

const MISPLACED: &str =
    "`#[rbac(…)]` stands above `impl Reconciler for …`; for an operator without one there is `Operator::rule`";

fn first(item: TokenStream) -> TokenStream {
    item.into_iter().take(1).collect()
}

/// One rule as code.
fn rule(arguments: TokenStream) -> Result<TokenStream, Error> {
    let span = arguments.span();
    let (mut groups, mut resources, mut verbs, mut names, mut urls) = (None, None, None, None, None);
    let mut namespace = None;
    let parser = syn::meta::parser(|meta| {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let slot = match key.as_str() {
            "groups" => &mut groups,
            "resources" => &mut resources,
            "verbs" => &mut verbs,
            "names" | "resource_names" => &mut names,
            "urls" => &mut urls,
            "namespace" => {
                namespace = Some(meta.value()?.parse::<LitStr>()?);
                return Ok(());
            }
            _ => return Err(words::unknown(&meta.path, &KEYS)),
        };
        if slot.is_some() {
            return Err(meta.error(format!("`{key}` is said twice")));
        }
        *slot = Some(texts(&meta)?);
        Ok(())
    });
    parser.parse2(arguments)?;
    let missing = |key: &str, example: &str| Error::new(span, format!("`{key}` is missing: {key} = \"{example}\""));
    let verbs = verbs.ok_or_else(|| missing("verbs", "create, patch"))?;
    schema::all(verbs.iter().map(check_verb))?;
    let verbs = words_of(&verbs);
    if let Some(urls) = urls {
        if groups.is_some() || resources.is_some() || names.is_some() {
            return Err(Error::new(span, "a rule is for resources or for urls: write two"));
        }
        if let Some(namespace) = namespace {
            return Err(Error::new(namespace.span(), "urls are of no namespace"));
        }
        if let Some(url) = urls
            .iter()
            .find(|url| !url.value().starts_with('/') && url.value() != "*")
        {
            return Err(Error::new(
                url.span(),
                format!("a url begins with a slash: \"/{}\"", url.value()),
            ));
        }
        let urls = words_of(&urls);
        return Ok(quote!(::kubewright::operator::Rule::urls([#(#urls),*], [#(#verbs),*])));
    }
    let resources = words_of(&resources.ok_or_else(|| missing("resources", "deployments"))?);
    let groups = groups.ok_or_else(|| missing("groups", "apps"))?;
    // As in kubebuilder's markers, the core group may be named.
    let groups = groups.iter().map(|group| match group.value().as_str() {
        "core" => LitStr::new("", group.span()),
        _ => group.clone(),
    });
    let names = names.filter(|names| !names.is_empty()).map(|names| {
        let names = words_of(&names);
        quote!(.named([#(#names),*]))
    });
    let namespace = namespace.map(|namespace| quote!(.in_namespace(#namespace)));
    Ok(quote_spanned! {span=>
        ::kubewright::operator::Rule::new([#(#groups),*], [#(#resources),*], [#(#verbs),*]) #names #namespace
    })
}

fn words_of(texts: &[LitStr]) -> Vec<LitStr> {
    texts.to_vec()
}

fn check_verb(verb: &LitStr) -> Result<(), Error> {
    let word = verb.value();
    if VERBS.contains(&word.as_str()) {
        return Ok(());
    }
    match words::nearest(&word, &VERBS) {
        Some(near) => {
            let known = VERBS.join(", ");
            let message = format!("no verb is named {word:?}; did you mean {near:?}? known are: {known}");
            Err(Error::new(verb.span(), message))
        }
        None if word.is_empty() => Err(Error::new(verb.span(), "a verb is missing between the commas")),
        None => Ok(()),
    }
}

/// `key = "a, b"` (or kubebuilder's `"a;b"`) or `key = ["a", "b"]`. An empty text is one word: the core group.
fn texts(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>, Error> {
    if !meta.input.peek(Token![=]) {
        return Err(meta.error("expected a text or a list of texts: `= \"a, b\"` or `= [\"a\", \"b\"]`"));
    }
    let values: Vec<Expr> = match meta.value()?.parse()? {
        Expr::Array(array) => array.elems.into_iter().collect(),
        value => vec![value],
    };
    let texts = schema::all(values.into_iter().map(|value| match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Ok(text),
        other => Err(Error::new_spanned(other, "expected a text in quotes")),
    }))?;
    let words = texts.iter().flat_map(|text| {
        let parts: Vec<LitStr> = text
            .value()
            .split([',', ';'])
            .map(|word| LitStr::new(word.trim().trim_matches('"'), text.span()))
            .collect();
        parts
    });
    Ok(words.collect())
}
