//! Compute resources: which names there are, and how requests and limits relate.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kubewright_apimachinery::field::{ErrorType, Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

use crate::rules::access::{at, complain, list_at, map_at, opt_str_at, part, str_at};
use crate::rules::resource_names::{
    self, is_huge_page, is_overcommit_allowed, validate_amount, validate_container_name, validate_name,
};

use super::containers;
use super::spec::Scope;

/// Amounts by resource name.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// The amounts in a `limits` or `requests` map.
pub(crate) fn amounts(map: Option<&Map<String, Value>>) -> Amounts {
    resource_names::amounts(map)
        .map(|(name, amount)| (name.to_owned(), amount))
        .collect()
}

/// Resources a pod as a whole may ask for.
pub(crate) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// Everything wrong with a container's resources.
pub(crate) fn validate_container(scope: &Scope<'_>, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let requirements = part(container, "resources");
    validate_requirements(scope, requirements, validate_container_name, path, errors);
}

/// Everything wrong with what running the pod itself costs.
pub(crate) fn validate_overhead(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let overhead = scope.spec.get("overhead").cloned().unwrap_or_default();
    let requirements = serde_json::json!({ "limits": overhead });
    validate_requirements(scope, &requirements, validate_container_name, path, errors);
}

/// Everything wrong with the resources of the pod as a whole.
pub(crate) fn validate_pod_level(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(resources) = at(scope.spec, &["resources"]) else {
        return;
    };
    let path = path.child("resources");
    if str_at(scope.spec, &["os", "name"]) == "windows" {
        errors.push(FieldError::forbidden(&path, "may not be set for a windows pod"));
        return;
    }
    if at(resources, &["claims"]).is_some() {
        errors.push(FieldError::forbidden(
            &path.child("claims"),
            "claims may not be set for Resources at pod-level",
        ));
    }
    validate_requirements(scope, resources, validate_pod_level_name, &path, errors);
    validate_consistency(scope.spec, resources, &path, errors);
}

fn validate_consistency(spec: &Value, resources: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let requests = amounts(map_at(resources, &["requests"]));
    let requests_path = path.child("requests");
    for (name, sum) in aggregate(spec, "requests") {
        if let Some(amount) = requests.get(&name).filter(|amount| sum > **amount) {
            let words = format!("must be greater than or equal to aggregate container requests of {sum}");
            errors.push(FieldError::invalid(
                &requests_path.key(&name),
                amount.to_string(),
                words,
            ));
        }
    }
    let limits = amounts(map_at(resources, &["limits"]));
    for (name, sum) in aggregate(spec, "limits")
        .into_iter()
        .filter(|(name, _)| is_huge_page(name))
    {
        if let Some(amount) = limits.get(&name).filter(|amount| sum > **amount) {
            let words = format!("must be greater than or equal to aggregate container limits of {sum}");
            errors.push(FieldError::invalid(
                &path.child("limits").key(&name),
                amount.to_string(),
                words,
            ));
        }
    }
    let containers_path = path.child("containers");
    for (index, container) in list_at(spec, &["containers"]).iter().enumerate() {
        for (name, amount) in amounts(map_at(container, &["resources", "limits"])) {
            if let Some(limit) = limits.get(&name).filter(|limit| amount > **limit) {
                let words = format!("must be less than or equal to pod limits of {limit}");
                let place = containers_path.index(index);
                let place = place.key(&name);
                errors.push(FieldError::invalid(&place.child("limits"), amount.to_string(), words));
            }
        }
    }
}

/// What all containers of a pod need at once: regular containers and sidecars together, or the init container that
/// needs the most beside the sidecars before it.
pub(crate) fn aggregate(spec: &Value, kind: &str) -> Amounts {
    let mut total = Amounts::new();
    for container in list_at(spec, &["containers"]) {
        add(&mut total, &amounts(map_at(container, &["resources", kind])));
    }
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in list_at(spec, &["initContainers"]) {
        let mut needed = amounts(map_at(container, &["resources", kind]));
        if opt_str_at(container, &["restartPolicy"]) == Some("Always") {
            add(&mut total, &needed);
            add(&mut sidecars, &needed);
            needed = sidecars.clone();
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut starting, &needed);
    }
    raise(&mut total, &starting);
    total
}

fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        match total.get_mut(name) {
            Some(sum) => sum.add(amount),
            None => drop(total.insert(name.clone(), amount.clone())),
        }
    }
}

fn raise(total: &mut Amounts, floor: &Amounts) {
    for (name, amount) in floor {
        if total.get(name).is_none_or(|sum| amount > sum) {
            total.insert(name.clone(), amount.clone());
        }
    }
}

