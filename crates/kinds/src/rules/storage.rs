//! What persistent volumes and the claims on them have in common.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::access::{complain_if_set, opt_str_at};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The modes exist, and the one for a single pod stands alone.
pub(crate) fn validate_access_modes(modes: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.push(FieldError::not_supported(path, *mode, ACCESS_MODES));
    }
    if modes.contains(&"ReadWriteOncePod") && modes.iter().any(|mode| ACCESS_MODES[..3].contains(mode)) {
        let words = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(path, words));
    }
}

/// `storageClassName` is a name and `volumeMode` one of the two.
pub(crate) fn validate_class_and_mode(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    complain_if_set(spec, "storageClassName", names::dns1123_subdomain, path, errors);
    let mode = opt_str_at(spec, &["volumeMode"]);
    if let Some(mode) = mode.filter(|mode| !matches!(*mode, "Block" | "Filesystem")) {
        let path = path.child("volumeMode");
        errors.push(FieldError::not_supported(&path, mode, ["Block", "Filesystem"]));
    }
}
