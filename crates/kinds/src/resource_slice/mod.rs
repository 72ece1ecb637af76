//! `ResourceSlices`: the devices that a driver offers, where they are, and what they share.

mod attributes;
mod capacity;

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::{Map, Value};

use crate::behaviour::{Behaviour, Create, Update};
use crate::claim_status::validate_binding;
use crate::device_claims::{fits, refuse_duplicates, validate_driver};
use crate::pod::{internal, scheduling};
use crate::rules::access::{
    at, bool_at, complain, int_at, list_at, map_at, opt_bool_at, opt_str_at, part, require_immutable,
    require_immutable_str, same, str_at,
};
use crate::rules::labels;

const DEVICES_MAX: usize = 128;
/// Of devices that have taints or consume counters.
const SPECIAL_DEVICES_MAX: usize = 64;
const ATTRIBUTES_AND_CAPACITIES_MAX: usize = 32;
const TAINTS_MAX: usize = 16;
const COUNTER_SETS_MAX: usize = 8;
const COUNTERS_MAX: usize = 32;
const CONSUMED_SETS_MAX: usize = 2;
const POOL_NAME_MAX: usize = 253;
/// Values of attributes of which there are several, and what of a node's resources a device takes: behind gates that are off.
const OFF_ATTRIBUTES: [&str; 4] = ["ints", "bools", "strings", "versions"];
const OFF_DEVICE_FIELD: &str = "nodeAllocatableResourceMappings";

/// The rules of `ResourceSlices`.
pub(crate) struct ResourceSlice;

impl Behaviour for ResourceSlice {
    fn prepare_create(&self, create: Create<'_>) {
        drop_disabled(create.object);
    }

