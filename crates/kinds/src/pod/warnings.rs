//! The `Warning` headers about pods and templates.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::PathRef;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, int_at, list_at, map_at, opt_int_at, opt_str_at, part, str_at, strings_at};
use crate::rules::net;
use crate::rules::resource_names::quantity;

use super::annotations::{APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD};
use super::{containers, overlaps};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Every pair of equal ports or overlapping files is a warning; the headers hold far fewer than this many.
pub(crate) const ENOUGH: usize = 1000;

/// The warnings of a pod, or of the template at `base`.
pub(crate) fn of(object: &Value, base: Option<&PathRef<'_>>) -> Vec<String> {
    let (metadata_root, spec_root) = (PathRef::root("metadata"), PathRef::root("spec"));
    let metadata = base.map_or(metadata_root, |base| base.child("metadata"));
    let path = base.map_or(spec_root, |base| base.child("spec"));
    let annotations = metadata.child("annotations");
    let spec = part(object, "spec");
    let mut found = Vec::new();
    node_labels(spec, &path, &mut found);
    spread(spec, &path.child("topologySpreadConstraints"), &mut found);
    dead_annotations(object, &annotations, &mut found);
    dead_volumes(spec, &path.child("volumes"), &mut found);
    overlaps::warn(spec, &mut found);
    repeated_names(spec, &path, &mut found);
    let overhead = path.child("overhead");
    fractional_bytes(map_at(spec, &["overhead"]), &overhead, &mut found);
    if at(spec, &["securityContext", "seccompProfile"]).is_none() && annotation(object, SECCOMP_POD).is_some() {
        found.push(dead_seccomp(&annotations, SECCOMP_POD));
    }
    containers::visit(spec, &path, |container, path| {
        of_container(object, container, base.is_some(), path, &annotations, &mut found);
    });
    ports(spec, &path, &mut found);
    if opt_int_at(spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        let path = path.child("terminationGracePeriodSeconds");
        found.push(format!(
            "{path}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    null_selectors(spec, &path.child("affinity"), &mut found);
    let nameservers = path.child("dnsConfig");
    let nameservers = nameservers.child("nameservers");
    for (index, address) in strings_at(spec, &["dnsConfig", "nameservers"]).into_iter().enumerate() {
        found.extend(net::ip_warnings(&nameservers.index(index), address));
    }
    let aliases = path.child("hostAliases");
    for (index, alias) in list_at(spec, &["hostAliases"]).iter().enumerate() {
        found.extend(net::ip_warnings(
            &aliases.index(index).child("ip"),
            str_at(alias, &["ip"]),
        ));
    }
    found
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    opt_str_at(object, &["metadata", "annotations", key])
}

fn dead_seccomp(annotations: &PathRef<'_>, key: &str) -> String {
    format!(
        "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
        annotations.key(key)
    )
}

/// The warning about a node label that has a newer name.
pub(crate) fn deprecated_label(key: &str) -> Option<&'static str> {
    Some(match key {
        "beta.kubernetes.io/arch" => r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#,
        "beta.kubernetes.io/os" => r#"deprecated since v1.14; use "kubernetes.io/os" instead"#,
        "failure-domain.beta.kubernetes.io/region" => {
            r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#
        }
        "beta.kubernetes.io/instance-type" => {
            r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#
        }
        "app.kubernetes.io/created-by" => "deprecated since v1.9",
        "scheduler.alpha.kubernetes.io/preferAvoidPods" => "deprecated since v1.22; use Taints and Tolerations instead",
        "node-role.kubernetes.io/master" => r#"use "node-role.kubernetes.io/control-plane" instead"#,
        _ => return None,
    })
}

fn node_labels(spec: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    let selector = path.child("nodeSelector");
    for (key, _) in map_at(spec, &["nodeSelector"]).into_iter().flatten() {
        if let Some(words) = deprecated_label(key) {
            found.push(format!("{}: {words}", selector.key(key)));
        }
    }
    let affinity = path.child("affinity");
    let affinity = affinity.child("nodeAffinity");
    let required = affinity.child(REQUIRED);
    let required = required.child("nodeSelectorTerms");
    let terms = list_at(spec, &["affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"]);
    for (index, term) in terms.iter().enumerate() {
        node_term(term, false, &required.index(index), found);
    }
    let preferred = affinity.child(PREFERRED);
    for (index, weighted) in list_at(spec, &["affinity", "nodeAffinity", PREFERRED])
        .iter()
        .enumerate()
    {
        if let Some(term) = at(weighted, &["preference"]) {
            node_term(term, true, &preferred.index(index).child("preference"), found);
        }
    }
}

/// The warnings about a term of a node selector.
pub(crate) fn node_term(term: &Value, check_values: bool, path: &PathRef<'_>, found: &mut Vec<String>) {
    let path = path.child("matchExpressions");
    for (index, expression) in list_at(term, &["matchExpressions"]).iter().enumerate() {
        let path = path.index(index);
        let key = str_at(expression, &["key"]);
        if let Some(words) = deprecated_label(key) {
            found.push(format!("{}: {key} is {words}", path.child("key")));
        }
        if check_values {
            for (index, value) in strings_at(expression, &["values"]).into_iter().enumerate() {
                for words in names::label_value(value) {
                    found.push(format!(
                        "{}: {value} is invalid, {words}",
                        path.child("values").index(index)
                    ));
                }
            }
        }
    }
}

fn spread(spec: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    for (index, constraint) in list_at(spec, &["topologySpreadConstraints"]).iter().enumerate() {
        let path = path.index(index);
        let key = str_at(constraint, &["topologyKey"]);
        if let Some(words) = deprecated_label(key) {
            found.push(format!("{}: {key} is {words}", path.child("topologyKey")));
        }
        null_selector(constraint, &path, found);
    }
}

fn null_selector(term: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    if at(term, &["labelSelector"]).is_none() {
        let path = path.child("labelSelector");
        found.push(format!("{path}: a null labelSelector results in matching no pod"));
    }
}

fn null_selectors(spec: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let path = path.child(kind);
        let required = path.child(REQUIRED);
        for (index, term) in list_at(spec, &["affinity", kind, REQUIRED]).iter().enumerate() {
            null_selector(term, &required.index(index), found);
        }
        let preferred = path.child(PREFERRED);
        for (index, weighted) in list_at(spec, &["affinity", kind, PREFERRED]).iter().enumerate() {
            let term = part(weighted, "podAffinityTerm");
            null_selector(term, &preferred.index(index).child("podAffinityTerm"), found);
        }
    }
}

fn dead_annotations(object: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    const SYSCTLS: &str = r#"non-functional in v1.11+; use the "sysctls" field instead"#;
    for (key, words) in [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
        ),
        ("security.alpha.kubernetes.io/sysctls", SYSCTLS),
        ("security.alpha.kubernetes.io/unsafe-sysctls", SYSCTLS),
    ] {
        if annotation(object, key).is_some() {
            found.push(format!("{}: {words}", path.key(key)));
        }
    }
}

