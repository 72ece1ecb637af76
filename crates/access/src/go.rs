//! How Go prints what the messages of this crate contain.

use std::collections::BTreeMap;

use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::quote::list_syntax;

/// `map[string][]string{"a":[]string{"b"}}`, or `map[string][]string(nil)`: `%#v` of a map, sorted as Go sorts it.
pub(crate) fn map(entries: &BTreeMap<String, Vec<String>>) -> String {
    if entries.is_empty() {
        return "map[string][]string(nil)".to_owned();
    }
    let printed: Vec<String> = entries
        .iter()
        .map(|(key, values)| format!("{}:{}", quote(key), list_syntax(values)))
        .collect();
    format!("map[string][]string{{{}}}", printed.join(", "))
}

/// Several errors as one: alone as it is, together in brackets, each once.
pub(crate) fn aggregate<'e>(errors: impl IntoIterator<Item = &'e str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for error in errors {
        if !seen.contains(&error) {
            seen.push(error);
        }
    }
    match seen.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Several errors as one, as Go's API machinery prints them.
pub fn aggregate_errors(errors: &[impl AsRef<str>]) -> String {
    aggregate(errors.iter().map(AsRef::as_ref))
}
