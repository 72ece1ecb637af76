//! Pods and pod templates: defaults, validation, what an update may change, and how pods are bound, evicted and deleted.
//! Other kinds use `template`; the server uses `Pod`, [`binding`], [`eviction`] and [`deletion`].

mod annotations;
pub mod binding;
pub(crate) mod claims;
mod conditions;
mod container_status;
pub(crate) mod containers;
mod defaults;
pub mod deletion;
pub(crate) mod diff;
mod disabled;
mod env;
pub mod eviction;
mod image;
pub(crate) mod internal;
mod mounts;
mod network;
pub(crate) mod options;
mod overlaps;
mod paths;
mod prepare;
mod probes;
mod qos;
mod resize;
pub(crate) mod resources;
pub(crate) mod scheduling;
mod security;
mod spec;
mod status;
pub(crate) mod template;
mod update;
pub(crate) mod volume_sources;
mod volumes;
pub(crate) mod warnings;
mod windows;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::{list_at, part, str_at};

use options::Options;

/// Pods.
pub(crate) struct Pod;

impl Behaviour for Pod {
    fn default(&self, object: &mut Value) {
        defaults::pod(object);
    }

    fn prepare_create(&self, create: Create<'_>) {
        prepare::create(create.object);
    }

    fn prepare_update(&self, update: Update<'_>) {
        prepare::update(update);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_object(object, Options::pod(None), errors);
        let spec = part(object, "spec");
        let path = PathRef::root("spec");
        if !list_at(spec, &["ephemeralContainers"]).is_empty() {
            errors.push(FieldError::forbidden(
                &path.child("ephemeralContainers"),
                "cannot be set on create",
            ));
        }
        if !str_at(spec, &["nodeName"]).is_empty() && !list_at(spec, &["schedulingGates"]).is_empty() {
            let words = "cannot be set until all schedulingGates have been cleared";
            errors.push(FieldError::forbidden(&path.child("nodeName"), words));
        }
        annotations::validate_agreement(object, &path, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        let options = Options::pod(Some(old));
        match subresource {
            Some("status") => status::validate(object, old, options, errors),
            Some("ephemeralcontainers") => update::validate_ephemeral_containers(object, old, options, errors),
            Some("resize") => resize::validate(object, old, options, errors),
            _ => update::validate(object, old, options, errors),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        let complaints = names::dns1123_label(str_at(object, &["metadata", "name"]));
        let mut found = Vec::new();
        if !complaints.is_empty() {
            found.push(format!(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]",
                complaints.join(" ")
            ));
        }
        found.extend(warnings::of(object, None));
        found
    }
}

/// What is wrong with tolerations, wherever they are.
pub fn validate_tolerations(tolerations: &[Value], path: &PathRef<'_>, errors: &mut Errors) {
    scheduling::validate_tolerations(tolerations, Options::default(), path, errors);
}

/// `Guaranteed`, `Burstable` or `BestEffort`: what a pod's status says, or follows from its requests and limits.
pub fn quality_of_service(pod: &Value) -> &str {
    match str_at(pod, &["status", "qosClass"]) {
        "" => qos::class(part(pod, "spec")),
        known => known,
    }
}

/// Everything wrong with a pod as it is, `ObjectMeta`'s own rules excepted.
fn validate_object(pod: &Value, options: Options, errors: &mut Errors) {
    let metadata = PathRef::root("metadata");
    annotations::validate(pod, options, &metadata.child("annotations"), errors);
    let of_pod = part(pod, "spec");
    let path = PathRef::root("spec");
    spec::validate(of_pod, pod.get("metadata"), options, &path, errors);
    if str_at(of_pod, &["serviceAccountName"]).is_empty() {
        let volumes = path.child("volumes");
        for (volume, source, _) in volumes::projected_tokens(of_pod) {
            let place = volumes.index(volume);
            let place = place.child("projected");
            let place = place.child("sources");
            let place = place.index(source);
            let words = "must not be specified when serviceAccountName is not set";
            errors.push(FieldError::forbidden(&place.child("serviceAccountToken"), words));
        }
    }
    containers::validate_images_are_trimmed(of_pod, &path, errors);
}
