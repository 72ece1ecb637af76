//! From a place in a structural schema back to the Rust type that it came from.

use serde_json::Value;

use super::SOURCE;
use super::rewrite::name_of;

/// References are followed this often; types that contain themselves end there.
const DEEPEST: usize = 64;

/// One step from a schema to a schema within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To a field.
    Field(String),
    /// To the items of a list.
    Item,
    /// To the values of a map.
    Value,
}

/// The field that steps lead to: `spec.rules[].port`.
pub(crate) fn path_of(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Field(name) if path.is_empty() => path.push_str(name),
            Step::Field(name) => {
                path.push('.');
                path.push_str(name);
            }
            Step::Item => path.push_str("[]"),
            Step::Value => path.push_str(".*"),
        }
    }
    path
}

/// What is known of a place in a type's schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The Rust type that is nearest to it.
    pub(crate) ty: Option<String>,
    /// File and line of it.
    pub(crate) source: Option<String>,
}

/// The place that steps lead to, or the last one known on the way there.
pub(crate) fn trace(root: &Value, steps: &[Step]) -> Place {
    follow(root, root, steps, &Place::default(), DEEPEST).unwrap_or_default()
}

fn follow(root: &Value, schema: &Value, steps: &[Step], outer: &Place, depth: usize) -> Option<Place> {
    let depth = depth.checked_sub(1)?;
    let mut place = outer.clone();
    if let Some(source) = schema.get(SOURCE).and_then(Value::as_str) {
        place.source = Some(source.to_owned());
    }
    let within = |schema: &Value, steps: &[Step], place: &Place| follow(root, schema, steps, place, depth);
    let Some((step, rest)) = steps.split_first() else {
        // The type of the field, unless the field says itself where it is.
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            place.ty = Some(name_of(reference).to_owned());
            let source = target(root, reference)
                .and_then(|target| target.get(SOURCE))
                .and_then(Value::as_str);
            if place.source == outer.source && source.is_some() {
                place.source = source.map(str::to_owned);
            }
        }
        return Some(place);
    };
    let next = match step {
        Step::Field(name) => schema.get("properties").and_then(|properties| properties.get(name)),
        Step::Item => schema.get("items"),
        Step::Value => schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
            .or_else(|| {
                let patterns = schema.get("patternProperties").and_then(Value::as_object)?;
                patterns.values().next()
            }),
    };
    if let Some(next) = next {
        return within(next, rest, &place).or(Some(place));
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        place.ty = Some(name_of(reference).to_owned());
        return within(target(root, reference)?, steps, &place);
    }
    let parts = ["allOf", "oneOf", "anyOf"]
        .iter()
        .filter_map(|key| schema.get(key).and_then(Value::as_array))
        .flatten();
    parts.into_iter().find_map(|part| within(part, steps, &place))
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
        let field = |name: &str| Step::Field(name.to_owned());
        let place = trace(&schema, &[field("spec"), field("rules"), Step::Item, field("port")]);
        assert_eq!(
            (place.ty.as_deref(), place.source.as_deref()),
            (Some("Rule"), Some("rule.rs:11"))
        );
        let place = trace(&schema, &[field("spec"), field("rules"), Step::Item, field("name")]);
        assert_eq!(
            (place.ty.as_deref(), place.source.as_deref()),
            (Some("Rule"), Some("rule.rs:9"))
        );
        assert_eq!(trace(&schema, &[field("spec")]).ty.as_deref(), Some("Spec"));
    }

    #[test]
    fn a_type_that_contains_itself_ends_the_search() {
        let schema = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/A" } } });
        assert_eq!(trace(&schema, &[Step::Item]), Place::default());
    }
}
