//! The fields that field selectors know (R8), and how they read an object.

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use crate::rules::access::{at, int_at, str_at};

/// A label that field selectors of a resource may name.
#[derive(Clone, Copy, Debug)]
pub struct SelectableField {
    /// What the selector says.
    pub label: &'static str,
    /// Where the value is.
    pub source: FieldSource,
}

/// Where a selectable field's text comes from.
#[derive(Clone, Copy, Debug)]
pub enum FieldSource {
    /// A string; empty when unset.
    Text(&'static [&'static str]),
    /// An integer; `0` when unset.
    Integer(&'static [&'static str]),
    /// A boolean; `false` when unset.
    Flag(&'static [&'static str]),
    /// The first of these strings that is not empty.
    FirstOf(&'static [&'static [&'static str]]),
    /// The first address of a pod.
    PodIp,
    /// Always empty: the label is accepted and nothing fills it.
    Nothing,
}

impl SelectableField {
    /// The text a selector compares with.
    pub fn text(&self, object: &Value) -> String {
        match self.source {
            FieldSource::Text(path) => str_at(object, path).to_owned(),
            FieldSource::Integer(path) => int_at(object, path).to_string(),
            FieldSource::Flag(path) => at(object, path)
                .and_then(Value::as_bool)
                .unwrap_or_default()
                .to_string(),
            FieldSource::FirstOf(paths) => paths
                .iter()
                .map(|path| str_at(object, path))
                .find(|text| !text.is_empty())
                .unwrap_or_default()
                .to_owned(),
            FieldSource::PodIp => {
                let first = object.pointer("/status/podIPs/0/ip").and_then(Value::as_str);
                first.unwrap_or_else(|| str_at(object, &["status", "podIP"])).to_owned()
            }
            FieldSource::Nothing => String::new(),
        }
    }
}

/// How a resource refuses a field label it does not know.
#[derive(Clone, Copy, Debug)]
pub enum UnsupportedField {
    /// `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`
    NotKnown,
    /// `field label not supported: x`
    NotSupported,
    /// `field label "x" not supported for Job`
    NotSupportedFor(&'static str),
    /// `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x`
    NotSupportedForKind(&'static str),
}

impl UnsupportedField {
    /// The error message.
    pub fn message(self, label: &str) -> String {
        match self {
            UnsupportedField::NotKnown => format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                quote(label)
            ),
            UnsupportedField::NotSupported => format!("field label not supported: {label}"),
            UnsupportedField::NotSupportedFor(kind) => {
                format!("field label {} not supported for {kind}", quote(label))
            }
            UnsupportedField::NotSupportedForKind(kind) => format!("field label not supported for {kind}: {label}"),
        }
    }
}

const fn text(label: &'static str, path: &'static [&'static str]) -> SelectableField {
    SelectableField {
        label,
        source: FieldSource::Text(path),
    }
}

const NAME: SelectableField = text("metadata.name", &["metadata", "name"]);
const NAMESPACE: SelectableField = text("metadata.namespace", &["metadata", "namespace"]);

pub(super) const METADATA: &[SelectableField] = &[NAME, NAMESPACE];

pub(super) const PODS: &[SelectableField] = &[
    NAME,
    NAMESPACE,
    text("spec.nodeName", &["spec", "nodeName"]),
    text("spec.restartPolicy", &["spec", "restartPolicy"]),
    text("spec.schedulerName", &["spec", "schedulerName"]),
    text("spec.serviceAccountName", &["spec", "serviceAccountName"]),
    SelectableField {
        label: "spec.hostNetwork",
        source: FieldSource::Flag(&["spec", "hostNetwork"]),
    },
    text("status.phase", &["status", "phase"]),
    SelectableField {
        label: "status.podIP",
        source: FieldSource::PodIp,
    },
    SelectableField {
        label: "status.podIPs",
        source: FieldSource::Nothing,
    },
    text("status.nominatedNodeName", &["status", "nominatedNodeName"]),
    // Kept for clients of early v1 servers.
    text("spec.host", &["spec", "nodeName"]),
];

pub(super) const NODES: &[SelectableField] = &[
    NAME,
    SelectableField {
        label: "spec.unschedulable",
        source: FieldSource::Flag(&["spec", "unschedulable"]),
    },
];

pub(super) const REPLICATION_CONTROLLERS: &[SelectableField] = &[
    NAME,
    NAMESPACE,
    SelectableField {
        label: "status.replicas",
        source: FieldSource::Integer(&["status", "replicas"]),
    },
];

pub(super) const NAMESPACES: &[SelectableField] = &[text("status.phase", &["status", "phase"]), NAME];

pub(super) const SECRETS: &[SelectableField] = &[text("type", &["type"]), NAMESPACE, NAME];

pub(super) const SERVICES: &[SelectableField] = &[
    NAMESPACE,
    NAME,
    text("spec.clusterIP", &["spec", "clusterIP"]),
    text("spec.type", &["spec", "type"]),
];

pub(super) const JOBS: &[SelectableField] = &[
    NAME,
    NAMESPACE,
    SelectableField {
        label: "status.successful",
        source: FieldSource::Integer(&["status", "succeeded"]),
    },
];

pub(super) const SIGNING_REQUESTS: &[SelectableField] = &[NAME, text("spec.signerName", &["spec", "signerName"])];

pub(super) const RESOURCE_SLICES: &[SelectableField] = &[
    NAME,
    text("spec.nodeName", &["spec", "nodeName"]),
    text("spec.driver", &["spec", "driver"]),
];

pub(super) const CORE_EVENTS: &[SelectableField] = &[
    text("involvedObject.kind", &["involvedObject", "kind"]),
    text("involvedObject.namespace", &["involvedObject", "namespace"]),
    text("involvedObject.name", &["involvedObject", "name"]),
    text("involvedObject.uid", &["involvedObject", "uid"]),
    text("involvedObject.apiVersion", &["involvedObject", "apiVersion"]),
    text("involvedObject.resourceVersion", &["involvedObject", "resourceVersion"]),
    text("involvedObject.fieldPath", &["involvedObject", "fieldPath"]),
    text("reason", &["reason"]),
    text("reportingComponent", &["reportingComponent"]),
    SelectableField {
        label: "source",
        source: FieldSource::FirstOf(&[&["source", "component"], &["reportingComponent"]]),
    },
    text("type", &["type"]),
    NAMESPACE,
    NAME,
];

/// The labels of events.k8s.io, on objects in the form of events.k8s.io.
pub(super) const EVENTS: &[SelectableField] = &[
    text("reason", &["reason"]),
    text("regarding.kind", &["regarding", "kind"]),
    text("regarding.namespace", &["regarding", "namespace"]),
    text("regarding.name", &["regarding", "name"]),
    text("regarding.uid", &["regarding", "uid"]),
    text("regarding.apiVersion", &["regarding", "apiVersion"]),
    text("regarding.resourceVersion", &["regarding", "resourceVersion"]),
    text("regarding.fieldPath", &["regarding", "fieldPath"]),
    text("reportingController", &["reportingController"]),
    text("type", &["type"]),
    NAMESPACE,
    NAME,
];