type NameRule = fn(&str, &PathRef<'_>, &mut Errors);

fn validate_pod_level_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if !validate_name(name, path, errors) {
        return;
    }
    if !is_pod_level(name) {
        errors.push(FieldError::not_supported(path, name, ["cpu", "hugepages-", "memory"]));
    }
}

fn is_divisible(name: &str, amount: &Quantity) -> bool {
    let Ok(page) = Quantity::parse(name.trim_start_matches("hugepages-")) else {
        return false;
    };
    page.sign() > 0 && page.milli_value() % 1000 == 0 && page.value() != 0 && amount.value() % page.value() == 0
}

/// Whether a stored spec has huge pages that are no multiple of their size.
pub(crate) fn has_indivisible_huge_pages(spec: &Value) -> bool {
    containers::all(spec).any(|container| {
        ["limits", "requests"].into_iter().any(|kind| {
            amounts(map_at(container, &["resources", kind]))
                .iter()
                .any(|(name, amount)| is_huge_page(name) && !is_divisible(name, amount))
        })
    })
}

fn validate_requirements(
    scope: &Scope<'_>,
    requirements: &Value,
    name_rule: NameRule,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let limits = amounts(map_at(requirements, &["limits"]));
    let requests = amounts(map_at(requirements, &["requests"]));
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    let check = |name: &str, amount: &Quantity, path: &PathRef<'_>, errors: &mut Errors| {
        if is_huge_page(name) && !scope.options.indivisible_huge_pages && !is_divisible(name, amount) {
            let words = format!("{amount} is not positive integer multiple of {name}");
            errors.push(FieldError::invalid(path, amount.to_string(), words));
        }
    };
    for (name, amount) in &limits {
        let path = limits_path.key(name);
        name_rule(name, &path, errors);
        validate_amount(name, amount, &path, errors);
        check(name, amount, &path, errors);
    }
    for (name, amount) in &requests {
        let path = requests_path.key(name);
        name_rule(name, &path, errors);
        validate_amount(name, amount, &path, errors);
        match limits.get(name) {
            Some(limit) if amount != limit && !is_overcommit_allowed(name) => {
                let words = format!("must be equal to {name} limit of {limit}");
                errors.push(FieldError::invalid(&requests_path, amount.to_string(), words));
            }
            Some(limit) if amount > limit => {
                let words = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(FieldError::invalid(&requests_path, amount.to_string(), words));
            }
            None if !is_overcommit_allowed(name) => {
                errors.push(FieldError::required(
                    &limits_path,
                    "Limit must be set for non overcommitable resources",
                ));
            }
            _ => {}
        }
        check(name, amount, &path, errors);
    }
    let names: BTreeSet<&str> = limits.keys().chain(requests.keys()).map(String::as_str).collect();
    if names.iter().any(|name| is_huge_page(name)) && !names.contains("cpu") && !names.contains("memory") {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    validate_claims(scope, requirements, &path.child("claims"), errors);
}

fn validate_claims(scope: &Scope<'_>, requirements: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let claims = list_at(requirements, &["claims"]);
    if claims.is_empty() {
        return;
    }
    let known: BTreeSet<&str> = list_at(scope.spec, &["resourceClaims"])
        .iter()
        .map(|claim| str_at(claim, &["name"]))
        .filter(|name| !name.is_empty())
        .collect();
    let mut keys: HashSet<String> = HashSet::new();
    let mut with_request: HashSet<&str> = HashSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let path = path.index(index);
        let (name, request) = (str_at(claim, &["name"]), str_at(claim, &["request"]));
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        if keys.contains(name) {
            errors.push(FieldError::duplicate(&path, name));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                complain(&path.child("request"), request, names::dns1123_label(request), errors);
                key = format!("{name}/{request}");
            }
            if keys.contains(&key) {
                errors.push(FieldError::duplicate(&path, key.as_str()));
            } else if request.is_empty() && with_request.contains(name) {
                errors.push(FieldError::duplicate(&path, name));
            }
            if !request.is_empty() {
                with_request.insert(name);
            }
            keys.insert(key);
        }
        // Each repeats the names there are: a thousand errors and a few hundred names say enough.
        if !known.contains(name) && errors.len() < 1000 {
            let listed = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.iter().copied().take(256).collect::<Vec<_>>().join(", "))
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{listed}");
            errors.push(FieldError::new(ErrorType::NotFound, &path, Some(name.into()), detail));
        }
    }
}
