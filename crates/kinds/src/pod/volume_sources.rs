//! What each source of a volume requires.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{
    at, bool_at, complain, int_at, is_empty, list_at, map_at, opt_int_at, opt_str_at, part, str_at, strings_at,
};
use crate::rules::resource_names::quantity;
use crate::rules::{annotations, labels};

use super::options::Options;
use super::{claims, containers, env, paths};

const ENOUGH: usize = 16;
const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
/// The message for a partition out of range; zero is accepted, though upstream's message says otherwise.
const PARTITION: &str = "must be between 1 and 255, inclusive";

/// Everything wrong with the source `kind`; `path` is the volume's.
pub(crate) fn validate(kind: &str, source: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let volume_path = path;
    let path = path.child(kind);
    match kind {
        "emptyDir" => {
            let size = at(source, &["sizeLimit"]).and_then(quantity);
            if size.is_some_and(|size| size.is_negative()) {
                let words = "SizeLimit field must be a valid resource quantity";
                errors.push(FieldError::forbidden(&path.child("sizeLimit"), words));
            }
        }
        "hostPath" => validate_host_path(source, &path, errors),
        "gitRepo" => {
            require(source, &["repository"], &path, errors);
            paths::validate_descending(str_at(source, &["directory"]), &path.child("directory"), errors);
        }
        "gcePersistentDisk" => {
            let path = volume_path.child("persistentDisk");
            require(source, &["pdName"], &path, errors);
            validate_partition(source, &path, errors);
        }
        "awsElasticBlockStore" => {
            require(source, &["volumeID"], &path, errors);
            validate_partition(source, &path, errors);
        }
        "secret" => validate_files(source, "secretName", &path, errors),
        "configMap" => validate_files(source, "name", &path, errors),
        "nfs" => {
            require(source, &["server", "path"], &path, errors);
            let exported = str_at(source, &["path"]);
            if !exported.starts_with('/') {
                errors.push(FieldError::invalid(
                    &path.child("path"),
                    exported,
                    "must be an absolute path",
                ));
            }
        }
        "iscsi" => validate_iscsi(source, &path, errors),
        "glusterfs" => require(source, &["endpoints", "path"], &path, errors),
        "flocker" => validate_flocker(source, &path, errors),
        "persistentVolumeClaim" => require(source, &["claimName"], &path, errors),
        "rbd" => {
            if list_at(source, &["monitors"]).is_empty() {
                errors.push(FieldError::required(&path.child("monitors"), ""));
            }
            require(source, &["image"], &path, errors);
        }
        "cinder" => {
            require(source, &["volumeID"], &path, errors);
            require_secret_name(source, &path, errors);
        }
        "cephfs" if list_at(source, &["monitors"]).is_empty() => {
            errors.push(FieldError::required(&path.child("monitors"), ""));
        }
        "quobyte" => validate_quobyte(source, &path, errors),
        "downwardAPI" => {
            validate_mode(opt_int_at(source, &["defaultMode"]), &path.child("defaultMode"), errors);
            for file in list_at(source, &["items"]) {
                validate_downward_file(file, &path, errors);
            }
        }
        "fc" => validate_fibre_channel(source, &path, errors),
        "flexVolume" => validate_flex(source, &path, errors),
        "azureFile" => require(source, &["secretName", "shareName"], &path, errors),
        "vsphereVolume" => require(source, &["volumePath"], &path, errors),
        "photonPersistentDisk" => require(source, &["pdID"], &path, errors),
        "portworxVolume" => require(source, &["volumeID"], &path, errors),
        "azureDisk" => validate_azure_disk(source, &path, errors),
        "storageos" => validate_storage_os(source, &path, errors),
        "projected" => validate_projected(source, options, &path, errors),
        "scaleIO" => require(source, &["gateway", "system", "volumeName"], &path, errors),
        "csi" => validate_csi(source, &path, errors),
        "ephemeral" => validate_ephemeral(source, &path, errors),
        "image" => {
            if options.is_pod {
                require(source, &["reference"], &path, errors);
            }
            containers::validate_pull_policy(str_at(source, &["pullPolicy"]), &path.child("pullPolicy"), errors);
        }
        _ => {}
    }
}

