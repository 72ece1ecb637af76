//! A pod's volumes: one source each, unique names.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, list_at, str_at};

use super::options::Options;
use super::{paths, volume_sources};

/// The sources a volume may have, in the order upstream looks for them, and the name it gives each when it is one too
/// many (it misspells one).
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// Whether a volume names any source.
pub(crate) fn has_source(volume: &Value) -> bool {
    SOURCES.iter().any(|(source, _)| at(volume, &[source]).is_some())
}

/// Everything wrong with a spec's volumes; returns the valid ones, by name.
pub(crate) fn validate<'a>(
    spec: &'a Value,
    metadata: Option<&Value>,
    options: Options,
    path: &PathRef<'_>,
    errors: &mut Errors,
) -> HashMap<&'a str, &'a Value> {
    let volumes = list_at(spec, &["volumes"]);
    let pod_name = metadata.map(|metadata| str_at(metadata, &["name"])).unwrap_or_default();
    let created_claims: HashSet<String> = volumes
        .iter()
        .filter(|volume| !pod_name.is_empty() && at(volume, &["ephemeral"]).is_some())
        .map(|volume| format!("{pod_name}-{}", str_at(volume, &["name"])))
        .collect();
    let mut fine = HashMap::new();
    for (index, volume) in volumes.iter().enumerate() {
        let path = path.index(index);
        let before = errors.len();
        let name = str_at(volume, &["name"]);
        validate_source(volume, pod_name, options, &path, errors);
        let name_path = path.child("name");
        if name.is_empty() {
            errors.push(FieldError::required(&name_path, ""));
        } else {
            complain(&name_path, name, names::dns1123_label(name), errors);
        }
        if fine.contains_key(name) {
            errors.push(FieldError::duplicate(&name_path, name));
        }
        if errors.len() == before {
            fine.insert(name, volume);
        }
        let claim = str_at(volume, &["persistentVolumeClaim", "claimName"]);
        if at(volume, &["persistentVolumeClaim"]).is_some() && created_claims.contains(claim) {
            errors.push(FieldError::invalid(
                &path.child("persistentVolumeClaim").child("claimName"),
                claim,
                "must not reference a PVC that gets created for an ephemeral volume",
            ));
        }
    }
    fine
}

fn validate_source(volume: &Value, pod_name: &str, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(volume, &["name"]);
    let mut found = false;
    for (source, surplus_name) in SOURCES {
        let Some(value) = at(volume, &[source]) else { continue };
        if found {
            errors.push(FieldError::forbidden(
                &path.child(surplus_name),
                "may not specify more than 1 volume type",
            ));
        } else {
            found = true;
            volume_sources::validate(source, value, options, path, errors);
            if source == "ephemeral" && !pod_name.is_empty() && !name.is_empty() {
                let claim = format!("{pod_name}-{name}");
                for complaint in names::dns1123_subdomain(&claim) {
                    errors.push(FieldError::invalid(
                        &path.child("name"),
                        name,
                        format!("PVC name {}: {complaint}", quote(&claim)),
                    ));
                }
            }
        }
        if source == "iscsi"
            && at(value, &["initiatorName"]).is_some()
            && name.len() + 1 + str_at(value, &["targetPortal"]).len() > 64
        {
            let words = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
            errors.push(FieldError::invalid(&path.child("name"), name, words));
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

/// The service account tokens that projected volumes hold, with their indexes in `volumes` and `sources`.
pub(crate) fn projected_tokens(spec: &Value) -> impl Iterator<Item = (usize, usize, &Value)> {
    list_at(spec, &["volumes"])
        .iter()
        .enumerate()
        .flat_map(|(volume_index, volume)| {
            list_at(volume, &["projected", "sources"])
                .iter()
                .enumerate()
                .filter_map(move |(index, source)| Some((volume_index, index, at(source, &["serviceAccountToken"])?)))
        })
}

/// Whether a stored spec projects tokens to paths outside their volume.
pub(crate) fn has_token_paths_outside(spec: &Value) -> bool {
    projected_tokens(spec).any(|(_, _, token)| {
        let mut errors = Errors::new();
        paths::validate_not_reserved(str_at(token, &["path"]), &PathRef::root("path"), &mut errors);
        !errors.is_empty()
    })
}
