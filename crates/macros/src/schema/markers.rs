//! What users may say in `#[schema(…)]` of a field, a type, a variant or the items of a list, with the mistakes they can make.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse as _, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, ExprUnary, Lit, LitStr, Token, UnOp};

use super::rules;
use crate::words;

/// Where markers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkerPosition {
    Type,
    Field,
    Variant,
    /// Within `items(…)` or `values(…)`.
    Inside,
}

/// The markers of one schema.
#[derive(Default)]
pub(crate) struct Markers {
    /// Keywords of the schema and their values, as `json!` takes them.
    pub(crate) keywords: Vec<(&'static str, TokenStream)>,
    /// Rules in CEL, each an object as `json!` takes it.
    pub(crate) rules: Vec<TokenStream>,
    pub(crate) items: Option<Box<Markers>>,
    pub(crate) values: Option<Box<Markers>>,
    pub(crate) required: Option<Span>,
    pub(crate) optional: Option<Span>,
    pub(crate) nullable: Option<Span>,
    pub(crate) immutable: Option<Span>,
    pub(crate) default: Option<Fallback>,
    pub(crate) groups: Vec<Group>,
    /// Each key and where it was written.
    pub(crate) said: Vec<(String, Span)>,
}

/// The default of a field.
pub(crate) enum Fallback {
    /// The type's own.
    OfType,
    Value(Box<Expr>),
}

/// How many of some fields may be set: at most, exactly or at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SetCount {
    AtMost,
    Exactly,
    AtLeast,
}

/// Fields that exclude or need each other.
pub(crate) struct Group {
    pub(crate) count: SetCount,
    pub(crate) fields: Vec<Named>,
}

/// A field by its Rust name (`field`) or by its name in JSON (`"field"`).
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) is_json: bool,
    pub(crate) span: Span,
}

/// Keys for schemas everywhere.
const EVERYWHERE: [&str; 36] = [
    "minimum",
    "maximum",
    "exclusive_minimum",
    "exclusive_maximum",
    "multiple_of",
    "min_length",
    "max_length",
    "pattern",
    "format",
    "min_items",
    "max_items",
    "unique",
    "unique_items",
    "min_properties",
    "max_properties",
    "enum",
    "type",
    "title",
    "description",
    "example",
    "external_docs",
    "nullable",
    "list_type",
    "list_map_keys",
    "map_type",
    "struct_type",
    "preserve_unknown",
    "preserve_unknown_fields",
    "embedded_resource",
    "int_or_string",
    "rule",
    "validation",
    "immutable",
    "items",
    "values",
    "non_empty",
];
const FIELDS: [&str; 4] = ["required", "optional", "default", "schemaless"];
const TYPES: [&str; 3] = ["at_most_one_of", "exactly_one_of", "at_least_one_of"];
const VARIANTS: [&str; 2] = ["title", "description"];

impl Markers {
    /// Takes the `#[schema(…)]` attributes away and reads them.
    pub(crate) fn take(attributes: &mut Vec<Attribute>, place: MarkerPosition) -> Result<Self, Error> {
        let mut markers = Markers::default();
        let mut mistakes: Option<Error> = None;
        for attribute in attributes.extract_if(.., |attribute| attribute.path().is_ident("schema")) {
            if let Err(error) = attribute.parse_nested_meta(|meta| markers.read(&meta, place)) {
                match &mut mistakes {
                    Some(mistakes) => mistakes.combine(error),
                    None => mistakes = Some(error),
                }
            }
        }
        match mistakes {
            Some(mistakes) => Err(mistakes),
            None => Ok(markers),
        }
    }

    /// Whether there is any marker.
    pub(crate) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Where a key was written, if it was.
    pub(crate) fn place_of(&self, wanted: &str) -> Option<Span> {
        let mut found = self.said.iter().filter(|(key, _)| key == wanted);
        found.next().map(|(_, span)| *span)
    }

