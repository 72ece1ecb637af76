//! What users may say in `#[convert(…)]`, with the mistakes they can make.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, DeriveInput, Error, LitStr, Path, Token, Type};

use super::Direction;

/// What stands above the type.
pub(super) struct Container {
    pub(super) hub: Type,
    pub(super) runtime: Option<Path>,
    /// The directions said to fail.
    pub(super) fallible: Vec<Direction>,
    pub(super) added: Added,
    pub(super) root: Option<Type>,
    pub(super) skip_root: bool,
    pub(super) skip_status: bool,
}

/// What only the hub has: fields of a struct or variants of an enum, and what stands for them.
#[derive(Default)]
pub(super) struct Added {
    pub(super) items: Vec<(Ident, Option<TokenStream>)>,
    /// The rest is the hub's default.
    pub(super) rest: bool,
}

/// What stands above a field.
#[derive(Default)]
pub(super) struct Field {
    pub(super) rename: Option<Ident>,
    pub(super) skip: bool,
    pub(super) default: Option<TokenStream>,
    pub(super) to_hub: Option<Function>,
    pub(super) from_hub: Option<Function>,
}

/// A function of the user.
pub(super) struct Function {
    pub(super) path: Path,
    pub(super) fallible: bool,
}

/// What stands above a variant.
#[derive(Default)]
pub(super) struct Variant {
    pub(super) rename: Option<Ident>,
    pub(super) skip: bool,
    pub(super) into: Option<TokenStream>,
    pub(super) added: Added,
}