fn require(source: &Value, fields: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    for field in fields {
        if str_at(source, &[field]).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
}

fn require_secret_name(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(secret) = at(source, &["secretRef"]) {
        require(secret, &["name"], &path.child("secretRef"), errors);
    }
}

fn validate_mode(mode: Option<i64>, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        errors.push(FieldError::invalid(path, mode, FILE_MODE));
    }
}

fn validate_partition(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let partition = int_at(source, &["partition"]);
    if !(0..=255).contains(&partition) {
        errors.push(FieldError::invalid(&path.child("partition"), partition, PARTITION));
    }
}

fn validate_host_path(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let host_path = str_at(source, &["path"]);
    if host_path.is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
        return;
    }
    paths::validate_no_backsteps(host_path, &path.child("path"), errors);
    if let Some(kind) = opt_str_at(source, &["type"]).filter(|kind| !TYPES.contains(kind)) {
        errors.push(FieldError::not_supported(&path.child("type"), kind, TYPES));
    }
}

fn validate_files(source: &Value, name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    require(source, &[name], path, errors);
    validate_mode(opt_int_at(source, &["defaultMode"]), &path.child("defaultMode"), errors);
    validate_items(source, path, errors);
}

fn validate_items(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("items");
    for (index, item) in list_at(source, &["items"]).iter().enumerate() {
        validate_item(item, &path.index(index), errors);
    }
}

fn validate_item(item: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    require(item, &["key", "path"], path, errors);
    paths::validate_not_reserved(str_at(item, &["path"]), &path.child("path"), errors);
    validate_mode(opt_int_at(item, &["mode"]), &path.child("mode"), errors);
}

fn validate_downward_file(file: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    require(file, &["path"], path, errors);
    paths::validate_not_reserved(str_at(file, &["path"]), &path.child("path"), errors);
    match (at(file, &["fieldRef"]), at(file, &["resourceFieldRef"])) {
        (Some(reference), resource) => {
            env::validate_field_ref(reference, &env::FILE_FIELDS, &path.child("fieldRef"), errors);
            if resource.is_some() {
                let words = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path, "resource", words));
            }
        }
        (None, Some(reference)) => {
            env::validate_resource_field_ref(reference, true, &path.child("resourceFieldRef"), errors);
        }
        (None, None) => errors.push(FieldError::required(
            path,
            "one of fieldRef and resourceFieldRef is required",
        )),
    }
    validate_mode(opt_int_at(file, &["mode"]), &path.child("mode"), errors);
}

fn validate_iscsi(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let prefix = "must be valid format starting with iqn, eui, or naa";
    require(source, &["targetPortal"], path, errors);
    validate_iscsi_target(source, prefix, path, errors);
    validate_iscsi_initiator(source, prefix, path, errors);
}

/// The same for a persistent volume called `volume`, with slightly different messages.
pub(crate) fn validate_iscsi_of_volume(source: &Value, volume: &str, path: &PathRef<'_>, errors: &mut Errors) {
    const PORTAL_MAX: usize = 64;
    let prefix = "must be valid format";
    require(source, &["targetPortal"], path, errors);
    let portal = str_at(source, &["targetPortal"]);
    if at(source, &["initiatorName"]).is_some() && volume.len() + 1 + portal.len() > PORTAL_MAX {
        let words = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                     iscsi.initiatorName is specified.";
        errors.push(FieldError::invalid(&path.child("targetportal"), portal, words));
    }
    validate_iscsi_target(source, prefix, path, errors);
    require_secret_name(source, path, errors);
    validate_iscsi_initiator(source, prefix, path, errors);
}

fn has_iscsi_prefix(name: &str) -> bool {
    ["iqn", "eui", "naa"].iter().any(|prefix| name.starts_with(prefix))
}

