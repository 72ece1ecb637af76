//! Where a pod may run: affinity, tolerations, spreading and gates.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, int_at, list_at, map_at, opt_int_at, opt_str_at, part, str_at, strings_at};
use crate::rules::labels::{self, SelectorOptions};

use super::options::Options;
use super::spec::Scope;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NOT_POSITIVE: &str = "must be greater than zero";

/// Everything wrong with a pod's affinities.
pub(crate) fn validate_affinity(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(affinity) = at(scope.spec, &["affinity"]) else {
        return;
    };
    if let Some(node) = at(affinity, &["nodeAffinity"]) {
        validate_node_affinity(node, scope.options, &path.child("nodeAffinity"), errors);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(of_pods) = at(affinity, &[kind]) else { continue };
        let path = path.child(kind);
        let required = path.child(REQUIRED);
        for (index, term) in list_at(of_pods, &[REQUIRED]).iter().enumerate() {
            validate_pod_term(term, scope.options, &required.index(index), errors);
        }
        let preferred = path.child(PREFERRED);
        for (index, weighted) in list_at(of_pods, &[PREFERRED]).iter().enumerate() {
            let path = preferred.index(index);
            validate_weight(weighted, &path, errors);
            let term = part(weighted, "podAffinityTerm");
            validate_pod_term(term, scope.options, &path.child("podAffinityTerm"), errors);
        }
    }
}

fn validate_weight(term: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let weight = int_at(term, &["weight"]);
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(
            &path.child("weight"),
            weight,
            "must be in the range 1-100",
        ));
    }
}

fn validate_node_affinity(affinity: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(required) = at(affinity, &[REQUIRED]) {
        let is_lenient = options.invalid_node_affinity_values;
        validate_node_selector(required, is_lenient, &path.child(REQUIRED), errors);
    }
    let path = path.child(PREFERRED);
    for (index, weighted) in list_at(affinity, &[PREFERRED]).iter().enumerate() {
        let path = path.index(index);
        validate_weight(weighted, &path, errors);
        let term = part(weighted, "preference");
        validate_node_term(term, true, &path.child("preference"), errors);
    }
}

/// Everything wrong with a node selector.
pub(crate) fn validate_node_selector(
    selector: &Value,
    allow_invalid_values: bool,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let path = path.child("nodeSelectorTerms");
    let terms = list_at(selector, &["nodeSelectorTerms"]);
    if terms.is_empty() {
        errors.push(FieldError::required(&path, "must have at least one node selector term"));
    }
    for (index, term) in terms.iter().enumerate() {
        validate_node_term(term, allow_invalid_values, &path.index(index), errors);
    }
}

fn validate_node_term(term: &Value, allow_invalid_values: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let expressions = path.child("matchExpressions");
    for (index, requirement) in list_at(term, &["matchExpressions"]).iter().enumerate() {
        let path = expressions.index(index);
        let values = strings_at(requirement, &["values"]);
        let values_path = path.child("values");
        match str_at(requirement, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                let words = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&values_path, words));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values_path, words));
            }
            "Gt" | "Lt" if values.len() != 1 => {
                let words = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(&values_path, words));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => errors.push(FieldError::invalid(
                &path.child("operator"),
                other,
                "not a valid selector operator",
            )),
        }
        labels::validate_label_name(str_at(requirement, &["key"]), &path.child("key"), errors);
        if !allow_invalid_values {
            for (index, value) in values.into_iter().enumerate() {
                complain(&values_path.index(index), value, names::label_value(value), errors);
            }
        }
    }
    let fields = path.child("matchFields");
    for (index, requirement) in list_at(term, &["matchFields"]).iter().enumerate() {
        validate_field_requirement(requirement, &fields.index(index), errors);
    }
}

