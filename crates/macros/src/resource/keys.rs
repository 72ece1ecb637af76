//! The keys of `#[kubewright::resource(…)]`: those of kube's `#[kube(…)]`, friendlier forms of some, and a few more.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, Lit, LitBool, LitStr, Path, Token};

use super::columns;
use crate::schema::markers::Fallback;
use crate::schema::{Settings, rules};
use crate::words;

/// Everything said of a kind.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: Option<LitStr>,
    pub(crate) root: Option<LitStr>,
    pub(crate) docs: Option<String>,
    pub(crate) status: Option<Path>,
    pub(crate) no_spec: bool,
    /// The default of the whole spec.
    pub(crate) default: Option<Fallback>,
    /// Rules in CEL for the whole object.
    pub(crate) rules: Vec<TokenStream>,
    /// The attributes for kube's derive.
    pub(crate) kube: Vec<TokenStream>,
    pub(crate) derives: Vec<String>,
    pub(crate) settings: Settings,
}

const KNOWN: [&str; 37] = [
    "group",
    "version",
    "kind",
    "root",
    "doc",
    "plural",
    "singular",
    "namespaced",
    "cluster",
    "no_spec",
    "status",
    "default",
    "derive",
    "attr",
    "shortname",
    "shortnames",
    "short_names",
    "category",
    "categories",
    "printcolumn",
    "selectable",
    "scale",
    "label",
    "labels",
    "annotation",
    "annotations",
    "rule",
    "validation",
    "storage",
    "served",
    "unserved",
    "deprecated",
    "optional",
    "required",
    "apply",
    "schema",
    "crates",
];

const REPEATABLE: [&str; 11] = [
    "optional",
    "derive",
    "attr",
    "shortname",
    "category",
    "printcolumn",
    "selectable",
    "label",
    "annotation",
    "rule",
    "validation",
];

