//! From the JSON of a schema to the tree that serves requests.

use serde_json::{Map, Value};

use super::{
    checks::{Bounds, Checks, Enum, FormatKind, Limit, NamedFormat, NumberChecks, Quantors, StringChecks},
    coerce,
    formats::Format,
    go,
    node::{Additional, ListType, Node, SubtreeFeatures, Types, beginning},
    pattern::{Pattern, PatternDefect},
    prune,
};

/// How deep schemas may nest; what is deeper is as if it were not specified. No decoder lets such a schema through.
const MAX_DEPTH: usize = 256;

/// What is known of the patterns of a schema.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Those that cannot run.
    pub(super) defects: Vec<PatternDefect>,
    /// The most steps that one of them takes for a character.
    pub(super) steps: usize,
}

/// Compiles the schema of a whole object.
pub(super) fn compile(openapi: &Value, preserve_unknown_fields: bool, patterns: &mut Patterns) -> Node {
    let mut compiler = Compiler { patterns };
    let mut root = compiler.node(openapi, 0, "");
    if !preserve_unknown_fields {
        prune_defaults(&mut root);
    }
    root
}

struct Compiler<'d> {
    patterns: &'d mut Patterns,
}

impl Compiler<'_> {
    fn node(&mut self, schema: &Value, depth: usize, path: &str) -> Node {
        let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return Node::default();
        };
        let int_or_string = flag(schema, "x-kubernetes-int-or-string");
        let types = if int_or_string {
            Types::INT_OR_STRING
        } else {
            Types::named(text(schema, "type").unwrap_or_default())
        };
        let mut node = Node {
            types,
            nullable: flag(schema, "nullable"),
            preserves: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(schema, "x-kubernetes-embedded-resource"),
            formatted: text(schema, "format").is_some_and(|format| !matches!(format, "" | "byte")),
            atomic_map: text(schema, "x-kubernetes-map-type") == Some("atomic"),
            list: match text(schema, "x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            keys: strings(schema, "x-kubernetes-list-map-keys"),
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            properties: self.properties(schema, depth, path),
            additional: match schema.get("additionalProperties") {
                Some(Value::Object(_)) => Additional::Of(Box::new(self.node(
                    &schema["additionalProperties"],
                    depth + 1,
                    &format!("{path}.additionalProperties"),
                ))),
                Some(Value::Bool(true)) => Additional::Any,
                Some(Value::Bool(false)) => Additional::Nothing,
                _ => Additional::Absent,
            },
            items: schema
                .get("items")
                .map(|items| Box::new(self.node(items, depth + 1, &format!("{path}.items")))),
            beginnings: Box::default(),
            below: SubtreeFeatures::default(),
            checks: self.checks(schema, types, depth, path),
        };
        node.beginnings = node.properties.iter().map(|(name, _)| beginning(name)).collect();
        node.below = below(&node);
        node
    }

    fn properties(&mut self, schema: &Map<String, Value>, depth: usize, path: &str) -> Box<[(Box<str>, Node)]> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Box::default();
        };
        let compiled = properties.iter().map(|(name, property)| {
            let path = format!("{path}.properties[{name}]");
            (Box::from(name.as_str()), self.node(property, depth + 1, &path))
        });
        let mut compiled: Vec<(Box<str>, Node)> = compiled.collect();
        compiled.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        compiled.into()
    }

    fn checks(&mut self, schema: &Map<String, Value>, types: Types, depth: usize, path: &str) -> Checks {
        let format = format(schema, types);
        let kind = format.as_ref().map(|format| format.kind);
        Checks {
            string: StringChecks {
                length: bounds(schema, "minLength", "maxLength"),
                pattern: text(schema, "pattern")
                    .filter(|pattern| !pattern.is_empty())
                    .map(|pattern| Box::new(self.pattern(pattern, path))),
            },
            number: number_checks(schema, types, kind),
            items: bounds(schema, "minItems", "maxItems"),
            properties: bounds(schema, "minProperties", "maxProperties"),
            required: strings(schema, "required"),
            allowed: schema
                .get("enum")
                .and_then(Value::as_array)
                .filter(|values| !values.is_empty())
                .map(|values| Box::new(Enum::new(values))),
            quantors: self.quantors(schema, depth, path),
            format,
        }
    }

    fn pattern(&mut self, source: &str, path: &str) -> Pattern {
        let pattern = Pattern::compile(source);
        match &pattern.regex {
            Ok(regex) => self.patterns.steps = self.patterns.steps.max(regex.steps()),
            Err(reason) => self.patterns.defects.push(PatternDefect {
                path: format!("{path}.pattern").trim_start_matches('.').to_owned(),
                pattern: source.to_owned(),
                reason: reason.clone(),
            }),
        }
        pattern
    }

    fn quantors(&mut self, schema: &Map<String, Value>, depth: usize, path: &str) -> Option<Box<Quantors>> {
        let mut nodes = |name: &str| -> Box<[Node]> {
            let list = schema
                .get(name)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            list.iter()
                .enumerate()
                .map(|(index, schema)| self.node(schema, depth + 1, &format!("{path}.{name}[{index}]")))
                .collect()
        };
        let quantors = Quantors {
            any_of: nodes("anyOf"),
            one_of: nodes("oneOf"),
            all_of: nodes("allOf"),
            not: schema
                .get("not")
                .filter(|not| not.is_object())
                .map(|not| Box::new(self.node(not, depth + 1, &format!("{path}.not")))),
        };
        let has_any = !quantors.any_of.is_empty()
            || !quantors.one_of.is_empty()
            || !quantors.all_of.is_empty()
            || quantors.not.is_some();
        has_any.then(|| Box::new(quantors))
    }
}

