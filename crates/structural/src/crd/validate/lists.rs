//! The rules of list and map types (`x-kubernetes-list-type`, `-list-map-keys`, `-map-type`).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::options::Options;
use super::printed;
use super::props::{Items, Props};

/// What is wrong with the list and map types of a node.
pub(super) fn validate(node: Props<'_>, path: &PathRef<'_>, options: &Options, errors: &mut Errors) {
    if node.map_type().is_some() && node.kind() != "object" {
        wrong_type(
            node,
            "must be object if x-kubernetes-map-type is specified",
            path,
            errors,
        );
    }
    if let Some(other) = node.map_type().filter(|kind| !matches!(*kind, "atomic" | "granular")) {
        let path = path.child("x-kubernetes-map-type");
        errors.push(FieldError::not_supported(&path, other, ["atomic", "granular"]));
    }
    if node.list_type().is_some() && node.kind() != "array" {
        wrong_type(
            node,
            "must be array if x-kubernetes-list-type is specified",
            path,
            errors,
        );
    } else if let Some(field) = non_atomic_item(node).filter(|_| options.atomic_sets) {
        let shown = node
            .item()
            .and_then(Props::list_type)
            .map_or_else(|| "null".to_owned(), printed::json_text);
        let words = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(printed::invalid(&path.child("items").child(field), &shown, words));
    }
    if let Some(other) = node
        .list_type()
        .filter(|kind| !matches!(*kind, "atomic" | "set" | "map"))
    {
        let path = path.child("x-kubernetes-list-type");
        errors.push(FieldError::not_supported(&path, other, ["atomic", "set", "map"]));
    }
    if !node.list_map_keys().is_empty() {
        let path = path.child("x-kubernetes-list-type");
        let words = "must be map if x-kubernetes-list-map-keys is non-empty";
        match node.list_type() {
            None => errors.push(FieldError::required(&path, words)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(&path, other, words)),
        }
    }
    if node.list_type() == Some("map") {
        validate_list_map(node, path, errors);
    }
    if options.list_keys {
        errors.extend(key_problems(node, path));
    }
}

fn wrong_type(node: Props<'_>, words: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("type");
    errors.push(match node.kind() {
        "" => FieldError::required(&path, words),
        kind => FieldError::invalid(&path, kind, words),
    });
}

/// The extension that keeps an item of a set from being compared as a whole.
pub(super) fn non_atomic_item(node: Props<'_>) -> Option<&'static str> {
    let item = node.item().filter(|_| node.list_type() == Some("set"))?;
    match item.kind() {
        "array" if item.list_type().is_some_and(|kind| kind != "atomic") => Some("x-kubernetes-list-type"),
        "object" if item.map_type() != Some("atomic") => Some("x-kubernetes-map-type"),
        _ => None,
    }
}

fn validate_list_map(node: Props<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let keys = node.list_map_keys();
    let keys_path = path.child("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let words = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&keys_path, words));
    }
    let items_path = path.child("items");
    let item = match node.items() {
        None => {
            let words = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&items_path, words));
            return;
        }
        Some(Items::Many(_)) => {
            let shown = printed::items(node.get("items").unwrap_or(&Value::Null));
            let words = "must only have a single schema if x-kubernetes-list-type is map";
            errors.push(printed::invalid(&items_path, &shown, words));
            return;
        }
        Some(Items::One(item)) => item,
    };
    if item.kind() != "object" {
        let words = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&items_path.child("type"), item.kind(), words));
        return;
    }
    let shown_keys = || printed::json(&keys.clone().into());
    for (index, key) in keys.iter().enumerate() {
        match item.property(key) {
            Some(property) if matches!(property.kind(), "array" | "object") => {
                let words = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let path = items_path.child("properties");
                let path = path.key(key);
                // Upstream shows the type of the item here, not of the property.
                errors.push(FieldError::invalid(&path.child("type"), item.kind(), words));
            }
            Some(_) => {}
            None => {
                let words = "entries must all be names of item properties";
                errors.push(printed::invalid(&keys_path, &shown_keys(), words));
            }
        }
        if keys[..index].contains(key) {
            let words = "must not contain duplicate entries";
            errors.push(printed::invalid(&keys_path, &shown_keys(), words));
        }
    }
}

/// Whether the keys of a list map are always there, and nothing in a set or list map is null.
pub(super) fn keys_are_sound(node: Props<'_>) -> bool {
    key_problems(node, &PathRef::root("")).is_empty()
}

fn key_problems(node: Props<'_>, path: &PathRef<'_>) -> Errors {
    let mut errors = Errors::new();
    let (Some(item), Some(kind @ ("set" | "map"))) = (node.item(), node.list_type()) else {
        return errors;
    };
    let path = path.child("items");
    if item.nullable() {
        let words = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(FieldError::forbidden(&path.child("nullable"), words));
    }
    if kind == "set" {
        return errors;
    }
    let required = item.texts("required");
    let path = path.child("properties");
    for key in node.list_map_keys() {
        let Some(property) = item.property(key) else {
            continue;
        };
        let path = path.key(key);
        if !required.contains(&key) && !property.has("default") {
            let words =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&path.child("default"), words));
        }
        if property.nullable() {
            let words = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.child("nullable"), words));
        }
    }
    errors
}