    /// Whether a key was written.
    pub(crate) fn says(&self, key: &str) -> bool {
        self.place_of(key).is_some()
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>, place: MarkerPosition) -> Result<(), Error> {
        let key = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
        let span = meta.path.span();
        if self.said.iter().any(|(said, _)| *said == key) && !REPEATABLE.contains(&key.as_str()) {
            return Err(meta.error(format!("`{key}` is said twice")));
        }
        self.said.push((key.clone(), span));
        if place == MarkerPosition::Variant && !VARIANTS.contains(&key.as_str()) {
            return Err(words::unknown(&meta.path, &VARIANTS));
        }
        match key.as_str() {
            "minimum" => self.say("minimum", number(meta)?),
            "maximum" => self.say("maximum", number(meta)?),
            // A switch beside the bound, as controller-gen has it, or the bound itself.
            "exclusive_minimum" => self.say("exclusiveMinimum", bound(meta)?),
            "exclusive_maximum" => self.say("exclusiveMaximum", bound(meta)?),
            "multiple_of" => self.say("multipleOf", number(meta)?),
            "min_length" => self.say("minLength", count(meta)?),
            "max_length" => self.say("maxLength", count(meta)?),
            "pattern" => self.say("pattern", text(meta)?),
            "format" => self.say("format", text(meta)?),
            "min_items" => self.say("minItems", count(meta)?),
            "max_items" => self.say("maxItems", count(meta)?),
            "unique" | "unique_items" => self.flag(meta, "uniqueItems")?,
            "min_properties" => self.say("minProperties", count(meta)?),
            "max_properties" => self.say("maxProperties", count(meta)?),
            "enum" => {
                let values = list(meta)?;
                self.say("enum", quote!([#(#values),*]));
            }
            "type" => {
                let types = ["string", "integer", "number", "boolean", "array", "object"];
                self.say("type", one_word(meta, &types)?);
            }
            "title" => self.say("title", text(meta)?),
            "description" => self.say("description", text(meta)?),
            "example" => self.say("example", value(meta)?),
            "external_docs" => self.say("externalDocs", external_docs(meta)?),
            "nullable" => {
                self.nullable = Some(span);
                self.flag(meta, "nullable")?;
            }
            "list_type" => self.say("x-kubernetes-list-type", one_word(meta, &["map", "set", "atomic"])?),
            "list_map_keys" => {
                let keys = list(meta)?;
                self.say("x-kubernetes-list-map-keys", quote!([#(#keys),*]));
            }
            "map_type" | "struct_type" => {
                self.say("x-kubernetes-map-type", one_word(meta, &["granular", "atomic"])?);
            }
            "preserve_unknown" | "preserve_unknown_fields" => {
                self.flag(meta, "x-kubernetes-preserve-unknown-fields")?;
            }
            "embedded_resource" => self.flag(meta, "x-kubernetes-embedded-resource")?,
            "int_or_string" => self.flag(meta, "x-kubernetes-int-or-string")?,
            "rule" | "validation" => self.rules.push(rules::rule(meta)?),
            "immutable" => {
                bare(meta)?;
                self.immutable = Some(span);
                self.rules.push(rules::immutable());
            }
            "items" => self.items = Some(Box::new(within(meta)?)),
            "values" => self.values = Some(Box::new(within(meta)?)),
            "non_empty" => bare(meta)?,
            "required" if place == MarkerPosition::Field => {
                bare(meta)?;
                self.required = Some(span);
            }
            "optional" if place == MarkerPosition::Field => {
                bare(meta)?;
                self.optional = Some(span);
            }
            "default" if place == MarkerPosition::Field => self.default = Some(Fallback::read(meta)?),
            "schemaless" if place == MarkerPosition::Field => bare(meta)?,
            "at_most_one_of" if place == MarkerPosition::Type => self.group(meta, SetCount::AtMost)?,
            "exactly_one_of" if place == MarkerPosition::Type => self.group(meta, SetCount::Exactly)?,
            "at_least_one_of" if place == MarkerPosition::Type => self.group(meta, SetCount::AtLeast)?,
            known if FIELDS.contains(&known) => {
                return Err(meta.error(format!("`{known}` is for fields")));
            }
            known if TYPES.contains(&known) => {
                return Err(meta.error(format!("`{known}` is for types: write it above the struct")));
            }
            _ => {
                let more: &[&str] = match place {
                    MarkerPosition::Field => &FIELDS,
                    MarkerPosition::Type => &TYPES,
                    MarkerPosition::Inside | MarkerPosition::Variant => &[],
                };
                return Err(words::unknown(&meta.path, &[&EVERYWHERE, more].concat()));
            }
        }
        Ok(())
    }

    fn say(&mut self, keyword: &'static str, value: TokenStream) {
        self.keywords.push((keyword, value));
    }

    fn flag(&mut self, meta: &ParseNestedMeta<'_>, keyword: &'static str) -> Result<(), Error> {
        bare(meta)?;
        self.say(keyword, quote!(true));
        Ok(())
    }

    fn group(&mut self, meta: &ParseNestedMeta<'_>, count: SetCount) -> Result<(), Error> {
        let content;
        syn::parenthesized!(content in meta.input);
        let fields = content.parse_terminated(Named::parse, Token![,])?;
        let fields: Vec<Named> = fields.into_iter().collect();
        if fields.len() < 2 {
            return Err(meta.error("it takes two fields or more: `(field, field)`"));
        }
        self.groups.push(Group { count, fields });
        Ok(())
    }
}

const REPEATABLE: [&str; 5] = [
    "rule",
    "validation",
    "at_most_one_of",
    "exactly_one_of",
    "at_least_one_of",
];

impl Fallback {
    pub(crate) fn read(meta: &ParseNestedMeta<'_>) -> Result<Self, Error> {
        if !meta.input.peek(Token![=]) {
            bare(meta)?;
            return Ok(Fallback::OfType);
        }
        let input = meta.value()?;
        if input.peek(syn::token::Brace) {
            let message = "a default is a value of the field's type: `default = Limits { cpu: 2 }`, or `default` alone for \
                           `Default::default()`";
            return Err(input.error(message));
        }
        Ok(Fallback::Value(Box::new(input.parse()?)))
    }
}

impl Named {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let span = input.span();
        if input.peek(LitStr) {
            let name = input.parse::<LitStr>()?.value();
            return Ok(Named {
                name,
                is_json: true,
                span,
            });
        }
        let name = input.call(Ident::parse_any)?.unraw().to_string();
        if input.peek(Token![.]) {
            return Err(input.error("only fields of this type can be named, not fields within them"));
        }
        Ok(Named {
            name,
            is_json: false,
            span,
        })
    }
}

/// A key without a value.
fn bare(meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
    if meta.input.is_empty() || meta.input.peek(Token![,]) {
        return Ok(());
    }
    let key = meta.path.to_token_stream().to_string();
    Err(meta.error(format!("`{key}` takes no value")))
}

/// What the value of a key is: `key = …`.
fn expression(meta: &ParseNestedMeta<'_>, wanted: &str) -> Result<Expr, Error> {
    if !meta.input.peek(Token![=]) {
        let key = meta.path.to_token_stream().to_string();
        return Err(meta.error(format!("`{key}` needs {wanted}: `{key} = …`")));
    }
    meta.value()?.parse()
}

fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_), expr, ..
        }) => literal(expr),
        _ => None,
    }
}

