//! Volumes of the host, and volumes of other than a few kinds.

use serde_json::Value;

use super::{distinct, one_or_more, quoted, violation};
use crate::Violation;
use crate::pod::{list, text};

const HARMLESS: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

fn volumes(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod.pointer("/spec/volumes")).iter()
}

pub(super) fn host_path(pod: &Value) -> Option<Violation> {
    let names = volumes(pod).filter(|volume| volume.get("hostPath").is_some());
    let names: Vec<&str> = names.map(|volume| text(volume, "name")).collect();
    if names.is_empty() {
        return None;
    }
    violation("hostPath volumes", these_volumes(&names))
}

pub(super) fn restricted(pod: &Value) -> Option<Violation> {
    let bad: Vec<&Value> = volumes(pod)
        .filter(|volume| !HARMLESS.into_iter().any(|kind| volume.get(kind).is_some()))
        .collect();
    if bad.is_empty() {
        return None;
    }
    let names: Vec<&str> = bad.iter().map(|volume| text(volume, "name")).collect();
    let kind = |volume: &&Value| {
        let fields = volume.as_object();
        let kind = fields.and_then(|fields| fields.keys().find(|key| *key != "name"));
        kind.map_or("unknown", String::as_str).to_owned()
    };
    let kinds = distinct(bad.iter().map(kind));
    let word = one_or_more("restricted volume type", "restricted volume types", kinds.len());
    let uses = one_or_more("uses", "use", names.len());
    violation(
        "restricted volume types",
        format!("{} {uses} {word} {}", these_volumes(&names), quoted(&kinds)),
    )
}

fn these_volumes(names: &[&str]) -> String {
    format!("{} {}", one_or_more("volume", "volumes", names.len()), quoted(names))
}