impl Keys {
    pub(super) fn parse(arguments: TokenStream) -> Result<Self, Error> {
        let mut keys = Keys::default();
        let mut said: Vec<String> = Vec::new();
        let (mut group, mut version) = (None, None);
        let mut scale = None;
        let parser = syn::meta::parser(|meta| {
            let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            if said.contains(&name) && !REPEATABLE.contains(&name.as_str()) {
                return Err(meta.error(format!("`{name}` is said twice")));
            }
            said.push(name.clone());
            match name.as_str() {
                "group" => group = Some(text(&meta)?),
                "version" => version = Some(text(&meta)?),
                "scale" => scale = Some(meta.path.span()),
                _ => {}
            }
            keys.read(&meta, &name)
        });
        parser.parse2(arguments)?;
        let missing = |key: &str, example: &str| {
            let message = format!("`{key}` is missing: #[kubewright::resource({key} = \"{example}\", …)]");
            Error::new(Span::call_site(), message)
        };
        let (Some(group), Some(version)) = (&group, &version) else {
            let mut errors = Vec::new();
            if group.is_none() {
                errors.push(missing("group", "example.com"));
            }
            if version.is_none() {
                errors.push(missing("version", "v1"));
            }
            return Err(crate::schema::all(errors.into_iter().map(Err::<(), _>))
                .err()
                .unwrap_or_else(|| missing("group", "")));
        };
        (keys.group, keys.version) = (group.value(), version.value());
        keys.kube.push(quote!(group = #group));
        keys.kube.push(quote!(version = #version));
        let Some(kind) = &keys.kind else {
            return Err(missing("kind", "Garden"));
        };
        if !said.iter().any(|key| key == "plural") {
            let plural = kubewright_plural::plural(&kind.value());
            keys.kube.push(quote!(plural = #plural));
        }
        // kube would leave the subresource out without a word.
        if let (Some(span), None) = (scale, &keys.status) {
            let message = "`scale` needs `status = …`: the replicas it shows are in the status";
            return Err(Error::new(span, message));
        }
        if !keys
            .derives
            .iter()
            .any(|derive| derive.rsplit("::").next() == Some("PartialEq"))
        {
            keys.derives.push("PartialEq".to_owned());
        }
        Ok(keys)
    }

    /// The type of the kind's objects.
    pub(crate) fn root(&self) -> Ident {
        let name = self.root.as_ref().or(self.kind.as_ref());
        name.map_or_else(
            || format_ident!("Root"),
            |name| name.parse().unwrap_or_else(|_| format_ident!("Root")),
        )
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>, name: &str) -> Result<(), Error> {
        if self.settings.read(meta)? {
            return Ok(());
        }
        match name {
            "kind" => {
                let kind = type_name(meta)?;
                self.kube.push(quote!(kind = #kind));
                self.kind = Some(kind);
            }
            "root" => {
                let root = type_name(meta)?;
                self.kube.push(quote!(root = #root));
                self.root = Some(root);
            }
            "doc" => {
                let docs = text(meta)?;
                self.kube.push(quote!(doc = #docs));
                self.docs = Some(docs.value().trim().to_owned());
            }
            "plural" | "singular" => {
                let (key, value) = (&meta.path, text(meta)?);
                self.kube.push(quote!(#key = #value));
            }
            "namespaced" => self.kube.push(quote!(namespaced)),
            // The first two are read before; what is not namespaced is of the cluster, and may be said to be.
            "group" | "version" | "cluster" => {}
            "no_spec" => {
                self.no_spec = true;
                self.kube.push(quote!(no_spec));
            }
            "status" => self.status(meta)?,
            "default" => self.default = Some(Fallback::read(meta)?),
            "derive" => self.derives.push(text(meta)?.value()),
            "attr" => {
                let attribute = text(meta)?;
                self.kube.push(quote!(attr = #attribute));
            }
            "shortname" | "shortnames" | "short_names" => self.each(meta, "shortname")?,
            "category" | "categories" => self.each(meta, "category")?,
            "selectable" => self.each(meta, "selectable")?,
            "printcolumn" => self.kube.push(columns::printcolumn(meta)?),
            "scale" => self.kube.push(columns::scale(meta)?),
            "label" | "labels" => self.pairs(meta, "label")?,
            "annotation" | "annotations" => self.pairs(meta, "annotation")?,
            "rule" | "validation" => self.rules.push(rules::rule(meta)?),
            "storage" | "served" => {
                let key = &meta.path;
                let value = if meta.input.peek(Token![=]) {
                    meta.value()?.parse::<LitBool>()?.value
                } else {
                    true
                };
                self.kube.push(quote!(#key = #value));
            }
            "unserved" => self.kube.push(quote!(served = false)),
            "deprecated" => self.deprecated(meta)?,
            "schema" | "crates" | "cel" => {
                let message = "the schema and the crates' paths are written for you: leave this out";
                return Err(meta.error(message));
            }
            _ => return Err(words::unknown(&meta.path, &KNOWN)),
        }
        Ok(())
    }

    fn status(&mut self, meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
        let value = meta.value()?;
        let path: Path = if value.peek(LitStr) {
            value.parse::<LitStr>()?.parse()?
        } else {
            value.parse()?
        };
        let shown = LitStr::new(&path.to_token_stream().to_string(), path.span());
        self.kube.push(quote!(status = #shown));
        self.status = Some(path);
        Ok(())
    }

    /// `key = "a"`, `key = ["a", "b"]` or `key("a", "b")`.
    fn each(&mut self, meta: &ParseNestedMeta<'_>, key: &str) -> Result<(), Error> {
        let key = format_ident!("{key}");
        for value in texts(meta)? {
            if key == "selectable" {
                columns::check_path(&value)?;
            }
            self.kube.push(quote!(#key = #value));
        }
        Ok(())
    }

    /// `key("name", "value")` as kube has it, or `key("name" = "value", …)`.
    fn pairs(&mut self, meta: &ParseNestedMeta<'_>, key: &str) -> Result<(), Error> {
        let key = format_ident!("{key}");
        let content;
        syn::parenthesized!(content in meta.input);
        while !content.is_empty() {
            let name: LitStr = content.parse()?;
            if content.peek(Token![=]) {
                content.parse::<Token![=]>()?;
            } else {
                content.parse::<Token![,]>()?;
            }
            let value: LitStr = content.parse()?;
            self.kube.push(quote!(#key(#name, #value)));
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    /// `deprecated`, `deprecated = "…"` or `deprecated(warning = "…")`.
    fn deprecated(&mut self, meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
        let mut warning = None;
        if meta.input.peek(Token![=]) {
            warning = Some(text(meta)?);
        } else if meta.input.peek(syn::token::Paren) {
            meta.parse_nested_meta(|meta| {
                if !meta.path.is_ident("warning") {
                    return Err(words::unknown(&meta.path, &["warning"]));
                }
                warning = Some(text(&meta)?);
                Ok(())
            })?;
        }
        let warning = warning.map(|warning| quote!(= #warning));
        self.kube.push(quote!(deprecated #warning));
        Ok(())
    }
}

/// `key = "text"`.
pub(super) fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr, Error> {
    meta.value()?.parse()
}

/// The name of a type, which Rust must be able to write.
fn type_name(meta: &ParseNestedMeta<'_>) -> Result<LitStr, Error> {
    let name = text(meta)?;
    if name.parse::<Ident>().is_err() {
        let message = format!("{:?} is no name that a Rust type can have", name.value());
        return Err(Error::new(name.span(), message));
    }
    Ok(name)
}

fn texts(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>, Error> {
    let values: Vec<Expr> = if meta.input.peek(Token![=]) {
        match meta.value()?.parse()? {
            Expr::Array(array) => array.elems.into_iter().collect(),
            value => vec![value],
        }
    } else {
        let content;
        syn::parenthesized!(content in meta.input);
        content
            .parse_terminated(<Expr as syn::parse::Parse>::parse, Token![,])?
            .into_iter()
            .collect()
    };
    let texts = values.into_iter().map(|value| match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Ok(text),
        other => Err(Error::new_spanned(other, "expected a text in quotes")),
    });
    crate::schema::all(texts)
}
