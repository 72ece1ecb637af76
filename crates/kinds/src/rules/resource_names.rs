//! Names and amounts of resources in pods, quotas, limit ranges, nodes and claims.
//! Which names there are, what each may be used for, and which amounts it takes.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

use super::access::complain;

/// Resources of Kubernetes that come in amounts.
const MEASURED: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
];

/// Resources of Kubernetes that are counted.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

fn is_standard(name: &str) -> bool {
    MEASURED.contains(&name) || COUNTED.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether the resource is huge pages of some size.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether the resource is Kubernetes' own: without domain, or with one of kubernetes.io.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether the resource is an extended one, such as `example.com/gpu`: counted in whole numbers.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether limits of the resource may exceed requests.
pub(crate) fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether a quota can count the resource without a domain.
pub(crate) fn is_standard_quota_resource(name: &str) -> bool {
    is_standard(name) && name != "storage"
}

/// Whether amounts of the resource are whole numbers.
pub(crate) fn is_integer_resource(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// A resource that exists or has a domain; returns whether it is one.
pub(crate) fn validate_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    let complaints = names::qualified_name(name);
    if !complaints.is_empty() {
        complain(path, name, complaints, errors);
    } else if !name.contains('/') && !is_standard(name) {
        let words = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, name, words));
    }
    errors.len() == before
}

/// A resource that containers can have.
pub(crate) fn validate_container_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    validate_name(name, path, errors);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(name) {
            errors.push(FieldError::invalid(
                path,
                name,
                "must be a standard resource for containers",
            ));
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.push(FieldError::invalid(
            path,
            name,
            "doesn't follow extended resource name standard",
        ));
    }
}

/// A resource that quotas can limit.
pub(crate) fn validate_quota_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    validate_name(name, path, errors);
    if !name.contains('/') && !is_standard_quota_resource(name) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// An amount that is not negative, and whole where the resource is counted.
pub(crate) fn validate_amount(name: &str, amount: &Quantity, path: &PathRef<'_>, errors: &mut Errors) {
    if amount.is_negative() {
        errors.push(FieldError::invalid(
            path,
            amount.to_string(),
            "must be greater than or equal to 0",
        ));
    }
    if is_integer_resource(name) && !amount.is_integer() {
        errors.push(FieldError::invalid(path, amount.to_string(), "must be an integer"));
    }
}

/// A quantity as written: a string, or a number that stands for one.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// The amount in a resource list; zero where decoding already refused it.
pub(crate) fn amount(value: &Value) -> Quantity {
    quantity(value).unwrap_or_else(|| Quantity::from_int(0))
}

/// The entries of a resource list, sorted by name.
pub(crate) fn amounts(list: Option<&Map<String, Value>>) -> impl Iterator<Item = (&str, Quantity)> {
    list.into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), amount(value)))
}