fn validate_iscsi_target(source: &Value, prefix: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(source, &["iqn"]);
    let name_path = path.child("iqn");
    if name.is_empty() {
        errors.push(FieldError::required(&name_path, ""));
    } else if !has_iscsi_prefix(name) {
        errors.push(FieldError::invalid(&name_path, name, prefix));
    } else if !is_iscsi_name(name) {
        errors.push(FieldError::invalid(&name_path, name, "must be valid format"));
    }
    let lun = int_at(source, &["lun"]);
    complain(&path.child("lun"), lun, names::in_range(lun, 0, 255), errors);
    let needs_secret = bool_at(source, &["chapAuthDiscovery"]) || bool_at(source, &["chapAuthSession"]);
    if needs_secret && at(source, &["secretRef"]).is_none() {
        errors.push(FieldError::required(&path.child("secretRef"), ""));
    }
}

fn validate_iscsi_initiator(source: &Value, prefix: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(initiator) = opt_str_at(source, &["initiatorName"]) {
        let path = path.child("initiatorname");
        if !has_iscsi_prefix(initiator) {
            errors.push(FieldError::invalid(&path, initiator, prefix));
        } else if !is_iscsi_name(initiator) {
            errors.push(FieldError::invalid(&path, initiator, "must be valid format"));
        }
    }
}

/// `iqn.2001-04.com.example:anything`, `eui.` with 16 letters or digits, or `naa.` with 32.
fn is_iscsi_name(name: &str) -> bool {
    let all = |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if let Some(rest) = name.strip_prefix("iqn.") {
        let bytes = rest.as_bytes();
        let dated = bytes.len() > 8
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && bytes[4] == b'-'
            && bytes[5..7].iter().all(u8::is_ascii_digit)
            && bytes[7] == b'.';
        let Some((authority, unique)) = rest.get(8..).and_then(|rest| rest.split_once(':')) else {
            return false;
        };
        let is_domain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        return dated
            && !authority.is_empty()
            && authority.bytes().all(is_domain)
            && !unique.is_empty()
            && !unique.contains([',', ';', '*', '&', '$', '|', ' ', '\t', '\n', '\r', '\u{c}']);
    }
    name.strip_prefix("eui.").is_some_and(|rest| all(rest, 16))
        || name.strip_prefix("naa.").is_some_and(|rest| all(rest, 32))
}

fn validate_flocker(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (name, uuid) = (str_at(source, &["datasetName"]), str_at(source, &["datasetUUID"]));
    if name.is_empty() && uuid.is_empty() {
        errors.push(FieldError::required(
            path,
            "one of datasetName and datasetUUID is required",
        ));
    }
    if !name.is_empty() && !uuid.is_empty() {
        let words = "datasetName and datasetUUID can not be specified simultaneously";
        errors.push(FieldError::invalid(path, "resource", words));
    }
    if name.contains('/') {
        errors.push(FieldError::invalid(
            &path.child("datasetName"),
            name,
            "must not contain '/'",
        ));
    }
}

fn validate_quobyte(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const WORDS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = str_at(source, &["registry"]);
    if registry.is_empty() {
        errors.push(FieldError::required(&path.child("registry"), WORDS));
    } else if str_at(source, &["tenant"]).len() >= 65 {
        let words = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(&path.child("tenant"), words));
    } else {
        let is_pair = |pair: &&str| {
            pair.rsplit_once(':')
                .is_some_and(|(host, _)| !host.contains(':') || host.ends_with(']'))
        };
        // Each repeats the whole list.
        for _ in registry.split(',').filter(|pair| !is_pair(pair)).take(ENOUGH) {
            errors.push(FieldError::invalid(&path.child("registry"), registry, WORDS));
        }
    }
    require(source, &["volume"], path, errors);
}