fn below(node: &Node) -> SubtreeFeatures {
    let mut below = SubtreeFeatures {
        defaults: node.default.is_some(),
        embedded: node.embedded,
        keyed_lists: node.list != ListType::Atomic,
    };
    node.properties
        .iter()
        .for_each(|(_, property)| below.add(property.below));
    if let Some(values) = node.additional.schema() {
        below.add(values.below);
    }
    if let Some(items) = &node.items {
        below.add(items.below);
    }
    below
}

/// The format, if the server knows it for the type; others are as if not given.
fn format(schema: &Map<String, Value>, types: Types) -> Option<NamedFormat> {
    let name = text(schema, "format").filter(|name| !name.is_empty())?;
    let kind = match (types, name) {
        (Types::INTEGER, "int32") => FormatKind::Int32,
        (Types::INTEGER, "int64") => FormatKind::Int64,
        (Types::NUMBER, "float") => FormatKind::Float,
        (Types::NUMBER, "double") => FormatKind::Double,
        (Types::STRING | Types::INT_OR_STRING, name) => FormatKind::Text(Format::named(name)?),
        (types, name) if types.is_empty() => FormatKind::Text(Format::named(name)?),
        _ => return None,
    };
    Some(NamedFormat {
        name: name.into(),
        kind,
    })
}

fn number_checks(schema: &Map<String, Value>, types: Types, format: Option<FormatKind>) -> Option<Box<NumberChecks>> {
    let limit = |name: &str, exclusive: &str| -> Option<Limit> {
        let value = schema.get(name)?.as_f64()?;
        Some(Limit {
            value,
            exclusive: flag(schema, exclusive),
            misfit: misfit(go::Number::Float(value), types, format),
        })
    };
    let checks = NumberChecks {
        multiple_of: limit("multipleOf", ""),
        minimum: limit("minimum", "exclusiveMinimum"),
        maximum: limit("maximum", "exclusiveMaximum"),
    };
    let has_any = checks.multiple_of.is_some() || checks.minimum.is_some() || checks.maximum.is_some();
    has_any.then(|| Box::new(checks))
}

