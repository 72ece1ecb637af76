//! The protocols that ports of Services, Endpoints and slices name.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::access::{complain, opt_str_at};

/// `protocol` is one of the three; `path` is the port's.
pub(crate) fn validate_protocol(protocol: Option<&str>, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("protocol");
    match protocol {
        None => errors.push(FieldError::required(&path, "")),
        Some("TCP" | "UDP" | "SCTP") => {}
        Some(other) => errors.push(FieldError::not_supported(&path, other, ["SCTP", "TCP", "UDP"])),
    }
}

/// `appProtocol`, where the port has one, is a qualified name.
pub(crate) fn validate_app_protocol(port: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(protocol) = opt_str_at(port, &["appProtocol"]) {
        let path = path.child("appProtocol");
        complain(&path, protocol, names::qualified_name(protocol), errors);
    }
}
