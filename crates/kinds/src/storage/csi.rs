//! `CSIDrivers` and `CSINodes`: what a storage driver can do, and on which nodes it runs.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::{
    IMMUTABLE, at, complain, is_unset, list_at, map_mut, opt_int_at, opt_str_at, remove, require_non_negative, same,
    str_at, strings_at,
};
use crate::rules::printed;

const DRIVER_NAME_MAX: usize = 63;
const TOKENS_EXPOSED: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";
const NODE_ID_MAX: usize = 256;
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

/// The rules of `CSIDrivers`.
pub(crate) struct CsiDriver;

impl Behaviour for CsiDriver {
    fn default(&self, object: &mut Value) {
        if is_unset(object, &["spec", "volumeLifecycleModes"])
            && let Some(spec) = map_mut(object, &["spec"])
        {
            spec.insert("volumeLifecycleModes".into(), json!(["Persistent"]));
        }
    }

    /// A field whose feature is off in 1.36 is dropped.
    fn prepare_create(&self, create: Create<'_>) {
        remove(create.object, &["spec", "preventPodSchedulingIfMissing"]);
    }

    fn prepare_update(&self, update: Update<'_>) {
        if at(update.old, &["spec", "preventPodSchedulingIfMissing"]).is_none() {
            remove(update.object, &["spec", "preventPodSchedulingIfMissing"]);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_driver(object, errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let requests = |object| at(object, &["spec", "tokenRequests"]);
        let changed = old.is_none_or(|old| !same(requests(object), requests(old)));
        let exposed = at(object, &["spec", "serviceAccountTokenInSecrets"]).is_none();
        if changed && exposed && !list_at(object, &["spec", "tokenRequests"]).is_empty() {
            return vec![TOKENS_EXPOSED.to_owned()];
        }
        Vec::new()
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_driver(object, errors);
        let spec = PathRef::root("spec");
        for (field, shown) in [
            ("attachRequired", "attachedRequired"),
            ("volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            let value = at(object, &["spec", field]);
            if !same(value, at(old, &["spec", field])) {
                errors.push(FieldError::invalid(
                    &spec.child(shown),
                    value.cloned().unwrap_or(Value::Null),
                    IMMUTABLE,
                ));
            }
        }
    }
}

fn validate_driver(object: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let field = |name| at(object, &["spec", name]);
    for (name, shown) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if field(name).is_none() {
            errors.push(FieldError::required(&spec.child(shown), ""));
        }
    }
    if let Some(policy) = opt_str_at(object, &["spec", "fsGroupPolicy"])
        && !matches!(policy, "ReadWriteOnceWithFSType" | "File" | "None")
    {
        let supported = ["File", "None", "ReadWriteOnceWithFSType"];
        errors.push(FieldError::not_supported(
            &spec.child("fsGroupPolicy"),
            policy,
            supported,
        ));
    }
    validate_token_requests(
        list_at(object, &["spec", "tokenRequests"]),
        &spec.child("tokenRequests"),
        errors,
    );
    for mode in strings_at(object, &["spec", "volumeLifecycleModes"]) {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            errors.push(FieldError::not_supported(
                &spec.child("volumeLifecycleModes"),
                mode,
                ["Persistent", "Ephemeral"],
            ));
        }
    }
    if field("seLinuxMount").is_none() {
        errors.push(FieldError::required(&spec.child("seLinuxMount"), ""));
    }
    if let Some(period) = opt_int_at(object, &["spec", "nodeAllocatableUpdatePeriodSeconds"])
        && period < 10
    {
        let path = spec.child("nodeAllocatableUpdatePeriodSeconds");
        errors.push(FieldError::invalid(
            &path,
            period,
            "must be greater than or equal to 10 seconds",
        ));
    }
    if let Some(flag) = field("serviceAccountTokenInSecrets")
        && list_at(object, &["spec", "tokenRequests"]).is_empty()
    {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(FieldError::invalid(
            &spec.child("serviceAccountTokenInSecrets"),
            flag.clone(),
            detail,
        ));
    }
}

fn validate_token_requests(requests: &[Value], path: &PathRef<'_>, errors: &mut Errors) {
    let mut audiences = HashSet::new();
    for (index, request) in requests.iter().enumerate() {
        let path = path.index(index);
        let audience = str_at(request, &["audience"]);
        if !audiences.insert(audience) {
            errors.push(FieldError::duplicate(&path.child("audience"), audience));
            continue;
        }
        let Some(seconds) = opt_int_at(request, &["expirationSeconds"]) else {
            continue;
        };
        let path = path.child("expirationSeconds");
        if seconds < TOKEN_SECONDS_MIN {
            errors.push(FieldError::invalid(
                &path,
                seconds,
                "may not specify a duration less than 10 minutes",
            ));
        }
        if seconds > TOKEN_SECONDS_MAX {
            errors.push(FieldError::invalid(
                &path,
                seconds,
                "may not specify a duration larger than 2^32 seconds",
            ));
        }
    }
}

/// The name of a storage driver.
pub(super) fn validate_driver_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > DRIVER_NAME_MAX {
        errors.push(FieldError::too_long(path, DRIVER_NAME_MAX));
    }
    complain(path, name, names::dns1123_subdomain(&name.to_lowercase()), errors);
}