    fn prepare_update(&self, update: Update<'_>) {
        drop_disabled(update.object);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(part(object, "spec"), None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate(part(object, "spec"), Some(old), errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let driver = str_at(object, &["spec", "driver"]);
        if driver == driver.to_lowercase() {
            return Vec::new();
        }
        let shown = quote(driver);
        vec![format!(
            "spec.driver: driver names should be lowercase; {shown} contains uppercase characters"
        )]
    }
}

/// Taints say since when they are there.
pub(crate) fn set_taint_times(object: &mut Value, now: &str) {
    let devices = object.pointer_mut("/spec/devices").and_then(Value::as_array_mut);
    let taints = devices
        .into_iter()
        .flatten()
        .filter_map(|device| device.get_mut("taints").and_then(Value::as_array_mut))
        .flatten();
    for taint in taints.filter_map(Value::as_object_mut) {
        if taint.get("timeAdded").is_none_or(Value::is_null) {
            taint.insert("timeAdded".to_owned(), now.into());
        }
    }
}

fn drop_disabled(object: &mut Value) {
    let devices = object.pointer_mut("/spec/devices").and_then(Value::as_array_mut);
    for device in devices.into_iter().flatten().filter_map(Value::as_object_mut) {
        device.remove(OFF_DEVICE_FIELD);
        let attributes = device.get_mut("attributes").and_then(Value::as_object_mut);
        for attribute in attributes.into_iter().flat_map(Map::values_mut) {
            if let Some(attribute) = attribute.as_object_mut() {
                attribute.retain(|name, _| !OFF_ATTRIBUTES.contains(&name.as_str()));
            }
        }
    }
}

fn validate(spec: &Value, old: Option<&Value>, errors: &mut Errors) {
    let path = PathRef::root("spec");
    validate_driver(str_at(spec, &["driver"]), &path.child("driver"), errors);
    validate_pool(part(spec, "pool"), &path.child("pool"), errors);
    let old_spec = old.map(|old| part(old, "spec"));
    if let Some(old) = old_spec {
        // The paths are those of the object.
        let wrap = |spec: &Value| Value::Object(Map::from_iter([("spec".to_owned(), spec.clone())]));
        let (new, old) = (wrap(spec), wrap(old));
        require_immutable_str(&new, &old, &["spec", "pool", "name"], errors);
        require_immutable_str(&new, &old, &["spec", "driver"], errors);
        require_immutable(&new, &old, &["spec", "nodeName"], errors);
    }
    validate_nodes(spec, &path, errors);
    if at(spec, &["sharedCounters"]).is_some() && at(spec, &["devices"]).is_some() {
        let words = "only one of `sharedCounters` or `devices` is allowed";
        errors.push(FieldError::invalid(&path, "", words));
    }
    validate_devices(spec, old_spec, &path.child("devices"), errors);
    validate_counter_sets(spec, &path.child("sharedCounters"), errors);
}

fn validate_pool(pool: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(pool, &["name"]);
    let name_path = path.child("name");
    if name.is_empty() {
        errors.push(FieldError::required(&name_path, ""));
    } else {
        if name.len() > POOL_NAME_MAX {
            errors.push(FieldError::too_long(&name_path, POOL_NAME_MAX));
        }
        for part in name.split('/') {
            complain(&name_path, part, names::dns1123_subdomain(part), errors);
        }
    }
    let count = int_at(pool, &["resourceSliceCount"]);
    if count <= 0 {
        let path = path.child("resourceSliceCount");
        errors.push(FieldError::invalid(&path, count, "must be greater than zero"));
    }
    let generation = int_at(pool, &["generation"]);
    if generation < 0 {
        let words = "must be greater than or equal to zero";
        errors.push(FieldError::invalid(&path.child("generation"), generation, words));
    }
}

fn validate_node_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    complain(path, name, names::dns1123_subdomain(name), errors);
}

/// Which nodes the devices can be used on.
fn validate_nodes(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut set = Vec::new();
    match opt_str_at(spec, &["nodeName"]) {
        None => {}
        Some("") => {
            let words = "must be either unset or set to a non-empty string";
            errors.push(FieldError::invalid(&path.child("nodeName"), "", words));
        }
        Some(name) => {
            set.push("`nodeName`");
            validate_node_name(name, &path.child("nodeName"), errors);
        }
    }
    if let Some(selector) = at(spec, &["nodeSelector"]) {
        set.push("`nodeSelector`");
        let path = path.child("nodeSelector");
        scheduling::validate_node_selector(selector, false, &path, errors);
        if list_at(selector, &["nodeSelectorTerms"]).len() != 1 {
            let shown = internal::print_list("NodeSelectorTerm", part(selector, "nodeSelectorTerms"));
            let words = "must have exactly one node selector term";
            errors.push(internal::invalid(&path.child("nodeSelectorTerms"), &shown, words));
        }
    }
    for (field, shown) in [
        ("allNodes", "`allNodes`"),
        ("perDeviceNodeSelection", "`perDeviceNodeSelection`"),
    ] {
        if is_only_true(spec, field, path, errors) {
            set.push(shown);
        }
    }
    let words = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match set.len() {
        0 => errors.push(FieldError::required(path, words)),
        1 => {}
        _ => {
            let words = format!("{words}, but multiple fields are set");
            errors.push(FieldError::invalid(path, format!("{{{}}}", set.join(", ")), words));
        }
    }
}

/// Whether a field is set; it must not be set to false.
fn is_only_true(holder: &Value, field: &str, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let value = opt_bool_at(holder, &[field]);
    if value == Some(false) {
        let words = "must be either unset or set to true";
        errors.push(FieldError::invalid(&path.child(field), false, words));
    }
    value == Some(true)
}

fn validate_devices(spec: &Value, old: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let devices = list_at(spec, &["devices"]);
    let has = |field: &str| devices.iter().any(|device| !list_at(device, &[field]).is_empty());
    let max = if has("taints") || has("consumesCounters") {
        SPECIAL_DEVICES_MAX
    } else {
        DEVICES_MAX
    };
    if !fits(devices.len(), max, path, errors) {
        return;
    }
    let is_by_device = bool_at(spec, &["perDeviceNodeSelection"]);
    let name = |device: &Value| str_at(device, &["name"]).to_owned();
    for (index, device) in devices.iter().enumerate() {
        let known = old.and_then(|old| {
            let mut devices = list_at(old, &["devices"]).iter();
            devices.find(|known| name(known) == name(device))
        });
        validate_device(device, known, is_by_device, &path.index(index), errors);
    }
    refuse_duplicates(devices.iter().map(|device| str_at(device, &["name"])), path, errors);
}

fn validate_device(device: &Value, old: Option<&Value>, is_by_device: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(device, &["name"]);
    complain(&path.child("name"), name, names::dns1123_label(name), errors);
    let [attributes, capacities] = ["attributes", "capacity"].map(|field| map_at(device, &[field]));
    let count = attributes.map_or(0, Map::len) + capacities.map_or(0, Map::len);
    if count > ATTRIBUTES_AND_CAPACITIES_MAX {
        let words =
            format!("the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}");
        errors.push(FieldError::invalid(path, count, words));
    }
    attributes::validate(attributes, &path.child("attributes"), errors);
    let is_shared = bool_at(device, &["allowMultipleAllocations"]);
    capacity::validate(capacities, is_shared, &path.child("capacity"), errors);
    let is_unchanged = old.is_some_and(|old| same(at(old, &["taints"]), at(device, &["taints"])));
    if !is_unchanged {
        validate_taints(device, &path.child("taints"), errors);
    }
    validate_consumed_counters(device, &path.child("consumesCounters"), errors);
    validate_device_nodes(device, is_by_device, path, errors);
    validate_binding(device, path, errors);
}

fn validate_taints(device: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let taints = list_at(device, &["taints"]);
    if !fits(taints.len(), TAINTS_MAX, path, errors) {
        return;
    }
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        labels::validate_label_name(str_at(taint, &["key"]), &path.child("key"), errors);
        let value = str_at(taint, &["value"]);
        complain(&path.child("value"), value, names::label_value(value), errors);
        match str_at(taint, &["effect"]) {
            "" => errors.push(FieldError::required(&path.child("effect"), "")),
            "NoExecute" | "NoSchedule" | "None" => {}
            other => errors.push(FieldError::not_supported(
                &path.child("effect"),
                other,
                ["NoExecute", "NoSchedule", "None"],
            )),
        }
    }
}

