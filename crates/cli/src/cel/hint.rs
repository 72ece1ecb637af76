//! What was probably meant by a name that does not exist.

use kubewright_cel::{Decl, DeclKind, Type, escape};
use serde_json::Value as Json;

/// The name in a message such as `undefined field 'replica'`.
pub(super) fn unknown_name(message: &str) -> Option<&str> {
    for begin in ["undefined field '", "undeclared reference to '"] {
        if let Some((_, rest)) = message.split_once(begin) {
            return rest.split_once('\'').map(|(name, _)| name);
        }
    }
    let (_, name) = message.split_once("no such key: ")?;
    Some(name)
}

/// The candidate that is at most a few letters away.
pub(super) fn nearest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = (name.chars().count() / 2).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The names of all properties of a schema, as rules write them.
pub(super) fn names_of_schema(decl: &Decl, names: &mut Vec<String>) {
    match &decl.kind {
        DeclKind::Object { properties } => {
            for (name, property) in properties {
                names.extend(escape(name));
                names_of_schema(property, names);
            }
        }
        DeclKind::Map(inner) | DeclKind::List { items: inner, .. } => names_of_schema(inner, names),
        _ => {}
    }
}

/// The names of all fields of a type.
pub(super) fn names_of_type(ty: &Type, names: &mut Vec<String>) {
    match ty {
        Type::Object(object) => {
            for (name, field) in object.fields.iter().flatten() {
                names.push(name.clone());
                names_of_type(field, names);
            }
        }
        Type::List(inner) => names_of_type(inner, names),
        Type::Map(inner) => names_of_type(&inner.1, names),
        _ => {}
    }
}

/// The names of all fields of an object.
pub(super) fn names_of_object(object: &Json, names: &mut Vec<String>) {
    match object {
        Json::Object(fields) => {
            for (name, value) in fields {
                names.push(name.clone());
                names_of_object(value, names);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| names_of_object(item, names)),
        _ => {}
    }
}

/// How many letters must be added, removed or changed; names that differ in case alone are one step apart.
fn distance(left: &str, right: &str) -> usize {
    if left.eq_ignore_ascii_case(right) {
        return 1;
    }
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, c) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (index, other) in right.iter().enumerate() {
            let change = diagonal + usize::from(c != *other);
            diagonal = row[index + 1];
            row[index + 1] = change.min(row[index] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_guessed_and_a_far_one_is_not() {
        let names = ["replicas", "image", "minReplicas"];
        assert_eq!(nearest("replica", names), Some("replicas"));
        assert_eq!(nearest("minreplicas", names), Some("minReplicas"));
        assert_eq!(nearest("imgae", names), Some("image"));
        assert_eq!(nearest("color", names), None);
        assert_eq!(nearest("x", names), None);
    }

    #[test]
    fn the_name_is_read_from_each_message() {
        assert_eq!(unknown_name("undefined field 'a'"), Some("a"));
        assert_eq!(
            unknown_name("undeclared reference to 'slef' (in container '')"),
            Some("slef")
        );
        assert_eq!(unknown_name("no such key: b"), Some("b"));
        assert_eq!(unknown_name("no such overload"), None);
    }
}
