//! Finds the Rust type that a part of a structural schema came from.

use serde_json::Value;

use super::SOURCE;
use super::rewrite::name_of;

/// The number of references that are followed; types that contain themselves have no end.
const MAX_DEPTH: usize = 64;

/// One segment of the path from a schema to a schema within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathSegment {
    /// To a field.
    Field(String),
    /// To the items of a list.
    Item,
    /// To the values of a map.
    Value,
}

/// The path as messages show it: `spec.rules[].port`.
pub(crate) fn field_path(segments: &[PathSegment]) -> String {
    let mut path = String::new();
    for segment in segments {
        match segment {
            PathSegment::Field(name) if path.is_empty() => path.push_str(name),
            PathSegment::Field(name) => {
                path.push('.');
                path.push_str(name);
            }
            PathSegment::Item => path.push_str("[]"),
            PathSegment::Value => path.push_str(".*"),
        }
    }
    path
}

/// The Rust type that a part of a schema came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundType {
    /// The name of the innermost type.
    pub(crate) ty: Option<String>,
    /// File and line of it.
    pub(crate) source: Option<String>,
}

/// The innermost type on a path.
pub(crate) fn find_type(root: &Value, segments: &[PathSegment]) -> FoundType {
    follow(root, root, segments, &FoundType::default(), MAX_DEPTH).unwrap_or_default()
}

fn follow(
    root: &Value,
    schema: &Value,
    segments: &[PathSegment],
    outer: &FoundType,
    depth: usize,
) -> Option<FoundType> {
    let depth = depth.checked_sub(1)?;
    let mut found = outer.clone();
    if let Some(source) = schema.get(SOURCE).and_then(Value::as_str) {
        found.source = Some(source.to_owned());
    }
    let within =
        |schema: &Value, segments: &[PathSegment], found: &FoundType| follow(root, schema, segments, found, depth);
    let Some((segment, rest)) = segments.split_first() else {
        // The field's own source wins over that of its type.
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            found.ty = Some(name_of(reference).to_owned());
            let source = target(root, reference)
                .and_then(|target| target.get(SOURCE))
                .and_then(Value::as_str);
            if found.source == outer.source && source.is_some() {
                found.source = source.map(str::to_owned);
            }
        }
        return Some(found);
    };
    let next = match segment {
        PathSegment::Field(name) => schema.get("properties").and_then(|properties| properties.get(name)),
        PathSegment::Item => schema.get("items"),
        PathSegment::Value => schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
            .or_else(|| {
                let patterns = schema.get("patternProperties").and_then(Value::as_object)?;
                patterns.values().next()
            }),
    };
    if let Some(next) = next {
        return within(next, rest, &found).or(Some(found));
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        found.ty = Some(name_of(reference).to_owned());
        return within(target(root, reference)?, segments, &found);
    }
    let parts = ["allOf", "oneOf", "anyOf"]
        .iter()
        .filter_map(|key| schema.get(key).and_then(Value::as_array))
        .flatten();
    parts.into_iter().find_map(|part| within(part, segments, &found))
}

fn target<'r>(root: &'r Value, reference: &str) -> Option<&'r Value> {
    root.pointer(reference.strip_prefix('#').unwrap_or(reference))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_found_through_references_and_choices() {
        let schema = json!({
            "properties": { "spec": { "$ref": "#/$defs/Spec" } },
            "$defs": {
                "Spec": { "x-kubewright-source": "spec.rs:3", "properties": {
                    "rules": { "items": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/Rule" }] } },
                } },
                "Rule": { "x-kubewright-source": "rule.rs:9", "oneOf": [
                    { "properties": { "port": { "x-kubewright-source": "rule.rs:11" } } },
                    { "properties": { "name": {} } },
                ] },
            },
        });
        let field = |name: &str| PathSegment::Field(name.to_owned());
        let found = find_type(
            &schema,
            &[field("spec"), field("rules"), PathSegment::Item, field("port")],
        );
        assert_eq!(
            (found.ty.as_deref(), found.source.as_deref()),
            (Some("Rule"), Some("rule.rs:11"))
        );
        let found = find_type(
            &schema,
            &[field("spec"), field("rules"), PathSegment::Item, field("name")],
        );
        assert_eq!(
            (found.ty.as_deref(), found.source.as_deref()),
            (Some("Rule"), Some("rule.rs:9"))
        );
        assert_eq!(find_type(&schema, &[field("spec")]).ty.as_deref(), Some("Spec"));
    }

    #[test]
    fn a_type_that_contains_itself_ends_the_search() {
        let schema = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/A" } } });
        assert_eq!(find_type(&schema, &[PathSegment::Item]), FoundType::default());
    }
}