/// The rules of `CSINodes`.
pub(crate) struct CsiNode;

impl Behaviour for CsiNode {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let spec = PathRef::root("spec");
        let path = spec.child("drivers");
        let mut seen = HashSet::new();
        for (index, driver) in list_at(object, &["spec", "drivers"]).iter().enumerate() {
            validate_node_driver(driver, &mut seen, &path.index(index), errors);
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        let spec = PathRef::root("spec");
        let path = spec.child("drivers");
        for before in list_at(old, &["spec", "drivers"]) {
            for driver in list_at(object, &["spec", "drivers"]) {
                let name = str_at(driver, &["name"]);
                let changed = |field: &str| !same(at(driver, &[field]), at(before, &[field]));
                // How many volumes fit may change; the rest of an entry may not.
                if name == str_at(before, &["name"]) && (changed("nodeID") || changed("topologyKeys")) {
                    let shown = format!(
                        r#"{{"Name":{},"NodeID":{},"TopologyKeys":{},"Allocatable":null}}"#,
                        Value::from(name),
                        Value::from(str_at(driver, &["nodeID"])),
                        printed::pointer(at(driver, &["topologyKeys"])),
                    );
                    errors.push(printed::invalid(&path, &shown, IMMUTABLE));
                }
            }
        }
    }
}

fn validate_node_driver<'a>(driver: &'a Value, seen: &mut HashSet<&'a str>, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(driver, &["name"]);
    validate_driver_name(name, &path.child("name"), errors);
    let node = str_at(driver, &["nodeID"]);
    if node.is_empty() {
        errors.push(FieldError::required(&path.child("nodeID"), ""));
    }
    if node.len() > NODE_ID_MAX {
        let detail = format!("must be {NODE_ID_MAX} characters or less");
        errors.push(FieldError::invalid(&path.child("nodeID"), node, detail));
    }
    if let Some(count) = opt_int_at(driver, &["allocatable", "count"]) {
        require_non_negative(count, &path.child("allocatable").child("count"), errors);
    }
    if !seen.insert(name) {
        errors.push(FieldError::duplicate(&path.child("name"), name));
    }
    let mut keys = HashSet::new();
    for key in strings_at(driver, &["topologyKeys"]) {
        if key.is_empty() {
            errors.push(FieldError::required(path, ""));
        }
        if !keys.insert(key) {
            errors.push(FieldError::duplicate(path, key));
        }
        complain(path, key, names::qualified_name(key), errors);
    }
}