fn dead_volumes(spec: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    /// Field, upstream's name for it, and its replacement; ephemeral volumes come between the two groups.
    const EARLY: [(&str, &str, &str); 7] = [
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (
            "gitRepo",
            "gitRepo",
            "deprecated in v1.11, and disabled by default in v1.33+",
        ),
        ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
        (
            "storageos",
            "storageOS",
            "deprecated in v1.22, non-functional in v1.25+",
        ),
        ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
        (
            "glusterfs",
            "glusterfs",
            "deprecated in v1.25, non-functional in v1.26+",
        ),
    ];
    const LATE: [(&str, &str, &str); 2] = [
        ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ];
    for (index, volume) in list_at(spec, &["volumes"]).iter().enumerate() {
        let path = path.index(index);
        let warn = |(field, name, words): (&str, &str, &str), found: &mut Vec<String>| {
            if at(volume, &[field]).is_some() {
                found.push(format!("{}: {words}", path.child(name)));
            }
        };
        for source in EARLY {
            warn(source, found);
        }
        if let Some(claim) = at(volume, &["ephemeral", "volumeClaimTemplate", "spec"]) {
            let path = path.child("ephemeral");
            let path = path.child("volumeClaimTemplate");
            claim_bytes(claim, &path.child("spec"), found);
        }
        for source in LATE {
            warn(source, found);
        }
    }
}

/// A claim for a fraction of a byte.
pub(crate) fn claim_bytes(claim: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    let path = path.child("resources");
    for kind in ["requests", "limits"] {
        warn_fraction(
            at(claim, &["resources", kind, "storage"]),
            &path.child(kind).key("storage"),
            found,
        );
    }
}

fn warn_fraction(amount: Option<&Value>, path: &PathRef<'_>, found: &mut Vec<String>) {
    let Some(amount) = amount.and_then(quantity) else {
        return;
    };
    if amount.milli_value() % 1000 != 0 {
        let shown = amount.to_string();
        found.push(format!(
            "{path}: fractional byte value {} is invalid, must be an integer",
            quote(&shown)
        ));
    }
}

fn fractional_bytes(amounts: Option<&serde_json::Map<String, Value>>, path: &PathRef<'_>, found: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        warn_fraction(amounts.and_then(|amounts| amounts.get(name)), &path.key(name), found);
    }
}