impl Container {
    pub(super) fn parse(input: &DeriveInput) -> Result<Self, Error> {
        let (mut hub, mut runtime, mut root) = (None, None, None);
        let (mut skip_root, mut skip_status) = (false, false);
        let mut fallible = Vec::new();
        let mut added = Added::default();
        each(&input.attrs, |meta| {
            if meta.path.is_ident("hub") {
                hub = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("crate") {
                runtime = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("root") {
                root = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("added") {
                added = Added::parse(meta)?;
            } else if meta.path.is_ident("try") {
                fallible.extend([Direction::ToHub, Direction::FromHub]);
            } else if meta.path.is_ident("try_to_hub") {
                fallible.push(Direction::ToHub);
            } else if meta.path.is_ident("try_from_hub") {
                fallible.push(Direction::FromHub);
            } else if meta.path.is_ident("skip_root") {
                skip_root = true;
            } else if meta.path.is_ident("skip_status") {
                skip_status = true;
            } else {
                return Err(unknown(
                    meta,
                    "hub, crate, root, added, try, try_to_hub, try_from_hub, skip_root, skip_status",
                ));
            }
            Ok(())
        })?;
        let hub = hub.ok_or_else(|| {
            let message = "`Convert` needs the hub's type: #[convert(hub = v1::MyType)]";
            Error::new_spanned(&input.ident, message)
        })?;
        Ok(Container {
            hub,
            runtime,
            fallible,
            added,
            root,
            skip_root,
            skip_status,
        })
    }
}

impl Field {
    pub(super) fn parse(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut field = Field::default();
        let mut last = None;
        each(attributes, |meta| {
            let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            last = Some(meta.path.clone());
            match name.as_str() {
                "rename" => field.rename = Some(name_of(meta)?),
                "skip" => field.skip = true,
                "default" => field.default = Some(expression(meta.value()?)?),
                "with" | "try_with" => {
                    let module: Path = meta.value()?.parse()?;
                    let fallible = name == "try_with";
                    field.set(meta, Direction::ToHub, within(&module, "to_hub"), fallible)?;
                    field.set(meta, Direction::FromHub, within(&module, "from_hub"), fallible)?;
                }
                "to_hub" | "try_to_hub" => {
                    let path = meta.value()?.parse()?;
                    field.set(meta, Direction::ToHub, path, name == "try_to_hub")?;
                }
                "from_hub" | "try_from_hub" => {
                    let path = meta.value()?.parse()?;
                    field.set(meta, Direction::FromHub, path, name == "try_from_hub")?;
                }
                _ => {
                    let known = "rename, with, try_with, to_hub, try_to_hub, from_hub, try_from_hub, skip, default";
                    return Err(unknown(meta, known));
                }
            }
            Ok(())
        })?;
        let mistake = |message: &str| Err(Error::new_spanned(&last, message));
        if field.default.is_some() && !field.skip {
            return mistake(
                "`default` is for fields the hub does not have: add `skip`; a field only the hub has goes into \
                 `added(…)` above the type",
            );
        }
        if field.skip && (field.rename.is_some() || field.to_hub.is_some() || field.from_hub.is_some()) {
            return mistake("a skipped field is not converted: it takes nothing but `default`");
        }
        Ok(field)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>, way: Direction, path: Path, fallible: bool) -> Result<(), Error> {
        let function = match way {
            Direction::ToHub => &mut self.to_hub,
            Direction::FromHub => &mut self.from_hub,
        };
        if function.is_some() {
            return Err(meta.error("this direction has a function already"));
        }
        *function = Some(Function { path, fallible });
        Ok(())
    }

    pub(super) fn function(&self, way: Direction) -> Option<&Function> {
        match way {
            Direction::ToHub => self.to_hub.as_ref(),
            Direction::FromHub => self.from_hub.as_ref(),
        }
    }

    /// The directions that its functions make fallible.
    pub(super) fn fallible(&self) -> impl Iterator<Item = Direction> {
        let ways = [Direction::ToHub, Direction::FromHub].into_iter();
        ways.filter(|way| self.function(*way).is_some_and(|function| function.fallible))
    }
}

impl Variant {
    pub(super) fn parse(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut variant = Variant::default();
        let mut last = None;
        each(attributes, |meta| {
            last = Some(meta.path.clone());
            if meta.path.is_ident("rename") {
                variant.rename = Some(name_of(meta)?);
            } else if meta.path.is_ident("skip") {
                variant.skip = true;
            } else if meta.path.is_ident("into") {
                variant.into = Some(expression(meta.value()?)?);
            } else if meta.path.is_ident("added") {
                variant.added = Added::parse(meta)?;
            } else {
                return Err(unknown(meta, "rename, into, skip, added"));
            }
            Ok(())
        })?;
        let said =
            usize::from(variant.skip) + usize::from(variant.into.is_some()) + usize::from(variant.rename.is_some());
        if said > 1 {
            let message = "a variant is renamed, turned into another one or skipped: only one of them";
            return Err(Error::new_spanned(&last, message));
        }
        Ok(variant)
    }
}

impl Added {
    fn parse(meta: &ParseNestedMeta<'_>) -> Result<Self, Error> {
        let content;
        syn::parenthesized!(content in meta.input);
        let mut added = Added::default();
        while !content.is_empty() {
            if content.peek(Token![..]) {
                content.parse::<Token![..]>()?;
                added.rest = true;
            } else {
                let name = content.call(Ident::parse_any)?;
                let value = if content.peek(Token![=]) {
                    content.parse::<Token![=]>()?;
                    Some(expression(&content)?)
                } else {
                    None
                };
                added.items.push((name, value));
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(added)
    }
}

/// Calls a function for each item of each `#[convert(…)]`.
fn each(
    attributes: &[Attribute],
    mut item: impl FnMut(&ParseNestedMeta<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let own = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("convert"));
    let mut mistakes: Option<Error> = None;
    for attribute in own {
        if let Err(error) = attribute.parse_nested_meta(|meta| item(&meta)) {
            match &mut mistakes {
                Some(mistakes) => mistakes.combine(error),
                None => mistakes = Some(error),
            }
        }
    }
    mistakes.map_or(Ok(()), Err)
}

fn unknown(meta: &ParseNestedMeta<'_>, known: &str) -> Error {
    let name = meta.path.to_token_stream().to_string();
    meta.error(format!("`{name}` is not known here; known are: {known}"))
}

/// `rename = name` or `rename = "name"`.
fn name_of(meta: &ParseNestedMeta<'_>) -> Result<Ident, Error> {
    let value = meta.value()?;
    if value.peek(LitStr) {
        value.parse::<LitStr>()?.parse_with(Ident::parse_any)
    } else {
        value.call(Ident::parse_any)
    }
}

/// Everything up to the next comma.
fn expression(input: ParseStream<'_>) -> Result<TokenStream, Error> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    if tokens.is_empty() {
        return Err(input.error("expected an expression"));
    }
    Ok(tokens)
}

fn within(module: &Path, function: &str) -> Path {
    let mut path = module.clone();
    let span = path
        .segments
        .last()
        .map_or_else(proc_macro2::Span::call_site, |last| last.ident.span());
    path.segments.push(Ident::new(function, span).into());
    path
}

impl Added {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.rest
    }

    /// The members of a struct literal.
    pub(super) fn members(&self) -> TokenStream {
        let default = quote!(::core::default::Default::default());
        let items = self.items.iter().map(|(name, value)| {
            let value = value.as_ref().unwrap_or(&default);
            quote!(#name: #value)
        });
        let rest = self.rest.then(|| quote!(..#default));
        quote!(#(#items,)* #rest)
    }
}