fn validate_fibre_channel(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let targets = strings_at(source, &["targetWWNs"]);
    let ids = list_at(source, &["wwids"]);
    if targets.is_empty() && ids.is_empty() {
        let words = "must specify either targetWWNs or wwids, but not both";
        errors.push(FieldError::required(&path.child("targetWWNs"), words));
    }
    if !targets.is_empty() && !ids.is_empty() {
        let words = "targetWWNs and wwids can not be specified simultaneously";
        errors.push(FieldError::invalid(&path.child("targetWWNs"), targets.clone(), words));
    }
    if !targets.is_empty() {
        match opt_int_at(source, &["lun"]) {
            None => {
                let words = "lun is required if targetWWNs is specified";
                errors.push(FieldError::required(&path.child("lun"), words));
            }
            Some(lun) => complain(&path.child("lun"), lun, names::in_range(lun, 0, 255), errors),
        }
    }
}

fn validate_flex(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    require(source, &["driver"], path, errors);
    let path = path.child("options");
    for (key, _) in map_at(source, &["options"]).into_iter().flatten() {
        let domain = key
            .split_once('/')
            .map_or(key.as_str(), |(domain, _)| domain)
            .to_lowercase();
        let reserved = ["kubernetes.io", "k8s.io"]
            .iter()
            .any(|reserved| domain == *reserved || domain.ends_with(&format!(".{reserved}")));
        if reserved {
            let words = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(&path.key(key), key.as_str(), words));
        }
    }
}

fn validate_azure_disk(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    require(source, &["diskName", "diskURI"], path, errors);
    for (field, supported) in [
        ("cachingMode", ["None", "ReadOnly", "ReadWrite"]),
        ("kind", ["Dedicated", "Managed", "Shared"]),
    ] {
        if let Some(value) = opt_str_at(source, &[field]).filter(|value| !supported.contains(value)) {
            errors.push(FieldError::not_supported(&path.child(field), value, supported));
        }
    }
    let uri = str_at(source, &["diskURI"]);
    let expected = match opt_str_at(source, &["kind"]) {
        Some("Managed") => (!uri.starts_with("/subscriptions/")).then_some(MANAGED),
        Some(_) => (!uri.starts_with("https://")).then_some(BLOB),
        None => None,
    };
    if let Some(expected) = expected {
        errors.push(FieldError::not_supported(&path.child("diskURI"), uri, [expected]));
    }
}

fn validate_storage_os(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let (name, namespace) = (str_at(source, &["volumeName"]), str_at(source, &["volumeNamespace"]));
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("volumeName"), ""));
    } else {
        complain(&path.child("volumeName"), name, names::dns1123_label(name), errors);
    }
    if !namespace.is_empty() {
        complain(
            &path.child("volumeNamespace"),
            namespace,
            names::dns1123_label(namespace),
            errors,
        );
    }
    require_secret_name(source, path, errors);
}