fn validate_field_requirement(requirement: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let values = strings_at(requirement, &["values"]);
    let values_path = path.child("values");
    match str_at(requirement, &["operator"]) {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push(FieldError::required(&values_path, words));
            }
        }
        other => errors.push(FieldError::invalid(
            &path.child("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    match str_at(requirement, &["key"]) {
        "metadata.name" => {
            for (index, value) in values.into_iter().enumerate() {
                complain(
                    &values_path.index(index),
                    value,
                    names::dns1123_subdomain(value),
                    errors,
                );
            }
        }
        other => errors.push(FieldError::invalid(
            &path.child("key"),
            other,
            "not a valid field selector key",
        )),
    }
}

fn validate_pod_term(term: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let tolerance = SelectorOptions {
        allow_invalid_values: options.invalid_affinity_values,
    };
    let selector = at(term, &["labelSelector"]);
    labels::validate_selector(selector, tolerance, &path.child("labelSelector"), errors);
    let namespaces = at(term, &["namespaceSelector"]);
    labels::validate_selector(namespaces, tolerance, &path.child("namespaceSelector"), errors);
    for name in strings_at(term, &["namespaces"]) {
        complain(&path.child("namespace"), name, names::dns1123_label(name), errors);
    }
    validate_label_keys(term, path, errors);
    let key = str_at(term, &["topologyKey"]);
    if key.is_empty() {
        errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
    }
    labels::validate_label_name(key, &path.child("topologyKey"), errors);
}

/// `matchLabelKeys` and `mismatchLabelKeys`, which extend the selector beside them.
fn validate_label_keys(term: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let selector = at(term, &["labelSelector"]);
    let match_keys = strings_at(term, &["matchLabelKeys"]);
    let mismatch_keys = strings_at(term, &["mismatchLabelKeys"]);
    for (field, keys) in [("matchLabelKeys", &match_keys), ("mismatchLabelKeys", &mismatch_keys)] {
        let path = path.child(field);
        if keys.is_empty() {
            continue;
        }
        if selector.is_none() {
            errors.push(FieldError::forbidden(
                &path,
                "must not be specified when labelSelector is not set",
            ));
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            labels::validate_label_name(key, &path.index(index), errors);
        }
    }
    if let Some(selector) = selector {
        let places: HashMap<&str, usize> = match_keys
            .iter()
            .enumerate()
            .map(|(index, key)| (*key, index))
            .collect();
        for (index, key) in repeated_keys(selector, &places) {
            let words = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(index), key, words));
        }
    }
    let mismatched: HashSet<&str> = mismatch_keys.into_iter().collect();
    let path = path.child("matchLabelKeys");
    for (index, key) in match_keys
        .into_iter()
        .enumerate()
        .filter(|(_, key)| mismatched.contains(key))
    {
        let words = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(FieldError::invalid(&path.index(index), key, words));
    }
}

/// The keys of `places` that the selector's expressions repeat: once is what the server itself adds from
/// `matchLabelKeys`, more is the user's.
fn repeated_keys<'a>(selector: &'a Value, places: &HashMap<&str, usize>) -> Vec<(usize, &'a str)> {
    let mut seen: HashSet<&str> = map_at(selector, &["matchLabels"])
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .collect();
    let mut repeated = Vec::new();
    for expression in list_at(selector, &["matchExpressions"]) {
        let key = str_at(expression, &["key"]);
        if let Some(index) = places.get(key).filter(|_| seen.contains(key)) {
            repeated.push((*index, key));
        }
        seen.insert(key);
    }
    repeated
}

/// Every term of pod affinity and anti-affinity.
pub(crate) fn pod_affinity_terms(spec: &Value) -> Vec<&Value> {
    let mut terms = Vec::new();
    for kind in ["podAffinity", "podAntiAffinity"] {
        terms.extend(list_at(spec, &["affinity", kind, REQUIRED]));
        let weighted = list_at(spec, &["affinity", kind, PREFERRED]).iter();
        terms.extend(weighted.filter_map(|weighted| at(weighted, &["podAffinityTerm"])));
    }
    terms
}

/// Everything wrong with a list of tolerations.
pub(crate) fn validate_tolerations(tolerations: &[Value], options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        let key = str_at(toleration, &["key"]);
        let (operator, value) = (str_at(toleration, &["operator"]), str_at(toleration, &["value"]));
        let effect = str_at(toleration, &["effect"]);
        let operator_path = path.child("operator");
        if key.is_empty() {
            if operator != "Exists" {
                let words =
                    "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
                errors.push(FieldError::invalid(&operator_path, operator, words));
            }
        } else {
            labels::validate_label_name(key, &path.child("key"), errors);
        }
        if opt_int_at(toleration, &["tolerationSeconds"]).is_some() && effect != "NoExecute" {
            let words = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(&path.child("effect"), effect, words));
        }
        match operator {
            "Equal" | "" => {
                let complaints = names::label_value(value);
                if !complaints.is_empty() {
                    errors.push(FieldError::invalid(&operator_path, value, complaints.join(";")));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let words = "value must be empty when `operator` is 'Exists'";
                    errors.push(FieldError::invalid(&operator_path, value, words));
                }
            }
            "Lt" | "Gt" if options.comparing_tolerations => {
                let path = path.child("value");
                complain(&path, value, names::decimal_integer(value), errors);
            }
            "Lt" | "Gt" => {
                let supported = ["Equal", "Exists", "Lt", "Gt"];
                errors.push(FieldError::not_supported(&operator_path, operator, supported));
            }
            other => errors.push(FieldError::not_supported(&operator_path, other, ["Equal", "Exists"])),
        }
        if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            let supported = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            errors.push(FieldError::not_supported(&path.child("effect"), effect, supported));
        }
    }
}