fn repeated_names(spec: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    let mut seen = HashSet::new();
    let aliases = path.child("hostAliases");
    for (index, alias) in list_at(spec, &["hostAliases"]).iter().enumerate() {
        let address = str_at(alias, &["ip"]);
        if !seen.insert(address) {
            found.push(format!(
                "{}: duplicate ip {}",
                aliases.index(index).child("ip"),
                quote(address)
            ));
        }
    }
    let secrets = list_at(spec, &["imagePullSecrets"]);
    let path = path.child("imagePullSecrets");
    let mut seen = HashSet::new();
    for (index, secret) in secrets.iter().enumerate() {
        let name = str_at(secret, &["name"]);
        if !seen.insert(name) {
            found.push(format!(
                "{}: duplicate name {}",
                path.index(index).child("name"),
                quote(name)
            ));
        }
    }
    for (index, _) in secrets
        .iter()
        .enumerate()
        .filter(|(_, secret)| str_at(secret, &["name"]).is_empty())
    {
        found.push(format!("{}: invalid empty name \"\"", path.index(index).child("name")));
    }
}

fn of_container(
    object: &Value,
    container: &Value,
    in_template: bool,
    path: &PathRef<'_>,
    annotations: &PathRef<'_>,
    found: &mut Vec<String>,
) {
    let name = str_at(container, &["name"]);
    let key = format!("{SECCOMP_CONTAINER}{name}");
    if at(container, &["securityContext", "seccompProfile"]).is_none() && annotation(object, &key).is_some() {
        found.push(dead_seccomp(annotations, &key));
    }
    // A pod's AppArmor annotation has become its field by now; a template's has not.
    let key = format!("{APP_ARMOR}{name}");
    let has_field = at(container, &["securityContext", "appArmorProfile"]).is_some();
    if annotation(object, &key).is_some() && (!in_template || !has_field) {
        let words = r#"deprecated since v1.30; use the "appArmorProfile" field instead"#;
        found.push(format!("{}: {words}", annotations.key(&key)));
    }
    let requirements = path.child("resources");
    for resource in ["memory", "ephemeral-storage"] {
        for kind in ["limits", "requests"] {
            let amount = at(container, &["resources", kind, resource]);
            warn_fraction(amount, &requirements.child(kind).key(resource), found);
        }
    }
    let mut seen = HashSet::new();
    let path = path.child("env");
    for (index, variable) in list_at(container, &["env"]).iter().enumerate() {
        let name = str_at(variable, &["name"]);
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = str_at(variable, &["value"]);
        let extends = at(variable, &["valueFrom"]).is_none() && value != reference && value.contains(&reference);
        if !extends {
            let name = quote(name);
            let path = path.index(index);
            found.push(format!(
                "{path}: hides previous definition of {name}, which may be dropped when using apply"
            ));
        }
    }
}

fn ports(spec: &Value, path: &PathRef<'_>, found: &mut Vec<String>) {
    struct SeenPort {
        place: String,
        host_ip: String,
        host_port: i64,
    }
    let mut by_number: HashMap<String, Vec<SeenPort>> = HashMap::new();
    containers::visit(spec, path, |container, path| {
        let path = path.child("ports");
        for (index, port) in list_at(container, &["ports"]).iter().enumerate() {
            let place = path.index(index).to_string();
            let (host_ip, host_port) = (str_at(port, &["hostIP"]), int_at(port, &["hostPort"]));
            let (number, protocol) = (int_at(port, &["containerPort"]), str_at(port, &["protocol"]));
            if !host_ip.is_empty() && host_port == 0 {
                let name = str_at(port, &["name"]);
                found.push(format!(
                    "{place}: hostIP set without hostPort: {{Name:{name} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{host_ip}}}"
                ));
            }
            let others = by_number.entry(format!("{number}/{protocol}")).or_default();
            for other in others.iter().take(ENOUGH.saturating_sub(found.len())) {
                let what = if host_ip == other.host_ip && host_port == other.host_port {
                    "duplicate"
                } else if host_port == 0 || other.host_port == 0 {
                    "overlapping"
                } else if host_port == other.host_port && host_ip.is_empty() != other.host_ip.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                found.push(format!("{place}: {what} port definition with {}", other.place));
            }
            others.push(SeenPort {
                place,
                host_ip: host_ip.to_owned(),
                host_port,
            });
        }
    });
    let mut by_name: HashMap<String, String> = HashMap::new();
    containers::visit(spec, path, |container, path| {
        let path = path.child("ports");
        for (index, port) in list_at(container, &["ports"]).iter().enumerate() {
            let name = str_at(port, &["name"]);
            if name.is_empty() {
                continue;
            }
            let place = path.index(index).to_string();
            match by_name.get(name) {
                Some(other) => found.push(format!(
                    "{place}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                    quote(name)
                )),
                None => drop(by_name.insert(name.to_owned(), place)),
            }
        }
    });
}
