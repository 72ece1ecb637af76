//! What can be seen of a field's type without knowing its names: options, lists, maps, numbers and texts.

use quote::ToTokens as _;
use syn::{GenericArgument, PathArguments, Type};

/// The shape of a type. What is behind a name that is not from the standard library is not known.
pub(crate) enum Shape<'t> {
    Option(&'t Type),
    /// A box: it holds what it points to, and JSON does not show it.
    Boxed(&'t Type),
    List(&'t Type),
    Map(&'t Type, &'t Type),
    Integer,
    Float,
    Text,
    Bool,
    Other,
}

pub(crate) fn shape(ty: &Type) -> Shape<'_> {
    match ty {
        Type::Paren(inner) => shape(&inner.elem),
        Type::Group(inner) => shape(&inner.elem),
        Type::Array(array) => Shape::List(&array.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Shape::Other;
            };
            let arguments: Vec<&Type> = match &last.arguments {
                PathArguments::AngleBracketed(given) => given
                    .args
                    .iter()
                    .filter_map(|argument| match argument {
                        GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    })
                    .collect(),
                _ => Vec::new(),
            };
            named(&last.ident.to_string(), &arguments)
        }
        _ => Shape::Other,
    }
}

fn named<'t>(name: &str, arguments: &[&'t Type]) -> Shape<'t> {
    match (name, arguments) {
        ("Option", [inner]) => Shape::Option(inner),
        ("Box" | "Arc" | "Rc", [inner]) => Shape::Boxed(inner),
        ("Vec" | "VecDeque" | "BTreeSet" | "HashSet", [inner, ..]) => Shape::List(inner),
        ("BTreeMap" | "HashMap", [key, value, ..]) => Shape::Map(key, value),
        ("i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize", []) => Shape::Integer,
        ("f32" | "f64", []) => Shape::Float,
        ("String", []) => Shape::Text,
        ("bool", []) => Shape::Bool,
        _ => Shape::Other,
    }
}

/// The type without options and boxes around it.
pub(crate) fn inner(ty: &Type) -> &Type {
    match shape(ty) {
        Shape::Option(inside) | Shape::Boxed(inside) => inner(inside),
        _ => ty,
    }
}

pub(crate) fn is_option(ty: &Type) -> bool {
    matches!(shape(ty), Shape::Option(_))
}

/// The type as a user wrote it.
pub(crate) fn shown(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "")
}