/// Everything wrong with the gates that hold scheduling back.
pub(crate) fn validate_gates(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, gate) in list_at(spec, &["schedulingGates"]).iter().enumerate() {
        let name = str_at(gate, &["name"]);
        complain(&path.index(index), name, names::qualified_name(name), errors);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.index(index), name));
        }
    }
}

/// Everything wrong with topology spread constraints.
pub(crate) fn validate_spread(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let constraints = list_at(scope.spec, &["topologySpreadConstraints"]);
    let pair = |constraint| {
        (
            str_at(constraint, &["topologyKey"]),
            str_at(constraint, &["whenUnsatisfiable"]),
        )
    };
    let last: HashMap<_, usize> = constraints
        .iter()
        .enumerate()
        .map(|(index, constraint)| (pair(constraint), index))
        .collect();
    for (index, constraint) in constraints.iter().enumerate() {
        let (key, action) = pair(constraint);
        let is_repeated = last.get(&(key, action)).is_some_and(|last| *last > index);
        validate_constraint(constraint, is_repeated, scope.options, &path.index(index), errors);
    }
}

fn validate_constraint(
    constraint: &Value,
    is_repeated: bool,
    options: Options,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let (key, action) = (
        str_at(constraint, &["topologyKey"]),
        str_at(constraint, &["whenUnsatisfiable"]),
    );
    let skew = int_at(constraint, &["maxSkew"]);
    if skew <= 0 {
        errors.push(FieldError::invalid(&path.child("maxSkew"), skew, NOT_POSITIVE));
    }
    if key.is_empty() {
        errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
    }
    let actions = ["DoNotSchedule", "ScheduleAnyway"];
    if !actions.contains(&action) {
        errors.push(FieldError::not_supported(
            &path.child("whenUnsatisfiable"),
            action,
            actions,
        ));
    }
    if is_repeated {
        let place = path.child("{topologyKey, whenUnsatisfiable}");
        errors.push(FieldError::duplicate(&place, format!("{{{key}, {action}}}")));
    }
    if let Some(domains) = opt_int_at(constraint, &["minDomains"]) {
        let path = path.child("minDomains");
        if domains <= 0 {
            errors.push(FieldError::invalid(&path, domains, NOT_POSITIVE));
        }
        if action != "DoNotSchedule" {
            let words = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
            errors.push(FieldError::invalid(&path, domains, words));
        }
    }
    for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        let policy = opt_str_at(constraint, &[field]).filter(|policy| !matches!(*policy, "Honor" | "Ignore"));
        if let Some(policy) = policy {
            errors.push(FieldError::not_supported(
                &path.child(field),
                policy,
                ["Honor", "Ignore"],
            ));
        }
    }
    if options.old_match_label_keys {
        validate_spread_keys_as_before(constraint, &path.child("matchLabelKeys"), errors);
    } else {
        validate_label_keys(constraint, path, errors);
    }
    if !options.invalid_spread_selectors {
        let selector = at(constraint, &["labelSelector"]);
        let path = path.child("labelSelector");
        labels::validate_selector(selector, SelectorOptions::default(), &path, errors);
    }
}

/// The rule for `matchLabelKeys` before the server merged them into the selector: for pods stored back then.
fn validate_spread_keys_as_before(constraint: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let keys = strings_at(constraint, &["matchLabelKeys"]);
    let selector = at(constraint, &["labelSelector"]);
    if selector.is_none() && !keys.is_empty() {
        errors.push(FieldError::forbidden(
            path,
            "must not be specified when labelSelector is not set",
        ));
    }
    let selector = selector.unwrap_or(&Value::Null);
    let selected: HashSet<&str> = map_at(selector, &["matchLabels"])
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .chain(
            list_at(selector, &["matchExpressions"])
                .iter()
                .map(|expression| str_at(expression, &["key"])),
        )
        .collect();
    for (index, key) in keys.into_iter().enumerate() {
        labels::validate_label_name(key, &path.index(index), errors);
        if selected.contains(key) {
            let words = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(index), key, words));
        }
    }
}

/// Whether a stored spec spreads by selectors that are broken.
pub(crate) fn has_invalid_spread_selectors(spec: &Value) -> bool {
    let mut errors = Errors::new();
    for constraint in list_at(spec, &["topologySpreadConstraints"]) {
        let selector = at(constraint, &["labelSelector"]);
        labels::validate_selector(
            selector,
            SelectorOptions::default(),
            &PathRef::root("labelSelector"),
            &mut errors,
        );
    }
    !errors.is_empty()
}

/// Whether a stored spec spreads by `matchLabelKeys` that break today's rule.
pub(crate) fn has_invalid_match_label_keys(spec: &Value) -> bool {
    let mut errors = Errors::new();
    for constraint in list_at(spec, &["topologySpreadConstraints"]) {
        validate_label_keys(constraint, &PathRef::root("constraint"), &mut errors);
    }
    !errors.is_empty()
}
