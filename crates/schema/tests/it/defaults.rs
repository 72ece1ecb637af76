//! Decoding and defaulting a manifest gives what the real server answers, but for what only a kind or a server can know.
//! The golden file holds, in pairs of lines, a manifest and what kube-apiserver 1.36 made of it with `dryRun=All`
//! (without uid, creationTimestamp and managedFields).

use std::collections::BTreeSet;

use kubewright_schema::{decode, default};
use serde_json::Value;

use crate::support::{pairs, type_of};

static GOLDEN: &str = include_str!("../goldens/defaults.txt");

/// What the table does not decide: values that depend on the rest of the object, on where a type is used, on a
/// conversion between versions or on the cluster. They are the business of the kinds.
const NOT_THE_TABLES: &[&str] = &[
    // What a server knows.
    "metadata.namespace",
    "metadata.generation",
    "Namespace metadata.labels",
    "Namespace spec.finalizers",
    "PersistentVolume metadata.finalizers",
    "PersistentVolume status.lastPhaseTransitionTime",
    "PersistentVolumeClaim metadata.finalizers",
    "Service spec.clusterIP",
    "Service spec.clusterIPs",
    "Service spec.ipFamilies",
    "Service spec.ipFamilyPolicy",
    "Node spec.taints",
    "Pod spec.preemptionPolicy",
    "Pod spec.priority",
    "Pod spec.tolerations",
    "Pod status.phase",
    "Pod status.qosClass",
    "DaemonSet metadata.annotations",
    "Job metadata.labels",
    "Job spec.selector",
    "Job spec.template.metadata.labels",
    "CustomResourceDefinition status.storedVersions",
    // What conversion between versions does.
    "Pod spec.serviceAccount",
    "StatefulSet spec.volumeClaimTemplates[].apiVersion",
    "StatefulSet spec.volumeClaimTemplates[].kind",
    // What depends on where a type is used.
    "Pod spec.enableServiceLinks",
    "Job spec.completionMode",
    "Job spec.manualSelector",
    "Job spec.suspend",
    "PersistentVolume spec.persistentVolumeReclaimPolicy",
    "PersistentVolume spec.volumeMode",
    // What depends on other fields.
    "Job spec.backoffLimit",
    "Job spec.completions",
    "Job spec.parallelism",
    "Job spec.podReplacementPolicy",
    "containers[].imagePullPolicy",
    "initContainers[].imagePullPolicy",
    "Deployment spec.strategy.rollingUpdate",
    "DaemonSet spec.updateStrategy.rollingUpdate",
    "StatefulSet spec.updateStrategy.rollingUpdate",
    "StatefulSet spec.updateStrategy.type",
    "ReplicationController metadata.labels",
    "Service spec.internalTrafficPolicy",
    "Service spec.ports[].targetPort",
    "LimitRange spec.limits[].defaultRequest",
    "NetworkPolicy spec.policyTypes",
    "RoleBinding subjects[].apiGroup",
    "ClusterRoleBinding subjects[].apiGroup",
    "CustomResourceDefinition spec.names.listKind",
    "CustomResourceDefinition spec.names.singular",
];

fn differences(path: &str, real: &Value, ours: &Value, found: &mut Vec<String>) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            for key in real.keys().chain(ours.keys().filter(|key| !real.contains_key(*key))) {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let null = Value::Null;
                if real.contains_key(key) == ours.contains_key(key) {
                    differences(&path, &real[key], &ours[key], found);
                } else {
                    let (real, ours) = (real.get(key).unwrap_or(&null), ours.get(key).unwrap_or(&null));
                    found.push(format!("{path} real {real} ours {ours}"));
                }
            }
        }
        (Value::Array(real), Value::Array(ours)) if real.len() == ours.len() => {
            for (real, ours) in real.iter().zip(ours) {
                differences(&format!("{path}[]"), real, ours, found);
            }
        }
        _ if real != ours => found.push(format!("{path} real {real} ours {ours}")),
        _ => {}
    }
}

#[test]
fn a_decoded_and_defaulted_manifest_is_what_the_real_server_answers() {
    let mut different = Vec::new();
    let mut met = BTreeSet::new();
    for (manifest, real) in pairs(GOLDEN) {
        let manifest: Value = serde_json::from_str(manifest).unwrap();
        let real: Value = serde_json::from_str(real).unwrap();
        let kind = manifest["kind"].as_str().unwrap().to_owned();
        let ty = type_of(&manifest);
        let mut ours = decode(ty, manifest, None).unwrap().value;
        default(ty, &mut ours);
        let mut found = Vec::new();
        differences("", &real, &ours, &mut found);
        for difference in found {
            let path = difference.split(' ').next().unwrap_or_default();
            let place = format!("{kind} {path}");
            match NOT_THE_TABLES.iter().find(|known| {
                place == **known || place.ends_with(&format!(" {known}")) || place.ends_with(&format!(".{known}"))
            }) {
                Some(known) => drop(met.insert(*known)),
                None => different.push(format!("{kind}: {difference}")),
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    let unmet: Vec<_> = NOT_THE_TABLES.iter().filter(|known| !met.contains(*known)).collect();
    assert!(
        unmet.is_empty(),
        "no longer different, and so no longer to be excused: {unmet:?}"
    );
}
