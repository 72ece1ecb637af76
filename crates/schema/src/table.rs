//! Reading the table of facts: a header line per type, below it a line per field, indented by one space.
//!
//! ```text
//! @apps/v1 io.k8s.api.apps.v1                     the package of a group-version's kinds
//! io.k8s.api.core.v1.Container struct             a type and its form, then marks
//!  name string #1 !                               a field and its Go type, then marks
//! ```
//! Marks of a field: `#` its protobuf number, behind those of the messages it was promoted from and before its Go name if
//! that is no capitalised `name` (`#2.1`, `#5:UID`), `!` required, `?` omitempty, `0` omitzero, `via=` embedded structs, `list=`, `map=` and `patch=` for
//! merging, `enum=`, `format=`, `undescribed`, `declared=` (the schema's default, where it is not the type's zero value), `default=` (what
//! defaulting fills in). Marks of a type: `kind`, `defaults` (itself or below), `message` (protobuf wraps the list), `map=`, `enum=`, `format=`, `x-kubernetes-…=`.

use kubewright_merge::ListKind;
use serde_json::Value;

use crate::{
    model::{Declared, Facts, Field, Form, MapKind, Named, Node, Number, Omit, Scalar, Struct},
    types::Types,
};

pub(crate) enum Block {
    Package {
        group_version: &'static str,
        package: &'static str,
    },
    Type {
        name: &'static str,
        block: &'static str,
    },
}

/// Cuts the table into its blocks without looking into them.
pub(crate) fn blocks(text: &'static str) -> impl Iterator<Item = Block> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.find('\n')?;
        while rest[end + 1..].starts_with(' ') {
            end += 1 + rest[end + 1..].find('\n').unwrap_or(rest.len() - end - 1);
        }
        let block = &rest[..end];
        rest = &rest[end + 1..];
        let (name, tail) = block.split_once(' ')?;
        Some(match name.strip_prefix('@') {
            Some(group_version) => Block::Package {
                group_version,
                package: tail,
            },
            None => Block::Type { name, block },
        })
    })
}

/// Reads the block of the type `name`.
pub(crate) fn parse(types: &Types, name: &str, block: &str) -> Named {
    let package = name.rsplit_once('.').map_or("", |(package, _)| package);
    let mut lines = block.lines();
    let mut words = lines.next().unwrap_or_default().split(' ').skip(1);
    let form = match words.next().unwrap_or_default() {
        "struct" => Form::Struct(Struct::new(
            lines.filter_map(|line| field(types, package, line)).collect(),
        )),
        form => special(form).map_or_else(|| node(types, package, form).form, Form::Scalar),
    };
    let mut named = Named {
        node: Node::of(form),
        map: None,
        format: None,
        values: None,
        kind: false,
        defaults: false,
        message: false,
        extensions: Vec::new(),
    };
    for word in words {
        match word.split_once('=') {
            None => match word {
                "kind" => named.kind = true,
                "defaults" => named.defaults = true,
                "message" => named.message = true,
                _ => {}
            },
            Some(("map", kind)) => named.map = Some(map_kind(kind)),
            Some(("enum", values)) => named.values = Some(enumeration(values)),
            Some(("format", format)) => named.format = Some(format.into()),
            Some((name, value)) => named.extensions.extend(json(value).map(|value| (name.into(), value))),
        }
    }
    named
}

