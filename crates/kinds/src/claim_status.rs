//! The status of a `ResourceClaim`: what was allocated, for whom, and what drivers say of the devices.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::device_claims::{
    RequestNames, fits, refuse_duplicates, validate_config, validate_driver, validate_reference, validate_references,
};
use crate::pod::{internal, scheduling};
use crate::rules::access::{IMMUTABLE, at, complain, list_at, opt_str_at, part, str_at, strings_at};
use crate::rules::{conditions, labels, net, printed};

const RESERVED_FOR_MAX: usize = 256;
const RESULTS_MAX: usize = 32;
/// Those of the class and those of the claim.
const CONFIG_MAX: usize = 64;
const BINDING_CONDITIONS_MAX: usize = 4;
const CONDITIONS_MAX: usize = 8;
const DATA_MAX: usize = 10 * 1024;
const ADDRESSES_MAX: usize = 16;
const INTERFACE_NAME_MAX: usize = 256;
const HARDWARE_ADDRESS_MAX: usize = 128;

/// A device, as a claim names it.
#[derive(PartialEq, Eq, Hash)]
struct DeviceId<'a>([&'a str; 4]);

impl<'a> DeviceId<'a> {
    fn of(holder: &'a Value) -> Self {
        DeviceId(["driver", "pool", "device", "shareID"].map(|field| str_at(holder, &[field])))
    }

    /// As upstream prints its type.
    fn shown(&self) -> String {
        let [driver, pool, device, share] = self.0.map(Value::from);
        format!(r#"{{"Driver":{driver},"Pool":{pool},"Device":{device},"ShareID":{share}}}"#)
    }
}

fn allocated(status: &Value) -> HashSet<DeviceId<'_>> {
    list_at(status, &["allocation", "devices", "results"])
        .iter()
        .map(DeviceId::of)
        .collect()
}

/// Drops what drivers said of devices that are no longer allocated.
pub(crate) fn drop_deallocated(object: &mut Value, old: &Value) {
    let gone: HashSet<DeviceId<'_>> = {
        let kept = allocated(part(object, "status"));
        let before = allocated(part(old, "status"));
        before.into_iter().filter(|device| !kept.contains(device)).collect()
    };
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(devices) = status.get_mut("devices").and_then(Value::as_array_mut) {
        devices.retain(|device| !gone.contains(&DeviceId::of(device)));
        if devices.is_empty() {
            status.remove("devices");
        }
    }
}

/// Everything wrong with a new status; `names` are the requests of the claim.
pub(crate) fn validate(object: &Value, old: &Value, names: &RequestNames<'_>, errors: &mut Errors) {
    let path = PathRef::root("status");
    let (status, before) = (part(object, "status"), part(old, "status"));
    let reserved = list_at(status, &["reservedFor"]);
    let reserved_path = path.child("reservedFor");
    if fits(reserved.len(), RESERVED_FOR_MAX, &reserved_path, errors) {
        for (index, consumer) in reserved.iter().enumerate() {
            for field in ["resource", "name", "uid"] {
                if str_at(consumer, &[field]).is_empty() {
                    errors.push(FieldError::required(&reserved_path.index(index).child(field), ""));
                }
            }
        }
        let keys = reserved.iter().map(|consumer| str_at(consumer, &["uid"]));
        refuse_duplicates(keys, &reserved_path, errors);
    }
    validate_devices(status, &path.child("devices"), errors);
    let allocation = at(status, &["allocation"]);
    if !reserved.is_empty() {
        let is_deleted = at(object, &["metadata", "deletionTimestamp"]).is_some();
        let known = list_at(before, &["reservedFor"]);
        if allocation.is_none() {
            let words = "may not be specified when `allocated` is not set";
            errors.push(FieldError::forbidden(&reserved_path, words));
        } else if is_deleted && reserved.iter().any(|consumer| !known.contains(consumer)) {
            let words = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
            errors.push(FieldError::forbidden(&reserved_path, words));
        }
    }
    let path = path.child("allocation");
    match (allocation, at(before, &["allocation"])) {
        (Some(new), Some(old)) => {
            if !internal::same("AllocationResult", new, old) {
                let shown = internal::print("AllocationResult", new);
                errors.push(internal::invalid(&path, &shown, IMMUTABLE));
            }
        }
        (Some(new), None) => validate_allocation(new, names, &path, errors),
        (None, _) => {}
    }
}

