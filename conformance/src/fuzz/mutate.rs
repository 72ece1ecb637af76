//! Changes an object at random places, by its type.

use kubewright_schema::{FieldRef, TypeRef};
use serde_json::{Value, json};

use super::random::Choices;
use super::values::{empty_like, is_server_side, of_another_type, of_type};
use super::weights::{MUTATION_COUNTS, MUTATIONS, Mutation};

/// A changed copy of a manifest.
pub fn changed(choices: &mut Choices, of: TypeRef<'_>, manifest: &Value) -> Value {
    let mut changed = manifest.clone();
    for _ in 0..choices.weighted(&MUTATION_COUNTS) {
        mutate(choices, of, &mut changed);
    }
    changed
}

/// Changes one place of an object.
pub fn mutate(choices: &mut Choices, of: TypeRef<'_>, object: &mut Value) {
    descend(choices, of, object, "", 0);
}

fn descend(choices: &mut Choices, of: TypeRef<'_>, value: &mut Value, name: &str, depth: usize) {
    // The deeper parts of a manifest have most of its fields, so that going on is more likely than staying.
    let deeper = choices.percent(if depth == 0 { 92 } else { 62 });
    match value {
        Value::Object(fields) if of.element().is_none() => {
            let parts: Vec<String> = fields
                .iter()
                .filter(|(key, value)| (value.is_object() || value.is_array()) && goes_into(choices, key, depth))
                .filter(|(key, _)| of.field_named(key).is_some())
                .map(|(key, _)| key.clone())
                .collect();
            if deeper && !parts.is_empty() {
                let part = choices.pick(&parts).clone();
                if let (Some(field), Some(value)) = (of.field_named(&part), fields.get_mut(&part)) {
                    return descend(choices, field.type_ref(), value, &part, depth + 1);
                }
            }
            change_field(choices, of, value, depth);
        }
        Value::Array(items) => {
            let at = choices.below(items.len());
            match (of.element(), items.get_mut(at)) {
                (Some(element), Some(item)) if item.is_object() && (deeper || choices.percent(50)) => {
                    descend(choices, element, item, name, depth + 1);
                }
                (Some(element), Some(_)) => match choices.weighted(&MUTATIONS) {
                    Mutation::Remove => drop(items.remove(at)),
                    Mutation::Repeat => items.push(items[at].clone()),
                    Mutation::Null => items[at] = Value::Null,
                    Mutation::WrongType => items[at] = of_another_type(choices, &items[at].clone()),
                    _ => items.push(of_type(choices, element, name)),
                },
                (Some(element), None) => items.push(of_type(choices, element, name)),
                (None, _) => {}
            }
        }
        _ => *value = of_type(choices, of, name),
    }
}

/// Whether a mutation goes into a part of an object: seldom into its metadata, never into parts that servers write.
fn goes_into(choices: &mut Choices, part: &str, depth: usize) -> bool {
    !(is_server_side(part)
        || depth == 0 && part == "status"
        || depth == 0 && part == "metadata" && !choices.percent(25))
}

fn change_field(choices: &mut Choices, of: TypeRef<'_>, value: &mut Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    let is_named = |field: &str| field == "name" || field == "namespace" || field == "generateName";
    // An object keeps its type and nearly always its name, without which nothing else is looked at.
    let keeps = |field: &str| is_server_side(field) || depth == 0 && (field == "metadata" || field == "status");
    let metadata = of.short_name() == Some("ObjectMeta") && depth == 1;
    let touches_names = choices.percent(10);
    let known: Vec<FieldRef<'_>> = of
        .fields()
        .filter(|field| !keeps(field.name()) && (!metadata || touches_names || !is_named(field.name())))
        .collect();
    let (set, unset): (Vec<FieldRef<'_>>, Vec<FieldRef<'_>>) =
        known.into_iter().partition(|field| fields.contains_key(field.name()));
    let mut mutation = choices.weighted(&MUTATIONS);
    if set.is_empty() || unset.is_empty() {
        mutation = if unset.is_empty() && !set.is_empty() {
            Mutation::Replace
        } else {
            Mutation::Add
        };
    }
    if let Mutation::Unknown = mutation {
        fields.insert("unknownField".to_owned(), json!("x"));
        return;
    }
    let from = if matches!(mutation, Mutation::Add) {
        &unset
    } else {
        &set
    };
    if from.is_empty() {
        return;
    }
    let field = *choices.pick(from);
    let name = field.name();
    let old = fields.get(name).cloned().unwrap_or(Value::Null);
    match mutation {
        Mutation::Remove => drop(fields.remove(name)),
        Mutation::Null => drop(fields.insert(name.to_owned(), Value::Null)),
        Mutation::WrongType => drop(fields.insert(name.to_owned(), of_another_type(choices, &old))),
        Mutation::Empty => drop(fields.insert(name.to_owned(), empty_like(&old))),
        Mutation::Repeat if old.as_array().is_some_and(|items| !items.is_empty()) => {
            if let Some(items) = fields.get_mut(name).and_then(Value::as_array_mut) {
                let item = choices.pick(items).clone();
                items.push(item);
            }
        }
        _ => drop(fields.insert(name.to_owned(), of_type(choices, field.type_ref(), name))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::built_ins::built_ins;
    use super::*;

    #[test]
    fn a_change_is_a_change_that_its_choices_repeat() {
        let mut different = 0;
        for (index, built_in) in built_ins().iter().enumerate() {
            let once = || {
                changed(
                    &mut Choices::new(3, index as u64),
                    built_in.type_ref(),
                    &built_in.manifest,
                )
            };
            assert_eq!(once(), once());
            different += usize::from(once() != built_in.manifest);
        }
        assert!(
            different * 10 > built_ins().len() * 9,
            "{different} of {}",
            built_ins().len()
        );
    }

    #[test]
    fn a_changed_manifest_keeps_its_type() {
        for (index, built_in) in built_ins().iter().enumerate() {
            let changed = changed(
                &mut Choices::new(9, index as u64),
                built_in.type_ref(),
                &built_in.manifest,
            );
            assert_eq!(changed["kind"], built_in.manifest["kind"]);
            assert_eq!(changed["apiVersion"], built_in.manifest["apiVersion"]);
        }
    }
}
