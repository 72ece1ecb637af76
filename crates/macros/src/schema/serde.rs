//! What users tell serde in `#[serde(…)]`, as far as the schema and the names in it depend on it.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, Error, Expr, ExprLit, Lit, Token};

use super::case::Case;

/// What stands above the type.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word that stands there or does not"
)]
pub(crate) struct Container {
    pub(crate) rename_all: Option<Case>,
    pub(crate) rename_all_fields: Option<Case>,
    pub(crate) has_crate: bool,
    pub(crate) has_default: bool,
    /// The function that makes the default, where it is not the type's own.
    pub(crate) default: Option<String>,
    /// The variant is identified by a field, by its content, or by another type, and is not a key of the object.
    pub(crate) is_tagged: bool,
    /// The type is read or written as another one.
    pub(crate) is_another: bool,
    pub(crate) is_transparent: bool,
}

/// What stands above a field or a variant.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word that stands there or does not"
)]
pub(crate) struct Field {
    pub(crate) rename: Option<String>,
    pub(crate) has_default: bool,
    /// The function that makes the default, where it is not the type's own.
    pub(crate) default: Option<String>,
    pub(crate) skip_serializing: bool,
    pub(crate) skip_deserializing: bool,
    /// The function that says when the field is not written.
    pub(crate) skip_serializing_if: Option<String>,
    pub(crate) flatten: bool,
    /// The function that writes the field.
    pub(crate) serialize_with: Option<String>,
    /// Functions of a module read and write the field.
    pub(crate) with_module: bool,
    /// The field is read by a function, which is not called where the field is missing.
    pub(crate) deserialize_with: bool,
    pub(crate) rename_all: Option<Case>,
}

impl Container {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut container = Container::default();
        each(attributes, "serde", |name, value| match name {
            "rename_all" => container.rename_all = value.and_then(Case::parse),
            "rename_all_fields" => container.rename_all_fields = value.and_then(Case::parse),
            "crate" => container.has_crate = true,
            "default" => {
                container.has_default = true;
                container.default = value.map(str::to_owned);
            }
            "tag" | "content" | "untagged" => container.is_tagged = true,
            "from" | "into" | "try_from" | "remote" => container.is_another = true,
            "transparent" => container.is_transparent = true,
            _ => {}
        })?;
        each(attributes, "schemars", |name, _| {
            if matches!(name, "with" | "schema_with") {
                container.is_another = true;
            }
        })?;
        Ok(container)
    }
}

impl Field {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut field = Field::default();
        each(attributes, "serde", |name, value| match name {
            "rename" => field.rename = value.map(str::to_owned),
            "rename_all" => field.rename_all = value.and_then(Case::parse),
            "default" => {
                field.has_default = true;
                field.default = value.map(str::to_owned);
            }
            "skip" => (field.skip_serializing, field.skip_deserializing) = (true, true),
            "skip_serializing" => field.skip_serializing = true,
            "skip_deserializing" => field.skip_deserializing = true,
            "skip_serializing_if" => field.skip_serializing_if = value.map(str::to_owned),
            "flatten" => field.flatten = true,
            "with" => {
                let last = value.and_then(|path| path.rsplit("::").next());
                field.with_module = last.is_some_and(|last| last.starts_with(char::is_lowercase));
                field.serialize_with = value.map(|module| format!("{module}::serialize"));
                field.deserialize_with = true;
            }
            "deserialize_with" => field.deserialize_with = true,
            "serialize_with" => field.serialize_with = value.map(str::to_owned),
            _ => {}
        })?;
        Ok(field)
    }

    pub(crate) fn is_skipped(&self) -> bool {
        self.skip_serializing && self.skip_deserializing
    }
}

/// The name without `r#`.
pub(crate) fn plain(name: &Ident) -> String {
    name.unraw().to_string()
}

/// Calls a function with each key of each attribute of this name, and its text where it is one. Of `rename(serialize = …,
/// deserialize = …)` it is the name that is read: the server reads what others write, too.
fn each(attributes: &[Attribute], attribute: &str, mut key: impl FnMut(&str, Option<&str>)) -> Result<(), Error> {
    for attribute in attributes.iter().filter(|found| found.path().is_ident(attribute)) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            let value = value(&meta)?;
            key(&name, value.as_deref());
            Ok(())
        })?;
    }
    Ok(())
}

fn value(meta: &ParseNestedMeta<'_>) -> Result<Option<String>, Error> {
    if meta.input.peek(Token![=]) {
        let value: Expr = meta.value()?.parse()?;
        return Ok(text(&value));
    }
    if !meta.input.peek(syn::token::Paren) {
        return Ok(None);
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let mut read = None;
    while !content.is_empty() {
        if content.fork().call(named).is_ok() {
            let (name, value) = content.call(named)?;
            if name == "deserialize" {
                read = text(&value);
            }
        } else {
            // `extend(…)`, `bound(…)`, `length(…)`: no names in there.
            content.parse::<TokenStream>()?;
        }
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    Ok(read)
}

fn named(input: ParseStream<'_>) -> Result<(Ident, Expr), Error> {
    let name = input.call(Ident::parse_any)?;
    input.parse::<Token![=]>()?;
    Ok((name, input.parse()?))
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::{DeriveInput, parse_str};

    use super::*;

    #[test]
    fn keys_are_found_among_others() {
        let source = r#"
            #[schemars(extend("a" = 1), rename_all = "x")]
            #[serde(bound = "T: X", rename_all = "snake_case", tag = "type", crate = "x::serde")]
            struct A {
                #[serde(rename(serialize = "a", deserialize = "b"), default = "f", with = "m")]
                a: u8,
            }"#;
        let input: DeriveInput = parse_str(source).unwrap();
        let container = Container::read(&input.attrs).unwrap();
        assert!(container.has_crate && container.is_tagged && !container.is_another);
        assert_eq!(container.rename_all, Some(Case::Snake));
        let syn::Data::Struct(data) = &input.data else { panic!() };
        let field = Field::read(&data.fields.iter().next().unwrap().attrs).unwrap();
        assert_eq!(field.rename.as_deref(), Some("b"));
        assert_eq!(field.serialize_with.as_deref(), Some("m::serialize"));
        assert!(field.has_default && !field.is_skipped());
    }
}