fn validate_projected(source: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    const TOKEN_MIN: i64 = 10 * 60;
    const TOKEN_MAX: i64 = 1 << 32;
    const CONFLICT: &str = "conflicting duplicate paths";
    validate_mode(opt_int_at(source, &["defaultMode"]), &path.child("defaultMode"), errors);
    let mut taken: HashSet<&str> = HashSet::new();
    let sources_path = path.child("sources");
    for (index, projection) in list_at(source, &["sources"]).iter().enumerate() {
        let source_path = sources_path.index(index);
        let mut sources = 0;
        for kind in ["secret", "configMap"] {
            let Some(files) = at(projection, &[kind]) else { continue };
            sources += 1;
            let files_path = source_path.child(kind);
            require(files, &["name"], &files_path, errors);
            let items_path = files_path.child("items");
            for (index, item) in list_at(files, &["items"]).iter().enumerate() {
                validate_item(item, &items_path.index(index), errors);
                let target = str_at(item, &["path"]);
                if !target.is_empty() && !taken.insert(target) {
                    errors.push(FieldError::invalid(path, str_at(files, &["name"]), CONFLICT));
                }
            }
        }
        if let Some(downward) = at(projection, &["downwardAPI"]) {
            sources += 1;
            for file in list_at(downward, &["items"]) {
                validate_downward_file(file, &source_path.child("downwardAPI"), errors);
                let target = str_at(file, &["path"]);
                if !target.is_empty() && !taken.insert(target) {
                    errors.push(FieldError::invalid(path, target, CONFLICT));
                }
            }
        }
        if let Some(token) = at(projection, &["serviceAccountToken"]) {
            sources += 1;
            let seconds = int_at(token, &["expirationSeconds"]);
            let seconds_path = source_path.child("serviceAccountToken");
            let seconds_path = seconds_path.child("expirationSeconds");
            if seconds < TOKEN_MIN {
                let words = "may not specify a duration less than 10 minutes";
                errors.push(FieldError::invalid(&seconds_path, seconds, words));
            }
            if seconds > TOKEN_MAX {
                let words = "may not specify a duration larger than 2^32 seconds";
                errors.push(FieldError::invalid(&seconds_path, seconds, words));
            }
            let target = str_at(token, &["path"]);
            if target.is_empty() {
                errors.push(FieldError::required(&path.child("path"), ""));
            } else if !options.token_paths_outside {
                paths::validate_not_reserved(target, &path.child("path"), errors);
            }
        }
        if sources > 1 {
            let words = "may not specify more than 1 volume type per source";
            errors.push(FieldError::forbidden(&source_path, words));
        }
    }
}

fn validate_csi(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const DRIVER_MAX: usize = 63;
    let driver = str_at(source, &["driver"]);
    let driver_path = path.child("driver");
    if driver.is_empty() {
        errors.push(FieldError::required(&driver_path, ""));
    } else {
        if driver.len() > DRIVER_MAX {
            errors.push(FieldError::too_long(&driver_path, DRIVER_MAX));
        }
        complain(
            &driver_path,
            driver,
            names::dns1123_subdomain(&driver.to_lowercase()),
            errors,
        );
    }
    if let Some(secret) = at(source, &["nodePublishSecretRef"]) {
        let name = str_at(secret, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(
                &path.child("nodePublishSecretRef").child("name"),
                "",
            ));
        } else {
            complain(&path.child("name"), name, names::dns1123_subdomain(name), errors);
        }
    }
}

fn validate_ephemeral(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("volumeClaimTemplate");
    let Some(template) = at(source, &["volumeClaimTemplate"]) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    validate_template_metadata(template, &path.child("metadata"), errors);
    claims::validate(part(template, "spec"), &path.child("spec"), errors);
}

/// What the metadata of a template for other objects may say; `metadata_path` is its own.
pub(crate) fn validate_template_metadata(template: &Value, metadata_path: &PathRef<'_>, errors: &mut Errors) {
    let metadata = part(template, "metadata");
    annotations::validate(metadata.get("annotations"), &metadata_path.child("annotations"), errors);
    labels::validate_labels(metadata.get("labels"), &metadata_path.child("labels"), errors);
    for field in FORBIDDEN_METADATA {
        // Go's zero value of a list or of a pointer is nil: an empty list and a number 0 that was sent are not.
        let is_set = match metadata.get(field) {
            None | Some(Value::Null) => false,
            Some(Value::Array(_)) => true,
            Some(_) if field == "deletionGracePeriodSeconds" => true,
            Some(value) => !is_empty(value),
        };
        if is_set {
            errors.push(FieldError::forbidden(
                &metadata_path.child(&lower_first(field)),
                "cannot be set",
            ));
        }
    }
}

/// In the order Go declares them; labels and annotations are what a template may have.
const FORBIDDEN_METADATA: [&str; 12] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
];

/// Go's name for a field with its first letter made small: `UID` becomes `uID`.
fn lower_first(field: &str) -> String {
    if field == "uid" {
        "uID".to_owned()
    } else {
        field.to_owned()
    }
}