fn validate_devices(status: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let allocated = allocated(status);
    let devices = list_at(status, &["devices"]);
    for (index, device) in devices.iter().enumerate() {
        let path = path.index(index);
        validate_device_id(device, &path, errors);
        if let Some(share) = opt_str_at(device, &["shareID"]) {
            validate_uid(share, &path.child("shareID"), errors);
        }
        let id = DeviceId::of(device);
        if !allocated.contains(&id) {
            let words = "must be an allocated device in the claim";
            errors.push(printed::invalid(&path, &id.shown(), words));
        }
        let said = list_at(device, &["conditions"]);
        fits(said.len(), CONDITIONS_MAX, &path.child("conditions"), errors);
        conditions::validate(said, &path.child("conditions"), errors);
        if let Some(data) = at(device, &["data"]) {
            validate_data(data, &path.child("data"), errors);
        }
        if let Some(network) = at(device, &["networkData"]) {
            validate_network(network, &path.child("networkData"), errors);
        }
    }
    let mut seen = HashSet::new();
    for (index, id) in devices.iter().map(DeviceId::of).enumerate() {
        let shown = id.shown();
        if !seen.insert(id) {
            errors.push(printed::duplicate(&path.index(index), shown));
        }
    }
}

fn validate_device_id(holder: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_driver(str_at(holder, &["driver"]), &path.child("driver"), errors);
    validate_pool(str_at(holder, &["pool"]), &path.child("pool"), errors);
    let device = str_at(holder, &["device"]);
    complain(&path.child("device"), device, names::dns1123_label(device), errors);
}

fn validate_pool(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > names::SUBDOMAIN_MAX {
        errors.push(FieldError::too_long(path, names::SUBDOMAIN_MAX));
    }
    for part in name.split('/') {
        complain(path, part, names::dns1123_subdomain(part), errors);
    }
}

/// A UUID in the one form that upstream writes it in.
fn validate_uid(uid: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let words = match mistake_of_uid(uid) {
        Some(mistake) => format!("error validating uid: {mistake}"),
        None if uid.len() != 36 || uid != uid.to_lowercase() => {
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal \
             characters"
                .to_owned()
        }
        None => return,
    };
    errors.push(FieldError::invalid(path, uid, words));
}

/// What Go's uuid package finds wrong with a text.
fn mistake_of_uid(uid: &str) -> Option<String> {
    const FORM: &str = "invalid UUID format";
    let bytes = uid.as_bytes();
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let standard = match bytes.len() {
        36 => bytes,
        45 => {
            let (prefix, rest) = bytes.split_at(9);
            if !prefix.eq_ignore_ascii_case(b"urn:uuid:") {
                let shown = kubewright_apimachinery::go::quote(&String::from_utf8_lossy(prefix));
                return Some(format!("invalid urn prefix: {shown}"));
            }
            rest
        }
        38 => {
            if bytes[0] != b'{' || bytes[37] != b'}' {
                return Some("invalid bracketed UUID format".to_owned());
            }
            &bytes[1..37]
        }
        32 => return (!digits(bytes)).then(|| FORM.to_owned()),
        length => return Some(format!("invalid UUID length: {length}")),
    };
    let is_form = standard.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (!is_form).then(|| FORM.to_owned())
}

