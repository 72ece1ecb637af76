//! Volumes, claims, classes and the drivers behind them.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{count, flag, given_or, list, quantity, strings, text};
use crate::row::Cell;

pub(super) fn persistent_volume(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let claim = match &spec["claimRef"] {
        Value::Null => String::new(),
        claim => format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])),
    };
    cells![
        name(object),
        quantity(&spec["capacity"]["storage"]),
        access_modes(&spec["accessModes"]),
        text(&spec["persistentVolumeReclaimPolicy"]),
        phase(object),
        claim,
        class(object),
        given_or(&spec["volumeAttributesClassName"], "<unset>"),
        text(&status["reason"]),
        age::of(object, now),
        given_or(&spec["volumeMode"], "<unset>"),
    ]
}

pub(super) fn persistent_volume_claim(object: &Value, now: Timestamp) -> Vec<Cell> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volume = text(&spec["volumeName"]);
    // What a claim has got is known once it is bound.
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (
            quantity(&status["capacity"]["storage"]),
            access_modes(&status["accessModes"]),
        )
    };
    cells![
        name(object),
        phase(object),
        volume,
        capacity,
        modes,
        class(object),
        given_or(&spec["volumeAttributesClassName"], "<unset>"),
        age::of(object, now),
        given_or(&spec["volumeMode"], "<unset>"),
    ]
}

fn phase(object: &Value) -> &str {
    if object["metadata"]["deletionTimestamp"].is_null() {
        text(&object["status"]["phase"])
    } else {
        "Terminating"
    }
}

/// The annotation that came before the field still wins.
fn class(object: &Value) -> &str {
    object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"]
        .as_str()
        .unwrap_or_else(|| text(&object["spec"]["storageClassName"]))
}

fn access_modes(modes: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| strings(modes).any(|given| given == mode);
    let shown: Vec<&str> = known
        .iter()
        .filter(|(mode, _)| has(mode))
        .map(|(_, short)| *short)
        .collect();
    shown.join(",")
}

pub(super) fn storage_class(object: &Value, now: Timestamp) -> Vec<Cell> {
    let annotations = &object["metadata"]["annotations"];
    let default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ]
    .iter()
    .any(|annotation| text(&annotations[*annotation]) == "true");
    cells![
        format!("{}{}", name(object), if default { " (default)" } else { "" }),
        text(&object["provisioner"]),
        given_or(&object["reclaimPolicy"], "Delete"),
        given_or(&object["volumeBindingMode"], "Immediate"),
        flag(&object["allowVolumeExpansion"]),
        age::of(object, now),
    ]
}

pub(super) fn volume_attributes_class(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), text(&object["driverName"]), age::of(object, now)]
}

pub(super) fn volume_attachment(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    cells![
        name(object),
        text(&spec["attacher"]),
        text(&spec["source"]["persistentVolumeName"]),
        text(&spec["nodeName"]),
        flag(&object["status"]["attached"]),
        age::of(object, now),
    ]
}

pub(super) fn csi_node(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), count(&object["spec"]["drivers"]), age::of(object, now)]
}

pub(super) fn csi_driver(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let modes: Vec<&str> = strings(&spec["volumeLifecycleModes"]).collect();
    let modes = if modes.is_empty() {
        "<none>".into()
    } else {
        modes.join(",")
    };
    let audiences: Vec<&str> = list(&spec["tokenRequests"])
        .iter()
        .map(|request| text(&request["audience"]))
        .collect();
    // An empty list does not survive the store.
    let audiences = if audiences.is_empty() {
        "<unset>".into()
    } else {
        audiences.join(",")
    };
    cells![
        name(object),
        spec["attachRequired"].as_bool().unwrap_or(true),
        flag(&spec["podInfoOnMount"]),
        flag(&spec["storageCapacity"]),
        audiences,
        flag(&spec["requiresRepublish"]),
        modes,
        age::of(object, now),
    ]
}
