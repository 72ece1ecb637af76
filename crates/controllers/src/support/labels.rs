//! Labels and selectors as the API writes them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_runtime::object::Selector;

/// Whether labels pass a selector.
pub(crate) fn matches(selector: &Selector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let pairs: Vec<(&str, &str)> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    selector.matches(&pairs)
}

/// The selector of a workload: one that selects everything, or that makes no sense, selects nothing.
pub(crate) fn of_workload(selector: Option<&LabelSelector>) -> Option<Selector> {
    Selector::try_from(selector?)
        .ok()
        .filter(|selector| !selector.is_everything())
}

/// Whether all of these labels are among those.
pub(crate) fn is_subset(labels: Option<&BTreeMap<String, String>>, of: Option<&BTreeMap<String, String>>) -> bool {
    labels
        .into_iter()
        .flatten()
        .all(|(key, value)| of.and_then(|of| of.get(key)) == Some(value))
}