fn field(types: &Types, package: &str, line: &str) -> Option<Field> {
    let mut words = line.strip_prefix(' ')?.split(' ');
    let mut field = Field {
        name: words.next()?.into(),
        node: node(types, package, words.next()?),
        omit: Omit::Never,
        required: false,
        via: Box::default(),
        number: Number::default(),
        go_name: None,
        facts: Facts::default(),
        default: None,
    };
    field.facts.declared = Declared::ZeroIfWritten;
    for word in words {
        if let Some(place) = word.strip_prefix('#') {
            let (number, go_name) = place.split_once(':').map_or((place, None), |(n, name)| (n, Some(name)));
            field.go_name = go_name.map(Into::into);
            for (at, number) in field.number.iter_mut().zip(number.split('.')) {
                *at = number.parse().unwrap_or_default();
            }
            continue;
        }
        let Some((mark, value)) = word.split_once('=') else {
            match word {
                "!" => field.required = true,
                "?" => field.omit = Omit::Empty,
                "0" => field.omit = Omit::Zero,
                "undescribed" => field.facts.undescribed = true,
                _ => {}
            }
            continue;
        };
        let facts = &mut field.facts;
        match mark {
            "via" => field.via = value.split('.').map(Into::into).collect(),
            "list" => {
                let (kind, keys) = arguments(value);
                facts.list = Some(match kind {
                    "map" => ListKind::Map,
                    "set" => ListKind::Set,
                    _ => ListKind::Atomic,
                });
                facts.keys = keys
                    .map(|keys| keys.split(',').map(Into::into).collect())
                    .unwrap_or_default();
            }
            "map" => facts.map = Some(map_kind(value)),
            "patch" => {
                let (strategies, key) = arguments(value);
                for strategy in strategies.split(',') {
                    match strategy {
                        "merge" => facts.patch.merge = true,
                        "retainKeys" => facts.patch.retain_keys = true,
                        "replace" => facts.patch.replace = true,
                        _ => {}
                    }
                }
                facts.patch.key = key.map(Into::into);
            }
            "enum" => facts.values = Some(enumeration(value)),
            "format" => facts.format = Some(value.into()),
            "declared" => facts.declared = json(value).map_or(Declared::Nothing, Declared::Value),
            "default" => field.default = json(value),
            _ => {}
        }
    }
    if field.omit != Omit::Never && matches!(field.facts.declared, Declared::ZeroIfWritten) {
        field.facts.declared = Declared::Nothing;
    }
    Some(field)
}

fn map_kind(word: &str) -> MapKind {
    if word == "atomic" {
        MapKind::Atomic
    } else {
        MapKind::Granular
    }
}

/// `map(name,port)` is `map` and `name,port`.
fn arguments(value: &str) -> (&str, Option<&str>) {
    match value.split_once('(') {
        Some((word, arguments)) => (word, Some(arguments.trim_end_matches(')'))),
        None => (value, None),
    }
}

fn enumeration(values: &str) -> Box<[Box<str>]> {
    if values == "-" {
        return Box::default();
    }
    values
        .split('|')
        .map(|value| value.replace("%20", " ").into())
        .collect()
}

fn json(text: &str) -> Option<Value> {
    if text == "-" {
        return None;
    }
    let parsed = serde_json::from_str(text);
    debug_assert!(parsed.is_ok(), "the table holds {text}");
    parsed.ok()
}

/// Reads a type as Go writes it; names without a package are of the same one.
fn node(types: &Types, package: &str, text: &str) -> Node {
    if let Some(target) = text.strip_prefix('*') {
        return Node {
            pointer: true,
            ..node(types, package, target)
        };
    }
    if let Some(scalar) = basic(text) {
        return Node::of(Form::Scalar(scalar));
    }
    if let Some(item) = text.strip_prefix("[]") {
        return Node::of(Form::List(Box::new(node(types, package, item))));
    }
    if let Some((key, value)) = text.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        let key = if key == "string" {
            None
        } else {
            types.id(&qualified(package, key))
        };
        return Node::of(Form::Map {
            key,
            value: Box::new(node(types, package, value)),
        });
    }
    let id = types.id(&qualified(package, text));
    debug_assert!(id.is_some(), "the table has no type {text}");
    Node::of(id.map_or(Form::Scalar(Scalar::Any), Form::Named))
}

fn qualified<'n>(package: &str, name: &'n str) -> std::borrow::Cow<'n, str> {
    if name.contains('.') {
        name.into()
    } else {
        format!("{package}.{name}").into()
    }
}

fn basic(text: &str) -> Option<Scalar> {
    Some(match text {
        "string" => Scalar::String,
        "bool" => Scalar::Bool,
        "[]byte" => Scalar::Bytes,
        "int32" => Scalar::Int(32),
        "int64" => Scalar::Int(64),
        "float64" => Scalar::Float,
        "any" => Scalar::Any,
        _ => return None,
    })
}

/// The forms of the types that encode themselves.
fn special(form: &str) -> Option<Scalar> {
    Some(match form {
        "quantity" => Scalar::Quantity,
        "time" => Scalar::Time,
        "microtime" => Scalar::MicroTime,
        "int-or-string" => Scalar::IntOrString,
        "raw" => Scalar::Raw,
        "any" => Scalar::Any,
        "fields" => Scalar::Fields,
        "schema-or-bool" => Scalar::SchemaOrBool,
        "schema-or-array" => Scalar::SchemaOrArray,
        "schema-or-strings" => Scalar::SchemaOrStrings,
        _ => return None,
    })
}