fn number(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    let value = expression(meta, "a number")?;
    match literal(&value) {
        None | Some(Lit::Int(_) | Lit::Float(_)) => Ok(quote!(#value)),
        Some(_) => Err(Error::new_spanned(value, "expected a number")),
    }
}

fn bound(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    if meta.input.peek(Token![=]) {
        let value = expression(meta, "a number")?;
        return match literal(&value) {
            None | Some(Lit::Int(_) | Lit::Float(_) | Lit::Bool(_)) => Ok(quote!(#value)),
            Some(_) => Err(Error::new_spanned(
                value,
                "expected a number, or nothing beside a bound",
            )),
        };
    }
    bare(meta)?;
    Ok(quote!(true))
}

/// A number of characters, items or properties.
fn count(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    let value = expression(meta, "a number")?;
    let is_negative = matches!(&value, Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }));
    match literal(&value) {
        None | Some(Lit::Int(_)) if !is_negative => Ok(quote!(#value)),
        _ => Err(Error::new_spanned(
            value,
            "expected a whole number that is not negative",
        )),
    }
}

fn text(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    let value = expression(meta, "a text")?;
    match literal(&value) {
        None | Some(Lit::Str(_)) => Ok(quote!(#value)),
        Some(_) => Err(Error::new_spanned(value, "expected a text in quotes")),
    }
}

/// Any JSON: a literal, a list, an object in braces, or an expression that serializes.
fn value(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    if meta.input.peek(Token![=]) {
        let input = meta.value()?;
        if input.peek(syn::token::Brace) {
            return input.parse::<TokenTree>().map(|object| quote!(#object));
        }
        let value: Expr = input.parse()?;
        return Ok(quote!(#value));
    }
    let key = meta.path.to_token_stream().to_string();
    Err(meta.error(format!("`{key}` needs a value: `{key} = …`")))
}

/// `key("a", "b")`, `key = ["a", "b"]` or `key = "a"`.
fn list(meta: &ParseNestedMeta<'_>) -> Result<Vec<Expr>, Error> {
    let key = meta.path.to_token_stream().to_string();
    let values: Vec<Expr> = if meta.input.peek(Token![=]) {
        match meta.value()?.parse()? {
            Expr::Array(array) => array.elems.into_iter().collect(),
            value => vec![value],
        }
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        content.parse_terminated(Expr::parse, Token![,])?.into_iter().collect()
    } else {
        Vec::new()
    };
    if values.is_empty() {
        return Err(meta.error(format!("`{key}` needs values: `{key}(\"a\", \"b\")`")));
    }
    Ok(values)
}

/// One of a few words, in quotes or not.
fn one_word(meta: &ParseNestedMeta<'_>, words: &[&str]) -> Result<TokenStream, Error> {
    let input = meta.value()?;
    let span = input.span();
    let word = if input.peek(LitStr) {
        input.parse::<LitStr>()?.value()
    } else {
        input.call(Ident::parse_any)?.to_string()
    };
    if words.contains(&word.as_str()) {
        return Ok(quote!(#word));
    }
    let message = format!("expected one of {}; found {word:?}", words.join(", "));
    Err(Error::new(span, message))
}

fn external_docs(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    if meta.input.peek(Token![=]) {
        let url = text(meta)?;
        return Ok(quote!({ "url": #url }));
    }
    let (mut url, mut description) = (None, None);
    meta.parse_nested_meta(|meta| {
        if meta.path.is_ident("url") {
            url = Some(text(&meta)?);
        } else if meta.path.is_ident("description") {
            description = Some(text(&meta)?);
        } else {
            return Err(words::unknown(&meta.path, &["url", "description"]));
        }
        Ok(())
    })?;
    let url = url.ok_or_else(|| meta.error("`external_docs` needs `url = \"https://…\"`"))?;
    let description = description.map(|description| quote!("description": #description,));
    Ok(quote!({ #description "url": #url }))
}

/// The markers of the items of a list or the values of a map.
fn within(meta: &ParseNestedMeta<'_>) -> Result<Markers, Error> {
    let mut markers = Markers::default();
    meta.parse_nested_meta(|meta| markers.read(&meta, MarkerPosition::Inside))?;
    Ok(markers)
}
