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
