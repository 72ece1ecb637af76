//! Enums: variant by variant.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DataEnum, DeriveInput, Error, Fields, Path, PathArguments, Type};

use super::attributes::{Added, Container, Variant};
use super::structs::{ConvertedField, binding, literal, members};
use super::wire;
use super::{Bodies, Context, Direction, value};

/// A variant with its attributes.
struct Arm<'a> {
    variant: &'a syn::Variant,
    said: Variant,
    members: Vec<ConvertedField<'a>>,
}

pub(super) fn bodies(
    input: &DeriveInput,
    data: &DataEnum,
    container: &Container,
    exporter: &str,
) -> Result<(Bodies, Context), Error> {
    if container.added.rest {
        let message = "`..` fills fields; name the variants that only the hub has: added(Variant = Self::Other)";
        return Err(Error::new_spanned(&container.hub, message));
    }
    let arms = data.variants.iter().map(arm).collect::<Result<Vec<_>, _>>()?;
    let mut fallible: Vec<_> = arms
        .iter()
        .flat_map(|arm| &arm.members)
        .flat_map(|member| member.said.fallible())
        .collect();
    if arms.iter().any(|arm| arm.said.skip) {
        fallible.push(Direction::ToHub);
    }
    if container.added.items.iter().any(|(_, spoke)| spoke.is_none()) {
        fallible.push(Direction::FromHub);
    }
    let context = Context::new(container, exporter, &fallible);
    let hub = path_of(&container.hub)?;
    let (value, spoke) = (value(), &input.ident);
    let to_hub = arms.iter().map(|arm| arm.on_the_way_there(&context, spoke));
    let from_hub = arms.iter().filter_map(|arm| arm.on_the_way_back(&context, &hub));
    let added = container.added.items.iter().map(|(name, spoke)| {
        let refused = || refusal(&context, &name.to_string(), "this version");
        let spoke = spoke.clone().unwrap_or_else(refused);
        quote!(#hub::#name { .. } => #spoke,)
    });
    // The error about a variant of the hub that no variant is converted to points at the name of the hub.
    let from_hub = quote_spanned!(container.hub.span()=> match #value { #(#from_hub)* #(#added)* });
    let bodies = Bodies {
        to_hub: quote!(match #value { #(#to_hub)* }),
        from_hub,
    };
    Ok((bodies, context))
}

fn arm(variant: &syn::Variant) -> Result<Arm<'_>, Error> {
    let said = Variant::parse(&variant.attrs)?;
    if !said.added.is_empty() && !matches!(variant.fields, Fields::Named(_)) {
        let message = "only variants with named fields can have fields added";
        return Err(Error::new_spanned(variant, message));
    }
    // `rename_all` of an enum is for its variants; their fields have an attribute of their own.
    let style = wire::style(&variant.attrs);
    Ok(Arm {
        variant,
        said,
        members: members(&variant.fields, style)?,
    })
}

impl Arm<'_> {
    fn on_the_way_there(&self, context: &Context, spoke: &proc_macro2::Ident) -> TokenStream {
        let name = &self.variant.ident;
        if let Some(into) = &self.said.into {
            return quote!(#spoke::#name { .. } => #into,);
        }
        if self.said.skip {
            let refusal = refusal(context, &name.to_string(), "the hub's version");
            return quote!(#spoke::#name { .. } => #refusal,);
        }
        let hub = self.said.rename.as_ref().unwrap_or(name);
        let pattern = self.pattern(|member| &member.spoke, false);
        let fields = self.literal(context, Direction::ToHub, &self.said.added);
        quote!(#spoke::#name #pattern => Self::#hub #fields,)
    }

    fn on_the_way_back(&self, context: &Context, hub: &Path) -> Option<TokenStream> {
        if self.said.skip || self.said.into.is_some() {
            return None;
        }
        let name = &self.variant.ident;
        let renamed = self.said.rename.as_ref().unwrap_or(name);
        let pattern = self.pattern(|member| &member.hub, !self.said.added.is_empty());
        let fields = self.literal(context, Direction::FromHub, &Added::default());
        Some(quote!(#hub::#renamed #pattern => Self::#name #fields,))
    }

    fn literal(&self, context: &Context, way: Direction, added: &Added) -> Option<TokenStream> {
        let source = |name: &TokenStream| {
            let binding = binding(name);
            quote!(#binding)
        };
        match self.variant.fields {
            Fields::Unit => None,
            _ => Some(literal(
                context,
                way,
                &self.variant.fields,
                &self.members,
                added,
                source,
            )),
        }
    }

    fn pattern<'a>(
        &'a self,
        name: impl Fn(&'a ConvertedField<'_>) -> &'a TokenStream,
        open: bool,
    ) -> Option<TokenStream> {
        let bindings = self.members.iter().filter(|member| !member.said.skip).map(|member| {
            let name = name(member);
            (name, binding(name))
        });
        let (names, bindings): (Vec<_>, Vec<_>) = bindings.unzip();
        let rest = (open || names.len() < self.members.len()).then(|| quote!(..));
        match self.variant.fields {
            Fields::Named(_) => Some(quote!({ #(#names: #bindings,)* #rest })),
            Fields::Unnamed(_) => Some(quote!((#(#bindings,)*))),
            Fields::Unit => None,
        }
    }
}

fn refusal(context: &Context, variant: &str, whom: &str) -> TokenStream {
    let runtime = &context.runtime;
    let reason = format!("`{variant}` does not exist in {whom}");
    quote!(return ::core::result::Result::Err(#runtime::FieldError::new(#reason)))
}

/// The hub as the beginning of a pattern: generic arguments are inferred there.
fn path_of(hub: &Type) -> Result<Path, Error> {
    let Type::Path(path) = hub else {
        return Err(Error::new_spanned(hub, "expected the name of an enum"));
    };
    let mut path = path.path.clone();
    if let Some(last) = path.segments.last_mut() {
        last.arguments = PathArguments::None;
    }
    Ok(path)
}