/// Whether a number is out of the range of a type, as upstream finds out: by printing and parsing it again.
pub(super) fn misfit(number: go::Number, types: Types, format: Option<FormatKind>) -> bool {
    if types == Types::INTEGER {
        let int = match number {
            go::Number::Int(int) => Some(int),
            go::Number::Float(float) => Some(float)
                .filter(|float| {
                    float.fract() == 0.0 && (-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(float)
                })
                .map(|float| float as i64),
        };
        return match (int, format) {
            (None, _) => true,
            (Some(int), Some(FormatKind::Int32)) => i32::try_from(int).is_err(),
            (Some(_), _) => false,
        };
    }
    if types == Types::NUMBER && format == Some(FormatKind::Float) {
        // Halfway to the next power of two is where rounding to 32 bits overflows.
        return number.as_float().abs() >= 3.402_823_567_797_336_6e38;
    }
    false
}

/// Defaults take the form that decoding would give them, once, so that every use of them may be a plain copy. Each is
/// decoded at its path in an object, since the schema around it decides which fields are known there.
fn prune_defaults(root: &mut Node) {
    let mut steps = Vec::new();
    // Replaced only after all were decoded, since decoding reads the schema around a default.
    let mut found = Vec::new();
    collect_defaults(root, &mut steps, &mut found);
    let pruned: Vec<_> = found
        .into_iter()
        .map(|(steps, default)| {
            let mut object = surround(&steps, default);
            coerce::coerce_default(root, &mut object);
            prune::prune(root, &mut object, None);
            let pruned = unwrap(&steps, object);
            (steps, pruned)
        })
        .collect();
    for (steps, default) in pruned {
        if let Some(node) = descend(root, &steps) {
            node.default = default;
        }
    }
}

/// One step from a schema to a schema below it.
#[derive(Clone, Debug)]
enum Subschema {
    Field(Box<str>),
    Values,
    Items,
}

fn collect_defaults(node: &Node, steps: &mut Vec<Subschema>, found: &mut Vec<(Vec<Subschema>, Value)>) {
    if !node.below.defaults {
        return;
    }
    // Scalars have nothing to prune.
    if let Some(default) = &node.default
        && (default.is_object() || default.is_array())
    {
        found.push((steps.clone(), default.clone()));
    }
    let mut below = |step: Subschema, child: &Node| {
        steps.push(step);
        collect_defaults(child, steps, found);
        steps.pop();
    };
    for (name, property) in &node.properties {
        below(Subschema::Field(name.clone()), property);
    }
    if let Some(values) = node.additional.schema() {
        below(Subschema::Values, values);
    }
    if let Some(items) = &node.items {
        below(Subschema::Items, items);
    }
}

/// The name under which a map's values are looked at.
const ANY_KEY: &str = "*";

fn surround(steps: &[Subschema], default: Value) -> Value {
    steps.iter().rev().fold(default, |inner, step| match step {
        Subschema::Field(name) => Value::Object(Map::from_iter([(name.to_string(), inner)])),
        Subschema::Values => Value::Object(Map::from_iter([(ANY_KEY.to_owned(), inner)])),
        Subschema::Items => Value::Array(vec![inner]),
    })
}

fn unwrap(steps: &[Subschema], object: Value) -> Option<Value> {
    steps.iter().try_fold(object, |outer, step| match (step, outer) {
        (Subschema::Field(name), Value::Object(mut fields)) => fields.remove(&**name),
        (Subschema::Values, Value::Object(mut fields)) => fields.remove(ANY_KEY),
        (Subschema::Items, Value::Array(mut items)) => items.pop(),
        _ => None,
    })
}

fn descend<'n>(root: &'n mut Node, steps: &[Subschema]) -> Option<&'n mut Node> {
    steps.iter().try_fold(root, |node, step| match step {
        Subschema::Field(name) => {
            let at = node.properties.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
            Some(&mut node.properties[at].1)
        }
        Subschema::Values => match &mut node.additional {
            Additional::Of(values) => Some(&mut **values),
            Additional::Absent | Additional::Any | Additional::Nothing => None,
        },
        Subschema::Items => node.items.as_deref_mut(),
    })
}

fn flag(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn text<'s>(schema: &'s Map<String, Value>, name: &str) -> Option<&'s str> {
    schema.get(name).and_then(Value::as_str)
}

fn strings(schema: &Map<String, Value>, name: &str) -> Box<[Box<str>]> {
    let list = schema
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(Box::from).collect()
}

fn bounds(schema: &Map<String, Value>, min: &str, max: &str) -> Bounds {
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    Bounds {
        min: bound(min),
        max: bound(max),
    }
}
