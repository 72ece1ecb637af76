//! Whether a marker suits the type it stands on, as far as the type can be seen.

use syn::{Error, Type};

use super::markers::Markers;
use super::shape::{Shape, inner, shape, shown};

/// Every marker that cannot mean anything for a value of this type.
pub(crate) fn check(markers: &Markers, ty: &Type) -> Result<(), Error> {
    let mut mistakes: Option<Error> = None;
    let mut note = |error: Error| match &mut mistakes {
        Some(mistakes) => mistakes.combine(error),
        None => mistakes = Some(error),
    };
    let ty = inner(ty);
    // Another type was asked for, or none: then the Rust type decides nothing.
    if !markers.says("type") && !markers.says("schemaless") && !markers.says("int_or_string") {
        for (key, span) in &markers.said {
            if let Some(wanted) = wanted(key).filter(|wanted| !suits(*wanted, &shape(ty))) {
                let message = format!("`{key}` is for {}; this is of type `{}`", wanted.words(), shown(ty));
                note(Error::new(*span, message));
            }
        }
    }
    if let Some(span) = markers.place_of("list_type")
        && markers.says("list_map_keys")
        && !is_map(markers)
    {
        note(Error::new(
            span,
            "`list_map_keys` is for lists of the type map: `list_type = map`, or leave it out",
        ));
    }
    let inside = match shape(ty) {
        Shape::List(items) => markers.items.as_ref().map(|markers| (markers, items)),
        Shape::Map(_, values) => markers.values.as_ref().map(|markers| (markers, values)),
        _ => None,
    };
    if let Some((markers, ty)) = inside
        && let Err(error) = check(markers, ty)
    {
        note(error);
    }
    match mistakes {
        Some(mistakes) => Err(mistakes),
        None => Ok(()),
    }
}

fn is_map(markers: &Markers) -> bool {
    let mut types = markers
        .keywords
        .iter()
        .filter(|(keyword, _)| *keyword == "x-kubernetes-list-type");
    types.any(|(_, value)| value.to_string() == "\"map\"")
}

/// What a marker is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkerType {
    Number,
    Text,
    List,
    Map,
    Object,
}

impl MarkerType {
    fn words(self) -> &'static str {
        match self {
            MarkerType::Number => "numbers",
            MarkerType::Text => "texts",
            MarkerType::List => "lists",
            MarkerType::Map => "maps",
            MarkerType::Object => "objects",
        }
    }
}

fn wanted(key: &str) -> Option<MarkerType> {
    Some(match key {
        "minimum" | "maximum" | "exclusive_minimum" | "exclusive_maximum" | "multiple_of" => MarkerType::Number,
        "min_length" | "max_length" | "pattern" => MarkerType::Text,
        "min_items" | "max_items" | "unique" | "unique_items" | "list_type" | "list_map_keys" | "items" => {
            MarkerType::List
        }
        "values" => MarkerType::Map,
        "min_properties" | "max_properties" | "map_type" | "struct_type" | "embedded_resource" => MarkerType::Object,
        _ => return None,
    })
}

fn suits(wanted: MarkerType, found: &Shape<'_>) -> bool {
    match found {
        Shape::Integer | Shape::Float => wanted == MarkerType::Number,
        Shape::Text => wanted == MarkerType::Text,
        Shape::Bool => false,
        Shape::List(_) => wanted == MarkerType::List,
        Shape::Map(..) => matches!(wanted, MarkerType::Map | MarkerType::Object),
        Shape::Option(_) | Shape::Boxed(_) | Shape::Other => true,
    }
}
