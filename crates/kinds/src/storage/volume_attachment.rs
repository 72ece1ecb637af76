//! `VolumeAttachments`: the attachment of a volume to a node.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::csi::validate_driver_name;
use crate::behaviour::Behaviour;
use crate::core_group::persistent_volume;
use crate::pod::internal;
use crate::rules::access::{IMMUTABLE, at, complain, entries_at, opt_int_at, opt_str_at, part, str_at};

const METADATA_SIZE_MAX: usize = 256 * 1024;
const MESSAGE_MAX: usize = 1024;

/// The rules of `VolumeAttachments`.
pub(crate) struct VolumeAttachment;

impl Behaviour for VolumeAttachment {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, errors);
        validate_status(object, errors);
        if let Some(name) = opt_str_at(object, &["spec", "source", "persistentVolumeName"]) {
            let path = PathRef::root("spec.source.persistentVolumeName");
            complain(&path, name, names::dns1123_subdomain(name), errors);
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        let (new, old) = (part(object, "spec"), part(old, "spec"));
        if subresource.is_none() && !internal::same("VolumeAttachmentSpec", new, old) {
            let shown = internal::print("VolumeAttachmentSpec", new);
            errors.push(internal::invalid(&PathRef::root("spec"), &shown, IMMUTABLE));
        }
    }
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    validate_driver_name(str_at(object, &["spec", "attacher"]), &spec.child("attacher"), errors);
    let source = spec.child("source");
    let inline = at(object, &["spec", "source", "inlineVolumeSpec"]);
    let named = opt_str_at(object, &["spec", "source", "persistentVolumeName"]);
    let exactly_one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline, named) {
        (None, None) => errors.push(FieldError::required(&source, exactly_one)),
        (Some(_), Some(_)) => errors.push(FieldError::forbidden(&source, exactly_one)),
        (None, Some("")) => {
            let path = source.child("persistentVolumeName");
            errors.push(FieldError::required(
                &path,
                "must specify non empty persistentVolumeName",
            ));
        }
        (Some(inline), None) => {
            persistent_volume::validate_inline(inline, &source.child("inlineVolumeSpec"), errors);
        }
        (None, Some(_)) => {}
    }
    let node = str_at(object, &["spec", "nodeName"]);
    complain(&spec.child("nodeName"), node, names::dns1123_subdomain(node), errors);
}

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    let size: usize = entries_at(object, &["status", "attachmentMetadata"])
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if size > METADATA_SIZE_MAX {
        errors.push(FieldError::too_long(
            &status.child("attachmentMetadata"),
            METADATA_SIZE_MAX,
        ));
    }
    for field in ["attachError", "detachError"] {
        let path = status.child(field);
        if str_at(object, &["status", field, "message"]).len() > MESSAGE_MAX {
            // Upstream's message names another limit than the one it checks.
            errors.push(FieldError::too_long(&path.child("message"), METADATA_SIZE_MAX));
        }
        if let Some(code) = opt_int_at(object, &["status", field, "errorCode"]) {
            let complaints = names::in_range(code, 0, i64::from(i32::MAX));
            complain(&path.child("errorCode"), code, complaints, errors);
        }
    }
}