fn validate_data(data: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if data.to_string().len() > DATA_MAX {
        errors.push(FieldError::too_long(path, DATA_MAX));
    } else if !data.is_object() {
        errors.push(FieldError::invalid(
            path,
            "<value omitted>",
            "must be a valid JSON object",
        ));
    }
}

fn validate_network(network: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (field, most) in [
        ("interfaceName", INTERFACE_NAME_MAX),
        ("hardwareAddress", HARDWARE_ADDRESS_MAX),
    ] {
        if str_at(network, &[field]).len() > most {
            errors.push(FieldError::too_long(&path.child(field), most));
        }
    }
    let addresses = strings_at(network, &["ips"]);
    let path = path.child("ips");
    if fits(addresses.len(), ADDRESSES_MAX, &path, errors) {
        for (index, address) in addresses.iter().enumerate() {
            net::validate_interface_address(&path.index(index), address, errors);
        }
        refuse_duplicates(addresses.iter().copied(), &path, errors);
    }
}

fn validate_allocation(allocation: &Value, names: &RequestNames<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let devices = path.child("devices");
    let (results, results_path) = (list_at(allocation, &["devices", "results"]), devices.child("results"));
    if fits(results.len(), RESULTS_MAX, &results_path, errors) {
        for (index, result) in results.iter().enumerate() {
            let path = results_path.index(index);
            validate_reference(str_at(result, &["request"]), names, &path.child("request"), errors);
            validate_device_id(result, &path, errors);
            validate_binding(result, &path, errors);
            if let Some(share) = opt_str_at(result, &["shareID"]) {
                validate_uid(share, &path.child("shareID"), errors);
            }
        }
    }
    let (configs, config_path) = (list_at(allocation, &["devices", "config"]), devices.child("config"));
    if fits(configs.len(), CONFIG_MAX, &config_path, errors) {
        for (index, config) in configs.iter().enumerate() {
            let path = config_path.index(index);
            match str_at(config, &["source"]) {
                "" => errors.push(FieldError::required(&path.child("source"), "")),
                "FromClaim" | "FromClass" => {}
                other => errors.push(FieldError::not_supported(
                    &path.child("source"),
                    other,
                    ["FromClaim", "FromClass"],
                )),
            }
            validate_references(config, names, &path.child("requests"), errors);
            validate_config(config, &path, errors);
        }
    }
    if let Some(selector) = at(allocation, &["nodeSelector"]) {
        scheduling::validate_node_selector(selector, false, &path.child("nodeSelector"), errors);
    }
}

/// The conditions of a device that must be met before a Pod is bound, and those by which it is not.
pub(crate) fn validate_binding(result: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let [conditions, failures] =
        ["bindingConditions", "bindingFailureConditions"].map(|field| (field, strings_at(result, &[field])));
    for (field, names) in [&conditions, &failures] {
        let path = path.child(field);
        if fits(names.len(), BINDING_CONDITIONS_MAX, &path, errors) {
            for (index, name) in names.iter().enumerate() {
                labels::validate_label_name(name, &path.index(index), errors);
            }
        }
    }
    refuse_duplicates(conditions.1.iter().copied(), &path.child(conditions.0), errors);
    let mut seen = HashSet::new();
    for (index, name) in failures.1.iter().enumerate() {
        let path = path.child(failures.0);
        let path = path.index(index);
        if !seen.insert(*name) {
            errors.push(FieldError::duplicate(&path, *name));
        }
        if conditions.1.contains(name) {
            let words = "bindingFailureConditions must not overlap with bindingConditions";
            errors.push(FieldError::invalid(&path, *name, words));
        }
    }
    if failures.1.is_empty() != conditions.1.is_empty() {
        let (missing, other) = if conditions.1.is_empty() {
            (conditions.0, failures.0)
        } else {
            (failures.0, conditions.0)
        };
        let words = format!("{missing} are required to use {other}");
        let shown = at(result, &[missing]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(&path.child(missing), shown, words));
    }
}