fn validate_device_nodes(device: &Value, is_by_device: bool, path: &PathRef<'_>, errors: &mut Errors) {
    if !is_by_device {
        if ["nodeName", "nodeSelector", "allNodes"]
            .iter()
            .any(|field| at(device, &[field]).is_some())
        {
            let words = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set \
                         to true in the ResourceSlice spec";
            errors.push(FieldError::invalid(path, Value::Null, words));
        }
        return;
    }
    let mut set = Vec::new();
    match opt_str_at(device, &["nodeName"]) {
        None => {}
        Some("") => errors.push(FieldError::invalid(&path.child("nodeName"), "", "must not be empty")),
        Some(name) => {
            set.push("`nodeName`");
            validate_node_name(name, &path.child("nodeName"), errors);
        }
    }
    if let Some(selector) = at(device, &["nodeSelector"]) {
        set.push("`nodeSelector`");
        scheduling::validate_node_selector(selector, false, &path.child("nodeSelector"), errors);
    }
    if is_only_true(device, "allNodes", path, errors) {
        set.push("`allNodes`");
    }
    let words = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is \
                 set to true in the ResourceSlice spec";
    match set.len() {
        0 => errors.push(FieldError::required(path, words)),
        1 => {}
        _ => errors.push(FieldError::invalid(path, format!("{{{}}}", set.join(", ")), words)),
    }
}

fn validate_counter_sets(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    validate_counted(
        list_at(spec, &["sharedCounters"]),
        "name",
        COUNTER_SETS_MAX,
        path,
        errors,
    );
}

fn validate_consumed_counters(device: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let consumed = list_at(device, &["consumesCounters"]);
    validate_counted(consumed, "counterSet", CONSUMED_SETS_MAX, path, errors);
}

/// Sets of counters, which have their names in the field `key`.
fn validate_counted(sets: &[Value], key: &str, max: usize, path: &PathRef<'_>, errors: &mut Errors) {
    if !fits(sets.len(), max, path, errors) {
        return;
    }
    for (index, set) in sets.iter().enumerate() {
        let path = path.index(index);
        let name = str_at(set, &[key]);
        if name.is_empty() {
            errors.push(FieldError::required(&path.child(key), ""));
        } else {
            complain(&path.child(key), name, names::dns1123_label(name), errors);
        }
        let path = path.child("counters");
        match map_at(set, &["counters"]).filter(|counters| !counters.is_empty()) {
            None => errors.push(FieldError::required(&path, "")),
            Some(counters) if fits(counters.len(), COUNTERS_MAX, &path, errors) => {
                for name in counters.keys() {
                    complain(&path, name.as_str(), names::dns1123_label(name), errors);
                }
            }
            Some(_) => {}
        }
    }
    let mut seen = HashSet::new();
    for (index, set) in sets.iter().enumerate() {
        let name = str_at(set, &[key]);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.index(index), name));
        }
    }
}

/// A key as a path shows it: what is too long is left out of its middle.
fn shown_key(key: &str, max: usize) -> String {
    const ELLIPSIS: &str = "...";
    if key.len() <= max {
        return key.to_owned();
    }
    let remaining = max - ELLIPSIS.len();
    let (start, end) = (remaining.div_ceil(2), key.len() - remaining / 2);
    let start = key.floor_char_boundary(start);
    format!("{}{ELLIPSIS}{}", &key[..start], &key[key.ceil_char_boundary(end)..])
}
