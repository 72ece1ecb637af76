//! No object panics, however little it resembles its kind, and preparing a write twice changes nothing more.

use kubewright_kinds::strategy::strategy;
use kubewright_kinds::{Create, Update, behaviour, meta, timestamps};
use kubewright_schema::resources;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Field names that validators look for, so that generated objects are looked into.
const NAMES: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "data",
    "binaryData",
    "stringData",
    "type",
    "immutable",
    "template",
    "selector",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "containers",
    "initContainers",
    "image",
    "ports",
    "port",
    "protocol",
    "resources",
    "requests",
    "limits",
    "cpu",
    "storage",
    "capacity",
    "allocatable",
    "taints",
    "effect",
    "podCIDRs",
    "podCIDR",
    "hard",
    "scopes",
    "scopeSelector",
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
    "subsets",
    "addresses",
    "ip",
    "volumes",
    "volumeMounts",
    "hostPath",
    "csi",
    "nfs",
    "accessModes",
    "dataSource",
    "conditions",
    "request",
    "usages",
    "signerName",
    "certificate",
    "handler",
    "value",
    "involvedObject",
    "regarding",
    "series",
    "eventTime",
    "replicas",
    "rules",
    "roleRef",
    "subjects",
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "schedule",
    "jobTemplate",
    "completions",
    "parallelism",
    "webhooks",
    "endpoints",
    "addressType",
    "maxReplicas",
    "metrics",
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "A_b",
    "a.b/c",
    "..",
    "Pod",
    "Container",
    "In",
    "Exists",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "1Gi",
    "-1",
    "1e9",
    "80%",
    "ReadWriteOnce",
    "Approved",
    "True",
    "TCP",
    "ClusterIP",
    "kubernetes.io/tls",
    "* * * * *",
    "Bound",
];

/// The fields at the top of objects.
const PARTS: &[&str] = &[
    "metadata", "spec", "status", "data", "template", "webhooks", "subsets", "rules",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0i64), Just(-1), Just(1), any::<i64>()].prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 48, 6, |inner| {
        let name = prop_oneof![prop::sample::select(NAMES).prop_map(str::to_owned), "\\PC{0,6}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((prop::sample::select(PARTS), value()), 0..6).prop_map(|fields| {
        Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    })
}

fn write(group: &str, resource: &str, new: &Value, old: &Value) {
    let kind = behaviour(group, resource);
    let rules = strategy(group, resource);
    let mut errors = Vec::new();
    let mut created = new.clone();
    kind.default(&mut created);
    kind.prepare_create(Create { object: &mut created });
    let metadata = created.get("metadata").cloned().unwrap_or(Value::Null);
    meta::validate_create(&metadata, true, rules, &mut errors);
    meta::validate_create_generic(&metadata, false, &mut errors);
    kind.validate_create(&created, &mut errors);
    let _ = kind.warnings(&created, None);
    timestamps::set_times(group, resource, None, &mut created, None, "2020-01-01T00:00:00Z");
    for subresource in [
        None,
        Some("status"),
        Some("finalize"),
        Some("approval"),
        Some("scale"),
        Some("resize"),
    ] {
        let mut updated = new.clone();
        kind.default(&mut updated);
        kind.prepare_update(Update {
            object: &mut updated,
            old,
            subresource,
        });
        let once = updated.clone();
        kind.prepare_update(Update {
            object: &mut updated,
            old,
            subresource,
        });
        assert_eq!(once, updated, "{group}/{resource} {subresource:?}");
        let (new_metadata, old_metadata) = (updated.get("metadata"), old.get("metadata"));
        let (new_metadata, old_metadata) = (
            new_metadata.unwrap_or(&Value::Null),
            old_metadata.unwrap_or(&Value::Null),
        );
        meta::validate_update(new_metadata, old_metadata, true, rules, subresource, &mut errors);
        kind.validate_update(&updated, old, subresource, &mut errors);
        let _ = (
            kind.warnings(&updated, Some(old)),
            rules.generation.after_update(&updated, old),
        );
        timestamps::set_times(
            group,
            resource,
            subresource,
            &mut updated,
            Some(old),
            "2020-01-01T00:00:00Z",
        );
    }
    for error in &errors {
        let _ = (error.to_string(), error.kind.reason());
    }
    for field in rules.fields {
        let _ = field.text(new);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_object_panics_any_kind(new in object(), old in object()) {
        for resource in resources().iter() {
            write(resource.group, resource.plural, &new, &old);
        }
    }
}
